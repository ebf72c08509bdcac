/* SPDX-License-Identifier: Apache-2.0
 * Matrix products and convolution. */
#include <stdio.h>

#include "worker.h"

static void prepare_square(state *s) {
  const int64_t shape[] = {1024, 1024};
  s->x[0] = fill(s, 1, 1, shape, 2);
  s->x[1] = fill(s, 2, 1, shape, 2);
}

/* The part is MxNxK. */
static void prepare_small(state *s) {
  long m = 0, n = 0, k = 0;
  int64_t a[2], b[2];
  if (sscanf(s->part, "%ldx%ldx%ld", &m, &n, &k) != 3) {
    s->missing = "a part MxNxK";
    return;
  }
  a[0] = m, a[1] = b[0] = k, b[1] = n;
  s->x[0] = fill(s, 1, 1, a, 2);
  s->x[1] = fill(s, 2, 1, b, 2);
}

static dlcore_tensor *product(state *s) { return dlcore_matmul(s->ctx, s->x[0], s->x[1]); }

static void prepare_convolution(state *s) {
  const int64_t x[] = {1, 64, 56, 56}, weight[] = {64, 64, 3, 3}, bias[] = {64};
  s->op = find_entry(s, DLCORE_CATALOGUE_OPS, "conv2d");
  s->x[0] = fill(s, 1, 1, x, 4);
  s->x[1] = fill(s, 2, 1, weight, 4);
  s->x[2] = fill(s, 3, 1, bias, 1);
}

static dlcore_tensor *convolution(state *s) {
  static const int64_t kWords[] = {/*no stride*/ 0, /*padding*/ 1, 1, 1};
  return dlcore_op_call3(s->ctx, s->op, s->x[0], s->x[1], s->x[2], kWords, 4);
}

const benchmark kMatrixBenchmarks[] = {
    {"matmul_1024", DLCORE_CONTEXT_INFERENCE, prepare_square, product, NULL, NULL},
    {"matmul_small", DLCORE_CONTEXT_INFERENCE, prepare_small, product, NULL, NULL},
    {"conv_64x56", DLCORE_CONTEXT_INFERENCE, prepare_convolution, convolution, NULL, NULL},
    {NULL, 0, NULL, NULL, NULL, NULL},
};
