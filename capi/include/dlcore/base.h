/* SPDX-License-Identifier: Apache-2.0
 *
 * dlcore/base.h -- types, codes and markings that every other header uses.
 *
 * HOW TO READ THESE HEADERS
 * Every call that can fail or that executes something takes the context first. Its failure is kept
 * on that context (see context.h); what it returns on failure follows from its result class:
 *
 *   DLCORE_HANDLE      a new reference to an object; NULL on failure
 *   DLCORE_BORROWED    a pointer that belongs to the object it was asked of; NULL when there is
 *                      none
 *   DLCORE_STATUS      a dlcore_status code, DLCORE_OK on success
 *   DLCORE_PREDICATE   1 for yes; 0 for no, and 0 on failure
 *   DLCORE_VALUE       an accessor that cannot fail; on a closed or NULL handle it answers the
 *                      neutral value that its comment names
 *   DLCORE_VOID        returns nothing
 *
 * Further markings:
 *
 *   DLCORE_ALWAYS_RUNS works despite an error that sticks to the context, and never replaces it
 *   DLCORE_CALLBACK    calls back into the program on the calling thread, before it returns
 *   DLCORE_NULLABLE    (parameter) NULL is a legal value with the meaning that the comment gives
 *   DLCORE_OUT         (parameter) written, and only on success
 *   DLCORE_ARRAY(n)    (parameter) points to as many elements as the parameter named n says
 *
 * The markings expand to nothing. `capi/api.json` is their machine-readable dump, from which
 * bindings are generated. The grammar is: DLCORE_API <class> [<traits>] <C declaration>; one
 * declaration a statement, one marking list before each parameter's type.
 *
 * LIMITS AND CONVENTIONS
 * Dimensions are int64_t, strides count elements, sizes in bytes are uint64_t. Rank is at most 16.
 * Strings are UTF-8. Strings given to a call are copied; strings that a call returns belong to the
 * handle they were asked of and live as long as it does, unless said otherwise.
 * Every function is safe to call with NULL for any handle.
 *
 * Since 0.1 unless a declaration says otherwise.
 */
#ifndef DLCORE_BASE_H
#define DLCORE_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(DLCORE_STATIC)
#define DLCORE_API
#elif defined(_WIN32)
#ifdef DLCORE_BUILDING
#define DLCORE_API __declspec(dllexport)
#else
#define DLCORE_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define DLCORE_API __attribute__((visibility("default")))
#else
#define DLCORE_API
#endif

#define DLCORE_HANDLE
#define DLCORE_BORROWED
#define DLCORE_STATUS
#define DLCORE_PREDICATE
#define DLCORE_VALUE
#define DLCORE_VOID
#define DLCORE_ALWAYS_RUNS
#define DLCORE_CALLBACK
#define DLCORE_NULLABLE
#define DLCORE_OUT
#define DLCORE_ARRAY(count)

/* ---- Version ------------------------------------------------------------------------------- */

#define DLCORE_VERSION_MAJOR 0
#define DLCORE_VERSION_MINOR 1
#define DLCORE_VERSION_PATCH 0
/* major * 1000000 + minor * 1000 + patch, of the headers a program was compiled with */
#define DLCORE_VERSION 1000

/* ---- Handles ------------------------------------------------------------------------------- */

typedef struct dlcore_engine dlcore_engine;         /* engine.h    */
typedef struct dlcore_context dlcore_context;       /* context.h   */
typedef struct dlcore_error dlcore_error;           /* context.h   */
typedef struct dlcore_scope dlcore_scope;           /* context.h   */
typedef struct dlcore_tensor dlcore_tensor;         /* tensor.h    */
typedef struct dlcore_variable dlcore_variable;     /* variable.h  */
typedef struct dlcore_transform dlcore_transform;   /* autograd.h  */
typedef struct dlcore_graph dlcore_graph;           /* graph.h     */
typedef struct dlcore_executable dlcore_executable; /* graph.h   */
typedef struct dlcore_module dlcore_module;         /* module.h    */
typedef struct dlcore_optimizer dlcore_optimizer;   /* optimizer.h */
typedef struct dlcore_schedule dlcore_schedule;     /* schedule.h  */
typedef struct dlcore_loader dlcore_loader;         /* data.h      */
typedef struct dlcore_checkpoint dlcore_checkpoint; /* checkpoint.h */
/* What a callback sees of the call that it serves; borrowed for as long as it runs. */
typedef struct dlcore_op_call dlcore_op_call; /* op.h */

