/* SPDX-License-Identifier: Apache-2.0
 * Work bound by memory: elementwise chains, row norms, sums, rows by index, pooling. */
#include <string.h>

#include "worker.h"

enum { kTableRows = 100000, kTableColumns = 128 };

static void prepare_chain(state *s) {
  const int64_t shape[] = {4 << 20};
  s->x[0] = fill(s, 1, 8, shape, 1);
}

/* gelu(2x + 1) * sigmoid(x), op by op; intermediate results go as soon as they are used. */
static dlcore_tensor *chain(state *s) {
  dlcore_context *ctx = s->ctx;
  dlcore_tensor *x = s->x[0], *y;
  dlcore_tensor *twice = dlcore_multiply_scalar(ctx, x, 2.0);
  dlcore_tensor *shifted = dlcore_add_scalar(ctx, twice, 1.0);
  dlcore_tensor *gelu, *gate;
  dlcore_tensor_release(twice);
  gelu = dlcore_gelu(ctx, shifted);
  dlcore_tensor_release(shifted);
  gate = dlcore_sigmoid(ctx, x);
  y = dlcore_multiply(ctx, gelu, gate);
  dlcore_tensor_release(gelu);
  dlcore_tensor_release(gate);
  return y;
}

static void prepare_softmax(state *s) {
  const int64_t shape[] = {8192, 1000};
  s->x[0] = fill(s, 1, 8, shape, 2);
}
static dlcore_tensor *softmax(state *s) { return dlcore_softmax(s->ctx, s->x[0], -1); }

static void prepare_layer_norm(state *s) {
  const int64_t shape[] = {8192, 768};
  s->x[0] = fill(s, 1, 8, shape, 2);
  s->x[1] = fill(s, 2, 1, shape + 1, 1);
  s->x[2] = fill(s, 3, 1, shape + 1, 1);
}
static dlcore_tensor *layer_norm(state *s) {
  return dlcore_layer_norm(s->ctx, s->x[0], s->x[1], s->x[2]);
}

static dlcore_tensor *sum_over(state *s, dlcore_tensor *x, int64_t axis) {
  dlcore_sum_options options;
  dlcore_sum_options_init(&options, sizeof options);
  options.has_axes = 1;
  options.n_axes = 1;
  options.axes[0] = axis;
  return dlcore_sum_ex(s->ctx, x, &options);
}

static void prepare_sum(state *s) {
  const int64_t shape[] = {2048, 2048};
  s->x[0] = fill(s, 1, 1, shape, 2);
}
static dlcore_tensor *sum_all(state *s) { return dlcore_sum(s->ctx, s->x[0]); }
static dlcore_tensor *sum_axis0(state *s) { return sum_over(s, s->x[0], 0); }

/* Parts: "columns" sums every second column, "transposed" the rows of a transpose. */
static void prepare_strided(state *s) {
  const int64_t shape[] = {2048, 4096}, starts[] = {0, 0}, stops[] = {2048, 4096}, axes[] = {1, 0};
  prepare_sum(s);
  if (strcmp(s->part, "columns") == 0) {
    dlcore_slice_options options;
    dlcore_slice_options_init(&options, sizeof options);
    options.has_steps = 1;
    options.n_steps = 2;
    options.steps[0] = 1;
    options.steps[1] = 2;
    s->x[0] = dlcore_slice_ex(s->ctx, fill(s, 1, 1, shape, 2), starts, 2, stops, 2, &options);
  } else {
    s->x[0] = dlcore_permute_dims(s->ctx, s->x[0], axes, 2);
  }
}
static dlcore_tensor *sum_strided(state *s) {
  return strcmp(s->part, "columns") == 0 ? sum_all(s) : sum_over(s, s->x[0], 1);
}

static void prepare_gather(state *s) {
  const int64_t table[] = {kTableRows, kTableColumns}, rows[] = {kTableRows};
  static int64_t indices[kTableRows];
  int64_t i;
  for (i = 0; i < kTableRows; ++i) indices[i] = (int64_t)((uint64_t)i * 2654435761u % kTableRows);
  s->op = find_entry(s, DLCORE_CATALOGUE_OPS, "take");
  s->x[0] = fill(s, 1, 1, table, 2);
  s->x[1] = dlcore_tensor_i64(s->ctx, rows, 1, indices, kTableRows);
}
static dlcore_tensor *gather(state *s) {
  static const int64_t kAxis[] = {0};
  return dlcore_op_call2(s->ctx, s->op, s->x[0], s->x[1], kAxis, 1);
}

static void prepare_pool(state *s) {
  const int64_t shape[] = {64, 32, 28, 28};
  s->op = find_entry(s, DLCORE_CATALOGUE_OPS, "max_pool2d");
  s->x[0] = fill(s, 1, 1, shape, 4);
}
static dlcore_tensor *pool(state *s) {
  static const int64_t kKernel[] = {2, 2, 2};
  return dlcore_op_call1(s->ctx, s->op, s->x[0], kKernel, 3);
}

const benchmark kMemoryBenchmarks[] = {
    {"chain_eager", DLCORE_CONTEXT_INFERENCE, prepare_chain, chain, NULL, NULL},
    {"softmax_rows", DLCORE_CONTEXT_INFERENCE, prepare_softmax, softmax, NULL, NULL},
    {"layer_norm_rows", DLCORE_CONTEXT_INFERENCE, prepare_layer_norm, layer_norm, NULL, NULL},
    {"sum_all_4m", DLCORE_CONTEXT_INFERENCE, prepare_sum, sum_all, NULL, NULL},
    {"sum_axis0", DLCORE_CONTEXT_INFERENCE, prepare_sum, sum_axis0, NULL, NULL},
    {"sum_strided", DLCORE_CONTEXT_INFERENCE, prepare_strided, sum_strided, NULL, NULL},
    {"gather_rows", DLCORE_CONTEXT_INFERENCE, prepare_gather, gather, NULL, NULL},
    {"max_pool", DLCORE_CONTEXT_INFERENCE, prepare_pool, pool, NULL, NULL},
    {NULL, 0, NULL, NULL, NULL, NULL},
};
