/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { kWidth = 24 };

double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

progress progress_start(const char *title, int64_t total) {
  progress p;
  p.title = title;
  p.total = total;
  p.start = seconds_now();
  p.shown = 0;
  return p;
}

void progress_show(progress *p, int64_t done, float loss) {
  const double now = seconds_now();
  double rate, left;
  int filled, i;
  if (!isatty(STDOUT_FILENO) || now - p->shown < 0.1) return;
  p->shown = now;
  rate = (double)done / (now - p->start + 1e-9);
  left = (double)(p->total - done) / (rate + 1e-9);
  filled = p->total > 0 ? (int)(kWidth * done / p->total) : kWidth;
  printf("\r%s [", p->title);
  for (i = 0; i < kWidth; ++i) putchar(i < filled ? '=' : ' ');
  printf("] %3d%%  %7.0f images/s  loss %.4f  %3.0f s left ",
         p->total > 0 ? (int)(100 * done / p->total) : 100, rate, (double)loss, left);
  fflush(stdout);
}

void progress_end(progress *p, int64_t done, float loss) {
  const double taken = seconds_now() - p->start;
  if (isatty(STDOUT_FILENO)) printf("\r\033[K");
  printf("%s  loss %.4f  %.0f images/s  %.1f s\n", p->title, (double)loss,
         (double)done / (taken + 1e-9), taken);
  fflush(stdout);
}
