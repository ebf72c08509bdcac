/* SPDX-License-Identifier: Apache-2.0
 *
 * dlcore/op.h -- calling ops, and the catalogues that describe them.
 *
 * Programs call the typed functions of ops.h, which is generated from the catalogue; bindings call
 * the functions below. Either way an op is one number, some tensors and packed attributes, so that
 * a new op never changes the ABI.
 *
 * PACKED ATTRIBUTES are int64_t words in the order of the op's schema:
 *   int, bool, dtype   one word
 *   float              one word, the bits of a double
 *   int list           length, then one word each
 *   dim list           length, then two words each: kind, and an integer (kind 0) or the handle
 *                      number of a symbol of the graph being captured (kind 1, see graph.h)
 *   string             length in bytes, then the bytes padded with zeros to whole words
 *   optional           presence word (1 or 0), then, when present, the value
 * Words that end at the border between two attributes leave the rest at their defaults.
 *
 * INPUTS are positional; at most one variadic list, the last. An optional input that is absent is
 * dlcore_tensor_none(), or simply left out at the end.
 */
#ifndef DLCORE_OP_H
#define DLCORE_OP_H

#include <dlcore/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs (or captures) an op. Writes n_outputs new tensors to `outputs`; n_outputs may be less than
 * the op has. `flags` is 0. Errors: INVALID_ARGUMENT (unknown op, wrong number of inputs, dtypes or
 * shapes that do not fit, malformed attributes), UNIMPLEMENTED (the device has no kernel for it),
 * and those of the op. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_op_invoke(
    dlcore_context *ctx, int32_t op, DLCORE_ARRAY(n_inputs) dlcore_tensor *const *inputs,
    int32_t n_inputs, DLCORE_ARRAY(n_words) const int64_t *attrs, int64_t n_words,
    DLCORE_OUT DLCORE_ARRAY(n_outputs) dlcore_tensor **outputs, int32_t n_outputs, uint64_t flags);
/* Fixed arity, first result. */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_op_call0(dlcore_context *ctx, int32_t op,
                                                        DLCORE_ARRAY(n_words) const int64_t *attrs,
                                                        int64_t n_words);
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_op_call1(dlcore_context *ctx, int32_t op,
                                                        dlcore_tensor *a,
                                                        DLCORE_ARRAY(n_words) const int64_t *attrs,
                                                        int64_t n_words);
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_op_call2(dlcore_context *ctx, int32_t op,
                                                        dlcore_tensor *a, dlcore_tensor *b,
                                                        DLCORE_ARRAY(n_words) const int64_t *attrs,
                                                        int64_t n_words);
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_op_call3(dlcore_context *ctx, int32_t op,
                                                        dlcore_tensor *a, dlcore_tensor *b,
                                                        dlcore_tensor *c,
                                                        DLCORE_ARRAY(n_words) const int64_t *attrs,
                                                        int64_t n_words);

enum { DLCORE_SCALAR_I64 = 0, DLCORE_SCALAR_F64 = 1, DLCORE_SCALAR_BOOL = 2 };
/* A binary op with a weak scalar: x op scalar (side 0) or scalar op x (side 1). `word` holds the
 * integer, the bits of the double, or 0/1. */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_op_call_scalar(dlcore_context *ctx, int32_t op,
                                                              dlcore_tensor *x, int32_t scalar_kind,
                                                              int64_t word, int32_t side);

/* ---- Catalogues ---------------------------------------------------------------------------- */

enum {
  DLCORE_CATALOGUE_OPS = 0,
  DLCORE_CATALOGUE_LAYERS = 1,
  DLCORE_CATALOGUE_OPTIMIZERS = 2,
  DLCORE_CATALOGUE_SCHEDULES = 3
};

/* Number of the entry of that name; -1 when there is none. With a context the miss is a NOT_FOUND
 * with a hint (no 'cat'; use 'concat'); with NULL it is silent. */
DLCORE_API DLCORE_VALUE int32_t dlcore_catalogue_find(DLCORE_NULLABLE dlcore_context *ctx,
                                                      int32_t catalogue, const char *name);
/* The whole of a catalogue as JSON: names, numbers, versions, documentation, inputs, attributes,
 * outputs, dtypes, differentiability. The text is static; `size` receives its length when not NULL.
 */
DLCORE_API DLCORE_BORROWED const char *dlcore_catalogue_json(
    DLCORE_NULLABLE DLCORE_OUT int64_t *size);
