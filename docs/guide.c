/* SPDX-License-Identifier: Apache-2.0
 * The program behind guide-c.md, which quotes it piece by piece. Exits with 0 when everything in it holds.
 *     cc -std=c99 guide.c -o guide $(pkg-config --cflags --libs dlcore) -lpthread */
#include <dlcore/dlcore.h>
#include <dlcore/ops.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "does not hold: %s\n", what);
  ++failures;
}

/* ---- Opening an engine --------------------------------------------------------------------- */

static dlcore_engine *open_engine(void) {
  dlcore_error *error = NULL;
  dlcore_engine_options options;
  dlcore_engine_options_init(&options, sizeof options);
  options.threads = 2;                      /* 0: as many as this process may use */
  options.memory_limit = UINT64_C(1) << 30; /* bytes of tensors on each device; 0: none */
  dlcore_engine *engine = dlcore_engine_open(&options, &error);
  if (engine == NULL) {
    fprintf(stderr, "%s: %s\n", dlcore_status_name(dlcore_error_code(error)), dlcore_error_message(error));
    dlcore_error_release(error);
  }
  return engine;
}

/* ---- Errors -------------------------------------------------------------------------------- */

static void errors(dlcore_context *ctx) {
  const int64_t two_by_three[] = {2, 3};
  dlcore_tensor *a = dlcore_full(ctx, two_by_three, 2, 1.0);
  dlcore_tensor *b = dlcore_full(ctx, two_by_three, 2, 1.0);
  dlcore_tensor *y = dlcore_relu(ctx, dlcore_matmul(ctx, a, b)); /* matmul fails; relu does nothing */
  if (!dlcore_ok(ctx)) {
    dlcore_error *error = dlcore_context_take_error(ctx); /* from here on calls run again */
    printf("%s in op '%s': %s\n", dlcore_status_name(dlcore_error_code(error)), dlcore_error_op(error),
           dlcore_error_message(error));
    dlcore_error_release(error);
  }
  expect(y == NULL && dlcore_ok(ctx), "errors");
}

/* ---- Scopes -------------------------------------------------------------------------------- */

static void scopes(dlcore_context *ctx) {
  dlcore_tensor *total = dlcore_tensor_scalar_f32(ctx, 0);
  dlcore_scope *scope = dlcore_scope_open(ctx);
  for (int i = 0; i < 1000; ++i) {
    const int64_t shape[] = {64};
    dlcore_tensor *next = dlcore_add(ctx, total, dlcore_mean(ctx, dlcore_random_uniform(ctx, shape, 1)));
    dlcore_scope_keep(ctx, next);   /* moves it to the enclosing scope */
    dlcore_tensor_release(total);   /* early, and allowed */
    total = next;
    dlcore_scope_reset(ctx, scope); /* releases what this turn made */
  }
  dlcore_scope_close(ctx, scope);
  float sum = 0;
  dlcore_tensor_read_f32(ctx, total, &sum, 1);
  expect(sum > 480 && sum < 520, "scopes");
}

/* ---- Tensors ------------------------------------------------------------------------------- */

static void tensors(dlcore_context *ctx) {
  const int64_t shape[] = {2, 3};
  const float values[] = {1, 2, 3, 4, 5, 6};
  dlcore_tensor *x = dlcore_tensor_f32(ctx, shape, 2, values, 6);

  const int64_t axes[] = {1, 0};
  dlcore_tensor *t = dlcore_permute_dims(ctx, x, axes, 2); /* a view: no element is copied */
  dlcore_tensor_description d;
  d.struct_size = sizeof d;
  dlcore_tensor_describe(ctx, t, &d);
  expect(d.dtype == DLCORE_F32 && d.shape[0] == 3 && d.strides[0] == 1 && !d.is_contiguous, "a view");

  float read[6];
  dlcore_tensor_read_f32(ctx, t, read, 6); /* in row-major order of the view: 1 4 2 5 3 6 */
  expect(read[1] == 4, "reading a view");

  char text[256];
  dlcore_tensor_to_string(ctx, t, text, sizeof text);
  puts(text);
}

