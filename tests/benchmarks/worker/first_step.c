/* SPDX-License-Identifier: Apache-2.0
 * From the start of the process to a finished training step of the 784-256-128-10 network: says
 * "step LOSS" when it has the loss of the first one, then trains on for STEPS - 1 more.
 *   first_step [STEPS] */
#include <stdio.h>
#include <stdlib.h>

#include "worker.h"

enum { kBatch = 64 };

int main(int argc, char **argv) {
  const long steps = argc > 1 ? atol(argv[1]) : 1;
  const int64_t shape[] = {kBatch, 784};
  static state s;
  dlcore_tensor *x, *labels;
  dlcore_module *model;
  dlcore_optimizer *adam;
  dlcore_scope *turn;
  long i;
  int failed;
  s.engine = dlcore_engine_open(NULL, NULL);
  s.ctx = dlcore_context_open(s.engine, "cpu", /*seed=*/8, 0, NULL);
  x = fill(&s, 100, 2, shape, 2);
  labels = fill_labels(&s, kBatch);
  model = make_mlp(&s);
  adam = dlcore_adam(s.ctx, model, 1e-3);
  turn = dlcore_scope_open(s.ctx);
  for (i = 0; i < steps; ++i) {
    float value = 0;
    dlcore_tensor *loss = dlcore_cross_entropy(s.ctx, dlcore_module_call(s.ctx, model, x), labels);
    dlcore_backward(s.ctx, loss);
    dlcore_optimizer_step(s.ctx, adam);
    dlcore_tensor_read_f32(s.ctx, loss, &value, 1);
    if (i == 0 && dlcore_ok(s.ctx)) {
      printf("step %.9g\n", (double)value);
      fflush(stdout);
    }
    dlcore_scope_reset(s.ctx, turn);
  }
  failed = !dlcore_ok(s.ctx);
  if (failed) fprintf(stderr, "%s\n", dlcore_context_error_message(s.ctx));
  dlcore_context_close(s.ctx);
  dlcore_engine_close(s.engine);
  return failed;
}
