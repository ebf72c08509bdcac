// SPDX-License-Identifier: Apache-2.0
// Does something again and again, each time with another of its allocations failing, until it has
// been through with none.
#pragma once

#include <functional>

#include "allocations.h"
#include "support.h"

namespace dlcore::test {

enum class Fault {
  kHostOnce,       // one host allocation
  kHostFromThere,  // and all after it, until the call has returned
  kTensor          // one allocation of tensor memory
};
constexpr Fault kFaults[] = {Fault::kHostOnce, Fault::kHostFromThere, Fault::kTensor};

class FaultTest : public ApiTest {
 protected:
  // What a sweep calls. Nothing in `attempt` but calls of the library may allocate.
  struct Steps {
    std::function<void()> attempt;         // on ctx_
    std::function<void(bool)> afterwards;  // was it done? undoes, or does it again
  };

  // Runs `steps` with each allocation failing in turn. Whatever fails, the context says
  // RESOURCE_EXHAUSTED, or nothing when that memory was not needed. Returns the failures injected.
  int64_t sweep(Fault fault, const Steps& steps) {
    for (int64_t n = 1;; ++n) {
      arm(fault, n);
      steps.attempt();
      const bool injected = disarm(fault, n);
      const dlcore_status status = dlcore_context_status(ctx_);
      const std::string message = dlcore_context_error_message(ctx_);
      dlcore_context_clear_error(ctx_);
      SCOPED_TRACE("allocation " + std::to_string(n) + " of fault " +
                   std::to_string(static_cast<int>(fault)));
      if (injected && status != DLCORE_OK) {
        EXPECT_EQ(status, DLCORE_RESOURCE_EXHAUSTED) << message;
        EXPECT_NE(message, "");
      } else {
        EXPECT_EQ(status, DLCORE_OK) << message;
      }
      steps.afterwards(status == DLCORE_OK);
      if (!injected) return n - 1;
      if (HasFailure() || n == kMost) {
        ADD_FAILURE() << "given up";
        return n;
      }
    }
  }

  void sweep_all(const Steps& steps, bool tensors = true) {
    for (Fault fault : kFaults) {
      const int64_t injected = sweep(fault, steps);
      if (HasFailure()) return;
      if (fault != Fault::kTensor || tensors) {
        EXPECT_GT(injected, 0) << static_cast<int>(fault);
      }
    }
  }

  // `again` leaves as many objects, bytes and blocks of memory as it found.
  void expect_flat(const std::function<void()>& again) {
    again();
    again();
    const dlcore_engine_statistics before = statistics();
    const int64_t blocks = live_host_blocks();
    again();
    EXPECT_EQ(live_host_blocks(), blocks);
    const dlcore_engine_statistics after = statistics();
    EXPECT_EQ(after.live_tensors, before.live_tensors);
    EXPECT_EQ(after.live_variables, before.live_variables);
    EXPECT_EQ(after.live_modules, before.live_modules);
    EXPECT_EQ(after.live_optimizers, before.live_optimizers);
    EXPECT_EQ(after.live_schedules, before.live_schedules);
    EXPECT_EQ(after.live_loaders, before.live_loaders);
    EXPECT_EQ(after.live_graphs, before.live_graphs);
    EXPECT_EQ(after.live_contexts, before.live_contexts);
    EXPECT_EQ(after.live_bytes, before.live_bytes);
  }

  std::string bytes_of(dlcore_variable* v) {
    dlcore_tensor* t = dlcore_variable_read(ctx_, v);
    const dlcore_dtype dtype = dlcore_tensor_dtype(t);
    std::string raw(static_cast<size_t>(dlcore_tensor_count(t)) * dlcore_dtype_size(dtype), '\0');
    EXPECT_EQ(dlcore_tensor_read(ctx_, t, dtype, raw.data(), raw.size()), DLCORE_OK);
    return raw;
  }

 private:
  static constexpr int64_t kMost = 100000;

  void arm(Fault fault, int64_t n) {
    if (fault == Fault::kTensor) {
      dlcore_engine_fail_allocation(engine_, n);
    } else {
      fail_host_allocation(n, fault == Fault::kHostOnce ? Failing::kOnce : Failing::kFromThere);
    }
    allocations_ = fault == Fault::kTensor ? statistics().allocations : 0;
  }
  bool disarm(Fault fault, int64_t n) {
    if (fault != Fault::kTensor) return disarm_host_allocations();
    dlcore_engine_fail_allocation(engine_, 0);
    return dlcore_context_status(ctx_) != DLCORE_OK ||
           statistics().allocations - allocations_ >= static_cast<uint64_t>(n);
  }

  uint64_t allocations_ = 0;
};

}  // namespace dlcore::test
