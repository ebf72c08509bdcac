/* SPDX-License-Identifier: Apache-2.0
 * Answers of the 784-256-128-10 network, from the caller's floats to the caller's floats, as a
 * compiled graph; and many callers at once. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "worker.h"

enum { kFeatures = 784, kClasses = 10, kMaxBatch = 64, kMaxCallers = 64, kTurnsEach = 256 };

static void prepare_rows(state *s, int64_t rows) {
  char shape[32];
  dlcore_tensor *y;
  dlcore_graph *graph;
  s->rows = rows;
  s->host = malloc((size_t)rows * kFeatures * sizeof *s->host);
  if (s->host == NULL) {
    s->missing = "memory";
    return;
  }
  fill_host(s->host, rows * kFeatures, 100, 2);
  s->model = make_mlp(s);
  snprintf(shape, sizeof shape, "[%d, %d]", (int)rows, kFeatures);
  dlcore_capture_begin(s->ctx, "answer");
  y = dlcore_module_call(s->ctx, s->model, dlcore_capture_input(s->ctx, "x", DLCORE_F32, shape));
  graph = dlcore_capture_end(s->ctx, &y, 1);
  s->executable = dlcore_graph_compile(s->ctx, graph, NULL, 0);
}

static void prepare_one(state *s) { prepare_rows(s, 1); }
static void prepare_batch(state *s) { prepare_rows(s, kMaxBatch); }

static dlcore_tensor *answer_on(dlcore_context *ctx, const state *s) {
  const int64_t shape[] = {s->rows, kFeatures};
  float answers[kMaxBatch * kClasses];
  dlcore_tensor *x = dlcore_tensor_f32(ctx, shape, 2, s->host, s->rows * kFeatures), *y = NULL;
  dlcore_executable_run(ctx, s->executable, &x, 1, &y, 1);
  dlcore_tensor_read_f32(ctx, y, answers, s->rows * kClasses);
  return y;
}

static dlcore_tensor *answer(state *s) { return answer_on(s->ctx, s); }

/* ---- Many callers -------------------------------------------------------------------------- */

typedef struct callers {
  const state *s;
  pthread_barrier_t ready;
  int64_t turns; /* of each caller */
  int failed;
} callers;

static void *call(void *data) {
  callers *all = data;
  dlcore_context *ctx =
      dlcore_context_open(all->s->engine, "cpu", 0, DLCORE_CONTEXT_INFERENCE, NULL);
  dlcore_scope *scope = dlcore_scope_open(ctx);
  int64_t i;
  pthread_barrier_wait(&all->ready);
  for (i = 0; i < all->turns; ++i) {
    answer_on(ctx, all->s);
    dlcore_scope_reset(ctx, scope);
  }
  if (!dlcore_ok(ctx)) all->failed = 1;
  dlcore_context_close(ctx);
  return NULL;
}

/* The part is the number of callers; they share the turns. Those are rounded up to kTurnsEach for
 * each of kMaxCallers, so that every number of callers does the same work, and starting them is a
 * small part of it. */
static double time_callers(state *s, int64_t turns) {
  const int n = atoi(s->part);
  const int64_t step = kMaxCallers * kTurnsEach, rounded = (turns + step - 1) / step * step;
  pthread_t threads[kMaxCallers];
  callers all;
  double start, taken;
  int i, started = 0;
  if (n < 1 || n > kMaxCallers || kMaxCallers % n != 0) {
    dlcore_context_set_error(s->ctx, DLCORE_INVALID_ARGUMENT, "callers32: number of callers");
    return 0;
  }
  all.s = s;
  all.turns = rounded / n;
  all.failed = 0;
  pthread_barrier_init(&all.ready, NULL, (unsigned)n + 1);
  for (i = 0; i < n; ++i) started += pthread_create(&threads[i], NULL, call, &all) == 0;
  if (started < n) {
    fprintf(stderr, "callers32: %d of %d threads started\n", started, n);
    exit(1); /* those that wait at the barrier cannot be taken back */
  }
  pthread_barrier_wait(&all.ready);
  start = seconds_now();
  for (i = 0; i < n; ++i) pthread_join(threads[i], NULL);
  taken = seconds_now() - start;
  pthread_barrier_destroy(&all.ready);
  if (all.failed) dlcore_context_set_error(s->ctx, DLCORE_INTERNAL, "callers32: a caller failed");
  return taken * (double)turns / (double)rounded;
}

const benchmark kInferenceBenchmarks[] = {
    {"infer_b1", DLCORE_CONTEXT_INFERENCE, prepare_one, answer, NULL, NULL},
    {"infer_b64", DLCORE_CONTEXT_INFERENCE, prepare_batch, answer, NULL, NULL},
    {"callers32", DLCORE_CONTEXT_INFERENCE, prepare_one, answer, NULL, time_callers},
    {NULL, 0, NULL, NULL, NULL, NULL},
};
