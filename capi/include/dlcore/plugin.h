/* SPDX-License-Identifier: Apache-2.0
 *
 * dlcore/plugin.h -- the contract between the engine and a device, built in or loaded at run time.
 *
 * A plug-in is a shared object that exports one function, `dlcore_plugin_init`. It receives a table
 * of the host's functions, imports nothing from libdlcore, and describes the devices it adds. It is
 * loaded by dlcore_engine_load_plugin and stays loaded until the process ends.
 *
 * WHAT A DEVICE IS
 * Memory that only it needs to be able to address, queues that run work in order, and a table of
 * kernels, one record for each (op, dtype) it can run. Ops without a kernel are decomposed into
 * other ops where their definition allows it, and are otherwise refused with UNIMPLEMENTED by the
 * engine.
 *
 * WHAT A KERNEL GETS
 * The call arrives checked: dtypes promoted, shapes inferred, attributes complete (defaults filled
 * in, in schema order), outputs allocated. Elementwise ops see every input with the output's shape,
 * broadcast by strides of 0. A kernel without DLCORE_KERNEL_STRIDED sees every input contiguous in
 * row-major order; outputs always are contiguous.
 *
 * ERRORS
 * A launch that cannot even be queued returns a status and fills in `failure`. A failure that shows
 * only while running is kept by the queue, the first one wins, and is handed out, once, by
 * `synchronize` and by copies to the host, which is where the program learns of it. Its message
 * starts with the name of the op ("cross_entropy: label 12 ..."), so that it reads as that of a
 * device that fails at once. The kernel goes on, stays within its operands and leaves defined
 * values: what was queued behind it still runs.
 */
#ifndef DLCORE_PLUGIN_H
#define DLCORE_PLUGIN_H

#include <dlcore/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { DLCORE_PLUGIN_ABI = 1 };

/* One operand of a kernel. `data` is an address in the device's memory of the first element (offset
 * applied); only the device may follow it. An absent optional input has dtype DLCORE_DTYPE_NONE. */
typedef struct dlcore_operand {
  void *data;
  const int64_t *shape;   /* rank entries */
  const int64_t *strides; /* rank entries, in elements; 0 repeats */
  int64_t count;          /* product of shape */
  dlcore_dtype dtype;
  int32_t rank;
} dlcore_operand;

typedef struct dlcore_failure {
  uint32_t struct_size;
  dlcore_status code;
  char message[256]; /* "index 12 is out of bounds for size 10 ..."; of a launch, the engine adds
                        the op's name */
} dlcore_failure;

/* Everything one launch needs. Valid only during the call: an asynchronous device copies it,
 * shapes and attributes included. Operands' memory stays alive until the queue has passed it. */
typedef struct dlcore_launch {
  uint32_t struct_size;
  int32_t op;
  const dlcore_operand *inputs;
  const dlcore_operand *outputs;
  int32_t n_inputs;
  int32_t n_outputs;
  const int64_t *attrs; /* packed attributes, complete; see op.h */
  int32_t n_words;
  int32_t reserved;
  void *workspace; /* device memory, `workspace` bytes of the kernel's record, uninitialised */
  dlcore_failure *failure;
} dlcore_launch;

typedef dlcore_status (*dlcore_kernel_fn)(void *queue, const dlcore_launch *launch);

enum {
  DLCORE_KERNEL_STRIDED = 1, /* takes inputs with any strides */
  DLCORE_KERNEL_MAY_REUSE =
      2 /* output 0 may be given the memory of an input of the same shape and dtype
           that nobody else needs: the kernel then sees equal data pointers */
};

/* One kernel. `dtype` is the dtype of the op's key input (the first input whose dtype is a free
 * variable of the schema; for creation ops the output's), or DLCORE_DTYPE_NONE for every dtype. */
typedef struct dlcore_kernel {
  int32_t op;
  dlcore_dtype dtype;
  uint32_t flags;
  uint32_t reserved;
  dlcore_kernel_fn launch;
  /* NULL for every call; else 1 when this kernel can run the call (shapes, strides, attributes). */
  int32_t (*accepts)(const dlcore_launch *launch);
  /* NULL for none; else bytes of workspace this call needs. */
  uint64_t (*workspace)(const dlcore_launch *launch);
} dlcore_kernel;

