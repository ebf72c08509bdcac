// SPDX-License-Identifier: Apache-2.0
// The one function that the engine looks for.
#include <string>

#include "device.h"
#include "dlcore/log.h"

using namespace host2;

extern "C" __attribute__((visibility("default"))) dlcore_status dlcore_plugin_init(
    const dlcore_host_api* host, dlcore_failure* failure) {
  if (host->abi != DLCORE_PLUGIN_ABI) {
    describe(failure, DLCORE_FAILED_PRECONDITION,
             "host2 is built for plug-in ABI " + std::to_string(DLCORE_PLUGIN_ABI) +
                 ", this engine has " + std::to_string(host->abi));
    return DLCORE_FAILED_PRECONDITION;
  }
  dlcore_status added = DLCORE_OK;
  const dlcore_status status = report(failure, [&] {
    Device& device = Device::get();
    device.learn_ops(*host);
    const dlcore_device_api api = device.api();
    added = host->add_device(host->host, &api);
    if (added == DLCORE_OK) host->log(host->host, DLCORE_LOG_INFO, "device 'host2' is there");
  });
  return status == DLCORE_OK ? added : status;
}
