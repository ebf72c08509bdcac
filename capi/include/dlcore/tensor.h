/* SPDX-License-Identifier: Apache-2.0
 *
 * dlcore/tensor.h -- immutable values: dtype, shape, strides, device, storage.
 *
 * Tensors are reference-counted and belong to the engine, not to a context: any thread and any
 * context of the same engine may use them. Reshaping, permuting, slicing and broadcasting make
 * views that share storage. Elements cross the border with the dtype they are expected to have: a
 * mismatch is an error, never a reinterpretation.
 */
#ifndef DLCORE_TENSOR_H
#define DLCORE_TENSOR_H

#include <dlcore/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Creation ------------------------------------------------------------------------------ */

/* A tensor on the context's device with a copy of `data`: `bytes` must be exactly the product of
 * `shape` times the dtype's size, in row-major order. rank 0 (shape may then be NULL) makes a
 * scalar. Errors: INVALID_ARGUMENT (dtype, rank, a negative dimension, a product that overflows, a
 * wrong number of bytes, a byte of a bool that is neither 0 nor 1), RESOURCE_EXHAUSTED. */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_tensor_create(
    dlcore_context *ctx, dlcore_dtype dtype, DLCORE_ARRAY(rank) const int64_t *shape, int32_t rank,
    DLCORE_ARRAY(bytes) const void *data, uint64_t bytes);

/* The same from data laid out with strides (in elements, may be 0 or negative): element (i, j, ...)
 * is read at data[offset + i * strides[0] + j * strides[1] + ...]; every read must lie in [0,
 * elements). */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_tensor_create_strided(
    dlcore_context *ctx, dlcore_dtype dtype, DLCORE_ARRAY(rank) const int64_t *shape,
    DLCORE_ARRAY(rank) const int64_t *strides, int32_t rank, const void *data, uint64_t elements,
    int64_t offset);

/* Short forms. `count` is the number of elements in `data` and must be the product of `shape`. */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_tensor_f32(dlcore_context *ctx,
                                                          DLCORE_ARRAY(rank) const int64_t *shape,
                                                          int32_t rank,
                                                          DLCORE_ARRAY(count) const float *data,
                                                          int64_t count);
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_tensor_f64(dlcore_context *ctx,
                                                          DLCORE_ARRAY(rank) const int64_t *shape,
                                                          int32_t rank,
                                                          DLCORE_ARRAY(count) const double *data,
                                                          int64_t count);
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_tensor_i64(dlcore_context *ctx,
                                                          DLCORE_ARRAY(rank) const int64_t *shape,
                                                          int32_t rank,
                                                          DLCORE_ARRAY(count) const int64_t *data,
                                                          int64_t count);
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_tensor_i32(dlcore_context *ctx,
                                                          DLCORE_ARRAY(rank) const int64_t *shape,
                                                          int32_t rank,
                                                          DLCORE_ARRAY(count) const int32_t *data,
                                                          int64_t count);

/* Scalars of rank 0. A weak scalar takes the dtype of the operand it meets (x * 2 keeps x's dtype);
 * its own dtype is f64, i64 or bool. */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_tensor_scalar_f32(dlcore_context *ctx, float value);
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_tensor_scalar_f64(dlcore_context *ctx, double value);
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_tensor_scalar_i64(dlcore_context *ctx,
                                                                 int64_t value);
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_tensor_scalar_bool(dlcore_context *ctx,
                                                                  uint8_t value);
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_tensor_weak_f64(dlcore_context *ctx, double value);
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_tensor_weak_i64(dlcore_context *ctx, int64_t value);
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_tensor_weak_bool(dlcore_context *ctx, uint8_t value);

/* What to pass for an optional input that is absent. Static; retaining and releasing it does
 * nothing. */
DLCORE_API DLCORE_BORROWED dlcore_tensor *dlcore_tensor_none(void);

/* The same values on another device of the engine; the tensor itself when it is there already. */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_tensor_to_device(dlcore_context *ctx,
                                                                dlcore_tensor *tensor,
                                                                const char *device);

/* ---- Life ---------------------------------------------------------------------------------- */

DLCORE_API DLCORE_VOID void dlcore_tensor_retain(DLCORE_NULLABLE dlcore_tensor *tensor);
DLCORE_API DLCORE_VOID void dlcore_tensor_release(DLCORE_NULLABLE dlcore_tensor *tensor);
/* Releases each of `count` tensors; NULLs among them are skipped. */
DLCORE_API DLCORE_VOID void dlcore_tensor_release_many(DLCORE_ARRAY(count)
                                                           dlcore_tensor *const *tensors,
                                                       int64_t count);

