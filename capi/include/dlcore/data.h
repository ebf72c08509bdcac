/* SPDX-License-Identifier: Apache-2.0
 *
 * dlcore/data.h -- batches of samples and labels.
 *
 * SOURCES are strings `scheme:rest`:
 *   idx:DIR/train, idx:DIR/test      the IDX files of a directory (train-images-idx3-ubyte and
 *                                    train-labels-idx1-ubyte, t10k-... for test), plain or gzip
 *   fashion-mnist:train, ...:test    the same in the directory that the context names, else the
 *                                    environment variable DLCORE_DATA, else where Debian's
 *                                    dataset-fashion-mnist puts it
 * Samples come as f32 [N, features]: bytes are divided by 255. Labels come as i64 [N].
 */
#ifndef DLCORE_DATA_H
#define DLCORE_DATA_H

#include <dlcore/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DLCORE_LOADER_SHUFFLE = 1 /* a new order each epoch, from (seed, loader name, epoch) */ };

/* Errors: NOT_FOUND (with the paths tried), INVALID_ARGUMENT (an unknown scheme, a batch below 1),
 * DATA_LOSS (a truncated or malformed file, with path and values). */
DLCORE_API DLCORE_HANDLE dlcore_loader *dlcore_loader_open(dlcore_context *ctx, const char *source,
                                                           int64_t batch, uint64_t flags);
/* From memory: samples [N, ...] of any dtype, and labels [N, ...]. */
DLCORE_API DLCORE_HANDLE dlcore_loader *dlcore_loader_from_tensors(dlcore_context *ctx,
                                                                   dlcore_tensor *samples,
                                                                   dlcore_tensor *labels,
                                                                   int64_t batch, uint64_t flags);
DLCORE_API DLCORE_VOID void dlcore_loader_retain(DLCORE_NULLABLE dlcore_loader *loader);
DLCORE_API DLCORE_VOID void dlcore_loader_release(DLCORE_NULLABLE dlcore_loader *loader);

/* The next batch on the context's device; the last one of an epoch may be smaller. Returns 0 at the
 * end of an epoch (the call after that starts the next one) and on failure; *x and *y are then
 * NULL. */
DLCORE_API DLCORE_PREDICATE int32_t dlcore_loader_next(dlcore_context *ctx, dlcore_loader *loader,
                                                       DLCORE_OUT dlcore_tensor **x,
                                                       DLCORE_OUT dlcore_tensor **y);
/* How many batches are prepared ahead on a thread of the loader's own, from the next call of
 * loader_next on: 0 (the default) to 1024. The batches and their order stay the same; the memory of
 * the prepared ones is held until they are asked for, also those of the next epoch. The thread ends
 * with the loader or the engine. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_loader_set_prefetch(dlcore_context *ctx,
                                                                  dlcore_loader *loader,
                                                                  int64_t batches);
/* Starts the given epoch (counted from 0) at its first batch. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_loader_seek(dlcore_context *ctx,
                                                          dlcore_loader *loader, int64_t epoch,
                                                          int64_t batch);
/* Samples in an epoch, batches in an epoch, current epoch; -1 on a NULL or closed loader. */
DLCORE_API DLCORE_VALUE int64_t dlcore_loader_samples(const dlcore_loader *loader);
DLCORE_API DLCORE_VALUE int64_t dlcore_loader_batches(const dlcore_loader *loader);
DLCORE_API DLCORE_VALUE int64_t dlcore_loader_epoch(const dlcore_loader *loader);

/* Where `fashion-mnist:` looks first. NULL: nowhere in particular. */
DLCORE_API DLCORE_STATUS dlcore_status
dlcore_context_set_data_directory(dlcore_context *ctx, DLCORE_NULLABLE const char *directory);

#ifdef __cplusplus
}
#endif
#endif
