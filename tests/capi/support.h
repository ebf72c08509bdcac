// SPDX-License-Identifier: Apache-2.0
// What tests of the C API share: an engine and a context, tensors from lists, packed attributes,
// and the error that is expected to stick.
#pragma once

#include <dlcore/dlcore.h>
#include <dlcore/ops.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "support/instruction_set.h"

namespace dlcore::test {

using Shape = std::vector<int64_t>;
using Doubles = std::vector<double>;

// Packed attributes (op.h).
class Words {
 public:
  Words& i(int64_t value) {
    words_.push_back(value);
    return *this;
  }
  Words& f(double value) { return i(std::bit_cast<int64_t>(value)); }
  Words& text(const std::string& value) {
    i(static_cast<int64_t>(value.size()));
    const size_t at = words_.size();
    words_.resize(at + (value.size() + 7) / 8);
    std::memcpy(words_.data() + at, value.data(), value.size());
    return *this;
  }
  Words& ints(const Shape& values) {
    i(static_cast<int64_t>(values.size()));
    for (int64_t v : values) i(v);
    return *this;
  }
  const int64_t* data() const { return words_.data(); }
  int64_t size() const { return static_cast<int64_t>(words_.size()); }

 private:
  std::vector<int64_t> words_;
};

class ApiTest : public ::testing::Test {
 protected:
  ApiTest() : ApiTest(0) {}
  explicit ApiTest(uint64_t flags) {
    engine_ = open_engine();
    ctx_ = open(42, flags);
    directory_ =
        std::filesystem::temp_directory_path() / ("dlcore-test-" + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
  }
  ~ApiTest() override {
    EXPECT_EQ(dlcore_ok(ctx_), 1) << dlcore_context_error_message(ctx_);
    dlcore_context_close(ctx_);
    expect_nothing_left();
    dlcore_engine_close(engine_);
    std::filesystem::remove_all(directory_);
  }

  // Everything that the program made has gone with its contexts.
  void expect_nothing_left() {
    dlcore_engine_statistics s = statistics();
    // Work in flight keeps its memory, also that of a context which is closed.
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (s.live_bytes != 0 && std::chrono::steady_clock::now() < patience) {
      std::this_thread::yield();
      s = statistics();
    }
    EXPECT_EQ(s.live_tensors, 0);
    EXPECT_EQ(s.live_variables, 0);
    EXPECT_EQ(s.live_modules, 0);
    EXPECT_EQ(s.live_optimizers, 0);
    EXPECT_EQ(s.live_schedules, 0);
    EXPECT_EQ(s.live_loaders, 0);
    EXPECT_EQ(s.live_graphs, 0);
    EXPECT_EQ(s.live_contexts, 0);
    EXPECT_EQ(s.live_bytes, 0u);
  }

  dlcore_context* open(uint64_t seed, uint64_t flags = 0) {
    return dlcore_context_open(engine_, "cpu", seed, flags, nullptr);
  }

  // A call has failed; the error is taken.
  void expect_error(dlcore_status code, const std::string& part) {
    EXPECT_EQ(dlcore_context_status(ctx_), code) << dlcore_context_error_message(ctx_);
    const std::string message = dlcore_context_error_message(ctx_);
    EXPECT_NE(message.find(part), std::string::npos) << message;
    dlcore_context_clear_error(ctx_);
  }
  void expect_ok() { ASSERT_EQ(dlcore_ok(ctx_), 1) << dlcore_context_error_message(ctx_); }

  dlcore_tensor* tensor(dlcore_dtype dtype, const Shape& shape, const Doubles& values) {
    std::vector<char> bytes;
    for (double v : values) append(dtype, v, bytes);
    return dlcore_tensor_create(ctx_, dtype, shape.data(), static_cast<int32_t>(shape.size()),
                                bytes.data(), bytes.size());
  }
  dlcore_tensor* f32(const Shape& shape, const Doubles& values) {
    return tensor(DLCORE_F32, shape, values);
  }

  dlcore_tensor* f64(const Shape& shape, const Doubles& values) {
    return tensor(DLCORE_F64, shape, values);
  }
  dlcore_tensor* i64(const Shape& shape, const Doubles& values) {
    return tensor(DLCORE_I64, shape, values);
  }
  static Doubles range(int64_t n) {
    Doubles values;
    for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<double>(i));
    return values;
  }

