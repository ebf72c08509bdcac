/* SPDX-License-Identifier: Apache-2.0
 * Prints the catalogues: the content of capi/ops.json. */
#include <dlcore/dlcore.h>
#include <stdio.h>

int main(void) {
  int64_t size = 0;
  const char *text = dlcore_catalogue_json(&size);
  return text == NULL || fwrite(text, 1, (size_t)size, stdout) != (size_t)size ||
         putchar('\n') == EOF;
}