/* ---- Ops ----------------------------------------------------------------------------------- */

static void ops(dlcore_context *ctx) {
  const int64_t shape[] = {2, 3};
  const float values[] = {1, 2, 3, 4, 5, 6};
  dlcore_tensor *x = dlcore_tensor_f32(ctx, shape, 2, values, 6);

  dlcore_tensor *y = dlcore_add_scalar(ctx, dlcore_multiply_scalar(ctx, x, 2), 1); /* 2x + 1 */

  dlcore_sum_options options; /* what is not usually given */
  dlcore_sum_options_init(&options, sizeof options);
  options.has_axes = 1;
  options.n_axes = 1;
  options.axes[0] = -1;
  options.keepdims = 1;
  dlcore_tensor *rows = dlcore_sum_ex(ctx, y, &options); /* [2, 1] */

  dlcore_tensor *share = dlcore_divide(ctx, y, rows); /* broadcasts to [2, 3] */
  float read[6];
  dlcore_tensor_read_f32(ctx, share, read, 6);
  expect(read[0] == 3.0f / 15.0f, "ops");

  const int32_t op = dlcore_catalogue_find(ctx, DLCORE_CATALOGUE_OPS, "softmax"); /* any op by its name */
  const int64_t words[] = {-1};                                                  /* attribute: axis */
  dlcore_tensor *p = dlcore_op_call1(ctx, op, x, words, 1);
  expect(dlcore_tensor_rank(p) == 2, "an op by its name");
}

/* ---- Derivatives --------------------------------------------------------------------------- */

static void derivatives(dlcore_context *ctx) {
  dlcore_tensor *x = dlcore_autograd_watch(ctx, dlcore_tensor_scalar_f64(ctx, 0.5));
  dlcore_tensor *y = dlcore_multiply(ctx, dlcore_sin(ctx, x), x); /* x sin x */

  dlcore_grad_options options;
  dlcore_grad_options_init(&options, sizeof options);
  options.create_graph = 1; /* the gradient has history of its own */
  dlcore_tensor *first = NULL, *second = NULL;
  dlcore_autograd_grad(ctx, &y, 1, &x, 1, /*seeds=*/NULL, &options, &first);
  dlcore_autograd_grad(ctx, &first, 1, &x, 1, NULL, NULL, &second);

  double d1 = 0, d2 = 0;
  dlcore_tensor_read_f64(ctx, first, &d1, 1);  /* sin x + x cos x = 0.918217... */
  dlcore_tensor_read_f64(ctx, second, &d2, 1); /* 2 cos x - x sin x = 1.515452... */
  expect(d1 > 0.91821 && d1 < 0.91822 && d2 > 1.51545 && d2 < 1.51546, "derivatives");
}

/* A forward derivative for each of many inputs at once: both levels nest in any order. */
static void levels(dlcore_context *ctx) {
  const int64_t shape[] = {3};
  const double points[] = {0.0, 0.5, 1.0};
  double slopes[3] = {0};
  dlcore_tensor *batch = dlcore_tensor_f64(ctx, shape, 1, points, 3);

  dlcore_transform *examples = dlcore_vmap_open(ctx, 3);
  dlcore_tensor *x = dlcore_vmap_lift(ctx, examples, batch, 0); /* rank 0 for what follows */
  dlcore_transform *forward = dlcore_jvp_open(ctx);
  dlcore_tensor *moving = dlcore_jvp_lift(ctx, forward, x, dlcore_tensor_scalar_f64(ctx, 1));
  dlcore_tensor *slope = dlcore_jvp_tangent(ctx, forward, dlcore_tanh(ctx, moving));
  dlcore_transform_close(ctx, forward);
  dlcore_tensor *all = dlcore_vmap_lower(ctx, examples, slope, 0); /* [3] again */
  dlcore_transform_close(ctx, examples);

  dlcore_tensor_read_f64(ctx, all, slopes, 3); /* 1 - tanh(x)^2 */
  expect(slopes[0] == 1 && slopes[2] > 0.41997 && slopes[2] < 0.41998, "levels");
}

