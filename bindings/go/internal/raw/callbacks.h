/* SPDX-License-Identifier: Apache-2.0
 *
 * One trampoline for each type of callback. user_data is the number of a cgo.Handle. */
#ifndef DLCORE_GO_CALLBACKS_H
#define DLCORE_GO_CALLBACKS_H

#include <dlcore/dlcore.h>

dlcore_status go_write(void *user_data, const void *data, uint64_t size);
int64_t go_read(void *user_data, void *buffer, uint64_t size);
dlcore_status go_infer(void *user_data, dlcore_context *child, dlcore_op_call *call);
dlcore_status go_forward(void *user_data, dlcore_context *child, dlcore_op_call *call);
dlcore_status go_backward(void *user_data, dlcore_context *child, dlcore_op_call *call);
dlcore_status go_module(void *user_data, dlcore_context *child, dlcore_module *module,
                        dlcore_op_call *call);
dlcore_status go_gradcheck(void *user_data, dlcore_context *ctx, dlcore_tensor *const *inputs,
                           int64_t n_inputs, dlcore_tensor **output);

/* Keeps the number until Go asks: what is released may be released by a call that must not enter Go. */
void go_destroy(void *user_data);
/* A number that was kept, and forgets it; 0 when there is none. */
uintptr_t go_next_destroyed(void);

#endif