  // Elements of any plain dtype.
  Doubles read(dlcore_tensor* t) {
    const int64_t count = dlcore_tensor_count(t);
    if (count < 0) return {};
    const dlcore_dtype dtype = dlcore_tensor_dtype(t);
    const uint64_t width = dlcore_dtype_size(dtype);
    std::vector<char> bytes(static_cast<size_t>(count) * width);
    dlcore_tensor_read(ctx_, t, dtype, bytes.data(), bytes.size());
    Doubles values;
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(element(dtype, bytes.data() + static_cast<uint64_t>(i) * width));
    }
    return values;
  }
  Doubles read(dlcore_variable* v) { return read(dlcore_variable_read(ctx_, v)); }

  static Shape shape_of(dlcore_tensor* t) {
    Shape shape;
    for (int32_t i = 0; i < dlcore_tensor_rank(t); ++i) shape.push_back(dlcore_tensor_dim(t, i));
    return shape;
  }

  dlcore_tensor* op1(int32_t op, dlcore_tensor* a, const Words& attrs = {}) {
    return dlcore_op_call1(ctx_, op, a, attrs.data(), attrs.size());
  }
  dlcore_tensor* op2(int32_t op, dlcore_tensor* a, dlcore_tensor* b, const Words& attrs = {}) {
    return dlcore_op_call2(ctx_, op, a, b, attrs.data(), attrs.size());
  }
  dlcore_tensor* sum(dlcore_tensor* a) { return op1(80, a); }
  dlcore_tensor* multiply(dlcore_tensor* a, dlcore_tensor* b) { return op2(3, a, b); }

  dlcore_module* layer(const char* name, const Words& attrs = {},
                       const std::vector<dlcore_module*>& children = {}) {
    return dlcore_module_create(ctx_, dlcore_catalogue_find(ctx_, DLCORE_CATALOGUE_LAYERS, name),
                                children.data(), static_cast<int64_t>(children.size()),
                                attrs.data(), attrs.size());
  }
  dlcore_module* linear(int64_t in, int64_t out) { return layer("Linear", Words().i(in).i(out)); }
  dlcore_module* sequential(const std::vector<dlcore_module*>& children) {
    return layer("Sequential", {}, children);
  }

  std::string file(const std::string& name) const { return (directory_ / name).string(); }
  static void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  static std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  dlcore_engine_statistics statistics() {
    dlcore_engine_statistics s;
    s.struct_size = sizeof s;
    dlcore_engine_get_statistics(engine_, &s);
    return s;
  }

  dlcore_engine* engine_;
  dlcore_context* ctx_;
  std::filesystem::path directory_;

 private:
  template <class T>
  static void put(T value, std::vector<char>& bytes) {
    const char* raw = reinterpret_cast<const char*>(&value);
    bytes.insert(bytes.end(), raw, raw + sizeof value);
  }
  template <class T>
  static double get(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return static_cast<double>(value);
  }
  static void append(dlcore_dtype dtype, double v, std::vector<char>& bytes) {
    switch (dtype) {
      case DLCORE_F64:
        return put(v, bytes);
      case DLCORE_F32:
        return put(static_cast<float>(v), bytes);
      case DLCORE_I64:
        return put(static_cast<int64_t>(v), bytes);
      case DLCORE_I32:
        return put(static_cast<int32_t>(v), bytes);
      case DLCORE_I16:
      case DLCORE_F16:  // the bits
      case DLCORE_BF16:
        return put(static_cast<int16_t>(v), bytes);
      default:
        return put(static_cast<int8_t>(static_cast<int>(v)), bytes);
    }
  }
  static double element(dlcore_dtype dtype, const char* at) {
    switch (dtype) {
      case DLCORE_F64:
        return get<double>(at);
      case DLCORE_F32:
        return get<float>(at);
      case DLCORE_I64:
        return get<int64_t>(at);
      case DLCORE_I32:
        return get<int32_t>(at);
      case DLCORE_I16:
      case DLCORE_F16:
      case DLCORE_BF16:
        return get<int16_t>(at);
      case DLCORE_I8:
        return get<int8_t>(at);
      default:
        return get<uint8_t>(at);
    }
  }
};

inline void expect_close(const Doubles& actual, const Doubles& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "element " << i;
  }
}

}  // namespace dlcore::test