/* ---- What it is ---------------------------------------------------------------------------- */

typedef struct dlcore_tensor_description {
  uint32_t struct_size;
  dlcore_dtype dtype;
  int32_t rank;
  int32_t layout;        /* 0: strided */
  int64_t count;         /* product of shape; -1 when symbolic */
  uint64_t bytes;        /* count * element size; 0 when symbolic */
  uint8_t is_weak;       /* a weak scalar */
  uint8_t is_contiguous; /* row-major without gaps */
  uint8_t requires_grad; /* has history, or is a leaf */
  uint8_t is_symbolic;   /* a value of a graph being captured: it has no elements */
  int32_t reserved;
  int64_t shape[16];   /* a symbolic dimension is -1 */
  int64_t strides[16]; /* in elements */
  char device[32];
} dlcore_tensor_description;

/* All metadata in one call. description->struct_size is set by the caller. */
DLCORE_API DLCORE_STATUS DLCORE_ALWAYS_RUNS dlcore_status dlcore_tensor_describe(
    dlcore_context *ctx, const dlcore_tensor *tensor, dlcore_tensor_description *description);

/* On a NULL or closed tensor: DLCORE_DTYPE_NONE, -1, -1, -1. */
DLCORE_API DLCORE_VALUE dlcore_dtype dlcore_tensor_dtype(const dlcore_tensor *tensor);
DLCORE_API DLCORE_VALUE int32_t dlcore_tensor_rank(const dlcore_tensor *tensor);
DLCORE_API DLCORE_VALUE int64_t dlcore_tensor_count(const dlcore_tensor *tensor);
/* Dimension of an axis (negative counts from the end); -1 also when there is no such axis or it is
 * symbolic. */
DLCORE_API DLCORE_VALUE int64_t dlcore_tensor_dim(const dlcore_tensor *tensor, int32_t axis);

/* A readable rendering (dtype, shape, device and the first elements), by the two-call pattern:
 * returns the number of bytes needed including the NUL, and writes at most `size` of them; -1 on
 * failure. */
DLCORE_API DLCORE_VALUE int64_t
dlcore_tensor_to_string(dlcore_context *ctx, dlcore_tensor *tensor,
                        DLCORE_NULLABLE DLCORE_OUT DLCORE_ARRAY(size) char *buffer, int64_t size);

/* ---- Reading ------------------------------------------------------------------------------- */

/* Copies all elements to the host in row-major order, whatever the strides, waiting for the device.
 * `count` (or `bytes`) must be exactly that of the tensor; the dtype must be the tensor's.
 * Errors: INVALID_ARGUMENT (another dtype, another count, a symbolic value), a late failure of the
 * device. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_tensor_read(dlcore_context *ctx,
                                                          dlcore_tensor *tensor, dlcore_dtype dtype,
                                                          DLCORE_OUT DLCORE_ARRAY(bytes) void *data,
                                                          uint64_t bytes);
DLCORE_API DLCORE_STATUS dlcore_status
dlcore_tensor_read_f32(dlcore_context *ctx, dlcore_tensor *tensor,
                       DLCORE_OUT DLCORE_ARRAY(count) float *data, int64_t count);
DLCORE_API DLCORE_STATUS dlcore_status
dlcore_tensor_read_f64(dlcore_context *ctx, dlcore_tensor *tensor,
                       DLCORE_OUT DLCORE_ARRAY(count) double *data, int64_t count);
DLCORE_API DLCORE_STATUS dlcore_status dlcore_tensor_read_i64(dlcore_context *ctx,
                                                              dlcore_tensor *tensor,
                                                              DLCORE_OUT DLCORE_ARRAY(count)
                                                                  int64_t *data,
                                                              int64_t count);
DLCORE_API DLCORE_STATUS dlcore_status dlcore_tensor_read_i32(dlcore_context *ctx,
                                                              dlcore_tensor *tensor,
                                                              DLCORE_OUT DLCORE_ARRAY(count)
                                                                  int32_t *data,
                                                              int64_t count);
DLCORE_API DLCORE_STATUS dlcore_status dlcore_tensor_read_bool(dlcore_context *ctx,
                                                               dlcore_tensor *tensor,
                                                               DLCORE_OUT DLCORE_ARRAY(count)
                                                                   uint8_t *data,
                                                               int64_t count);

#ifdef __cplusplus
}
#endif
#endif
