/* SPDX-License-Identifier: Apache-2.0
 *
 * dlcore/optimizer.h -- updates of variables from their gradients.
 *
 * Optimizers are described by a catalogue (op.h) and made by number; ops.h has a typed function for
 * each.
 */
#ifndef DLCORE_OPTIMIZER_H
#define DLCORE_OPTIMIZER_H

#include <dlcore/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes optimizer number `optimizer` of the catalogue for all trainable variables of the modules,
 * as its first parameter group. */
DLCORE_API DLCORE_HANDLE dlcore_optimizer *dlcore_optimizer_create(
    dlcore_context *ctx, int32_t optimizer,
    DLCORE_NULLABLE DLCORE_ARRAY(n_modules) dlcore_module *const *modules, int64_t n_modules,
    DLCORE_ARRAY(n_words) const int64_t *attrs, int64_t n_words);
/* Adds a group of variables with attributes of its own (the optimizer's, whole or shortened). A
 * variable can be in one group only. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_optimizer_add_group(
    dlcore_context *ctx, dlcore_optimizer *optimizer,
    DLCORE_ARRAY(n_variables) dlcore_variable *const *variables, int64_t n_variables,
    DLCORE_ARRAY(n_words) const int64_t *attrs, int64_t n_words);
DLCORE_API DLCORE_VOID void dlcore_optimizer_retain(DLCORE_NULLABLE dlcore_optimizer *optimizer);
DLCORE_API DLCORE_VOID void dlcore_optimizer_release(DLCORE_NULLABLE dlcore_optimizer *optimizer);

/* Applies the gradients of its variables, and consumes them: variables without one stay as they
 * are. It applies wholly or not at all, also for whoever reads several variables at one moment
 * (snapshots, saves, runs of graphs). It waits for runs of graphs that update the same variables,
 * as they wait for it. FAILED_PRECONDITION when no variable has a gradient, and inside a run. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_optimizer_step(dlcore_context *ctx,
                                                             dlcore_optimizer *optimizer);
/* The same, but leaves the gradients. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_optimizer_step_keep(dlcore_context *ctx,
                                                                  dlcore_optimizer *optimizer);
/* Forgets the gradients. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_optimizer_zero_gradients(dlcore_context *ctx,
                                                                       dlcore_optimizer *optimizer);
/* Scales all gradients by min(1, max_norm / norm), norm being the Euclidean norm over all of them
 * together, and returns that norm (rank 0). */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_optimizer_clip_gradients(dlcore_context *ctx,
                                                                        dlcore_optimizer *optimizer,
                                                                        double max_norm);

DLCORE_API DLCORE_VALUE int64_t dlcore_optimizer_group_count(const dlcore_optimizer *optimizer);
/* The learning rate of a group: an f64 variable of rank 0; assign it to change the rate. */
DLCORE_API DLCORE_BORROWED dlcore_variable *dlcore_optimizer_learning_rate(
    dlcore_context *ctx, dlcore_optimizer *optimizer, int64_t group);
/* All state (learning rates, step counts, moments), in a fixed order; every variable of the groups
 * has its state from the start. */
DLCORE_API DLCORE_VALUE int64_t dlcore_optimizer_variable_count(const dlcore_optimizer *optimizer);
DLCORE_API DLCORE_BORROWED dlcore_variable *dlcore_optimizer_variable(dlcore_context *ctx,
                                                                      dlcore_optimizer *optimizer,
                                                                      int64_t index);

#ifdef __cplusplus
}
#endif
#endif
