/* SPDX-License-Identifier: Apache-2.0 */
#include "callbacks.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "_cgo_export.h"

dlcore_status go_write(void *user_data, const void *data, uint64_t size) {
  return goWrite((uintptr_t)user_data, (uintptr_t)data, size);
}

int64_t go_read(void *user_data, void *buffer, uint64_t size) {
  return goRead((uintptr_t)user_data, (uintptr_t)buffer, size);
}

dlcore_status go_infer(void *user_data, dlcore_context *child, dlcore_op_call *call) {
  return goOp((uintptr_t)user_data, 0, (uintptr_t)child, (uintptr_t)call);
}

dlcore_status go_forward(void *user_data, dlcore_context *child, dlcore_op_call *call) {
  return goOp((uintptr_t)user_data, 1, (uintptr_t)child, (uintptr_t)call);
}

dlcore_status go_backward(void *user_data, dlcore_context *child, dlcore_op_call *call) {
  return goOp((uintptr_t)user_data, 2, (uintptr_t)child, (uintptr_t)call);
}

dlcore_status go_module(void *user_data, dlcore_context *child, dlcore_module *module,
                        dlcore_op_call *call) {
  return goModule((uintptr_t)user_data, (uintptr_t)child, (uintptr_t)module, (uintptr_t)call);
}

dlcore_status go_gradcheck(void *user_data, dlcore_context *ctx, dlcore_tensor *const *inputs,
                           int64_t n_inputs, dlcore_tensor **output) {
  uintptr_t made = 0;
  const dlcore_status status =
      goGradcheck((uintptr_t)user_data, (uintptr_t)ctx, (uintptr_t)inputs, n_inputs, &made);
  if (status == DLCORE_OK) *output = (dlcore_tensor *)made;
  return status;
}

/* A stack of numbers. The program ends with at most one node for each callback it registered. */
typedef struct destroyed {
  struct destroyed *next;
  uintptr_t number;
} destroyed;

static _Atomic(destroyed *) stack;

void go_destroy(void *user_data) {
  destroyed *node = malloc(sizeof *node);
  if (node == NULL) return; /* the Go value stays reachable */
  node->number = (uintptr_t)user_data;
  node->next = atomic_load(&stack);
  while (!atomic_compare_exchange_weak(&stack, &node->next, node)) {
  }
}

uintptr_t go_next_destroyed(void) {
  /* Takes all and puts the rest back, so that no node is looked at after another thread freed it. */
  destroyed *node = atomic_exchange(&stack, NULL);
  uintptr_t number;
  if (node == NULL) return 0;
  while (node->next != NULL) {
    destroyed *rest = node->next;
    node->next = rest->next;
    rest->next = atomic_load(&stack);
    while (!atomic_compare_exchange_weak(&stack, &rest->next, rest)) {
    }
  }
  number = node->number;
  free(node);
  return number;
}
