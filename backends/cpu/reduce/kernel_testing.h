// SPDX-License-Identifier: Apache-2.0
// Runs kernels by themselves in tests: operands in several layouts, every instruction set that this
// processor has, with and without a pool.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backends/cpu/queue.h"
#include "backends/cpu/targets.h"

namespace dlcore::cpu::testing {

using Shape = std::vector<int64_t>;
using Words = std::vector<int64_t>;

inline int64_t product(const Shape& shape) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  return n;
}

inline int64_t bytes_of(dlcore_dtype dtype) {
  constexpr int64_t kBytes[] = {0, 1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
  return kBytes[dtype];
}

// Calls fn(T()) with the C++ type of a dtype.
template <class Fn>
auto with_type(dlcore_dtype dtype, const Fn& fn) {
  switch (dtype) {
    case DLCORE_I8:
      return fn(int8_t());
    case DLCORE_I16:
      return fn(int16_t());
    case DLCORE_I32:
      return fn(int32_t());
    case DLCORE_I64:
      return fn(int64_t());
    case DLCORE_F32:
      return fn(float());
    case DLCORE_F64:
      return fn(double());
    default:
      return fn(uint8_t());
  }
}

// How the elements of a tensor lie in memory.
enum class Layout { kDense, kReversedAxes, kSpaced, kBackwards };
inline constexpr Layout kLayouts[] = {Layout::kDense, Layout::kReversedAxes, Layout::kSpaced,
                                      Layout::kBackwards};

class Tensor {
 public:
  Tensor() = default;
  Tensor(dlcore_dtype dtype, Shape shape, Layout layout = Layout::kDense)
      : dtype_(dtype), shape_(std::move(shape)), strides_(shape_.size()) {
    const int64_t rank = static_cast<int64_t>(shape_.size());
    int64_t step = layout == Layout::kSpaced ? 2 : 1;
    for (int64_t i = 0; i < rank; ++i) {
      const int64_t axis = layout == Layout::kReversedAxes ? i : rank - 1 - i;
      strides_[axis] = step;
      step *= std::max<int64_t>(1, shape_[axis]) + (layout == Layout::kSpaced ? 1 : 0);
    }
    if (layout == Layout::kBackwards) {
      for (int64_t i = 0; i < rank; ++i) {
        offset_ += strides_[i] * std::max<int64_t>(0, shape_[i] - 1);
        strides_[i] = -strides_[i];
      }
    }
    memory_.assign(
        static_cast<size_t>(layout == Layout::kSpaced ? step : product(shape_)) * bytes_of(dtype_),
        '\x7f');
  }

  static Tensor of(dlcore_dtype dtype, Shape shape, const std::vector<double>& values,
                   Layout layout = Layout::kDense) {
    Tensor t(dtype, std::move(shape), layout);
    for (size_t i = 0; i < values.size(); ++i) t.set(static_cast<int64_t>(i), values[i]);
    return t;
  }

  // Repeats the tensor along a new first axis, by a stride of 0.
  Tensor repeated(int64_t times) const {
    Tensor t = *this;
    t.shape_.insert(t.shape_.begin(), times);
    t.strides_.insert(t.strides_.begin(), 0);
    return t;
  }

  dlcore_dtype dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t count() const { return product(shape_); }
  const std::vector<char>& memory() const { return memory_; }

  double get(int64_t index) const {
    return with_type(dtype_, [&](auto t) {
      std::memcpy(&t, address(index), sizeof t);
      return static_cast<double>(t);
    });
  }
  void set(int64_t index, double value) {
    with_type(dtype_, [&](auto t) {
      t = static_cast<decltype(t)>(value);
      std::memcpy(const_cast<char*>(address(index)), &t, sizeof t);
      return 0;
    });
  }
  std::vector<double> values() const {
    std::vector<double> all;
    for (int64_t i = 0; i < count(); ++i) all.push_back(get(i));
    return all;
  }
  Tensor copied(Layout layout) const {
    return dtype_ == DLCORE_DTYPE_NONE ? *this : of(dtype_, shape_, values(), layout);
  }

  dlcore_operand operand() const {
    char* const memory = const_cast<char*>(memory_.data());
    return {memory_.empty() ? memory : memory + offset_ * bytes_of(dtype_),
            shape_.data(),
            strides_.data(),
            count(),
            dtype_,
            static_cast<int32_t>(shape_.size())};
  }

 private:
  const char* address(int64_t index) const {
    int64_t at = offset_;
    for (size_t a = shape_.size(); a-- > 0; index /= shape_[a])
      at += index % shape_[a] * strides_[a];
    return memory_.data() + at * bytes_of(dtype_);
  }

  dlcore_dtype dtype_ = DLCORE_DTYPE_NONE;
  Shape shape_;
  std::vector<int64_t> strides_;
  int64_t offset_ = 0;
  std::vector<char> memory_;
};

inline bool processor_has(int64_t target) {
#if defined(__x86_64__)
  if (target == HWY_AVX2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (target == HWY_AVX3) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }
#endif
  return true;
}

// The tables of a kernel file that this processor can run.
inline std::vector<TargetKernels> usable_tables(KernelFile file) {
  std::vector<TargetKernels> tables;
  for (const TargetKernels& t : file()) {
    if (processor_has(t.target)) tables.push_back(t);
  }
  return tables;
}

struct Call {
  Op op;
  dlcore_dtype key;
  Words attrs;
  std::string message;  // what the kernel said when it failed
};

inline dlcore_status run(const TargetKernels& table, Call& call, const std::vector<Tensor>& inputs,
                         std::vector<Tensor>& outputs, ThreadPool* pool = nullptr) {
  const dlcore_kernel* kernel = nullptr;
  for (const dlcore_kernel& k : table.kernels) {
    if (k.op == static_cast<int32_t>(call.op) && k.dtype == call.key) kernel = &k;
  }
  if (kernel == nullptr) {
    call.message = "no kernel";
    return DLCORE_UNIMPLEMENTED;
  }
  std::vector<dlcore_operand> in, out;
  for (const Tensor& t : inputs) in.push_back(t.operand());
  for (const Tensor& t : outputs) out.push_back(t.operand());
  dlcore_failure failure = {};
  failure.struct_size = sizeof failure;
  dlcore_launch launch = {};
  launch.struct_size = sizeof launch;
  launch.op = kernel->op;
  launch.inputs = in.data();
  launch.outputs = out.data();
  launch.n_inputs = static_cast<int32_t>(in.size());
  launch.n_outputs = static_cast<int32_t>(out.size());
  launch.attrs = call.attrs.data();
  launch.n_words = static_cast<int32_t>(call.attrs.size());
  launch.failure = &failure;
  const uint64_t bytes = kernel->workspace != nullptr ? kernel->workspace(&launch) : 0;
  constexpr uintptr_t kAlignment = 64;  // as of a device's memory
  const auto workspace = std::make_unique<char[]>(bytes + kAlignment);
  launch.workspace = reinterpret_cast<void*>(
      (reinterpret_cast<uintptr_t>(workspace.get()) + kAlignment - 1) & ~(kAlignment - 1));
  Queue queue;
  queue.pool = pool;
  const dlcore_status status = kernel->launch(&queue, &launch);
  call.message = failure.message;
  return status;
}

// Runs on every instruction set: the inputs as given are the reference's; every layout and a pool
// must give the same bits.
inline std::vector<std::vector<Tensor>> run_all(KernelFile file, Op op, const Words& attrs,
                                                const std::vector<Tensor>& inputs,
                                                const std::vector<Tensor>& outputs, int key = 0) {
  static ThreadPool pool(4);
  std::vector<std::vector<Tensor>> results;
  for (const TargetKernels& table : usable_tables(file)) {
    std::vector<Tensor> first = outputs;
    Call call{op, inputs[key].dtype(), attrs, ""};
    EXPECT_EQ(run(table, call, inputs, first), DLCORE_OK) << call.message;
    for (const Layout layout : kLayouts) {
      std::vector<Tensor> copies;
      for (const Tensor& t : inputs) copies.push_back(t.copied(layout));
      std::vector<Tensor> again = outputs;
      EXPECT_EQ(run(table, call, copies, again, &pool), DLCORE_OK) << call.message;
      for (size_t o = 0; o < outputs.size(); ++o) {
        EXPECT_EQ(again[o].memory(), first[o].memory())
            << "op " << static_cast<int>(op) << " output " << o << " layout "
            << static_cast<int>(layout);
      }
    }
    results.push_back(first);
  }
  return results;
}

inline int64_t word(double value) { return std::bit_cast<int64_t>(value); }

inline std::vector<double> normal_values(int64_t n, unsigned seed, double scale = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal(0, scale);
  std::vector<double> values(static_cast<size_t>(n));
  for (double& v : values) v = normal(generator);
  return values;
}

// Relative to `scale`, which tells how large the numbers on the way were.
inline void expect_near(double actual, double expected, double tolerance, double scale,
                        const std::string& what) {
  if (std::isnan(expected) || std::isinf(expected)) {
    EXPECT_TRUE(std::isnan(expected) ? std::isnan(actual) : actual == expected)
        << what << ": " << actual << " instead of " << expected;
  } else {
    EXPECT_LE(std::abs(actual - expected), tolerance * scale)
        << what << ": " << actual << " instead of " << expected;
  }
}

inline double epsilon_of(dlcore_dtype dtype) { return dtype == DLCORE_F32 ? 0x1p-23 : 0x1p-52; }

}  // namespace dlcore::cpu::testing
