// SPDX-License-Identifier: Apache-2.0
// sum, prod, max and min of integers, sums of booleans, all and any. Sums and products are carried
// in 64 bits and wrap.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "backends/cpu/reduce/driver.h"
#include "backends/cpu/reduce/reduce.h"
#include "backends/cpu/targets.h"

namespace dlcore::cpu::plain {
namespace {

struct Sum {
  template <class T>
  static constexpr uint64_t kIdentity = 0;
  static uint64_t step(uint64_t a, uint64_t x) { return a + x; }
};

struct Prod {
  template <class T>
  static constexpr uint64_t kIdentity = 1;
  static uint64_t step(uint64_t a, uint64_t x) { return a * x; }
};

struct Max {
  template <class T>
  static constexpr T kIdentity = std::numeric_limits<T>::min();
  template <class T>
  static T step(T a, T x) {
    return x > a ? x : a;
  }
};

struct Min {
  template <class T>
  static constexpr T kIdentity = std::numeric_limits<T>::max();
  template <class T>
  static T step(T a, T x) {
    return x < a ? x : a;
  }
};

// Booleans are bytes of 0 and 1.
struct All {
  template <class T>
  static constexpr T kIdentity = 1;
  static uint8_t step(uint8_t a, uint8_t x) { return a & x; }
};

struct Any {
  template <class T>
  static constexpr T kIdentity = 0;
  static uint8_t step(uint8_t a, uint8_t x) { return a | x; }
};

template <class Operation, class T, class A>
void block(const void* x, int64_t, int64_t n, void* accumulator) {
  constexpr int64_t kUnroll = 16;  // a trip count that compilers vectorise
  const T* from = static_cast<const T*>(x);
  A lanes[kUnroll];
  std::fill_n(lanes, kUnroll, A(Operation::template kIdentity<T>));
  int64_t i = 0;
  for (; i + kUnroll <= n; i += kUnroll) {
    for (int64_t l = 0; l < kUnroll; ++l) {
      lanes[l] = Operation::step(lanes[l], static_cast<A>(from[i + l]));
    }
  }
  A total = Operation::template kIdentity<T>;
  for (int64_t l = 0; l < kUnroll; ++l) total = Operation::step(total, lanes[l]);
  for (; i < n; ++i) total = Operation::step(total, static_cast<A>(from[i]));
  *static_cast<A*>(accumulator) = total;
}

template <class Operation, class T, class A>
void columns(const void* x, const int64_t* rows, int64_t n, int64_t width, void* accumulators) {
  A* to = static_cast<A*>(accumulators);
  std::fill_n(to, width, A(Operation::template kIdentity<T>));
  for (int64_t r = 0; r < n; ++r) {
    const T* row = static_cast<const T*>(x) + rows[r];
    for (int64_t c = 0; c < width; ++c) to[c] = Operation::step(to[c], static_cast<A>(row[c]));
  }
}

template <class Operation, class A>
void combine(void* a, const void* b, int64_t n) {
  A* to = static_cast<A*>(a);
  const A* from = static_cast<const A*>(b);
  for (int64_t i = 0; i < n; ++i) to[i] = Operation::step(to[i], from[i]);
}

template <class A>
void copy(const void* accumulators, int64_t n, int64_t, void* outputs) {
  std::copy_n(static_cast<const char*>(accumulators), n * static_cast<int64_t>(sizeof(A)),
              static_cast<char*>(outputs));
}

template <class Operation, class T, class A, bool kNeedsElements>
constexpr Reduction kReduction = {sizeof(T),
                                  sizeof(A),
                                  sizeof(A),
                                  kNeedsElements,
                                  block<Operation, T, A>,
                                  columns<Operation, T, A>,
                                  combine<Operation, A>,
                                  copy<A>};

// clang 14 refuses the immediate function itself as a default argument.
template <class T>
constexpr dlcore_dtype kDtypeOf = dtype_of<T>();

template <class Operation, class T>
constexpr dlcore_kernel wide(Op op, dlcore_dtype dtype = kDtypeOf<T>) {
  return reduction_kernel<kReduction<Operation, T, uint64_t, false>>(static_cast<int32_t>(op),
                                                                     dtype);
}

template <class Operation, class T>
constexpr dlcore_kernel extreme(Op op) {
  return reduction_kernel<kReduction<Operation, T, T, true>>(static_cast<int32_t>(op),
                                                             dtype_of<T>());
}

template <class Operation>
constexpr dlcore_kernel logical(Op op) {
  return reduction_kernel<kReduction<Operation, uint8_t, uint8_t, false>>(static_cast<int32_t>(op),
                                                                          DLCORE_BOOL);
}

constexpr dlcore_kernel kKernels[] = {
    wide<Sum, uint8_t>(Op::kSum, DLCORE_BOOL),
    wide<Sum, uint8_t>(Op::kSum),
    wide<Sum, int8_t>(Op::kSum),
    wide<Sum, int16_t>(Op::kSum),
    wide<Sum, int32_t>(Op::kSum),
    wide<Sum, int64_t>(Op::kSum),
    wide<Prod, uint8_t>(Op::kProd, DLCORE_BOOL),
    wide<Prod, uint8_t>(Op::kProd),
    wide<Prod, int8_t>(Op::kProd),
    wide<Prod, int16_t>(Op::kProd),
    wide<Prod, int32_t>(Op::kProd),
    wide<Prod, int64_t>(Op::kProd),
    extreme<Max, uint8_t>(Op::kMax),
    extreme<Max, int8_t>(Op::kMax),
    extreme<Max, int16_t>(Op::kMax),
    extreme<Max, int32_t>(Op::kMax),
    extreme<Max, int64_t>(Op::kMax),
    extreme<Min, uint8_t>(Op::kMin),
    extreme<Min, int8_t>(Op::kMin),
    extreme<Min, int16_t>(Op::kMin),
    extreme<Min, int32_t>(Op::kMin),
    extreme<Min, int64_t>(Op::kMin),
    logical<All>(Op::kAll),
    logical<Any>(Op::kAny),
};

}  // namespace
}  // namespace dlcore::cpu::plain

namespace dlcore::cpu {
DLCORE_CPU_PLAIN_KERNEL_FILE(integer_reduce)
}  // namespace dlcore::cpu
