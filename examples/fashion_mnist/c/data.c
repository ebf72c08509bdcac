/* SPDX-License-Identifier: Apache-2.0 */
#include "data.h"

#include <dlcore/ops.h>
#include <stdio.h>
#include <string.h>

/* Ten fixed random patterns with noise on top: samples [n, 784], labels [n]. */
static dlcore_loader *generated_data(dlcore_context *ctx, int64_t n, uint64_t seed, int64_t batch,
                                     uint64_t flags) {
  const int64_t patterns_shape[] = {10, 784}, samples_shape[] = {n, 784}, labels_shape[] = {n};
  dlcore_tensor *patterns, *noise, *labels, *samples;
  dlcore_context_set_seed(ctx, 7);
  patterns = dlcore_random_uniform(ctx, patterns_shape, 2);
  dlcore_context_set_seed(ctx, seed);
  noise = dlcore_random_uniform(ctx, samples_shape, 2);
  labels = dlcore_random_integers(ctx, labels_shape, 1, 0, 10);
  samples = dlcore_matmul(ctx, dlcore_one_hot(ctx, labels, 10), patterns);
  samples = dlcore_add(ctx, dlcore_multiply_scalar(ctx, samples, 0.5),
                       dlcore_multiply_scalar(ctx, noise, 0.5));
  return dlcore_loader_from_tensors(ctx, samples, labels, batch, flags);
}

dlcore_loader *open_data(dlcore_context *ctx, const char *part, int64_t batch, uint64_t flags,
                         int *generated) {
  const int training = strcmp(part, "train") == 0;
  dlcore_loader *loader;
  char source[32];
  snprintf(source, sizeof source, "fashion-mnist:%s", part);
  loader = dlcore_loader_open(ctx, source, batch, flags);
  if (loader != NULL || dlcore_context_status(ctx) != DLCORE_NOT_FOUND) return loader;
  dlcore_context_clear_error(ctx);
  *generated = 1;
  return training ? generated_data(ctx, 6000, 11, batch, flags)
                  : generated_data(ctx, 1000, 12, batch, flags);
}