enum {
  DLCORE_DEVICE_HOST_MEMORY = 1, /* the host may follow its addresses */
  DLCORE_DEVICE_ASYNC = 2        /* launches return before they have run */
};

/* One device. `self` is handed to its functions. All functions may be called from any thread; a
 * queue is used by one thread at a time, but others may ask queue_passed and name it as the one to
 * wait for. Status-returning functions fill in `failure` when it is not NULL. */
typedef struct dlcore_device_api {
  uint32_t struct_size;
  uint32_t flags;
  const char *name;        /* what programs say to use it: "host2" */
  const char *description; /* one line for people */
  void *self;

  /* Addresses are multiples of 64. */
  dlcore_status (*allocate)(void *self, uint64_t bytes, void **address, dlcore_failure *failure);
  void (*deallocate)(void *self, void *address, uint64_t bytes);

  dlcore_status (*queue_open)(void *self, void **queue, dlcore_failure *failure);
  void (*queue_close)(void *self, void *queue); /* waits for what it holds */
  /* Copies, in queue order. Both return when the host's memory may be reused; copy_to_host waits
   * for everything before it and reports the queue's first failure. */
  dlcore_status (*copy_from_host)(void *self, void *queue, void *to, const void *host,
                                  uint64_t bytes, dlcore_failure *failure);
  dlcore_status (*copy_to_host)(void *self, void *queue, void *host, const void *from,
                                uint64_t bytes, dlcore_failure *failure);
  /* Waits until the queue is empty; hands out and clears its first failure. */
  dlcore_status (*synchronize)(void *self, void *queue, dlcore_failure *failure);

  /* Sequence number of the last work put into the queue; rises by at least one with each. */
  uint64_t (*queue_position)(void *self, void *queue);
  /* Makes `queue` wait, without stopping the host, until `other` has passed `position`, also when
   * `other` is closed meanwhile. A failure that `other` holds by then and that happened up to
   * `position` becomes one of `queue`, too: what it left behind may be about to be read. */
  dlcore_status (*queue_wait)(void *self, void *queue, void *other, uint64_t position);
  /* 1 when `queue` has passed `position`. */
  int32_t (*queue_passed)(void *self, void *queue, uint64_t position);

  const dlcore_kernel
      *kernels; /* a later record for the same op and dtype is tried before an earlier one */
  int64_t n_kernels;

  /* May be NULL, and is not called for asynchronous devices. Long kernels on `queue` look at *stop
   * between chunks and return early once it is not 0; the engine then discards what they wrote. It
   * is written by other threads, atomically. */
  void (*queue_set_stop)(void *self, void *queue, const int32_t *stop);
  /* May be NULL, and is not called for asynchronous devices. Long kernels on `queue` also return
   * early once CLOCK_MONOTONIC has reached `deadline`, in nanoseconds; INT64_MAX is never. Both
   * functions are called between launches, by the thread that uses the queue. */
  void (*queue_set_deadline)(void *self, void *queue, int64_t deadline);
} dlcore_device_api;

/* What the engine offers to a plug-in. */
typedef struct dlcore_host_api {
  uint32_t struct_size;
  int32_t abi;             /* DLCORE_PLUGIN_ABI of the engine */
  int32_t library_version; /* dlcore_version() */
  void *host;              /* handed back to the functions below */
  /* The number of the op of that name, or -1: plug-ins need not repeat numbers. */
  int32_t (*op_number)(void *host, const char *name);
  dlcore_status (*add_device)(void *host, const dlcore_device_api *device);
  /* Adds to the engine's log (log.h, DLCORE_LOG_*); from any thread, as long as a device of the plug-in lives. */
  void (*log)(void *host, int32_t level, const char *message);
} dlcore_host_api;

/* What a plug-in exports. Returns DLCORE_OK or why it cannot serve; `failure` carries the text. */
typedef dlcore_status (*dlcore_plugin_init_fn)(const dlcore_host_api *host,
                                               dlcore_failure *failure);

#ifdef __cplusplus
}
#endif
#endif
