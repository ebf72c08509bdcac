/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <dlcore/ops.h>
#include <string.h>

static dlcore_module *mlp(dlcore_context *ctx) {
  dlcore_module *layers[] = {dlcore_linear_layer(ctx, 784, 256), dlcore_relu_layer(ctx),
                             dlcore_linear_layer(ctx, 256, 128), dlcore_relu_layer(ctx),
                             dlcore_linear_layer(ctx, 128, 10)};
  return dlcore_sequential(ctx, layers, 5);
}

static dlcore_module *cnn(dlcore_context *ctx) {
  const int64_t image[] = {1, 28, 28}, three[] = {3}, two[] = {2};
  dlcore_conv2d_layer_options same; /* the result has the size of the image */
  dlcore_conv2d_layer_options_init(&same, sizeof same);
  same.init = DLCORE_CONV2D_LAYER_INIT_HE_UNIFORM;
  same.auto_pad = DLCORE_CONV2D_LAYER_AUTO_PAD_SAME_UPPER;
  dlcore_module *layers[] = {dlcore_unflatten_layer(ctx, /*axis=*/1, image, 3),
                             dlcore_conv2d_layer_ex(ctx, 1, 32, three, 1, &same),
                             dlcore_relu_layer(ctx),
                             dlcore_max_pool2d_layer(ctx, two, 1),
                             dlcore_conv2d_layer_ex(ctx, 32, 64, three, 1, &same),
                             dlcore_relu_layer(ctx),
                             dlcore_max_pool2d_layer(ctx, two, 1),
                             dlcore_flatten_layer(ctx),
                             dlcore_linear_layer(ctx, 64 * 7 * 7, 128),
                             dlcore_relu_layer(ctx),
                             dlcore_linear_layer(ctx, 128, 10)};
  return dlcore_sequential(ctx, layers, sizeof layers / sizeof layers[0]);
}

static const model_kind kModels[] = {
    {"mlp", "784-256-128-10, Adam 1e-3, batch 64", "fashion.safetensors", 5, 8, mlp},
    {"cnn", "conv 32, pool, conv 64, pool, 128, 10, Adam 1e-3, batch 64", "cnn.safetensors", 3, 1,
     cnn},
};

const model_kind *model_find(const char *name) {
  size_t i;
  for (i = 0; i < sizeof kModels / sizeof kModels[0]; ++i) {
    if (strcmp(kModels[i].name, name) == 0) return &kModels[i];
  }
  return NULL;
}