/* ---- Status codes: the canonical numbering of gRPC, TensorFlow and PJRT; never renumbered -- */

typedef int32_t dlcore_status;
enum {
  DLCORE_OK = 0,
  DLCORE_CANCELLED = 1,
  DLCORE_UNKNOWN = 2,
  DLCORE_INVALID_ARGUMENT = 3,
  DLCORE_DEADLINE_EXCEEDED = 4,
  DLCORE_NOT_FOUND = 5,
  DLCORE_ALREADY_EXISTS = 6,
  DLCORE_PERMISSION_DENIED = 7,
  DLCORE_RESOURCE_EXHAUSTED = 8,
  DLCORE_FAILED_PRECONDITION = 9,
  DLCORE_ABORTED = 10,
  DLCORE_OUT_OF_RANGE = 11,
  DLCORE_UNIMPLEMENTED = 12,
  DLCORE_INTERNAL = 13,
  DLCORE_UNAVAILABLE = 14,
  DLCORE_DATA_LOSS = 15,
  DLCORE_UNAUTHENTICATED = 16
};

/* The name of a code ("INVALID_ARGUMENT"), or "UNKNOWN" for a number that is none. */
DLCORE_API DLCORE_BORROWED const char *dlcore_status_name(dlcore_status code);

/* ---- Dtypes: numbers are permanent; gaps are for unsigned, complex and packed types -------- */

typedef int32_t dlcore_dtype;
enum {
  DLCORE_DTYPE_NONE = 0,
  DLCORE_BOOL = 1, /* one byte, 0 or 1 */
  DLCORE_U8 = 2,
  DLCORE_I8 = 3,
  DLCORE_I16 = 4,
  DLCORE_I32 = 5,
  DLCORE_I64 = 6,
  DLCORE_F16 = 7, /* IEEE 754 binary16 */
  DLCORE_BF16 = 8,
  DLCORE_F32 = 9,
  DLCORE_F64 = 10
};

/* "f32", "i64", "bool" ...; NULL for a number that is no dtype. */
DLCORE_API DLCORE_BORROWED const char *dlcore_dtype_name(dlcore_dtype dtype);
/* The dtype of that name; DLCORE_DTYPE_NONE when there is none. */
DLCORE_API DLCORE_VALUE dlcore_dtype dlcore_dtype_by_name(const char *name);
/* Bytes of one element; 0 for a number that is no dtype. */
DLCORE_API DLCORE_VALUE uint64_t dlcore_dtype_size(dlcore_dtype dtype);

/* ---- Streams: where a program reads and writes what would otherwise be a file -----------------
 * The functions run on the calling thread, before the call they are given to returns, and must not
 * use its context. */

/* Takes all `size` bytes. Anything but DLCORE_OK ends the call with that code. */
typedef dlcore_status (*dlcore_write_fn)(void *user_data, const void *data, uint64_t size);
/* Fills `buffer` with at most `size` bytes, as many as there are at hand but at least one, and
 * returns how many; 0 at the end; minus a dlcore_status on failure, which ends the call with that
 * code. */
typedef int64_t (*dlcore_read_fn)(void *user_data, void *buffer, uint64_t size);

/* ---- Limits -------------------------------------------------------------------------------- */

enum { DLCORE_MAX_RANK = 16, DLCORE_MAX_OP_INPUTS = 64, DLCORE_MAX_OP_OUTPUTS = 8 };

/* ---- The library --------------------------------------------------------------------------- */

/* DLCORE_VERSION of the library that is loaded. */
DLCORE_API DLCORE_VALUE int32_t dlcore_version(void);
/* 1 when the loaded library is able to serve a program compiled against version `minimum`:
 * the same major number, and not older. */
DLCORE_API DLCORE_PREDICATE int32_t dlcore_require(int32_t minimum);
/* One line: version, compiler, BLAS, what was left out of the build. Static storage. */
DLCORE_API DLCORE_BORROWED const char *dlcore_build_info(void);

#ifdef __cplusplus
}
#endif
#endif
