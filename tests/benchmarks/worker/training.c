/* SPDX-License-Identifier: Apache-2.0
 * Training steps, op by op: forward, backward, Adam. */
#include "worker.h"

enum { kBatch = 64 };

static void prepare_training(state *s, dlcore_module *model, dlcore_tensor *x) {
  s->model = model;
  s->x[0] = x;
  s->x[1] = fill_labels(s, kBatch);
  s->optimizer = dlcore_adam(s->ctx, model, 1e-3);
}

static dlcore_tensor *train(state *s) {
  dlcore_context *ctx = s->ctx;
  dlcore_tensor *y = dlcore_module_call(ctx, s->model, s->x[0]);
  dlcore_tensor *loss = dlcore_cross_entropy(ctx, y, s->x[1]);
  dlcore_backward(ctx, loss);
  dlcore_optimizer_step(ctx, s->optimizer);
  return loss;
}

static void prepare_mlp(state *s) {
  const int64_t shape[] = {kBatch, 784};
  prepare_training(s, make_mlp(s), fill(s, 100, 2, shape, 2));
}

static dlcore_module *convolution_layer(state *s, int64_t from, int64_t to) {
  const int32_t layer = find_entry(s, DLCORE_CATALOGUE_LAYERS, "Conv2d");
  const int64_t words[] = {from, to, /*kernel*/ 2, 3, 3, /*no stride*/ 0, /*padding*/ 1, 1, 1};
  return layer < 0 ? NULL : dlcore_module_create(s->ctx, layer, NULL, 0, words, 9);
}

static dlcore_module *pooling_layer(state *s) {
  const int32_t layer = find_entry(s, DLCORE_CATALOGUE_LAYERS, "MaxPool2d");
  const int64_t words[] = {/*kernel*/ 2, 2, 2};
  return layer < 0 ? NULL : dlcore_module_create(s->ctx, layer, NULL, 0, words, 3);
}

/* conv 32, pool, conv 64, pool, 128, 10 on 28x28 images */
static void prepare_cnn(state *s) {
  const int64_t shape[] = {kBatch, 1, 28, 28};
  dlcore_context *ctx = s->ctx;
  dlcore_module *model, *layers[10];
  layers[0] = convolution_layer(s, 1, 32);
  layers[1] = dlcore_relu_layer(ctx);
  layers[2] = pooling_layer(s);
  layers[3] = convolution_layer(s, 32, 64);
  layers[4] = dlcore_relu_layer(ctx);
  layers[5] = pooling_layer(s);
  layers[6] = dlcore_flatten_layer(ctx);
  layers[7] = dlcore_linear_layer(ctx, 3136, 128);
  layers[8] = dlcore_relu_layer(ctx);
  layers[9] = dlcore_linear_layer(ctx, 128, 10);
  if (s->missing != NULL) return;
  model = dlcore_sequential(ctx, layers, 10);
  fill_parameters(s, model);
  prepare_training(s, model, fill(s, 100, 2, shape, 4));
}

/* The update alone: ten matrices of 1000 x 1000 whose gradients stay the same. */
static void prepare_adam(state *s) {
  enum { kMatrices = 10 };
  const int64_t shape[] = {1000, 1000};
  dlcore_module *layers[kMatrices];
  dlcore_linear_layer_options options;
  int64_t i;
  dlcore_linear_layer_options_init(&options, sizeof options);
  options.bias = 0;
  for (i = 0; i < kMatrices; ++i)
    layers[i] = dlcore_linear_layer_ex(s->ctx, shape[1], shape[0], &options);
  s->model = dlcore_sequential(s->ctx, layers, kMatrices);
  fill_parameters(s, s->model);
  s->optimizer = dlcore_adam(s->ctx, s->model, 1e-3);
  for (i = 0; i < kMatrices; ++i)
    dlcore_variable_set_gradient(s->ctx, dlcore_module_variable(s->ctx, s->model, i),
                                 fill(s, (uint32_t)(100 + i), 1e-2f, shape, 2));
}

static dlcore_tensor *update(state *s) {
  dlcore_optimizer_step_keep(s->ctx, s->optimizer);
  return NULL;
}

static dlcore_tensor *first_parameter(state *s) {
  return dlcore_variable_read(s->ctx, dlcore_module_variable(s->ctx, s->model, 0));
}

const benchmark kTrainingBenchmarks[] = {
    {"mlp_step_eager", 0, prepare_mlp, train, NULL, NULL},
    {"cnn_step_eager", 0, prepare_cnn, train, NULL, NULL},
    {"adam_10m", 0, prepare_adam, update, first_parameter, NULL},
    {NULL, 0, NULL, NULL, NULL, NULL},
};
