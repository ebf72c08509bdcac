/* SPDX-License-Identifier: Apache-2.0
 * What a first program does; built against an installed library, as C and as C++. */
#include <dlcore/dlcore.h>
#include <dlcore/ops.h>
#include <stdio.h>

int main(void) {
  const int64_t shape[] = {2, 2};
  const float values[] = {1, 2, 3, 4};
  float sum = 0;
  int right;
  dlcore_engine *engine = dlcore_engine_open(NULL, NULL);
  dlcore_context *ctx = dlcore_context_open(engine, "cpu", 0, 0, NULL);
  dlcore_tensor *x = dlcore_tensor_f32(ctx, shape, 2, values, 4);
  dlcore_tensor_read_f32(ctx, dlcore_sum(ctx, dlcore_matmul(ctx, x, x)), &sum, 1);

  /* [1 2; 3 4]^2 = [7 10; 15 22] */
  right = dlcore_ok(ctx) && sum == 54 && dlcore_require(DLCORE_VERSION);
  if (!right)
    fprintf(stderr, "sum is %g, expected 54; %s\n", sum, dlcore_context_error_message(ctx));
  dlcore_context_close(ctx);
  dlcore_engine_close(engine);
  return right ? 0 : 1;
}