/* ---- Data, models, training ---------------------------------------------------------------- */

/* Points in the plane, and on which side of the circle of radius 1 they lie. */
static dlcore_loader *circle(dlcore_context *ctx, int64_t n, int64_t batch) {
  const int64_t shape[] = {n, 2};
  dlcore_sum_options over_columns;
  dlcore_sum_options_init(&over_columns, sizeof over_columns);
  over_columns.has_axes = 1;
  over_columns.n_axes = 1;
  over_columns.axes[0] = 1;
  dlcore_tensor *points = dlcore_random_normal(ctx, shape, 2);
  dlcore_tensor *radius = dlcore_sum_ex(ctx, dlcore_square(ctx, points), &over_columns);
  dlcore_tensor *labels = dlcore_astype(ctx, dlcore_less_scalar(ctx, radius, 1), DLCORE_I64);
  return dlcore_loader_from_tensors(ctx, points, labels, batch, DLCORE_LOADER_SHUFFLE);
}

static dlcore_module *classifier(dlcore_context *ctx) {
  dlcore_module *layers[] = {dlcore_linear_layer(ctx, 2, 32), dlcore_tanh_layer(ctx), dlcore_dropout_layer(ctx, 0.1),
                             dlcore_linear_layer(ctx, 32, 2)};
  return dlcore_sequential(ctx, layers, 4);
}

static float train(dlcore_context *ctx, dlcore_module *model, dlcore_loader *data, int epochs) {
  float last = 0;
  dlcore_optimizer *adam = dlcore_adam(ctx, model, /*lr=*/1e-2);
  dlcore_scope *step = dlcore_scope_open(ctx); /* owns what a step makes */
  dlcore_tensor *x, *y;
  for (int epoch = 0; epoch < epochs && dlcore_ok(ctx); ++epoch) {
    if (epoch == epochs / 2) {
      dlcore_variable_assign(ctx, dlcore_optimizer_learning_rate(ctx, adam, 0), dlcore_tensor_scalar_f64(ctx, 1e-3));
    }
    while (dlcore_loader_next(ctx, data, &x, &y)) {
      dlcore_tensor *loss = dlcore_cross_entropy(ctx, dlcore_module_call(ctx, model, x), y);
      dlcore_backward(ctx, loss);
      dlcore_optimizer_clip_gradients(ctx, adam, /*max_norm=*/1);
      dlcore_optimizer_step(ctx, adam); /* uses the gradients and clears them */
      dlcore_tensor_read_f32(ctx, loss, &last, 1);
      dlcore_scope_reset(ctx, step);
    }
  }
  dlcore_scope_close(ctx, step);
  return last;
}

