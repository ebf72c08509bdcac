/* SPDX-License-Identifier: Apache-2.0
 *
 * dlcore/variable.h -- named, mutable cells that hold a tensor: parameters, running statistics,
 * optimizer state, learning rates, step counts, generators.
 *
 * Reading, assigning and accumulating are atomic and may happen from any thread. Assigning and
 * accumulating wait for the run of a graph that updates the variable, so that neither is lost. The
 * dtype and shape of a variable never change; a variable of a snapshot (module.h) never changes at
 * all.
 */
#ifndef DLCORE_VARIABLE_H
#define DLCORE_VARIABLE_H

#include <dlcore/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DLCORE_VARIABLE_TRAINABLE = 1 };

/* A variable that starts with `value` (its history is not kept). */
DLCORE_API DLCORE_HANDLE dlcore_variable *dlcore_variable_create(dlcore_context *ctx,
                                                                 const char *name,
                                                                 dlcore_tensor *value,
                                                                 uint64_t flags);
DLCORE_API DLCORE_VOID void dlcore_variable_retain(DLCORE_NULLABLE dlcore_variable *variable);
DLCORE_API DLCORE_VOID void dlcore_variable_release(DLCORE_NULLABLE dlcore_variable *variable);

DLCORE_API DLCORE_BORROWED const char *dlcore_variable_name(const dlcore_variable *variable);
/* -1 on a NULL or closed variable. */
DLCORE_API DLCORE_VALUE int32_t dlcore_variable_is_trainable(const dlcore_variable *variable);
DLCORE_API DLCORE_STATUS dlcore_status dlcore_variable_set_trainable(dlcore_context *ctx,
                                                                     dlcore_variable *variable,
                                                                     int32_t trainable);

/* Its value. While recording, a trainable variable is read as a leaf of the history: the same leaf
 * until the variable changes. The first read of a parameter draws its initial value. */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_variable_read(dlcore_context *ctx,
                                                             dlcore_variable *variable);
/* Stores a value of the same dtype and shape, without its history. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_variable_assign(dlcore_context *ctx,
                                                              dlcore_variable *variable,
                                                              dlcore_tensor *value);
/* Adds to the value. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_variable_accumulate(dlcore_context *ctx,
                                                                  dlcore_variable *variable,
                                                                  dlcore_tensor *value);

/* The gradient that backward accumulated; NULL when there is none, which is no error. */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_variable_gradient(dlcore_context *ctx,
                                                                 dlcore_variable *variable);
DLCORE_API DLCORE_STATUS dlcore_status dlcore_variable_set_gradient(
    dlcore_context *ctx, dlcore_variable *variable, DLCORE_NULLABLE dlcore_tensor *gradient);

#ifdef __cplusplus
}
#endif
#endif
