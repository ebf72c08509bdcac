/* SPDX-License-Identifier: Apache-2.0
 *
 * dlcore/log.h -- what the engine, its plug-ins and bindings have to say that is no error.
 *
 * Nothing is printed and no function of the program is called: records wait in a ring of the engine
 * until somebody takes them, on whatever thread suits. When nobody does, the oldest are lost, and
 * the next record that is taken tells how many.
 *
 * All functions may be called from any thread.
 */
#ifndef DLCORE_LOG_H
#define DLCORE_LOG_H

#include <dlcore/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  DLCORE_LOG_DEBUG = 10,
  DLCORE_LOG_INFO = 20,
  DLCORE_LOG_WARNING = 30,
  DLCORE_LOG_ERROR = 40
};

typedef struct dlcore_log_record {
  uint32_t struct_size;
  int32_t level;     /* DLCORE_LOG_* */
  int64_t time;      /* nanoseconds since 1970-01-01 UTC */
  int64_t lost;      /* records that were dropped just before this one */
  char source[32];   /* who speaks: "checkpoint", "cpu", the name of a plug-in or of a binding */
  char message[456]; /* UTF-8, one line, cut between characters when it is longer */
} dlcore_log_record;

/* Takes the oldest record: fills in what fits into record->struct_size, which the caller sets.
 * When there is none, waits up to `milliseconds` for one: 0 does not wait, a negative number waits
 * until one comes. Returns 0 when none came or the engine is closed (what it said before can still
 * be taken). A library built with -Dthreads=disabled never waits. */
DLCORE_API DLCORE_PREDICATE int32_t dlcore_engine_next_log(dlcore_engine *engine,
                                                           dlcore_log_record *record,
                                                           int64_t milliseconds);
/* Adds a record, for bindings and programs. INVALID_ARGUMENT on NULL, on a closed engine and for a
 * level that is none. */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_engine_log(dlcore_engine *engine, int32_t level,
                                                         const char *source, const char *message);
/* Records below this level are not kept; DLCORE_LOG_INFO at first. Returns the previous level, -1
 * on a NULL or closed engine. */
DLCORE_API DLCORE_VALUE int32_t dlcore_engine_set_log_level(dlcore_engine *engine, int32_t level);

#ifdef __cplusplus
}
#endif
#endif
