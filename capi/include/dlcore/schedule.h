/* SPDX-License-Identifier: Apache-2.0
 *
 * dlcore/schedule.h -- learning rates that follow the number of steps.
 *
 * Schedules are described by a catalogue (op.h) and made by number; ops.h has a typed function for
 * each. A schedule belongs to an optimizer. It keeps a count of its own steps, from 0, and for each
 * group of the optimizer a base rate: the learning rate that the group had when the schedule was
 * made. At every count the rate of a group is a formula of count and base rate, which ops.md
 * states; nothing else enters it. So a schedule that goes on from a checkpoint has every bit of one
 * that was never interrupted.
 *
 *     dlcore_schedule *cosine = dlcore_cosine_annealing_lr(ctx, adam, 1000);
 *     for (...) {
 *       dlcore_backward(ctx, loss);
 *       dlcore_optimizer_step(ctx, adam);
 *       dlcore_schedule_step(ctx, cosine);
 *     }
 *
 * A schedule sets the rate when it is made and at each of its steps, and overwrites what a program
 * has assigned to the learning rate in between. A program that wants another rate under a schedule
 * assigns the base rate. Of several schedules of one optimizer the one that stepped last decides,
 * and the base rates of one are what the earlier ones had set when it was made.
 *
 * Rates are computed by ops in f64 on the context's device: bits are equal for every number of
 * threads, eagerly and in a graph. A device without kernels of f64 answers UNIMPLEMENTED.
 */
#ifndef DLCORE_SCHEDULE_H
#define DLCORE_SCHEDULE_H

#include <dlcore/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes schedule number `schedule` of the catalogue for all groups that the optimizer has, and sets
 * their rates to those of count 0. Groups that are added later keep the rate they are given. The
 * schedule keeps the optimizer alive. Nothing changes on failure. Errors: NOT_FOUND (no such
 * number), INVALID_ARGUMENT (attributes), FAILED_PRECONDITION (an optimizer without groups, a
 * capture, a run of a graph). */
DLCORE_API DLCORE_HANDLE dlcore_schedule *dlcore_schedule_create(
    dlcore_context *ctx, int32_t schedule, dlcore_optimizer *optimizer,
    DLCORE_ARRAY(n_words) const int64_t *attrs, int64_t n_words);
DLCORE_API DLCORE_VOID void dlcore_schedule_retain(DLCORE_NULLABLE dlcore_schedule *schedule);
DLCORE_API DLCORE_VOID void dlcore_schedule_release(DLCORE_NULLABLE dlcore_schedule *schedule);

/* Adds 1 to the count and sets the rate of every group to that of the new count: all of it or
 * nothing, also for whoever reads several variables at one moment (saves, runs of graphs). It may
 * be called from any thread; two steps at once are two steps. In a capture it becomes part of the
 * graph. FAILED_PRECONDITION inside a run of a graph. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_schedule_step(dlcore_context *ctx,
                                                            dlcore_schedule *schedule);

/* Name of the schedule in the catalogue ("CosineAnnealingLR"); NULL on a closed or NULL handle. */
DLCORE_API DLCORE_BORROWED const char *dlcore_schedule_kind(const dlcore_schedule *schedule);
/* Steps taken: an i64 variable of rank 0. A program may assign it; the next step goes on from
 * there. */
DLCORE_API DLCORE_BORROWED dlcore_variable *dlcore_schedule_count(dlcore_context *ctx,
                                                                  dlcore_schedule *schedule);
/* The base rate of a group: an f64 variable of rank 0. Assigning it changes the rates from the next
 * step on. OUT_OF_RANGE for a group that the optimizer did not have when the schedule was made. */
DLCORE_API DLCORE_BORROWED dlcore_variable *dlcore_schedule_base_rate(dlcore_context *ctx,
                                                                      dlcore_schedule *schedule,
                                                                      int64_t group);

#ifdef __cplusplus
}
#endif
#endif
