// SPDX-License-Identifier: Apache-2.0
// dlcore/op.h: whatever words and tensors an op is given, the answer is a status. The sequences are
// the same on every run.
#include <map>

#include "op_random.h"
#include "support/sanitized.h"

namespace dlcore::test {
namespace {

constexpr bool kSanitized = DLCORE_TEST_ADDRESS_SANITIZER != 0;
// For each op: enough for every op to succeed at times. Under sanitizers, where calls that throw
// are many times slower, the ordinary build's finding of that is relied on.
constexpr int kSequences = kSanitized ? 2000 : 20000;
// What takes more luck, as attributes that have to agree with shapes, goes on until it succeeds.
constexpr int kMostSequences = kSanitized ? kSequences : 40 * kSequences;

class OpFuzzTest : public ApiTest {
 protected:
  OpFuzzTest() {
    dlcore_engine_options options = engine_options();
    options.threads = 2;
    options.memory_limit = 1 << 18;  // what is too large fails at once
    small_ = dlcore_engine_open(&options, nullptr);
    fuzzed_ = dlcore_context_open(small_, "cpu", 1, 0, nullptr);
    make_inputs();
  }
  ~OpFuzzTest() override {
    dlcore_context_close(fuzzed_);
    dlcore_engine_statistics s;
    s.struct_size = sizeof s;
    EXPECT_EQ(dlcore_engine_get_statistics(small_, &s), DLCORE_OK);
    EXPECT_EQ(s.live_tensors, 0);
    EXPECT_EQ(s.live_bytes, 0u);
    dlcore_engine_close(small_);
  }

  void make_inputs() {
    const Shape shapes[] = {{}, {1}, {3}, {0}, {2, 3}, {3, 2}, {0, 4}, {2, 3, 4}, {1, 1, 2, 2}};
    for (dlcore_dtype d = DLCORE_BOOL; d <= DLCORE_F64; ++d) {
      for (const Shape& shape : shapes) {
        int64_t count = 1;
        for (int64_t n : shape) count *= n;
        std::vector<char> bytes(static_cast<size_t>(count) * dlcore_dtype_size(d));
        // Half of the integers are small, to be indices.
        const size_t width = dlcore_dtype_size(d);
        const bool small = d < DLCORE_F16 && below(2) == 0;
        for (size_t i = 0; i < bytes.size(); ++i) {
          const size_t most = small ? (i % width == 0 ? 3 : 1) : 256;
          bytes[i] = static_cast<char>(below(d == DLCORE_BOOL ? 2 : most));
        }
        dlcore_tensor* t =
            dlcore_tensor_create(fuzzed_, d, shape.data(), static_cast<int32_t>(shape.size()),
                                 bytes.data(), bytes.size());
        ASSERT_NE(t, nullptr);
        inputs_.push_back(t);
        by_shape_[shape].push_back(t);
        if (d >= DLCORE_F32) inputs_.push_back(dlcore_autograd_watch(fuzzed_, t));
        const int64_t axes[] = {1, 0};
        if (shape.size() == 2) inputs_.push_back(dlcore_permute_dims(fuzzed_, t, axes, 2));
      }
    }
    const int64_t wide[] = {2, 5};
    inputs_.push_back(dlcore_broadcast_to(fuzzed_, dlcore_tensor_scalar_f32(fuzzed_, 2), wide, 2));
    inputs_.push_back(dlcore_tensor_weak_f64(fuzzed_, 0.5));
    inputs_.push_back(dlcore_tensor_weak_i64(fuzzed_, -3));
    inputs_.push_back(dlcore_tensor_weak_bool(fuzzed_, 1));
    inputs_.push_back(dlcore_tensor_none());
    inputs_.push_back(nullptr);
    inputs_.push_back(reinterpret_cast<dlcore_tensor*>(fuzzed_));
    ASSERT_EQ(dlcore_ok(fuzzed_), 1) << dlcore_context_error_message(fuzzed_);
  }

