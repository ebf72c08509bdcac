/* SPDX-License-Identifier: Apache-2.0
 *
 * dlcore/io.h -- tensors in files and buffers, in the safetensors format.
 *
 * Reading is strict: overlapping or out-of-range offsets, holes, wrong sizes, duplicate names and
 * unknown dtypes are errors that name the tensor and the values.
 */
#ifndef DLCORE_IO_H
#define DLCORE_IO_H

#include <dlcore/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dlcore_archive dlcore_archive;

/* Writes tensors under their names; the file is replaced as a whole or not at all. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_archive_save(
    dlcore_context *ctx, const char *path, DLCORE_ARRAY(count) const char *const *names,
    DLCORE_ARRAY(count) dlcore_tensor *const *tensors, int64_t count);
/* The same through a function of the program. */
DLCORE_API DLCORE_STATUS DLCORE_CALLBACK dlcore_status
dlcore_archive_write(dlcore_context *ctx, dlcore_write_fn write, void *user_data,
                     DLCORE_ARRAY(count) const char *const *names,
                     DLCORE_ARRAY(count) dlcore_tensor *const *tensors, int64_t count);
/* Opens a file, or a copy of a buffer. Errors: NOT_FOUND, PERMISSION_DENIED, DATA_LOSS,
 * INVALID_ARGUMENT. */
DLCORE_API DLCORE_HANDLE dlcore_archive *dlcore_archive_open(dlcore_context *ctx, const char *path);
DLCORE_API DLCORE_HANDLE dlcore_archive *dlcore_archive_open_buffer(dlcore_context *ctx,
                                                                    DLCORE_ARRAY(size)
                                                                        const void *data,
                                                                    uint64_t size);
/* The same through a function of the program, which is read to its end. */
DLCORE_API DLCORE_HANDLE DLCORE_CALLBACK dlcore_archive *dlcore_archive_open_stream(
    dlcore_context *ctx, dlcore_read_fn read, void *user_data);
DLCORE_API DLCORE_VOID void dlcore_archive_retain(DLCORE_NULLABLE dlcore_archive *archive);
DLCORE_API DLCORE_VOID void dlcore_archive_release(DLCORE_NULLABLE dlcore_archive *archive);

/* -1 on a NULL or closed archive. */
DLCORE_API DLCORE_VALUE int64_t dlcore_archive_count(const dlcore_archive *archive);
/* Names in their sorted order; NULL for an index that is none. */
DLCORE_API DLCORE_BORROWED const char *dlcore_archive_name(const dlcore_archive *archive,
                                                           int64_t index);
/* A tensor of the archive, on the context's device. NOT_FOUND lists the names there are. */
DLCORE_API DLCORE_HANDLE dlcore_tensor *dlcore_archive_tensor(dlcore_context *ctx,
                                                              dlcore_archive *archive,
                                                              const char *name);

#ifdef __cplusplus
}
#endif
#endif
