// SPDX-License-Identifier: Apache-2.0
// The device: its memory, its kernels, and the functions that the engine calls.
#pragma once

#include <exception>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "call.h"
#include "dlcore/plugin.h"
#include "memory.h"

namespace host2 {

// There is one, however many engines use it, and it stays until the process ends, like its plug-in.
class Device {
 public:
  static Device& get();

  // Finds the numbers of the ops there are kernels for; once is enough, numbers are permanent.
  void learn_ops(const dlcore_host_api& host);
  dlcore_device_api api();

  Memory& memory() { return memory_; }
  const std::string& op_name(int32_t number) const { return names_.at(number); }

 private:
  Memory memory_;
  std::map<int32_t, std::string> names_;
  std::vector<dlcore_kernel> kernels_;
};

void describe(dlcore_failure* failure, dlcore_status code, const std::string& message);

// Runs fn(); what it throws becomes a status. Nothing is thrown across the border.
template <class Fn>
dlcore_status report(dlcore_failure* failure, Fn&& fn) noexcept {
  try {
    fn();
    return DLCORE_OK;
  } catch (const std::bad_alloc&) {
    describe(failure, DLCORE_RESOURCE_EXHAUSTED, "host2 has no memory for its own use");
    return DLCORE_RESOURCE_EXHAUSTED;
  } catch (const std::exception& e) {
    describe(failure, DLCORE_INTERNAL, e.what());
    return DLCORE_INTERNAL;
  }
}

}  // namespace host2
