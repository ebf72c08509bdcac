/* SPDX-License-Identifier: Apache-2.0
 * Numbers that every side computes with, and models that hold them. */
#include <math.h>
#include <stdlib.h>

#include "worker.h"

static int64_t product(const int64_t *shape, int32_t rank) {
  int64_t count = 1;
  int32_t i;
  for (i = 0; i < rank; ++i) count *= shape[i];
  return count;
}

void fill_host(float *data, int64_t count, uint32_t seed, float scale) {
  int64_t i;
  for (i = 0; i < count; ++i) {
    const uint32_t hash = ((uint32_t)i + seed * 1000003u) * 2654435761u;
    data[i] = ((float)(hash >> 8) * (1.0f / 16777216.0f) - 0.5f) * scale;
  }
}

dlcore_tensor *fill(state *s, uint32_t seed, float scale, const int64_t *shape, int32_t rank) {
  const int64_t count = product(shape, rank);
  float *data = malloc((size_t)(count ? count : 1) * sizeof *data);
  dlcore_tensor *made;
  if (data == NULL) {
    dlcore_context_set_error(s->ctx, DLCORE_RESOURCE_EXHAUSTED, "fill: no memory");
    return NULL;
  }
  fill_host(data, count, seed, scale);
  made = dlcore_tensor_f32(s->ctx, shape, rank, data, count);
  free(data);
  return made;
}

dlcore_tensor *fill_labels(state *s, int64_t rows) {
  int64_t *data = malloc((size_t)rows * sizeof *data), i;
  dlcore_tensor *made;
  if (data == NULL) {
    dlcore_context_set_error(s->ctx, DLCORE_RESOURCE_EXHAUSTED, "fill_labels: no memory");
    return NULL;
  }
  for (i = 0; i < rows; ++i) data[i] = i * 7 % 10;
  made = dlcore_tensor_i64(s->ctx, &rows, 1, data, rows);
  free(data);
  return made;
}

void fill_parameters(state *s, dlcore_module *model) {
  const int64_t n = dlcore_module_variable_count(model);
  const int32_t recording = dlcore_context_set_recording(s->ctx, 0);
  int64_t i;
  for (i = 0; i < n; ++i) {
    dlcore_variable *variable = dlcore_module_variable(s->ctx, model, i);
    dlcore_tensor *value = dlcore_variable_read(s->ctx, variable), *filled;
    const int32_t rank = dlcore_tensor_rank(value);
    int64_t shape[16];
    int32_t axis;
    double scale = 0.1;
    for (axis = 0; axis < rank && axis < 16; ++axis) shape[axis] = dlcore_tensor_dim(value, axis);
    if (rank > 1) scale = 2 / sqrt((double)(dlcore_tensor_count(value) / shape[0]));
    filled = fill(s, (uint32_t)i + 1, (float)scale, shape, rank);
    dlcore_variable_assign(s->ctx, variable, filled);
    dlcore_tensor_release(value);
    dlcore_tensor_release(filled); /* the variable is then alone, and may be updated in place */
  }
  dlcore_context_set_recording(s->ctx, recording);
}

int32_t find_entry(state *s, int32_t catalogue, const char *name) {
  const int32_t number = dlcore_catalogue_find(NULL, catalogue, name);
  if (number < 0) s->missing = name;
  return number;
}

dlcore_module *make_mlp(state *s) {
  dlcore_context *ctx = s->ctx;
  dlcore_module *layers[] = {dlcore_linear_layer(ctx, 784, 256), dlcore_relu_layer(ctx),
                             dlcore_linear_layer(ctx, 256, 128), dlcore_relu_layer(ctx),
                             dlcore_linear_layer(ctx, 128, 10)};
  dlcore_module *model = dlcore_sequential(ctx, layers, 5);
  fill_parameters(s, model);
  return model;
}
