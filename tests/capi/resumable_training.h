// SPDX-License-Identifier: Apache-2.0
// A training that is saved in the midst of it and resumed.
#pragma once

#include <bit>
#include <vector>

#include "support.h"

namespace dlcore::test {

// A training with everything that has state: dropout, moments, a learning rate that changes, a
// shuffling loader whose last batch is smaller.
struct Training {
  Training(dlcore_context* context, const char* optimizer_name, int64_t prefetch, int others = 0)
      : ctx(context) {
    for (int i = 0; i < others; ++i) loader_of(3);  // what decides the names of loaders
    dlcore_module* layers[] = {dlcore_linear_layer(ctx, 6, 16), dlcore_layer_norm_layer(ctx, 16),
                               dlcore_tanh_layer(ctx), dlcore_dropout_layer(ctx, 0.3),
                               dlcore_linear_layer(ctx, 16, 3)};
    model = dlcore_sequential(ctx, layers, 5);
    const int32_t number = dlcore_catalogue_find(ctx, DLCORE_CATALOGUE_OPTIMIZERS, optimizer_name);
    const int64_t words[] = {std::bit_cast<int64_t>(0.01)};
    optimizer = dlcore_optimizer_create(ctx, number, &model, 1, words, 1);
    loader = loader_of(50);
    dlcore_loader_set_prefetch(ctx, loader, prefetch);
    checkpoint = dlcore_checkpoint_create(ctx);
    dlcore_checkpoint_add_module(ctx, checkpoint, "model", model);
    dlcore_checkpoint_add_optimizer(ctx, checkpoint, "optimizer", optimizer);
    dlcore_checkpoint_add_loader(ctx, checkpoint, "data", loader);
  }

  dlcore_loader* loader_of(int64_t n) {
    std::vector<float> x;
    std::vector<int64_t> y;
    for (int64_t i = 0; i < 6 * n; ++i) x.push_back(static_cast<float>(i * 37 % 101) / 101.0f);
    for (int64_t i = 0; i < n; ++i) y.push_back(i % 3);
    const int64_t x_shape[] = {n, 6}, y_shape[] = {n};
    return dlcore_loader_from_tensors(ctx, dlcore_tensor_f32(ctx, x_shape, 2, x.data(), 6 * n),
                                      dlcore_tensor_i64(ctx, y_shape, 1, y.data(), n), 8,
                                      DLCORE_LOADER_SHUFFLE);
  }

  // Losses and labels of some steps; the end of an epoch is no step.
  Doubles run(int steps) {
    Doubles seen;
    dlcore_scope* scope = dlcore_scope_open(ctx);
    for (int i = 0; i < steps;) {
      dlcore_tensor *x, *y;
      if (dlcore_loader_next(ctx, loader, &x, &y) == 0) {
        if (dlcore_ok(ctx) == 0) break;
        seen.push_back(-1);
        continue;
      }
      if (++taken % 5 == 0) {
        dlcore_variable_assign(ctx, dlcore_optimizer_learning_rate(ctx, optimizer, 0),
                               dlcore_tensor_scalar_f64(ctx, 0.02 / taken));
      }
      dlcore_tensor* loss = dlcore_cross_entropy(ctx, dlcore_module_call(ctx, model, x), y);
      dlcore_backward(ctx, loss);
      dlcore_optimizer_step(ctx, optimizer);
      float value = 0;
      dlcore_tensor_read_f32(ctx, loss, &value, 1);
      std::vector<int64_t> labels(static_cast<size_t>(dlcore_tensor_dim(y, 0)));
      dlcore_tensor_read_i64(ctx, y, labels.data(), static_cast<int64_t>(labels.size()));
      seen.push_back(static_cast<double>(value));
      seen.insert(seen.end(), labels.begin(), labels.end());
      dlcore_scope_reset(ctx, scope);
      ++i;
    }
    dlcore_scope_close(ctx, scope);
    return seen;
  }

  dlcore_context* ctx;
  dlcore_module* model;
  dlcore_optimizer* optimizer;
  dlcore_loader* loader;
  dlcore_checkpoint* checkpoint;
  int taken = 0;
};

}  // namespace dlcore::test
