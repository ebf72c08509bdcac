/* SPDX-License-Identifier: Apache-2.0
 * What a call costs: 16 floats, on a context whose caller releases. */
#include "worker.h"

static const int64_t kShape[] = {16};

static void prepare(state *s) {
  s->x[0] = fill(s, 1, 1, kShape, 1);
  s->x[1] = fill(s, 2, 1, kShape, 1);
}

static void prepare_watched(state *s) {
  prepare(s);
  s->x[2] = dlcore_autograd_watch(s->ctx, s->x[0]);
  dlcore_tensor_release(s->x[0]);
  s->x[0] = s->x[2];
  s->x[2] = NULL;
}

static dlcore_tensor *add(state *s) { return dlcore_add(s->ctx, s->x[0], s->x[1]); }
static dlcore_tensor *double_it(state *s) { return dlcore_multiply_scalar(s->ctx, s->x[0], 2.0); }

/* The loops are written out, so that a call through a pointer does not count. */
static double time_add(state *s, int64_t turns) {
  dlcore_context *ctx = s->ctx;
  dlcore_tensor *a = s->x[0], *b = s->x[1];
  const double start = seconds_now();
  int64_t i;
  for (i = 0; i < turns; ++i) dlcore_tensor_release(dlcore_add(ctx, a, b));
  return seconds_now() - start;
}

static double time_double(state *s, int64_t turns) {
  dlcore_context *ctx = s->ctx;
  dlcore_tensor *a = s->x[0];
  const double start = seconds_now();
  int64_t i;
  for (i = 0; i < turns; ++i) dlcore_tensor_release(dlcore_multiply_scalar(ctx, a, 2.0));
  return seconds_now() - start;
}

const benchmark kCallBenchmarks[] = {
    {"add16_c", DLCORE_CONTEXT_MANUAL, prepare, add, NULL, time_add},
    {"add16_c_grad", DLCORE_CONTEXT_MANUAL, prepare_watched, add, NULL, time_add},
    {"mul_scalar16_c", DLCORE_CONTEXT_MANUAL, prepare, double_it, NULL, time_double},
    {NULL, 0, NULL, NULL, NULL, NULL},
};
