/* SPDX-License-Identifier: Apache-2.0
 *
 * A call of an op in one structure without pointers: the cheapest way across the border. */
#ifndef DLCORE_GO_CALL_H
#define DLCORE_GO_CALL_H

#include <dlcore/dlcore.h>

typedef struct go_call {
  uintptr_t ctx;
  uintptr_t inputs[3];
  int64_t words[14];
  int32_t op, n_inputs, n_words;
  int32_t scalar_kind, side; /* of go_call_scalar, whose scalar is words[0] */
} go_call;

static inline uintptr_t go_call_op(const go_call *c) {
  dlcore_context *ctx = (dlcore_context *)c->ctx;
  dlcore_tensor *a = (dlcore_tensor *)c->inputs[0], *b = (dlcore_tensor *)c->inputs[1],
                *third = (dlcore_tensor *)c->inputs[2];
  switch (c->n_inputs) {
    case 0:
      return (uintptr_t)dlcore_op_call0(ctx, c->op, c->words, c->n_words);
    case 1:
      return (uintptr_t)dlcore_op_call1(ctx, c->op, a, c->words, c->n_words);
    case 2:
      return (uintptr_t)dlcore_op_call2(ctx, c->op, a, b, c->words, c->n_words);
    default:
      return (uintptr_t)dlcore_op_call3(ctx, c->op, a, b, third, c->words, c->n_words);
  }
}

static inline uintptr_t go_call_scalar(const go_call *c) {
  return (uintptr_t)dlcore_op_call_scalar((dlcore_context *)c->ctx, c->op,
                                          (dlcore_tensor *)c->inputs[0], c->scalar_kind,
                                          c->words[0], c->side);
}

static inline void go_release_many(const uintptr_t *tensors, int64_t count) {
  dlcore_tensor_release_many((dlcore_tensor *const *)tensors, count);
}

#endif
