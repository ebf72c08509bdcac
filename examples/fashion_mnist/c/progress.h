/* SPDX-License-Identifier: Apache-2.0
 * A progress bar on a terminal, plain lines elsewhere. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdint.h>

typedef struct progress {
  const char *title;
  int64_t total; /* samples in all */
  double start;  /* seconds */
  double shown;  /* when it was last drawn */
} progress;

double seconds_now(void);
progress progress_start(const char *title, int64_t total);
void progress_show(progress *p, int64_t done, float loss);
/* Ends the line; `loss` is the last one. */
void progress_end(progress *p, int64_t done, float loss);

#endif
