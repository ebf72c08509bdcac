// SPDX-License-Identifier: Apache-2.0
// An engine and contexts for tests of graphs, and short forms of calls.
#pragma once

#include <dlcore/dlcore.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "support/instruction_set.h"

namespace graph_test {

// Packed attributes (op.h).
class Words {
 public:
  Words& number(int64_t v) {
    words_.push_back(v);
    return *this;
  }
  Words& real(double v) { return number(std::bit_cast<int64_t>(v)); }
  Words& list(std::initializer_list<int64_t> values) {
    number(static_cast<int64_t>(values.size()));
    for (int64_t v : values) number(v);
    return *this;
  }
  Words& dims(std::initializer_list<int64_t> sizes) {
    number(static_cast<int64_t>(sizes.size()));
    for (int64_t v : sizes) number(0).number(v);
    return *this;
  }
  Words& text(std::string_view s) {
    number(static_cast<int64_t>(s.size()));
    const size_t at = words_.size();
    words_.resize(at + (s.size() + 7) / 8, 0);
    if (!s.empty()) std::memcpy(words_.data() + at, s.data(), s.size());
    return *this;
  }
  const std::vector<int64_t>& get() const { return words_; }

 private:
  std::vector<int64_t> words_;
};

// One context with what tests ask of it. Fails the test when a call fails that should not.
class Session {
 public:
  explicit Session(dlcore_engine* engine, uint64_t seed = 7)
      : ctx(dlcore_context_open(engine, "cpu", seed, 0, nullptr)) {}
  ~Session() { dlcore_context_close(ctx); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  dlcore_context* const ctx;

  dlcore_tensor* f32(std::initializer_list<int64_t> shape, const std::vector<float>& data) {
    return dlcore_tensor_f32(ctx, shape.begin(), static_cast<int32_t>(shape.size()), data.data(),
                             static_cast<int64_t>(data.size()));
  }
  dlcore_tensor* i64(std::initializer_list<int64_t> shape, const std::vector<int64_t>& data) {
    return dlcore_tensor_i64(ctx, shape.begin(), static_cast<int32_t>(shape.size()), data.data(),
                             static_cast<int64_t>(data.size()));
  }
  // Numbers that repeat only after long.
  dlcore_tensor* spread(std::initializer_list<int64_t> shape, double scale, int64_t start = 0) {
    int64_t count = 1;
    for (int64_t d : shape) count *= d;
    std::vector<float> data;
    for (int64_t i = 0; i < count; ++i) {
      data.push_back(static_cast<float>(
          scale * (static_cast<double>(((i + start) * 7919) % 1009) / 504.5 - 1)));
    }
    return f32(shape, data);
  }

  dlcore_tensor* op(const char* name, std::initializer_list<dlcore_tensor*> inputs,
                    const Words& words = {}) {
    dlcore_tensor* output = nullptr;
    dlcore_op_invoke(ctx, dlcore_catalogue_find(ctx, DLCORE_CATALOGUE_OPS, name), inputs.begin(),
                     static_cast<int32_t>(inputs.size()), words.get().data(),
                     static_cast<int64_t>(words.get().size()), &output, 1, 0);
    return output;
  }
  dlcore_tensor* input(const char* name, dlcore_dtype dtype, const char* shape) {
    return dlcore_capture_input(ctx, name, dtype, shape);
  }
  dlcore_graph* end(std::initializer_list<dlcore_tensor*> outputs) {
    return dlcore_capture_end(ctx, outputs.begin(), static_cast<int64_t>(outputs.size()));
  }
  dlcore_graph* parse(std::string_view text) {
    return dlcore_graph_parse(ctx, text.data(), static_cast<int64_t>(text.size()));
  }
  std::string text(const dlcore_graph* graph) {
    const int64_t size = dlcore_graph_to_text(ctx, graph, nullptr, 0);
    EXPECT_GT(size, 0) << message();
    if (size <= 0) return "";
    std::string buffer(static_cast<size_t>(size), '\0');
    EXPECT_EQ(dlcore_graph_to_text(ctx, graph, buffer.data(), size), size);
    buffer.pop_back();
    return buffer;
  }
  std::vector<dlcore_tensor*> run(dlcore_executable* executable,
                                  std::initializer_list<dlcore_tensor*> inputs, size_t n_outputs) {
    std::vector<dlcore_tensor*> outputs(n_outputs, nullptr);
    dlcore_executable_run(ctx, executable, inputs.begin(), static_cast<int64_t>(inputs.size()),
                          outputs.data(), static_cast<int64_t>(n_outputs));
    return outputs;
  }
  std::vector<float> floats(dlcore_tensor* tensor) {
    std::vector<float> data(static_cast<size_t>(std::max<int64_t>(0, dlcore_tensor_count(tensor))));
    dlcore_tensor_read_f32(ctx, tensor, data.data(), static_cast<int64_t>(data.size()));
    return data;
  }
  std::vector<float> floats(dlcore_variable* variable) {
    return floats(dlcore_variable_read(ctx, variable));
  }
  std::vector<int64_t> integers(dlcore_variable* variable) {
    dlcore_tensor* tensor = dlcore_variable_read(ctx, variable);
    std::vector<int64_t> data(
        static_cast<size_t>(std::max<int64_t>(0, dlcore_tensor_count(tensor))));
    dlcore_tensor_read_i64(ctx, tensor, data.data(), static_cast<int64_t>(data.size()));
    return data;
  }

  std::string message() const { return dlcore_context_error_message(ctx); }
  void expect_ok() const { EXPECT_TRUE(dlcore_ok(ctx)) << message(); }
  // Takes the error that sticks; its message holds every part.
  void expect_error(dlcore_status code, std::initializer_list<const char*> parts) {
    EXPECT_EQ(dlcore_context_status(ctx), code) << message();
    for (const char* part : parts)
      EXPECT_NE(message().find(part), std::string::npos) << message() << "\nlacks: " << part;
    dlcore_context_clear_error(ctx);
  }

  // The text is refused with these parts in the message, among them where.
  void expect_refused(std::string_view text, std::initializer_list<const char*> parts) {
    EXPECT_EQ(parse(text), nullptr);
    expect_error(DLCORE_INVALID_ARGUMENT, parts);
  }
  // The text is what printing gives, and parses to what prints the same.
  void expect_stable(const std::string& text) {
    dlcore_graph* graph = parse(text);
    ASSERT_NE(graph, nullptr) << message() << "\n" << text;
    EXPECT_EQ(this->text(graph), text);
    EXPECT_EQ(dlcore_graph_verify(ctx, graph), DLCORE_OK) << message();
  }
};

class GraphTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(engine, nullptr); }
  void TearDown() override { dlcore_engine_close(engine); }
  dlcore_engine* engine = dlcore::test::open_engine();
};

// The same floats to the last bit, NaNs included.
inline void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b,
                             const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(a[i]), std::bit_cast<uint32_t>(b[i]))
        << what << ": element " << i << ": " << a[i] << " and " << b[i];
  }
}

}  // namespace graph_test