static double accuracy(dlcore_context *ctx, dlcore_module *model, dlcore_loader *data) {
  const int32_t recording = dlcore_context_set_recording(ctx, 0); /* no history */
  const int32_t training = dlcore_context_set_training(ctx, 0);   /* no dropout */
  dlcore_scope *scope = dlcore_scope_open(ctx);
  dlcore_tensor *x, *y;
  int64_t right = 0, seen = 0, hits = 0;
  while (dlcore_loader_next(ctx, data, &x, &y)) {
    dlcore_tensor *hit = dlcore_equal(ctx, dlcore_argmax(ctx, dlcore_module_call(ctx, model, x), /*axis=*/1), y);
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

/* ---- Saving -------------------------------------------------------------------------------- */

static void saving(dlcore_context *ctx, dlcore_module *model, const char *path) {
  dlcore_module_save(ctx, model, path);
  dlcore_module *copy = classifier(ctx);
  dlcore_module_load(ctx, copy, path);

  dlcore_archive *archive = dlcore_archive_open(ctx, path); /* any tensor of any safetensors file */
  for (int64_t i = 0; i < dlcore_archive_count(archive); ++i) puts(dlcore_archive_name(archive, i));
  dlcore_tensor *weight = dlcore_archive_tensor(ctx, archive, "0.weight");
  expect(dlcore_tensor_dim(weight, 0) == 32, "saving");
}

/* ---- Checkpoints --------------------------------------------------------------------------- */

/* The rate rises for 10 steps, then falls along a cosine for 30. */
static void schedules(dlcore_context *ctx, dlcore_loader *data) {
  dlcore_module *model = classifier(ctx);
  dlcore_optimizer *adam = dlcore_adam(ctx, model, /*lr=*/1e-2); /* the highest rate */
  dlcore_schedule *rates = dlcore_warmup_cosine(ctx, adam, /*warmup_steps=*/10, /*total_steps=*/40);
  dlcore_scope *step = dlcore_scope_open(ctx);
  dlcore_tensor *x, *y;
  while (dlcore_loader_next(ctx, data, &x, &y)) { /* 40 batches */
    dlcore_backward(ctx, dlcore_cross_entropy(ctx, dlcore_module_call(ctx, model, x), y));
    dlcore_optimizer_step(ctx, adam);
    dlcore_schedule_step(ctx, rates); /* sets the rate of the next step */
    dlcore_scope_reset(ctx, step);
  }
  dlcore_scope_close(ctx, step);
  double rate = 1;
  dlcore_tensor_read_f64(ctx, dlcore_variable_read(ctx, dlcore_optimizer_learning_rate(ctx, adam, 0)), &rate, 1);
  expect(rate == 0, "schedules");
}

/* Everything that a training consists of. */
typedef struct training {
  dlcore_module *model;
  dlcore_optimizer *adam;
  dlcore_loader *data;
  dlcore_checkpoint *checkpoint;
} training;

static training start(dlcore_context *ctx, dlcore_tensor *points, dlcore_tensor *labels) {
  training t;
  t.model = classifier(ctx);
  t.adam = dlcore_adam(ctx, t.model, 1e-2);
  t.data = dlcore_loader_from_tensors(ctx, points, labels, 50, DLCORE_LOADER_SHUFFLE);
  dlcore_loader_set_prefetch(ctx, t.data, 2); /* two batches ahead, on a thread of the loader's own */
  t.checkpoint = dlcore_checkpoint_create(ctx);
  dlcore_checkpoint_add_module(ctx, t.checkpoint, "model", t.model);
  dlcore_checkpoint_add_optimizer(ctx, t.checkpoint, "adam", t.adam);
  dlcore_checkpoint_add_loader(ctx, t.checkpoint, "data", t.data);
  return t;
}

static float steps(dlcore_context *ctx, training *t, int n) {
  float last = 0;
  dlcore_scope *scope = dlcore_scope_open(ctx);
  dlcore_tensor *x, *y;
  while (n > 0 && dlcore_ok(ctx)) {
    if (!dlcore_loader_next(ctx, t->data, &x, &y)) continue; /* the end of an epoch */
    dlcore_tensor *loss = dlcore_cross_entropy(ctx, dlcore_module_call(ctx, t->model, x), y);
    dlcore_backward(ctx, loss);
    dlcore_optimizer_step(ctx, t->adam);
    dlcore_tensor_read_f32(ctx, loss, &last, 1);
    dlcore_scope_reset(ctx, scope);
    --n;
  }
  dlcore_scope_close(ctx, scope);
  return last;
}

static void checkpoints(dlcore_context *ctx, dlcore_tensor *points, dlcore_tensor *labels, const char *path) {
  training one = start(ctx, points, labels);
  steps(ctx, &one, 60);
  dlcore_checkpoint_set_text(ctx, one.checkpoint, "steps", "60");
  dlcore_checkpoint_save(ctx, one.checkpoint, path);
  const float straight = steps(ctx, &one, 60);

  training two = start(ctx, points, labels); /* as another process would */
  dlcore_checkpoint_load(ctx, two.checkpoint, path);
  if (*dlcore_checkpoint_warning(two.checkpoint)) puts(dlcore_checkpoint_warning(two.checkpoint));
  const char *taken = dlcore_checkpoint_text(two.checkpoint, "steps");
  expect(taken != NULL && strcmp(taken, "60") == 0, "a text");
  expect(steps(ctx, &two, 60) == straight, "checkpoints"); /* every bit of it */
}

/* ---- Snapshots ----------------------------------------------------------------------------- */

static void snapshots(dlcore_context *ctx, dlcore_module *model) {
  const int64_t shape[] = {1, 2};
  const float point[] = {0.5f, 0.5f};
  dlcore_tensor *x = dlcore_tensor_f32(ctx, shape, 2, point, 2);
  float before[2], after[2];

  dlcore_module *frozen = dlcore_module_snapshot(ctx, model);
  dlcore_tensor_read_f32(ctx, dlcore_module_call(ctx, frozen, x), before, 2);

  dlcore_variable *bias = dlcore_module_find(ctx, model, "3.bias"); /* the model moves on */
  dlcore_tensor *old = dlcore_variable_read(ctx, bias);
  dlcore_variable_assign(ctx, bias, dlcore_add_scalar(ctx, old, 1));
  dlcore_tensor_read_f32(ctx, dlcore_module_call(ctx, frozen, x), after, 2);
  expect(before[0] == after[0] && before[1] == after[1], "snapshots");
  dlcore_variable_assign(ctx, bias, old);
}

/* ---- Capture ------------------------------------------------------------------------------- */

static void capture(dlcore_context *ctx, dlcore_module *model, dlcore_loader *data) {
  dlcore_optimizer *sgd = dlcore_sgd(ctx, model, 1e-2);

  dlcore_capture_begin(ctx, "step");
  dlcore_tensor *x = dlcore_capture_input(ctx, "x", DLCORE_F32, "[B, 2]"); /* B: any size */
  dlcore_tensor *y = dlcore_capture_input(ctx, "y", DLCORE_I64, "[B]");
  dlcore_tensor *loss = dlcore_cross_entropy(ctx, dlcore_module_call(ctx, model, x), y);
  dlcore_backward(ctx, loss);
  dlcore_optimizer_step(ctx, sgd);
  dlcore_graph *graph = dlcore_capture_end(ctx, &loss, 1); /* nothing has been computed yet */

  char text[32768];
  dlcore_graph_to_text(ctx, graph, text, sizeof text);
  printf("%.60s...\n", text);

  dlcore_executable *step = dlcore_graph_compile(ctx, dlcore_graph_apply(ctx, graph, "cse"), NULL, 0);
  dlcore_tensor *inputs[2], *outputs[1];
  float value = 0;
  while (dlcore_loader_next(ctx, data, &inputs[0], &inputs[1])) {
    dlcore_executable_run(ctx, step, inputs, 2, outputs, 1); /* updates the model's variables */
    dlcore_tensor_read_f32(ctx, outputs[0], &value, 1);
  }
  expect(value > 0, "capture");
}

/* ---- An op of one's own -------------------------------------------------------------------- */

static dlcore_status cube_infer(void *user_data, dlcore_context *child, dlcore_op_call *call) {
  (void)user_data, (void)child;
  return dlcore_op_call_set_output_like(call, 0, dlcore_op_call_input(call, 0));
}

static dlcore_status cube_forward(void *user_data, dlcore_context *child, dlcore_op_call *call) {
  dlcore_tensor *x = dlcore_op_call_input(call, 0);
  (void)user_data;
  return dlcore_op_call_set_output(call, 0, dlcore_multiply(child, dlcore_square(child, x), x));
}

/* Written in ops, so that it has derivatives of its own. */
static dlcore_status cube_backward(void *user_data, dlcore_context *child, dlcore_op_call *call) {
  dlcore_tensor *slope = dlcore_multiply_scalar(child, dlcore_square(child, dlcore_op_call_input(call, 0)), 3);
  (void)user_data;
  return dlcore_op_call_set_input_gradient(call, 0, dlcore_multiply(child, dlcore_op_call_gradient(call, 0), slope));
}

static dlcore_status cube_of_sum(void *op, dlcore_context *ctx, dlcore_tensor *const *inputs, int64_t n_inputs,
                                 dlcore_tensor **output) {
  (void)n_inputs;
  *output = dlcore_op_call1(ctx, *(const int32_t *)op, dlcore_sum(ctx, inputs[0]), NULL, 0);
  return dlcore_context_status(ctx);
}

static void custom_op(dlcore_context *ctx) {
  int32_t cube = 0;
  dlcore_op_register(ctx, "cube", /*n_inputs=*/1, /*n_outputs=*/1, /*n_attrs=*/0, cube_infer, cube_forward,
                     cube_backward, /*user_data=*/NULL, /*destroy=*/NULL, &cube);

  const int64_t shape[] = {3};
  const double values[] = {0.3, -0.7, 1.1};
  dlcore_tensor *x = dlcore_tensor_f64(ctx, shape, 1, values, 3);
  expect(dlcore_gradcheck(ctx, cube_of_sum, &cube, &x, 1, /*order=*/2, /*tolerance=*/0) == DLCORE_OK, "custom op");
}

/* ---- Threads ------------------------------------------------------------------------------- */

typedef struct worker {
  dlcore_engine *engine;
  dlcore_module *model;
  double answer;
} worker;

/* Each thread has a context of its own; the engine, the model and tensors are shared. */
static void *serve(void *argument) {
  worker *w = argument;
  dlcore_context *ctx = dlcore_context_open(w->engine, "cpu", /*seed=*/0, DLCORE_CONTEXT_INFERENCE, NULL);
  const int64_t shape[] = {1, 2};
  const float point[] = {0, 0};
  float scores[2] = {0, 0};
  dlcore_context_set_deadline(ctx, /*milliseconds=*/10000);
  dlcore_tensor *logits = dlcore_module_call(ctx, w->model, dlcore_tensor_f32(ctx, shape, 2, point, 2));
  dlcore_tensor_read_f32(ctx, dlcore_softmax(ctx, logits, -1), scores, 2);
  w->answer = dlcore_ok(ctx) ? (double)scores[1] : -1;
  dlcore_context_close(ctx);
  return NULL;
}

static void threads(dlcore_engine *engine, dlcore_module *model) {
  pthread_t ids[4];
  worker workers[4];
  for (int i = 0; i < 4; ++i) {
    workers[i].engine = engine;
    workers[i].model = model;
    pthread_create(&ids[i], NULL, serve, &workers[i]);
  }
  for (int i = 0; i < 4; ++i) pthread_join(ids[i], NULL);
  for (int i = 0; i < 4; ++i) expect(workers[i].answer > 0.5 && workers[i].answer == workers[0].answer, "threads");
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "circle.safetensors";
  dlcore_engine *engine = open_engine();
  dlcore_context *ctx = dlcore_context_open(engine, "cpu", /*seed=*/42, /*flags=*/0, NULL);

  errors(ctx);
  scopes(ctx);
  tensors(ctx);
  ops(ctx);
  derivatives(ctx);
  levels(ctx);
  dlcore_loader *data = circle(ctx, 2000, 50);
  dlcore_module *model = classifier(ctx);
  printf("loss %.6f\n", (double)train(ctx, model, data, 10));
  printf("accuracy %.4f\n", accuracy(ctx, model, data));
  expect(accuracy(ctx, model, data) > 0.9, "training");
  schedules(ctx, data);
  saving(ctx, model, path);
  dlcore_tensor *points = dlcore_random_normal(ctx, (const int64_t[]){500, 2}, 2);
  dlcore_tensor *labels = dlcore_astype(ctx, dlcore_full(ctx, (const int64_t[]){500}, 1, 1), DLCORE_I64);
  checkpoints(ctx, points, labels, path);
  snapshots(ctx, model);
  capture(ctx, model, data);
  custom_op(ctx);
  threads(engine, model);

  if (!dlcore_ok(ctx)) fprintf(stderr, "%s\n", dlcore_context_error_message(ctx));
  const int failed = failures > 0 || !dlcore_ok(ctx);
  dlcore_context_close(ctx); /* and with it everything it made */
  dlcore_engine_close(engine);
  return failed;
}