/* Name of an op, also of a custom one; NULL for a number that is none. */
DLCORE_API DLCORE_BORROWED const char *dlcore_op_name(dlcore_context *ctx, int32_t op);
/* 1 when the context's device runs the op for that dtype by a kernel of its own. */
DLCORE_API DLCORE_PREDICATE int32_t dlcore_op_has_kernel(dlcore_context *ctx, int32_t op,
                                                         dlcore_dtype dtype);

/* ---- Custom ops ---------------------------------------------------------------------------- */

/* `child` is a context for the callback's own calls, for as long as the callback runs. It inherits the
 * caller's modes, cancellation and deadline; an error left on it becomes the cause of the caller's.
 * It has the flag DLCORE_CONTEXT_MANUAL when the context that registered the callback has it: then
 * the callback releases what it makes, otherwise all goes with the child.
 * A callback returns DLCORE_OK, or a code after dlcore_context_set_error. */
typedef dlcore_status (*dlcore_op_callback)(void *user_data, dlcore_context *child,
                                            dlcore_op_call *call);

/* Registers an op of this engine and writes its number, valid for this engine only. The op takes
 * `n_inputs` tensors and makes `n_outputs`, and has `n_attrs` words of attributes, all of them
 * integers.
 *   infer     sets dtype and shape of each output with dlcore_op_call_set_output_type; it must not
 *             look at elements, and runs also while capturing
 *   forward   computes: reads dlcore_op_call_input, sets dlcore_op_call_set_output
 *   backward  NULL when not differentiable; reads inputs, outputs and dlcore_op_call_gradient, sets
 *             dlcore_op_call_set_input_gradient; written in ops it is itself differentiable
 *   destroy   runs exactly once: when the engine ends, or before this call returns when it fails
 * Errors: ALREADY_EXISTS (an op of that name), INVALID_ARGUMENT. */
DLCORE_API DLCORE_STATUS DLCORE_CALLBACK dlcore_status
dlcore_op_register(dlcore_context *ctx, const char *name, int32_t n_inputs, int32_t n_outputs,
                   int32_t n_attrs, dlcore_op_callback infer, dlcore_op_callback forward,
                   DLCORE_NULLABLE dlcore_op_callback backward, DLCORE_NULLABLE void *user_data,
                   DLCORE_NULLABLE void (*destroy)(void *user_data), DLCORE_OUT int32_t *op);

DLCORE_API DLCORE_VALUE int32_t dlcore_op_call_input_count(const dlcore_op_call *call);
/* Borrowed tensors; in `infer` only their dtype and shape may be looked at. NULL for a wrong index.
 */
DLCORE_API DLCORE_BORROWED dlcore_tensor *dlcore_op_call_input(dlcore_op_call *call, int32_t index);
DLCORE_API DLCORE_BORROWED dlcore_tensor *dlcore_op_call_output(dlcore_op_call *call,
                                                                int32_t index);
/* Gradient that came to an output; NULL when none did. */
DLCORE_API DLCORE_BORROWED dlcore_tensor *dlcore_op_call_gradient(dlcore_op_call *call,
                                                                  int32_t index);
/* 1 when the gradient of that input is asked for. */
DLCORE_API DLCORE_PREDICATE int32_t dlcore_op_call_needs_gradient(const dlcore_op_call *call,
                                                                  int32_t index);
DLCORE_API DLCORE_VALUE int64_t dlcore_op_call_attr(const dlcore_op_call *call, int32_t index);
DLCORE_API DLCORE_STATUS dlcore_status
dlcore_op_call_set_output_type(dlcore_op_call *call, int32_t index, dlcore_dtype dtype,
                               DLCORE_ARRAY(rank) const int64_t *shape, int32_t rank);
/* The output takes the dtype and shape (symbolic dimensions included) of `like`. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_op_call_set_output_like(dlcore_op_call *call,
                                                                      int32_t index,
                                                                      const dlcore_tensor *like);
DLCORE_API DLCORE_STATUS dlcore_status dlcore_op_call_set_output(dlcore_op_call *call,
                                                                 int32_t index,
                                                                 dlcore_tensor *value);
DLCORE_API DLCORE_STATUS dlcore_status dlcore_op_call_set_input_gradient(dlcore_op_call *call,
                                                                         int32_t index,
                                                                         dlcore_tensor *value);

#ifdef __cplusplus
}
#endif
#endif
