/* SPDX-License-Identifier: Apache-2.0
 *
 * dlcore/engine.h -- the owner of everything that costs something: devices, allocators, threads,
 * plug-ins and limits.
 *
 * A process opens one engine, usually; several may exist and share nothing. An engine may be used
 * from any number of threads at the same time.
 */
#ifndef DLCORE_ENGINE_H
#define DLCORE_ENGINE_H

#include <dlcore/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Instruction sets an engine may be pinned to. Equal bits are promised for one instruction set. */
enum {
  DLCORE_ISA_BEST = 0, /* the best one that this processor has and the library was built for */
  DLCORE_ISA_BASELINE = 1,
  DLCORE_ISA_AVX2 = 2,
  DLCORE_ISA_AVX512 = 3,
  DLCORE_ISA_AVX512_BF16 = 4 /* AVX512 that multiplies matrices of bf16 by its dot products */
};

/* Fill with dlcore_engine_options_init(&options, sizeof options), then change what you need. */
typedef struct dlcore_engine_options {
  uint32_t struct_size;
  int32_t threads;       /* including the calling one; 0: as many as this process may use. A library
                            built with -Dthreads=disabled always uses the calling one only. */
  uint64_t memory_limit; /* bytes of tensors for each device; 0: none */
  int32_t isa;           /* DLCORE_ISA_*; pinning one also pins the engine's own matrix kernels */
  int32_t reserved;
} dlcore_engine_options;

DLCORE_API DLCORE_VOID void dlcore_engine_options_init(dlcore_engine_options *options,
                                                       uint64_t size);

/* Opens an engine with the CPU device.
 *   options   NULL for the defaults
 *   error     receives a new error on failure, which the caller releases
 * Errors: INVALID_ARGUMENT (a negative thread count, an unknown instruction set), UNAVAILABLE (an
 * instruction set that this processor lacks or the library was not built for), RESOURCE_EXHAUSTED.
 */
DLCORE_API DLCORE_HANDLE dlcore_engine *dlcore_engine_open(
    DLCORE_NULLABLE const dlcore_engine_options *options,
    DLCORE_NULLABLE DLCORE_OUT dlcore_error **error);

/* Memory for the elements of tensors on the CPU device, from the program: an arena, huge pages, a
 * heap that is counted. `allocate` answers with the address of `bytes` bytes, a multiple of
 * `alignment`, which is 64; `bytes` is a multiple of it too, and not 0. NULL says that there is no
 * memory: the engine then gives back what it keeps for reuse and asks once more, before the call
 * that needed it fails with RESOURCE_EXHAUSTED. An address that is not aligned goes back at once and
 * is FAILED_PRECONDITION. `deallocate` gets each address with the bytes that were asked for.
 * Both are called from any thread that uses the engine, at the same time, and must not call the
 * library. */
typedef void *(*dlcore_allocate_fn)(void *user_data, uint64_t bytes, uint64_t alignment);
typedef void (*dlcore_deallocate_fn)(void *user_data, void *address, uint64_t bytes);

/* dlcore_engine_open with these functions for all memory of tensors on the CPU device beyond 64
 * bytes each. (Handles, small tensors, shapes and text are the library's own and come from malloc.)
 * The engine keeps freed memory for reuse: dlcore_engine_trim gives it back, a memory_limit bounds
 * it.
 *   destroy   runs exactly once with user_data: when the last object of the engine is released and
 *             all memory is back, on the thread that does that; when opening fails, at once
 * Errors: those of dlcore_engine_open, INVALID_ARGUMENT (a function is missing). */
DLCORE_API DLCORE_HANDLE dlcore_engine *dlcore_engine_open_with_allocator(
    DLCORE_NULLABLE const dlcore_engine_options *options, dlcore_allocate_fn allocate,
    dlcore_deallocate_fn deallocate, DLCORE_NULLABLE void *user_data,
    DLCORE_NULLABLE void (*destroy)(void *user_data),
    DLCORE_NULLABLE DLCORE_OUT dlcore_error **error);

DLCORE_API DLCORE_VOID void dlcore_engine_retain(DLCORE_NULLABLE dlcore_engine *engine);
DLCORE_API DLCORE_VOID void dlcore_engine_release(DLCORE_NULLABLE dlcore_engine *engine);

/* Stops and joins the engine's threads and gives up the caller's reference. What is still held can
 * be read and released; execution on it answers FAILED_PRECONDITION. */
DLCORE_API DLCORE_VOID void dlcore_engine_close(DLCORE_NULLABLE dlcore_engine *engine);

/* Loads a plug-in: a shared object that adds devices (see plugin.h). It stays loaded until the
 * process ends. Errors: NOT_FOUND (no such file, with the loader's text), FAILED_PRECONDITION (no
 * dlcore_plugin_init, or one for another ABI), ALREADY_EXISTS (a device of that name),
 * UNIMPLEMENTED (the library was built with -Dplugins=disabled). */
DLCORE_API DLCORE_STATUS dlcore_status dlcore_engine_load_plugin(
    dlcore_engine *engine, const char *path, DLCORE_NULLABLE DLCORE_OUT dlcore_error **error);

/* Devices, in the order in which they were added; "cpu" is number 0. */
DLCORE_API DLCORE_VALUE int64_t dlcore_engine_device_count(const dlcore_engine *engine);
DLCORE_API DLCORE_BORROWED const char *dlcore_engine_device_name(const dlcore_engine *engine,
                                                                 int64_t index);

typedef struct dlcore_engine_statistics {
  uint32_t struct_size;
  int32_t threads;
  int32_t isa; /* DLCORE_ISA_* in use */
  int32_t reserved;
  int64_t live_tensors; /* handles of each type that somebody holds */
  int64_t live_variables;
  int64_t live_modules;
  int64_t live_optimizers;
  int64_t live_loaders;
  int64_t live_graphs;
  int64_t live_contexts;
  uint64_t live_bytes;         /* memory of tensors, over all devices */
  uint64_t cached_bytes;       /* kept by the allocators for reuse */
  uint64_t peak_bytes;         /* highest live_bytes so far */
  uint64_t allocations;        /* blocks handed out */
  uint64_t source_allocations; /* of those, how many the system was asked for */
  uint64_t memory_limit;
  int64_t live_schedules; /* handles that somebody holds, like those above */
} dlcore_engine_statistics;

/* Fills in what fits into statistics->struct_size, which the caller sets. INVALID_ARGUMENT on NULL.
 */
DLCORE_API DLCORE_STATUS dlcore_status
dlcore_engine_get_statistics(const dlcore_engine *engine, dlcore_engine_statistics *statistics);

/* Runs the `destroy` functions of what was given with a callback and is needed no more (see
 * dlcore_module_define), on the calling thread, and returns how many ran; -1 on a NULL engine.
 * Releases never run them. */
DLCORE_API DLCORE_VALUE DLCORE_CALLBACK int64_t dlcore_engine_collect(dlcore_engine *engine);
/* Gives cached memory back to the system. */
DLCORE_API DLCORE_VOID void dlcore_engine_trim(dlcore_engine *engine);

/* For tests of a program's handling of RESOURCE_EXHAUSTED: the n-th allocation of tensor memory
 * from now on (1 is the next) fails once. 0 switches it off. */
DLCORE_API DLCORE_VOID void dlcore_engine_fail_allocation(dlcore_engine *engine, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
