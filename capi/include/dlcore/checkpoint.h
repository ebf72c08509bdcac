/* SPDX-License-Identifier: Apache-2.0
 *
 * dlcore/checkpoint.h -- the whole state of a training in one file, from which it goes on as if
 * nothing had happened.
 *
 * A checkpoint is told once what belongs to it: models, optimizers, schedules, loaders and single
 * variables, each under a name. The generator of the context that saves or loads belongs to it
 * always. Then it is saved and loaded any number of times. The file is a safetensors file (io.h),
 * so that other programs can read the weights.
 *
 *   what            what is kept of it
 *   the context     its generator: seed and number of the next random call
 *   a model         its variables, running statistics included
 *   an optimizer    learning rates, numbers of steps, moments
 *   a schedule      its count and base rates; the learning rates are the optimizer's
 *   a loader        epoch and batch, and what decides the orders of samples
 *   a variable      its value: a program's own state, the generator of another context
 *   texts           strings of the program under keys of its choice
 *   circumstances   version, device and instruction set
 *
 * Gradients are not kept: save between a step and the next backward. A program that makes the same
 * objects in the same way, loads the file and goes on has the bits of the one that saved it:
 * weights, losses, batches, dropout.
 */
#ifndef DLCORE_CHECKPOINT_H
#define DLCORE_CHECKPOINT_H

#include <dlcore/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One to which nothing but the generator belongs yet. It may be used from any thread. */
DLCORE_API DLCORE_HANDLE dlcore_checkpoint *dlcore_checkpoint_create(dlcore_context *ctx);
DLCORE_API DLCORE_VOID void dlcore_checkpoint_retain(DLCORE_NULLABLE dlcore_checkpoint *checkpoint);
DLCORE_API DLCORE_VOID void dlcore_checkpoint_release(
    DLCORE_NULLABLE dlcore_checkpoint *checkpoint);

/* What belongs to it, under a name of that kind without '/'. The checkpoint keeps the object alive.
 * Errors: ALREADY_EXISTS (the name, or the object), INVALID_ARGUMENT. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_checkpoint_add_module(dlcore_context *ctx,
                                                                    dlcore_checkpoint *checkpoint,
                                                                    const char *name,
                                                                    dlcore_module *module);
DLCORE_API DLCORE_STATUS dlcore_status
dlcore_checkpoint_add_optimizer(dlcore_context *ctx, dlcore_checkpoint *checkpoint,
                                const char *name, dlcore_optimizer *optimizer);
DLCORE_API DLCORE_STATUS dlcore_status dlcore_checkpoint_add_schedule(dlcore_context *ctx,
                                                                      dlcore_checkpoint *checkpoint,
                                                                      const char *name,
                                                                      dlcore_schedule *schedule);
DLCORE_API DLCORE_STATUS dlcore_status dlcore_checkpoint_add_loader(dlcore_context *ctx,
                                                                    dlcore_checkpoint *checkpoint,
                                                                    const char *name,
                                                                    dlcore_loader *loader);
DLCORE_API DLCORE_STATUS dlcore_status dlcore_checkpoint_add_variable(dlcore_context *ctx,
                                                                      dlcore_checkpoint *checkpoint,
                                                                      const char *name,
                                                                      dlcore_variable *variable);

/* Sets a text of the program's, which is saved with the rest; NULL takes it out. Keys that start
 * with "dlcore." are the library's. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_checkpoint_set_text(dlcore_context *ctx,
                                                                  dlcore_checkpoint *checkpoint,
                                                                  const char *key,
                                                                  DLCORE_NULLABLE const char *text);
/* The text under a key, as it was set or loaded; NULL when there is none. It lives until that text
 * is set again or a file is loaded. */
DLCORE_API DLCORE_BORROWED const char *dlcore_checkpoint_text(const dlcore_checkpoint *checkpoint,
                                                              const char *key);

/* Saves everything. All variables are of one moment, also while another thread trains; loaders and
 * texts are so only when nobody uses them meanwhile. The file is replaced as a whole or not at all:
 * whenever the process or the machine dies, the old file is there or the new one. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_checkpoint_save(dlcore_context *ctx,
                                                              dlcore_checkpoint *checkpoint,
                                                              const char *path);
/* Loads everything: the file must hold exactly what belongs to the checkpoint, with the same dtypes
 * and shapes, and loaders must have as many samples in batches as large. Gradients of its variables
 * are forgotten. Nothing changes on failure. Errors: NOT_FOUND, INVALID_ARGUMENT and DATA_LOSS as
 * the file deserves; FAILED_PRECONDITION for a snapshot. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_checkpoint_load(dlcore_context *ctx,
                                                              dlcore_checkpoint *checkpoint,
                                                              const char *path);
/* The same through functions of the program, and from a buffer. */
DLCORE_API DLCORE_STATUS DLCORE_CALLBACK dlcore_status dlcore_checkpoint_write(
    dlcore_context *ctx, dlcore_checkpoint *checkpoint, dlcore_write_fn write, void *user_data);
DLCORE_API DLCORE_STATUS DLCORE_CALLBACK dlcore_status dlcore_checkpoint_read(
    dlcore_context *ctx, dlcore_checkpoint *checkpoint, dlcore_read_fn read, void *user_data);
DLCORE_API DLCORE_STATUS dlcore_status dlcore_checkpoint_load_buffer(dlcore_context *ctx,
                                                                     dlcore_checkpoint *checkpoint,
                                                                     DLCORE_ARRAY(size)
                                                                         const void *data,
                                                                     uint64_t size);

/* After a load: why what follows may differ from the training that was saved, because version,
 * device or instruction set are others than those it was saved with; "" when they are the same. It
 * lives until the next load. */
DLCORE_API DLCORE_BORROWED const char *dlcore_checkpoint_warning(
    const dlcore_checkpoint *checkpoint);

#ifdef __cplusplus
}
#endif
#endif
