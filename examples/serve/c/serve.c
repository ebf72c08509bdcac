/* SPDX-License-Identifier: Apache-2.0
 * Answers requests from many threads while one more trains the model: one engine, a context for
 * each thread. Workers answer from a snapshot, which no step of the optimizer changes; after every
 * step the trainer publishes the next one.
 *   serve [--requests N] [--workers N] [--check]
 * Outside the tree: cc serve.c $(pkg-config --cflags --libs dlcore) -pthread */
#include <dlcore/dlcore.h>
#include <dlcore/ops.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 784, CLASSES = 10, PROBES = 8, MAX_STEPS = 4096, MAX_WORKERS = 256 };

typedef struct answer {
  float scores[CLASSES];
} answer;

static dlcore_engine *engine;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static dlcore_module *published;
static int64_t requests = 10000, served, wrong;
static int steps;                       /* that the trainer has published */
static answer known[MAX_STEPS][PROBES]; /* what the model of each step answers */

static void probe(int number, float *pixels) {
  uint32_t state = (uint32_t)number * 2654435761u + 1;
  for (int i = 0; i < PIXELS; ++i) {
    state = state * 1664525u + 1013904223u;
    pixels[i] = (float)(state >> 8) / (float)(1 << 24);
  }
}

static int ask(dlcore_context *ctx, dlcore_module *model, int number, answer *to) {
  const int64_t shape[] = {1, PIXELS};
  float pixels[PIXELS];
  dlcore_scope *scope = dlcore_scope_open(ctx);
  probe(number, pixels);
  dlcore_tensor *scores =
      dlcore_module_call(ctx, model, dlcore_tensor_f32(ctx, shape, 2, pixels, PIXELS));
  dlcore_tensor_read_f32(ctx, scores, to->scores, CLASSES);
  dlcore_scope_close(ctx, scope);
  return dlcore_ok(ctx);
}

/* Takes the next request; 0 when there is none, otherwise its number, counted from 1. */
static int64_t next_request(dlcore_module **model) {
  int64_t number = 0;
  pthread_mutex_lock(&lock);
  if (served < requests) number = ++served;
  *model = published;
  dlcore_module_retain(published);
  pthread_mutex_unlock(&lock);
  return number;
}

static void check(int number, const answer *got) {
  int found = 0;
  pthread_mutex_lock(&lock);
  for (int step = 0; step < steps && !found; ++step)
    found = memcmp(&known[step][number], got, sizeof *got) == 0;
  wrong += !found;
  pthread_mutex_unlock(&lock);
}

static void *work(void *checked) {
  dlcore_context *ctx = dlcore_context_open(engine, "cpu", 0, DLCORE_CONTEXT_INFERENCE, NULL);
  for (;;) {
    answer got;
    dlcore_module *model;
    const int64_t request = next_request(&model);
    const int number = (int)(request % PROBES);
    const int good = request != 0 && ask(ctx, model, number, &got);
    dlcore_module_release(model);
    if (!good) break;
    if (checked != NULL) check(number, &got);
  }
  if (!dlcore_ok(ctx)) fprintf(stderr, "worker: %s\n", dlcore_context_error_message(ctx));
  dlcore_context_close(ctx);
  return NULL;
}

/* What the model is now becomes what workers answer from. */
static int publish(dlcore_context *ctx, dlcore_module *model) {
  dlcore_module *snapshot = dlcore_module_snapshot(ctx, model), *before;
  for (int number = 0; number < PROBES; ++number) ask(ctx, snapshot, number, &known[steps][number]);
  if (!dlcore_ok(ctx)) return 0;
  dlcore_module_retain(snapshot); /* for `published`; the context's own goes at once */
  dlcore_module_release(snapshot);
  pthread_mutex_lock(&lock);
  before = published;
  published = snapshot;
  steps += 1;
  pthread_mutex_unlock(&lock);
  dlcore_module_release(before);
  return 1;
}

static int busy(void) {
  pthread_mutex_lock(&lock);
  const int more = served < requests && steps < MAX_STEPS;
  pthread_mutex_unlock(&lock);
  return more;
}

static void train(dlcore_context *ctx, dlcore_module *model) {
  const int64_t shape[] = {64, PIXELS}, labels[] = {64};
  dlcore_optimizer *adam = dlcore_adam(ctx, model, /*lr=*/1e-3);
  dlcore_scope *step = dlcore_scope_open(ctx);
  while (busy()) {
    dlcore_tensor *x = dlcore_random_uniform(ctx, shape, 2);
    dlcore_tensor *y = dlcore_random_integers(ctx, labels, 1, 0, CLASSES);
    dlcore_backward(ctx, dlcore_cross_entropy(ctx, dlcore_module_call(ctx, model, x), y));
    dlcore_optimizer_step(ctx, adam);
    dlcore_scope_reset(ctx, step);
    if (!publish(ctx, model)) break;
  }
  dlcore_scope_close(ctx, step);
}

static int serve(dlcore_context *ctx, int workers, int checked) {
  pthread_t threads[MAX_WORKERS];
  dlcore_module *layers[] = {dlcore_linear_layer(ctx, PIXELS, 256), dlcore_relu_layer(ctx),
                             dlcore_linear_layer(ctx, 256, CLASSES)};
  dlcore_module *model = dlcore_sequential(ctx, layers, 3);
  if (!publish(ctx, model)) return 0;
  for (int i = 0; i < workers; ++i)
    if (pthread_create(&threads[i], NULL, work, checked ? &wrong : NULL) != 0) workers = i;
  train(ctx, model);
  for (int i = 0; i < workers; ++i) pthread_join(threads[i], NULL);
  dlcore_module_release(published);
  printf("%lld requests, %lld wrong, %d steps\n", (long long)served, (long long)wrong, steps);
  return served == requests && wrong == 0;
}

int main(int argc, char **argv) {
  int workers = 32, checked = 0, good;
  for (int i = 1; i < argc; ++i) {
    const int value = i + 1 < argc;
    if (strcmp(argv[i], "--check") == 0) {
      checked = 1;
    } else if (strcmp(argv[i], "--requests") == 0 && value) {
      requests = atoll(argv[++i]);
    } else if (strcmp(argv[i], "--workers") == 0 && value) {
      workers = atoi(argv[++i]);
    } else {
      fprintf(stderr, "%s is not understood: serve [--requests N] [--workers N] [--check]\n",
              argv[i]);
      return 2;
    }
  }
  if (requests < 0 || workers < 1 || workers > MAX_WORKERS) {
    fprintf(stderr, "--requests is %lld, expected 0 or more; --workers is %d, expected 1 to %d\n",
            (long long)requests, workers, MAX_WORKERS);
    return 2;
  }
  engine = dlcore_engine_open(NULL, NULL);
  dlcore_context *ctx = dlcore_context_open(engine, "cpu", /*seed=*/42, /*flags=*/0, NULL);
  good = serve(ctx, workers, checked);
  if (!dlcore_ok(ctx)) fprintf(stderr, "%s\n", dlcore_context_error_message(ctx));
  good = good && dlcore_ok(ctx);
  dlcore_context_close(ctx);
  dlcore_engine_close(engine);
  return good ? 0 : 1;
}
