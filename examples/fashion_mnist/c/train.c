/* SPDX-License-Identifier: Apache-2.0
 * Trains a small classifier on Fashion-MNIST, saves it, loads it back and reports its accuracy.
 * Outside the tree: cc train.c model.c data.c options.c progress.c $(pkg-config --cflags --libs
 * dlcore) */
#include <dlcore/dlcore.h>
#include <dlcore/ops.h> /* generated: one typed inline function per op and layer */
#include <stdio.h>

#include "data.h"
#include "model.h"
#include "options.h"
#include "progress.h"

static double accuracy(dlcore_context *ctx, dlcore_module *model, dlcore_loader *test) {
  dlcore_scope *scope = dlcore_scope_open(ctx);
  int64_t right = 0, seen = 0, hits = 0;
  int32_t recording = dlcore_context_set_recording(ctx, 0),
          training = dlcore_context_set_training(ctx, 0);
  dlcore_tensor *x, *y;
  while (dlcore_loader_next(ctx, test, &x, &y)) {
    dlcore_tensor *hit =
        dlcore_equal(ctx, dlcore_argmax(ctx, dlcore_module_call(ctx, model, x), /*axis=*/1), y);
    dlcore_tensor_read_i64(ctx, dlcore_sum(ctx, hit), &hits, 1);
    right += hits;
    seen += dlcore_tensor_dim(y, 0);
    dlcore_scope_reset(ctx, scope);
  }
  dlcore_scope_close(ctx, scope);
  dlcore_context_set_recording(ctx, recording);
  dlcore_context_set_training(ctx, training);
  return seen ? (double)right / (double)seen : 0;
}

/* One pass over the data; returns the last loss. *steps counts over all passes. */
static float train_epoch(dlcore_context *ctx, dlcore_module *model, dlcore_optimizer *adam,
                         dlcore_loader *train, const char *title, const options *o, FILE *losses,
                         int64_t *steps) {
  float last = 0;
  int64_t seen = 0;
  progress bar = progress_start(title, dlcore_loader_samples(train));
  dlcore_scope *step = dlcore_scope_open(ctx); /* owns what a step makes */
  dlcore_tensor *x, *y;
  while ((o->limit == 0 || *steps < o->limit) && dlcore_loader_next(ctx, train, &x, &y)) {
    dlcore_tensor *loss = dlcore_cross_entropy(ctx, dlcore_module_call(ctx, model, x), y);
    dlcore_backward(ctx, loss);
    dlcore_optimizer_step(ctx, adam); /* uses the gradients and clears them */
    dlcore_tensor_read_f32(ctx, loss, &last, 1);
    seen += dlcore_tensor_dim(x, 0);
    *steps += 1;
    if (losses != NULL && dlcore_ok(ctx)) fprintf(losses, "%a\n", (double)last);
    progress_show(&bar, seen, last);
    dlcore_scope_reset(ctx, step);
  }
  dlcore_scope_close(ctx, step);
  progress_end(&bar, seen, last);
  return last;
}

static void run(dlcore_context *ctx, const options *o, FILE *losses) {
  int generated = 0;
  int64_t epoch;
  int64_t steps = 0;
  float last = 0;
  const double start = seconds_now();
  dlcore_loader *train = open_data(ctx, "train", /*batch=*/64, DLCORE_LOADER_SHUFFLE, &generated);
  dlcore_loader *test = open_data(ctx, "test", /*batch=*/1000, 0, &generated);
  dlcore_module *model = o->model->make(ctx), *copy = o->model->make(ctx);
  dlcore_optimizer *adam = dlcore_adam(ctx, model, /*lr=*/1e-3);
  dlcore_checkpoint *state = dlcore_checkpoint_create(ctx);
  dlcore_checkpoint_add_module(ctx, state, "model", model);
  dlcore_checkpoint_add_optimizer(ctx, state, "adam", adam);
  dlcore_checkpoint_add_loader(ctx, state, "train", train);
  if (o->resume != NULL) dlcore_checkpoint_load(ctx, state, o->resume);
  if (generated)
    puts(
        "Fashion-MNIST is not installed (package dataset-fashion-mnist): using generated data "
        "instead");

  /* errors stick to the context: loops end at the first failure, and it is reported once, by main
   */
  for (epoch = dlcore_loader_epoch(train); epoch < o->epochs && dlcore_ok(ctx) && (o->limit == 0 || steps < o->limit);
       ++epoch) {
    char title[32];
    snprintf(title, sizeof title, "epoch %d/%d", (int)epoch + 1, o->epochs);
    last = train_epoch(ctx, model, adam, train, title, o, losses, &steps);
  }

  if (o->checkpoint != NULL) dlcore_checkpoint_save(ctx, state, o->checkpoint);
  dlcore_module_save(ctx, model, o->save);
  dlcore_module_load(ctx, copy, o->save);
  if (dlcore_ok(ctx)) {
    const double taken = seconds_now() - start, share = accuracy(ctx, copy, test);
    printf(
        "\n  model     %s\n  data      %s, %lld images\n  steps     %lld in %.1f s\n"
        "  loss      %.6f\n  saved as  %s\n\n",
        o->model->description, generated ? "generated" : "Fashion-MNIST",
        (long long)dlcore_loader_samples(train), (long long)steps, taken, (double)last,
        o->save);
    if (dlcore_ok(ctx)) printf("accuracy %.4f\n", share);
  }
}

int main(int argc, char **argv) {
  options o;
  int status;
  dlcore_engine_options settings;
  dlcore_engine *engine;
  dlcore_context *ctx = NULL;
  dlcore_error *error = NULL;
  FILE *losses = NULL;
  if (!options_parse(argc, argv, &o, &status)) return status;

  dlcore_engine_options_init(&settings, sizeof settings);
  settings.threads = o.threads;
  engine = dlcore_engine_open(&settings, &error);
  if (error == NULL && o.plugin != NULL) dlcore_engine_load_plugin(engine, o.plugin, &error);
  if (error == NULL) ctx = dlcore_context_open(engine, o.device, o.seed, /*flags=*/0, &error);
  if (error != NULL) {
    fprintf(stderr, "%s\n", dlcore_error_message(error));
    dlcore_error_release(error);
    dlcore_engine_close(engine);
    return 1;
  }
  if (o.losses != NULL && (losses = fopen(o.losses, "w")) == NULL) perror(o.losses);
  dlcore_context_set_data_directory(ctx, o.data);

  run(ctx, &o, losses);

  status = !dlcore_ok(ctx);
  if (status) fprintf(stderr, "%s\n", dlcore_context_error_message(ctx));
  if (losses != NULL) fclose(losses);
  dlcore_context_close(ctx); /* and with it everything it made */
  dlcore_engine_close(engine);
  return status;
}
