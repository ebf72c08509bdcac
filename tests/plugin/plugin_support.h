// SPDX-License-Identifier: Apache-2.0
// What the tests of the loaded device share: an engine with it, a context on it, and one on the
// CPU.
#pragma once

#include <dlcore/ops.h>

#include <cstdlib>

#include "support.h"

namespace dlcore::test {

inline const char* plugin_path() {
  const char* path = std::getenv("DLCORE_TEST_PLUGIN");
  return path == nullptr ? "" : path;
}

constexpr const char* kDevice = "host2";

class PluginTest : public ApiTest {
 protected:
  explicit PluginTest(uint64_t flags = 0) {
    load(engine_);
    cpu_ = ctx_;
    ctx_ = open_on(engine_, kDevice, flags);
  }
  // A failure here keeps the test itself from running.
  void SetUp() override {
    ASSERT_STRNE(plugin_path(), "") << "set DLCORE_TEST_PLUGIN to the shared object of the device";
    ASSERT_NE(ctx_, nullptr);
  }
  ~PluginTest() override {
    dlcore_context_synchronize(ctx_);
    dlcore_context_close(cpu_);
  }

  static void load(dlcore_engine* engine) {
    dlcore_error* error = nullptr;
    EXPECT_EQ(dlcore_engine_load_plugin(engine, plugin_path(), &error), DLCORE_OK)
        << dlcore_error_message(error);
    dlcore_error_release(error);
  }
  static dlcore_context* open_on(dlcore_engine* engine, const char* device, uint64_t flags = 0) {
    dlcore_error* error = nullptr;
    dlcore_context* ctx = dlcore_context_open(engine, device, 42, flags, &error);
    EXPECT_NE(ctx, nullptr) << dlcore_error_message(error);
    dlcore_error_release(error);
    return ctx;
  }

  // The same calls on the CPU's context.
  template <class Fn>
  auto on_cpu(Fn&& fn) {
    std::swap(ctx_, cpu_);
    auto result = fn();
    std::swap(ctx_, cpu_);
    return result;
  }
  static std::string device_of(dlcore_context* ctx, dlcore_tensor* t) {
    dlcore_tensor_description d;
    d.struct_size = sizeof d;
    EXPECT_EQ(dlcore_tensor_describe(ctx, t, &d), DLCORE_OK);
    return d.device;
  }

  dlcore_context* cpu_;
};

}  // namespace dlcore::test
