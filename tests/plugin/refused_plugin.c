/* SPDX-License-Identifier: Apache-2.0
 * A plug-in with one fault, which the build chooses: REASON_... */
#include <dlcore/plugin.h>
#include <stdio.h>
#include <string.h>

#ifdef REASON_WRONG_ABI
enum { BUILT_FOR = DLCORE_PLUGIN_ABI + 1 };
#else
enum { BUILT_FOR = DLCORE_PLUGIN_ABI };
#endif

#ifdef REASON_NO_INIT
#define INIT some_other_function
#else
#define INIT dlcore_plugin_init
#endif

/* Functions of a device that is never used. */
static dlcore_status allocate(void *self, uint64_t bytes, void **address, dlcore_failure *failure) {
  (void)self, (void)bytes, (void)address, (void)failure;
  return DLCORE_INTERNAL;
}
static void deallocate(void *self, void *address, uint64_t bytes) {
  (void)self, (void)address, (void)bytes;
}
static dlcore_status queue_open(void *self, void **queue, dlcore_failure *failure) {
  (void)self, (void)queue, (void)failure;
  return DLCORE_INTERNAL;
}
static void queue_close(void *self, void *queue) { (void)self, (void)queue; }
static dlcore_status copy_from_host(void *self, void *queue, void *to, const void *host,
                                    uint64_t bytes, dlcore_failure *failure) {
  (void)self, (void)queue, (void)to, (void)host, (void)bytes, (void)failure;
  return DLCORE_INTERNAL;
}
static dlcore_status copy_to_host(void *self, void *queue, void *host, const void *from,
                                  uint64_t bytes, dlcore_failure *failure) {
  (void)self, (void)queue, (void)host, (void)from, (void)bytes, (void)failure;
  return DLCORE_INTERNAL;
}
static dlcore_status synchronize(void *self, void *queue, dlcore_failure *failure) {
  (void)self, (void)queue, (void)failure;
  return DLCORE_INTERNAL;
}
static uint64_t queue_position(void *self, void *queue) {
  (void)self, (void)queue;
  return 0;
}
static dlcore_status queue_wait(void *self, void *queue, void *other, uint64_t position) {
  (void)self, (void)queue, (void)other, (void)position;
  return DLCORE_INTERNAL;
}
static int32_t queue_passed(void *self, void *queue, uint64_t position) {
  (void)self, (void)queue, (void)position;
  return 1;
}

static dlcore_kernel kernel; /* op 0, dtype 0 and no function: malformed */

__attribute__((visibility("default"))) dlcore_status INIT(const dlcore_host_api *host,
                                                          dlcore_failure *failure);

dlcore_status INIT(const dlcore_host_api *host, dlcore_failure *failure) {
  dlcore_device_api device;
  if (host->abi != BUILT_FOR) {
    snprintf(failure->message, sizeof failure->message,
             "this plug-in is built for ABI %d, the engine has %d", (int)BUILT_FOR, (int)host->abi);
    return DLCORE_FAILED_PRECONDITION;
  }
#ifdef REASON_GIVES_UP
  return DLCORE_UNAVAILABLE; /* without a word */
#endif
  memset(&device, 0, sizeof device);
  device.struct_size = sizeof device;
  device.name = "refused";
  device.allocate = allocate;
  device.deallocate = deallocate;
  device.queue_open = queue_open;
  device.queue_close = queue_close;
  device.copy_from_host = copy_from_host;
  device.copy_to_host = copy_to_host;
  device.synchronize = synchronize;
  device.queue_position = queue_position;
  device.queue_wait = queue_wait;
  device.queue_passed = queue_passed;
#ifdef REASON_DUPLICATE_NAME
  device.name = "cpu";
#endif
#ifdef REASON_MISSING_FUNCTION
  device.synchronize = NULL;
#endif
#ifdef REASON_NO_NAME
  device.name = NULL;
#endif
#ifdef REASON_BAD_KERNEL
  device.kernels = &kernel;
  device.n_kernels = 1;
#endif
  (void)kernel;
  return host->add_device(host->host, &device);
}
