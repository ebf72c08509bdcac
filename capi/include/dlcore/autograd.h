/* SPDX-License-Identifier: Apache-2.0
 *
 * dlcore/autograd.h -- derivatives of any order: reverse mode, forward mode, vectorisation.
 *
 * History hangs on the tensors that recording contexts make. Reverse mode walks it (backward,
 * grad). Forward mode and vmap are levels on the context: inside a level, tensors lifted into it
 * carry a tangent, or one more axis that ops do not see. All three nest in any order.
 */
#ifndef DLCORE_AUTOGRAD_H
#define DLCORE_AUTOGRAD_H

#include <dlcore/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Accumulates d loss / d variable into the gradient of every trainable variable that `loss` (one
 * element) depends on, and frees the history. Errors: INVALID_ARGUMENT (more than one element; an
 * integer), FAILED_PRECONDITION (no history, or one that was freed by an earlier backward). */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_backward(dlcore_context *ctx, dlcore_tensor *loss);

typedef struct dlcore_grad_options {
  uint32_t struct_size;
  uint8_t create_graph; /* the gradients have history of their own */
  uint8_t retain_graph; /* the history may be used again; implied by create_graph */
  uint8_t allow_unused; /* a tensor without influence gets NULL instead of being an error */
  uint8_t reserved;
} dlcore_grad_options;
DLCORE_API DLCORE_VOID void dlcore_grad_options_init(dlcore_grad_options *options, uint64_t size);

/* Gradients of sum over i of <outputs[i], seeds[i]> with respect to each wrt[j]: leaves made by
 * watching or by reading a variable, or tensors on the way. `seeds` may be NULL, or hold NULLs, for
 * outputs of one element (seed 1). Writes n_wrt new tensors of the shapes of wrt. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_autograd_grad(
    dlcore_context *ctx, DLCORE_ARRAY(n_outputs) dlcore_tensor *const *outputs, int64_t n_outputs,
    DLCORE_ARRAY(n_wrt) dlcore_tensor *const *wrt, int64_t n_wrt,
    DLCORE_NULLABLE DLCORE_ARRAY(n_outputs) dlcore_tensor *const *seeds,
    DLCORE_NULLABLE const dlcore_grad_options *options,
    DLCORE_OUT DLCORE_ARRAY(n_wrt) dlcore_tensor **gradients);

/* A leaf with the values of `tensor`: gradients with respect to it can be asked for. */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_autograd_watch(dlcore_context *ctx,
                                                              dlcore_tensor *tensor);

/* ---- Levels -------------------------------------------------------------------------------- */

/* Opens a forward-mode level. Levels nest as a stack. */
DLCORE_API DLCORE_HANDLE dlcore_transform *dlcore_jvp_open(dlcore_context *ctx);
/* `primal` with the direction `tangent` (same dtype and shape). */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_jvp_lift(dlcore_context *ctx,
                                                        dlcore_transform *level,
                                                        dlcore_tensor *primal,
                                                        dlcore_tensor *tangent);
/* The two parts of a result at that level. The tangent of what does not depend on a lifted tensor
 * is zeros. */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_jvp_primal(dlcore_context *ctx,
                                                          dlcore_transform *level,
                                                          dlcore_tensor *tensor);
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_jvp_tangent(dlcore_context *ctx,
                                                           dlcore_transform *level,
                                                           dlcore_tensor *tensor);

/* Opens a vectorising level over `size` independent examples. Random ops draw a value for each. */
DLCORE_API DLCORE_HANDLE dlcore_transform *dlcore_vmap_open(dlcore_context *ctx, int64_t size);
/* `tensor` seen without its axis `axis`, which has the level's size. */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_vmap_lift(dlcore_context *ctx,
                                                         dlcore_transform *level,
                                                         dlcore_tensor *tensor, int64_t axis);
/* A result with the examples put back as axis `axis`; what does not depend on them is repeated. */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_vmap_lower(dlcore_context *ctx,
                                                          dlcore_transform *level,
                                                          dlcore_tensor *tensor, int64_t axis);

/* Ends a level, which must be the innermost one. Tensors of the level can then only be released. */
DLCORE_API DLCORE_STATUS DLCORE_ALWAYS_RUNS dlcore_status
dlcore_transform_close(dlcore_context *ctx, dlcore_transform *level);

/* ---- Checking ------------------------------------------------------------------------------ */

/* The function under test: makes *output from `inputs` by calls on ctx. */
typedef dlcore_status (*dlcore_gradcheck_function)(void *user_data, dlcore_context *ctx,
                                                   dlcore_tensor *const *inputs, int64_t n_inputs,
                                                   dlcore_tensor **output);
/* Compares derivatives of order 1 (and 2) with central differences at f64 `inputs`.
 *   order       1 or 2
 *   tolerance   of |analytic - numeric| <= tolerance * max(1, |numeric|); 0 for 1e-6 (1e-5 at
 *               order 2)
 * Errors: FAILED_PRECONDITION when they differ, naming input, element and both values. */
DLCORE_API DLCORE_STATUS DLCORE_CALLBACK dlcore_status dlcore_gradcheck(
    dlcore_context *ctx, dlcore_gradcheck_function function, DLCORE_NULLABLE void *user_data,
    DLCORE_ARRAY(n_inputs) dlcore_tensor *const *inputs, int64_t n_inputs, int32_t order,
    double tolerance);

#ifdef __cplusplus
}
#endif
#endif
