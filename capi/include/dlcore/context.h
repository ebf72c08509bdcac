/* SPDX-License-Identifier: Apache-2.0
 *
 * dlcore/context.h -- the execution state of one thread of work: device, random generator, modes,
 * scopes, error, cancellation.
 *
 * THREADS
 * A context is cheap; give each worker its own. It may move between threads but serves one call at
 * a time: a second thread that intrudes gets NULL or FAILED_PRECONDITION, and the misuse becomes
 * the owner's error at its next call.
 *
 * ERRORS STICK
 * The first failure is kept on the context. Until it is taken or cleared, further calls do nothing
 * and return NULL, 0 or the code, and accept the NULLs that failed calls produced. So a program may
 * chain calls and check once. Calls marked DLCORE_ALWAYS_RUNS work all the same.
 *
 * OWNERSHIP
 * On an ordinary context a returned tensor belongs to the innermost open scope and every other
 * object to the context: the program need not release them, but may, early. With
 * DLCORE_CONTEXT_MANUAL the caller owns and releases everything. Errors are always the caller's to
 * release.
 */
#ifndef DLCORE_CONTEXT_H
#define DLCORE_CONTEXT_H

#include <dlcore/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  DLCORE_CONTEXT_MANUAL = 1,   /* no scopes; the caller releases what it is given */
  DLCORE_CONTEXT_INFERENCE = 2 /* opens in inference mode */
};

/* Opens a context on a device ("cpu", or one that a plug-in added). `seed` decides every random
 * number and every initial parameter drawn through it. Errors: NOT_FOUND (an unknown device, with
 * the list of those there are), FAILED_PRECONDITION (a closed engine), INVALID_ARGUMENT. */
DLCORE_API DLCORE_HANDLE dlcore_context *dlcore_context_open(
    dlcore_engine *engine, const char *device, uint64_t seed, uint64_t flags,
    DLCORE_NULLABLE DLCORE_OUT dlcore_error **error);
/* Ends the context: closes its scopes, releases what it owns, gives up the caller's reference. */
DLCORE_API DLCORE_VOID void dlcore_context_close(DLCORE_NULLABLE dlcore_context *ctx);

DLCORE_API DLCORE_BORROWED DLCORE_ALWAYS_RUNS const char *dlcore_context_device(
    const dlcore_context *ctx);
DLCORE_API DLCORE_BORROWED DLCORE_ALWAYS_RUNS dlcore_engine *dlcore_context_engine(
    const dlcore_context *ctx);

/* ---- Errors -------------------------------------------------------------------------------- */

/* 1 while no error sticks. */
DLCORE_API DLCORE_PREDICATE DLCORE_ALWAYS_RUNS int32_t dlcore_ok(const dlcore_context *ctx);
/* Code of the error that sticks, DLCORE_OK when none does; INVALID_ARGUMENT for a NULL or closed
 * context. */
DLCORE_API DLCORE_STATUS DLCORE_ALWAYS_RUNS dlcore_status
dlcore_context_status(const dlcore_context *ctx);
/* Its message, "" when there is none. Lives until the error is taken or cleared. */
DLCORE_API DLCORE_BORROWED DLCORE_ALWAYS_RUNS const char *dlcore_context_error_message(
    const dlcore_context *ctx);
/* Hands the error to the caller and clears it; NULL when there is none. The caller releases it. */
DLCORE_API DLCORE_HANDLE DLCORE_ALWAYS_RUNS dlcore_error *dlcore_context_take_error(
    dlcore_context *ctx);
DLCORE_API DLCORE_VOID DLCORE_ALWAYS_RUNS void dlcore_context_clear_error(dlcore_context *ctx);
/* Makes the program's own failure stick, as if a call had failed. Does nothing when one sticks
 * already. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_context_set_error(dlcore_context *ctx,
                                                                dlcore_status code,
                                                                const char *message);

DLCORE_API DLCORE_VALUE dlcore_status dlcore_error_code(const dlcore_error *error);
DLCORE_API DLCORE_BORROWED const char *dlcore_error_message(const dlcore_error *error);
/* Name of the op that failed, "" when the failing call was none. */
DLCORE_API DLCORE_BORROWED const char *dlcore_error_op(const dlcore_error *error);
/* The error that led to this one, owned by it; NULL when there is none. */
DLCORE_API DLCORE_BORROWED const dlcore_error *dlcore_error_cause(const dlcore_error *error);
DLCORE_API DLCORE_VOID void dlcore_error_release(DLCORE_NULLABLE dlcore_error *error);

/* ---- Cancellation -------------------------------------------------------------------------- */

/* From any thread: the call that runs, or else the next one, fails with CANCELLED, which sticks. */
DLCORE_API DLCORE_VOID DLCORE_ALWAYS_RUNS void dlcore_context_cancel(dlcore_context *ctx);
/* Calls fail with DEADLINE_EXCEEDED once `milliseconds` from now have passed; negative: no
 * deadline. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_context_set_deadline(dlcore_context *ctx,
                                                                   int64_t milliseconds);

/* Waits until the device has done everything that this context gave it, and reports its first late
 * failure. At once on the CPU. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_context_synchronize(dlcore_context *ctx);

/* ---- Modes --------------------------------------------------------------------------------- */

/* Contexts open recording (history for gradients is kept) and in training mode. Each returns the
 * previous value, 0 or 1; -1 on failure. */
DLCORE_API DLCORE_VALUE DLCORE_ALWAYS_RUNS int32_t dlcore_context_set_recording(dlcore_context *ctx,
                                                                                int32_t on);
DLCORE_API DLCORE_VALUE DLCORE_ALWAYS_RUNS int32_t dlcore_context_set_training(dlcore_context *ctx,
                                                                               int32_t on);
DLCORE_API DLCORE_VALUE DLCORE_ALWAYS_RUNS int32_t
dlcore_context_is_recording(const dlcore_context *ctx);
DLCORE_API DLCORE_VALUE DLCORE_ALWAYS_RUNS int32_t
dlcore_context_is_training(const dlcore_context *ctx);

/* ---- Random numbers ------------------------------------------------------------------------ */

/* Starts the context's generator anew. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_context_set_seed(dlcore_context *ctx, uint64_t seed);
/* The generator's state: (seed, generator, next call number) as an i64 variable of shape [3];
 * borrowed. */
DLCORE_API DLCORE_BORROWED dlcore_variable *dlcore_context_generator(dlcore_context *ctx);

/* ---- Scopes -------------------------------------------------------------------------------- */

/* Opens a scope inside the innermost one; tensors made from now on belong to it.
 * FAILED_PRECONDITION on a manual context. */
DLCORE_API DLCORE_HANDLE dlcore_scope *dlcore_scope_open(dlcore_context *ctx);
/* Moves a tensor from the scope it belongs to into the enclosing one, and returns it. */
DLCORE_API DLCORE_BORROWED DLCORE_ALWAYS_RUNS dlcore_tensor *dlcore_scope_keep(
    dlcore_context *ctx, dlcore_tensor *tensor);
/* Releases what the scope owns and closes the scopes inside it; it stays open. */
DLCORE_API DLCORE_VOID DLCORE_ALWAYS_RUNS void dlcore_scope_reset(dlcore_context *ctx,
                                                                  dlcore_scope *scope);
/* The same, and closes it. */
DLCORE_API DLCORE_VOID DLCORE_ALWAYS_RUNS void dlcore_scope_close(
    dlcore_context *ctx, DLCORE_NULLABLE dlcore_scope *scope);

#ifdef __cplusplus
}
#endif
#endif
