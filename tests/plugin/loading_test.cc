// SPDX-License-Identifier: Apache-2.0
// Loading plug-ins: what a good one adds, and how others are refused.
#include <dlfcn.h>

#include "plugin_support.h"

namespace dlcore::test {
namespace {

TEST_F(PluginTest, AddsADevice) {
  ASSERT_EQ(dlcore_engine_device_count(engine_), 2);
  EXPECT_STREQ(dlcore_engine_device_name(engine_, 0), "cpu");
  EXPECT_STREQ(dlcore_engine_device_name(engine_, 1), kDevice);
  EXPECT_STREQ(dlcore_context_device(ctx_), kDevice);
}

TEST_F(PluginTest, SpeaksThroughTheLog) {
  dlcore_log_record record;
  record.struct_size = sizeof record;
  ASSERT_EQ(dlcore_engine_next_log(engine_, &record, 0), 1);
  EXPECT_STREQ(record.message, "device 'host2' is there");
  const std::string path = plugin_path();
  EXPECT_EQ(record.source, path.substr(path.rfind('/') + 1).substr(0, sizeof record.source - 1));
}

TEST_F(PluginTest, NeedsNothingOfTheLibrary) {
  void* plugin = dlopen(plugin_path(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << dlerror();
  EXPECT_NE(dlsym(plugin, "dlcore_plugin_init"), nullptr);
  dlclose(plugin);
}

// A kernel that is lost would go unnoticed where an op may be unsupported.
TEST_F(PluginTest, HasTheKernelsThatTrainingNeeds) {
  for (const char* op : {"add",
                         "subtract",
                         "multiply",
                         "divide",
                         "maximum",
                         "minimum",
                         "negative",
                         "sqrt",
                         "relu",
                         "relu_backward",
                         "equal",
                         "greater",
                         "less",
                         "where",
                         "astype",
                         "copy",
                         "full",
                         "concat",
                         "slice_backward",
                         "sum",
                         "mean",
                         "max",
                         "min",
                         "argmax",
                         "softmax",
                         "log_softmax",
                         "softmax_backward",
                         "log_softmax_backward",
                         "cross_entropy",
                         "cross_entropy_backward",
                         "matmul",
                         "linear",
                         "sgd_update",
                         "adam_update",
                         "global_norm"}) {
    const int32_t number = dlcore_catalogue_find(ctx_, DLCORE_CATALOGUE_OPS, op);
    EXPECT_EQ(dlcore_op_has_kernel(ctx_, number, DLCORE_F32), 1) << op;
    EXPECT_EQ(dlcore_op_has_kernel(ctx_, number, DLCORE_F64), 1) << op;
  }
  expect_ok();
}

TEST_F(PluginTest, ServesSeveralEngines) {
  dlcore_engine* other = dlcore_engine_open(nullptr, nullptr);
  load(other);
  dlcore_context* there = open_on(other, kDevice);
  dlcore_tensor* x = dlcore_tensor_scalar_f32(there, 3);
  float y = 0;
  EXPECT_EQ(dlcore_tensor_read_f32(there, dlcore_multiply(there, x, x), &y, 1), DLCORE_OK);
  EXPECT_EQ(y, 9);
  EXPECT_EQ(read(dlcore_multiply(ctx_, f32({}, {4}), f32({}, {4}))), Doubles{16});
  dlcore_context_close(there);
  dlcore_engine_close(other);
}

TEST_F(PluginTest, UnknownDeviceIsToldWithThoseThereAre) {
  dlcore_error* error = nullptr;
  EXPECT_EQ(dlcore_context_open(engine_, "host3", 0, 0, &error), nullptr);
  EXPECT_EQ(dlcore_error_code(error), DLCORE_NOT_FOUND);
  EXPECT_STREQ(dlcore_error_message(error),
               "context_open: no device 'host3'; this engine has cpu, host2");
  dlcore_error_release(error);
}

class RefusedTest : public ApiTest {
 protected:
  // Loading fails, and nothing was added.
  void expect_refused(const std::string& path, dlcore_status code, const std::string& part) {
    const int64_t devices = dlcore_engine_device_count(engine_);
    dlcore_error* error = nullptr;
    EXPECT_EQ(dlcore_engine_load_plugin(engine_, path.c_str(), &error), code);
    EXPECT_EQ(dlcore_error_code(error), code);
    const std::string message = dlcore_error_message(error);
    EXPECT_EQ(message.rfind("engine_load_plugin: ", 0), 0u) << message;
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(dlcore_engine_device_count(engine_), devices);
    dlcore_error_release(error);
  }
  void expect_refused_for(const std::string& reason, dlcore_status code, const std::string& part) {
    expect_refused(std::string(REFUSED_PLUGINS) + "/refused_" + reason + ".so", code, part);
  }
};

TEST_F(RefusedTest, MissingFile) {
  expect_refused("/nowhere/device.so", DLCORE_NOT_FOUND, "/nowhere/device.so");
}
TEST_F(RefusedTest, NotASharedObject) {
  write_file(file("text.so"), "no code");
  expect_refused(file("text.so"), DLCORE_NOT_FOUND, "text.so");
}
TEST_F(RefusedTest, NoInitFunction) {
  expect_refused_for("no_init", DLCORE_FAILED_PRECONDITION, "exports no dlcore_plugin_init");
}
TEST_F(RefusedTest, AnotherAbi) {
  expect_refused_for("wrong_abi", DLCORE_FAILED_PRECONDITION, "built for ABI 2, the engine has 1");
}
TEST_F(RefusedTest, NameThatIsTaken) {
  expect_refused_for("duplicate_name", DLCORE_ALREADY_EXISTS, "device 'cpu' exists already");
}
TEST_F(RefusedTest, MissingFunction) {
  expect_refused_for("missing_function", DLCORE_INVALID_ARGUMENT, "device 'refused' lacks");
}
TEST_F(RefusedTest, NoName) {
  expect_refused_for("no_name", DLCORE_INVALID_ARGUMENT, "lacks a name");
}
TEST_F(RefusedTest, MalformedKernel) {
  expect_refused_for("bad_kernel", DLCORE_INVALID_ARGUMENT, "kernel record 0 is malformed");
}
TEST_F(RefusedTest, InitThatGivesUp) {
  expect_refused_for("gives_up", DLCORE_UNAVAILABLE, "UNAVAILABLE");
}
TEST_F(RefusedTest, LoadedTwice) {
  ASSERT_EQ(dlcore_engine_load_plugin(engine_, plugin_path(), nullptr), DLCORE_OK);
  expect_refused(plugin_path(), DLCORE_ALREADY_EXISTS, "device 'host2' exists already");
}
TEST_F(RefusedTest, NullsAndClosedEngines) {
  EXPECT_EQ(dlcore_engine_load_plugin(nullptr, plugin_path(), nullptr), DLCORE_INVALID_ARGUMENT);
  EXPECT_EQ(dlcore_engine_load_plugin(engine_, nullptr, nullptr), DLCORE_INVALID_ARGUMENT);
  dlcore_engine* closed = dlcore_engine_open(nullptr, nullptr);
  dlcore_engine_retain(closed);
  dlcore_engine_close(closed);
  EXPECT_EQ(dlcore_engine_load_plugin(closed, plugin_path(), nullptr), DLCORE_FAILED_PRECONDITION);
  dlcore_engine_release(closed);
}

}  // namespace
}  // namespace dlcore::test
