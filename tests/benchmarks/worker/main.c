/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine's side of the benchmarks: a process that stays warm and answers lines.
 *   worker THREADS
 *   run NAME TURNS    answered by "seconds S": S for that many turns; prepares NAME first, if need
 *                     be
 *   check NAME        "value V": a checksum of the result after three turns, from a fresh start
 *   drop              "dropped": forgets what is prepared
 * or "missing WHAT" when this build lacks something, or "error TEXT". Starts with a line of JSON
 * about itself. Between requests it sleeps. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "worker.h"

enum { kLine = 256, kCheckedTurns = 3 };

static const benchmark *const kGroups[] = {kCallBenchmarks, kMatrixBenchmarks, kMemoryBenchmarks,
                                           kTrainingBenchmarks, kInferenceBenchmarks};
static const char *const kIsaNames[] = {"", "baseline", "AVX2", "AVX-512", "AVX-512 with BF16"};

double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const benchmark *find(const char *name) {
  const size_t length = strcspn(name, "/");
  size_t group;
  for (group = 0; group < sizeof kGroups / sizeof *kGroups; ++group) {
    const benchmark *b;
    for (b = kGroups[group]; b->name != NULL; ++b)
      if (strlen(b->name) == length && strncmp(b->name, name, length) == 0) return b;
  }
  return NULL;
}

typedef struct prepared {
  const benchmark *benchmark;
  char name[kLine]; /* with its part */
  state s;
  dlcore_scope *turn; /* NULL on a manual context */
} prepared;

static int is_manual(const benchmark *b) { return (b->context_flags & DLCORE_CONTEXT_MANUAL) != 0; }

static void drop(prepared *p) {
  if (p->benchmark == NULL) return;
  if (is_manual(p->benchmark)) dlcore_tensor_release_many(p->s.x, kTensors);
  dlcore_context_close(p->s.ctx);
  dlcore_engine_trim(p->s.engine);
  free(p->s.host);
  p->benchmark = NULL;
}

static void prepare(prepared *p, const char *name) {
  dlcore_engine *engine = p->s.engine;
  const char *slash;
  if (p->benchmark != NULL && strcmp(p->name, name) == 0) return;
  drop(p);
  memset(&p->s, 0, sizeof p->s);
  p->s.engine = engine;
  p->benchmark = find(name);
  if (p->benchmark == NULL) return;
  snprintf(p->name, sizeof p->name, "%s", name);
  slash = strchr(p->name, '/');
  p->s.part = slash != NULL ? slash + 1 : "";
  p->s.ctx = dlcore_context_open(engine, "cpu", 8, p->benchmark->context_flags, NULL);
  p->benchmark->prepare(&p->s);
  p->turn = is_manual(p->benchmark) ? NULL : dlcore_scope_open(p->s.ctx);
}

static void end_turn(prepared *p, dlcore_tensor *result) {
  if (p->turn != NULL) {
    dlcore_scope_reset(p->s.ctx, p->turn);
  } else {
    dlcore_tensor_release(result);
  }
}

static double time_turns(prepared *p, int64_t turns) {
  const benchmark *b = p->benchmark;
  double start;
  int64_t i;
  if (b->timed != NULL) return b->timed(&p->s, turns);
  start = seconds_now();
  for (i = 0; i < turns; ++i) end_turn(p, b->turn(&p->s));
  return seconds_now() - start;
}

/* The signed root of the sum of v |v| (1 + i modulo 7) over the elements v: order counts, and so do
 * sizes where the plain sum is the same whatever was computed, as of a softmax. */
static double checksum(dlcore_context *ctx, dlcore_tensor *x) {
  const int64_t count = dlcore_tensor_count(x);
  float *data;
  double sum = 0;
  int64_t i;
  if (!dlcore_ok(ctx) || count < 0) return 0;
  data = malloc((size_t)(count ? count : 1) * sizeof *data);
  if (data == NULL) return 0;
  if (dlcore_tensor_read_f32(ctx, x, data, count) == DLCORE_OK)
    for (i = 0; i < count; ++i)
      sum += (double)data[i] * fabs((double)data[i]) * (double)(1 + i % 7);
  free(data);
  return sum < 0 ? -sqrt(-sum) : sqrt(sum);
}

static double check(prepared *p) {
  const benchmark *b = p->benchmark;
  double value = 0;
  int i;
  for (i = 0; i < kCheckedTurns; ++i) {
    dlcore_tensor *y = b->turn(&p->s), *extra = NULL;
    if (i == kCheckedTurns - 1) {
      if (b->result != NULL) extra = b->result(&p->s);
      value = checksum(p->s.ctx, extra != NULL ? extra : y);
    }
    end_turn(p, y);
  }
  return value;
}

static void answer(prepared *p, const char *line) {
  char verb[16] = "", name[kLine] = "";
  long long turns = 0;
  double value = 0;
  const int words = sscanf(line, "%15s %255s %lld", verb, name, &turns);
  const int run = words == 3 && strcmp(verb, "run") == 0 && turns >= 0;
  if (words == 1 && strcmp(verb, "drop") == 0) {
    drop(p);
    puts("dropped");
    return;
  }
  if (!run && !(words == 2 && strcmp(verb, "check") == 0)) {
    puts("error not understood");
    return;
  }
  if (!run) drop(p);
  prepare(p, name);
  if (p->benchmark == NULL) {
    puts("error no such benchmark");
    return;
  }
  if (p->s.missing == NULL && dlcore_ok(p->s.ctx)) value = run ? time_turns(p, turns) : check(p);
  if (p->s.missing != NULL) {
    printf("missing %s\n", p->s.missing);
  } else if (!dlcore_ok(p->s.ctx)) {
    printf("error %s\n", dlcore_context_error_message(p->s.ctx));
    drop(p);
  } else {
    printf(run ? "seconds %.9f\n" : "value %.9g\n", value);
  }
}

int main(int argc, char **argv) {
  static prepared p;
  dlcore_engine_options options;
  dlcore_engine_statistics statistics;
  dlcore_error *error = NULL;
  char line[kLine + 64];
  dlcore_engine_options_init(&options, sizeof options);
  options.threads = argc > 1 ? atoi(argv[1]) : 0;
  p.s.engine = dlcore_engine_open(&options, &error);
  if (p.s.engine == NULL) {
    fprintf(stderr, "%s\n", dlcore_error_message(error));
    dlcore_error_release(error);
    return 1;
  }
  memset(&statistics, 0, sizeof statistics);
  statistics.struct_size = sizeof statistics;
  dlcore_engine_get_statistics(p.s.engine, &statistics);
  printf("{\"isa\": \"%s\", \"threads\": %d, \"version\": \"%s\"}\n",
         kIsaNames[statistics.isa <= 4 ? statistics.isa : 0], (int)statistics.threads,
         dlcore_build_info());
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    answer(&p, line);
    fflush(stdout);
  }
  drop(&p);
  dlcore_engine_close(p.s.engine);
  return 0;
}
