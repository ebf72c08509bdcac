/* SPDX-License-Identifier: Apache-2.0
 *
 * What a benchmark of the worker is: a piece of work prepared once and then repeated, whose result
 * can be checked against what a peer computes from the same numbers. */
#ifndef DLCORE_BENCHMARKS_WORKER_H
#define DLCORE_BENCHMARKS_WORKER_H

#include <dlcore/dlcore.h>
#include <dlcore/ops.h>

enum { kTensors = 8 };

/* One benchmark while it is prepared. The context and all that it owns are its own. */
typedef struct state {
  dlcore_engine *engine;
  dlcore_context *ctx;
  const char *part;    /* what comes after the slash of "name/part"; "" for the whole */
  const char *missing; /* why it cannot run in this build; NULL when it can */
  int32_t op;
  int64_t rows;
  dlcore_tensor *x[kTensors];
  dlcore_module *model;
  dlcore_optimizer *optimizer;
  dlcore_executable *executable;
  float *host; /* released with the state */
} state;

typedef struct benchmark {
  const char *name;
  uint64_t context_flags;
  void (*prepare)(state *s);
  /* One turn. Its result is of the context's scope, or to be released on a manual context. */
  dlcore_tensor *(*turn)(state *s);
  /* What to check in place of the turn's result; may be NULL. */
  dlcore_tensor *(*result)(state *s);
  /* Seconds for so many turns, in place of a loop around `turn`; may be NULL. */
  double (*timed)(state *s, int64_t turns);
} benchmark;

extern const benchmark kCallBenchmarks[], kMatrixBenchmarks[], kMemoryBenchmarks[],
    kTrainingBenchmarks[], kInferenceBenchmarks[]; /* each ends with a NULL name */

double seconds_now(void);

/* The numbers that all sides compute with: element i of fill(seed) is scale * (h / 2^24 - 1/2), h
 * the upper 24 bits of (i + 1000003 * seed) * 2654435761 modulo 2^32. */
dlcore_tensor *fill(state *s, uint32_t seed, float scale, const int64_t *shape, int32_t rank);
void fill_host(float *data, int64_t count, uint32_t seed, float scale);
/* A class between 0 and 9 for each row. */
dlcore_tensor *fill_labels(state *s, int64_t rows);
/* Gives variable i of the model fill(i + 1): weights within 1 / sqrt(fan-in), biases within 1/20.
 */
void fill_parameters(state *s, dlcore_module *model);

/* Number of an op or layer, or -1 after setting s->missing. */
int32_t find_entry(state *s, int32_t catalogue, const char *name);

/* 784-256-128-10 with ReLU. */
dlcore_module *make_mlp(state *s);

#endif
