/* SPDX-License-Identifier: Apache-2.0
 *
 * dlcore/module.h -- layers and models.
 *
 * Layers are described by a catalogue (op.h) and made by number; ops.h has a typed function for
 * each. Initial parameter values follow from the seed of the context that made the model, the
 * number of the outermost module, and the parameter's path; they are drawn when first needed, so
 * the order in which the layers of a model are made does not matter.
 */
#ifndef DLCORE_MODULE_H
#define DLCORE_MODULE_H

#include <dlcore/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes layer number `layer` of the catalogue from child modules and packed attributes. A module
 * can be the child of one parent only. */
DLCORE_API DLCORE_HANDLE dlcore_module *dlcore_module_create(
    dlcore_context *ctx, int32_t layer,
    DLCORE_NULLABLE DLCORE_ARRAY(n_children) dlcore_module *const *children, int64_t n_children,
    DLCORE_ARRAY(n_words) const int64_t *attrs, int64_t n_words);
DLCORE_API DLCORE_VOID void dlcore_module_retain(DLCORE_NULLABLE dlcore_module *module);
DLCORE_API DLCORE_VOID void dlcore_module_release(DLCORE_NULLABLE dlcore_module *module);

/* What a module of the program's own computes. Reads its argument with dlcore_op_call_input(call, 0)
 * and answers with dlcore_op_call_set_output(call, 0, y). `module` is the one that is called, the
 * module that was made or a snapshot of it: its children and variables are asked of it.
 * `child` is a context for the callback's own calls, see dlcore_op_callback. */
typedef dlcore_status (*dlcore_module_callback)(void *user_data, dlcore_context *child,
                                                dlcore_module *module, dlcore_op_call *call);

/* Makes a module whose forward is a function of the program. In all else it is like any other: it
 * is called, listed, saved, put inside others, and snapshots of it are taken, which call the same
 * function. It may be called from several threads at once.
 *   kind       what dlcore_module_kind answers and errors name
 *   children   modules that it uses; it may use them in any order, repeatedly, or not at all
 *   names      names of the children in paths, separated by commas ("encoder,decoder"); NULL numbers
 *              them
 *   variables  variables of its own; the last part of their path is their name
 *   destroy    runs exactly once, after the module and its snapshots have gone, by
 *              dlcore_engine_collect or at the end of the engine; at once when this call fails
 * Errors: INVALID_ARGUMENT (names that are empty, have a '.' or occur twice, or another number of
 * them than of children), and those of dlcore_module_create. */
DLCORE_API DLCORE_HANDLE DLCORE_CALLBACK dlcore_module *dlcore_module_define(
    dlcore_context *ctx, const char *kind,
    DLCORE_NULLABLE DLCORE_ARRAY(n_children) dlcore_module *const *children, int64_t n_children,
    DLCORE_NULLABLE const char *names,
    DLCORE_NULLABLE DLCORE_ARRAY(n_variables) dlcore_variable *const *variables,
    int64_t n_variables, dlcore_module_callback forward, DLCORE_NULLABLE void *user_data,
    DLCORE_NULLABLE void (*destroy)(void *user_data));

/* Runs it. Layers behave as in training (dropout) only if context and module are in training mode.
 */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_module_call(dlcore_context *ctx,
                                                           dlcore_module *module, dlcore_tensor *x);

/* The module and everything inside it. Returns the previous mode of the module, -1 on failure. */
DLCORE_API DLCORE_VALUE DLCORE_ALWAYS_RUNS int32_t dlcore_module_set_training(dlcore_context *ctx,
                                                                              dlcore_module *module,
                                                                              int32_t training);

/* A module that answers for ever as this one would at this moment in inference mode: neither steps
 * of optimizers, on whatever thread, nor loading changes it. Its variables, running statistics
 * included, are of one moment: no step, no run of a graph and no load is in it by half. Nothing is
 * copied; what is changed afterwards costs a copy once.
 * It may be used from any number of threads and contexts at once. A call keeps no history, whatever
 * the context's modes. What would change it or its variables answers FAILED_PRECONDITION; it cannot
 * become the child of another module. Errors: FAILED_PRECONDITION while capturing. */
DLCORE_API DLCORE_HANDLE dlcore_module *dlcore_module_snapshot(dlcore_context *ctx,
                                                               dlcore_module *module);

/* Name of the layer in the catalogue ("Linear"). */
DLCORE_API DLCORE_BORROWED const char *dlcore_module_kind(const dlcore_module *module);
DLCORE_API DLCORE_VALUE int64_t dlcore_module_child_count(const dlcore_module *module);
DLCORE_API DLCORE_BORROWED dlcore_module *dlcore_module_child(const dlcore_module *module,
                                                              int64_t index);

/* Variables of the module and everything inside it, in the order of their definition. */
DLCORE_API DLCORE_VALUE int64_t dlcore_module_variable_count(const dlcore_module *module);
DLCORE_API DLCORE_BORROWED dlcore_variable *dlcore_module_variable(dlcore_context *ctx,
                                                                   dlcore_module *module,
                                                                   int64_t index);
/* Path of a variable below the module ("0.weight"), by the two-call pattern. */
DLCORE_API DLCORE_VALUE int64_t dlcore_module_variable_path(
    dlcore_context *ctx, dlcore_module *module, int64_t index,
    DLCORE_NULLABLE DLCORE_OUT DLCORE_ARRAY(size) char *buffer, int64_t size);
/* The variable at a path; NOT_FOUND lists the paths there are. */
DLCORE_API DLCORE_BORROWED dlcore_variable *dlcore_module_find(dlcore_context *ctx,
                                                               dlcore_module *module,
                                                               const char *path);

/* Saves all variables by path as safetensors: the file is replaced as a whole or not at all. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_module_save(dlcore_context *ctx,
                                                          dlcore_module *module, const char *path);
/* Loads them: every variable must be there with its dtype and shape, and nothing else. Nothing
 * changes on failure. Errors: NOT_FOUND, INVALID_ARGUMENT and DATA_LOSS as the file deserves. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_module_load(dlcore_context *ctx,
                                                          dlcore_module *module, const char *path);
/* The same through functions of the program, and from a buffer. */
DLCORE_API DLCORE_STATUS DLCORE_CALLBACK dlcore_status dlcore_module_write(dlcore_context *ctx,
                                                                           dlcore_module *module,
                                                                           dlcore_write_fn write,
                                                                           void *user_data);
DLCORE_API DLCORE_STATUS DLCORE_CALLBACK dlcore_status dlcore_module_read(dlcore_context *ctx,
                                                                          dlcore_module *module,
                                                                          dlcore_read_fn read,
                                                                          void *user_data);
DLCORE_API DLCORE_STATUS dlcore_status dlcore_module_load_buffer(
    dlcore_context *ctx, dlcore_module *module, DLCORE_ARRAY(size) const void *data, uint64_t size);

#ifdef __cplusplus
}
#endif
#endif
