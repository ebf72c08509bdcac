/* SPDX-License-Identifier: Apache-2.0
 *
 * dlcore/dlpack.h -- elements shared with other libraries of the process, by DLPack 1.0
 * (https://dmlc.github.io/dlpack/latest/c_api.html).
 *
 * Managed tensors cross as the integer value of their address, which every language has: in C,
 * (DLManagedTensorVersioned *)(uintptr_t)address. Tensors are immutable, so what is exported is
 * read-only, and what is imported is copied unless the program promises not to write to it.
 */
#ifndef DLCORE_DLPACK_H
#define DLCORE_DLPACK_H

#include <dlcore/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  DLCORE_DLPACK_COPY = 1,        /* export: elements of its own, which may be written to */
  DLCORE_DLPACK_BORROW = 2,      /* import: no copy; nobody writes to the elements from now on */
  DLCORE_DLPACK_UNVERSIONED = 4, /* a DLManagedTensor, as before DLPack 1.0 */
  DLCORE_DLPACK_CONTIGUOUS = 8   /* export: row-major without gaps, by a copy if need be */
};

/* Writes the address of a new DLManagedTensorVersioned that shares the tensor's elements, with its
 * strides, and keeps them alive. The caller gives it back by its `deleter`, from any thread. It is
 * marked as read-only unless it is a copy; DLManagedTensor has no such mark. Waits for the device.
 * Errors: UNIMPLEMENTED (a device whose memory the host cannot address), INVALID_ARGUMENT (a
 * symbolic tensor, other flags). */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_tensor_to_dlpack(dlcore_context *ctx,
                                                               dlcore_tensor *tensor,
                                                               uint64_t flags,
                                                               DLCORE_OUT uint64_t *address);
/* A tensor with the elements of a managed tensor in host memory, on the context's device. It takes
 * the managed tensor over: `deleter` is called at once or, for one that is borrowed, on whatever
 * thread releases the last tensor that sees the elements. On failure the managed tensor stays the
 * caller's. Borrowing needs the CPU device, and elements that lie as their dtype wants; otherwise
 * they are copied.
 * Errors: INVALID_ARGUMENT (NULL, a rank above 16, negative dimensions, a dtype that there is not),
 * UNIMPLEMENTED (memory of another device, a major version above 1). */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_tensor_from_dlpack(dlcore_context *ctx,
                                                                  uint64_t address, uint64_t flags);

#ifdef __cplusplus
}
#endif
#endif