  size_t below(size_t n) { return calls_.below(n); }
  void fuzz(int32_t op, const nlohmann::json& entry) {
    std::vector<int64_t> words;
    if (below(2) == 0) {
      for (size_t n = below(10); n > 0; --n) words.push_back(calls_.word());
    } else {
      words = calls_.attributes(entry, below(4) != 0);
      if (below(4) == 0 && !words.empty()) words.resize(below(words.size()));
    }
    // As many inputs as the op takes, mostly, and often of one shape.
    const size_t arity = entry.at("inputs").size();
    const size_t n_inputs = below(6) == 0 ? below(8) : arity;
    const auto& alike =
        std::next(by_shape_.begin(), static_cast<long>(below(by_shape_.size())))->second;
    const bool one_shape = below(2) == 0;
    std::vector<dlcore_tensor*> in;
    for (size_t i = 0; i < n_inputs; ++i) {
      if (below(20) == 0) {
        in.push_back(inputs_[inputs_.size() - 1 - below(3)]);
      } else if (one_shape) {
        in.push_back(alike[below(2) == 0 ? alike.size() - 1 - below(2) : below(alike.size())]);
      } else {
        in.push_back(inputs_[below(inputs_.size())]);
      }
    }
    dlcore_tensor* out[3] = {};
    const auto n_outputs = static_cast<int32_t>(below(4));
    const dlcore_status status =
        dlcore_op_invoke(fuzzed_, op, in.data(), static_cast<int32_t>(in.size()), words.data(),
                         static_cast<int64_t>(words.size()), out, n_outputs, 0);
    ASSERT_GE(status, 0);
    ASSERT_LE(status, 16);
    ASSERT_NE(status, DLCORE_INTERNAL) << dlcore_context_error_message(fuzzed_);
    ASSERT_NE(status, DLCORE_UNKNOWN) << dlcore_context_error_message(fuzzed_);
    ASSERT_EQ(dlcore_context_status(fuzzed_), status);
    if (status != DLCORE_OK) {
      ASSERT_STRNE(dlcore_context_error_message(fuzzed_), "");
      dlcore_context_clear_error(fuzzed_);
      return;
    }
    ++succeeded_;
    for (int32_t i = 0; i < n_outputs; ++i) ASSERT_GE(dlcore_tensor_rank(out[i]), 0);
    if (n_outputs > 0 && below(8) == 0) differentiate(out[0]);
  }

  void differentiate(dlcore_tensor* y) {
    if (dlcore_tensor_count(y) > 4096) return;
    dlcore_tensor_to_string(fuzzed_, y, nullptr, 0);
    if (dlcore_tensor_dtype(y) >= DLCORE_F32) {
      dlcore_tensor* seed = dlcore_copy(fuzzed_, dlcore_stop_gradient(fuzzed_, y));
      dlcore_tensor* x = inputs_[below(inputs_.size() - 3)];
      dlcore_tensor* g = nullptr;
      dlcore_grad_options o;
      dlcore_grad_options_init(&o, sizeof o);
      o.allow_unused = o.create_graph = 1;
      const dlcore_status status = dlcore_autograd_grad(fuzzed_, &y, 1, &x, 1, &seed, &o, &g);
      ASSERT_NE(status, DLCORE_INTERNAL) << dlcore_context_error_message(fuzzed_);
    }
    dlcore_context_clear_error(fuzzed_);
  }

  void run(const nlohmann::json& entry) {
    const auto op = entry.at("number").get<int32_t>();
    SCOPED_TRACE(entry.at("name").get<std::string>());
    dlcore_scope* scope = dlcore_scope_open(fuzzed_);
    for (int i = 0; i < kSequences || (succeeded_ == 0 && i < kMostSequences); ++i) {
      fuzz(op, entry);
      if (HasFatalFailure()) break;
      if (i % 100 == 0) dlcore_scope_reset(fuzzed_, scope);
    }
    dlcore_scope_close(fuzzed_, scope);
  }

  RandomCalls calls_{20240601};
  dlcore_engine* small_;
  dlcore_context* fuzzed_;
  std::vector<dlcore_tensor*> inputs_;
  std::map<Shape, std::vector<dlcore_tensor*>> by_shape_;  // the floats last
  int succeeded_ = 0;
};

TEST_F(OpFuzzTest, EveryOpAnswersWithAStatus) {
  const auto catalogue = nlohmann::json::parse(dlcore_catalogue_json(nullptr));
  ASSERT_GT(catalogue.at("ops").size(), 80u);
  for (const auto& entry : catalogue.at("ops")) {
    succeeded_ = 0;
    run(entry);
    if (HasFatalFailure()) return;
    // The operands of an op for derivatives depend on each other: chance seldom finds them.
    if (!kSanitized && !entry.value("hidden", false)) {
      EXPECT_GT(succeeded_, 0) << entry.at("name");
    }
  }
}

}  // namespace
}  // namespace dlcore::test
