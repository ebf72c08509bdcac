// SPDX-License-Identifier: Apache-2.0
// Inner loops (see driver.h) around functors on vectors. A remainder shorter than a vector goes
// through the same vector code, so that results do not depend on where an element lies.
#if defined(DLCORE_CPU_ELEMENTWISE_VECTOR_LOOP) == defined(HWY_TARGET_TOGGLE)
#ifdef DLCORE_CPU_ELEMENTWISE_VECTOR_LOOP
#undef DLCORE_CPU_ELEMENTWISE_VECTOR_LOOP
#else
#define DLCORE_CPU_ELEMENTWISE_VECTOR_LOOP
#endif

#include <cstring>
#include <type_traits>

#include "backends/cpu/elementwise/driver.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Whether masked loads and stores of T touch nothing but the lanes asked for, and are fast.
template <class T>
inline constexpr bool kMasked = HWY_TARGET == HWY_AVX3 ||
                                (HWY_TARGET == HWY_AVX2 && sizeof(T) >= 4);

template <class D, class T>
HWY_INLINE hn::Vec<D> load_first(D d, const T* from, size_t n) {
  if constexpr (kMasked<T>) {
    return hn::MaskedLoad(hn::FirstN(d, n), d, from);
  } else {
    HWY_ALIGN T lanes[hn::MaxLanes(d)] = {};
    std::memcpy(lanes, from, n * sizeof(T));
    return hn::Load(d, lanes);
  }
}

template <class D, class T>
HWY_INLINE void store_first(hn::Vec<D> v, D d, T* to, size_t n) {
  if constexpr (kMasked<T>) {
    hn::BlendedStore(v, hn::FirstN(d, n), d, to);
  } else {
    HWY_ALIGN T lanes[hn::MaxLanes(d)];
    hn::Store(v, d, lanes);
    std::memcpy(to, lanes, n * sizeof(T));
  }
}

// A functor without members is made on the spot, one with members is the loop's parameter.
template <class Op>
HWY_INLINE Op make_op(const void* params) {
  if constexpr (std::is_empty_v<Op>) {
    return Op{};
  } else {
    return *static_cast<const Op*>(params);
  }
}

// Op: Vec(d, Vec)
template <class T, class Op>
int64_t unary_loop(int64_t count, void* out, const void* a, const void*, const void*,
                   const void* params) {
  const hn::ScalableTag<T> d;
  const Op op = make_op<Op>(params);
  const T* x = static_cast<const T*>(a);
  T* y = static_cast<T*>(out);
  const size_t n = static_cast<size_t>(count);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    hn::StoreU(op(d, hn::LoadU(d, x + i)), d, y + i);
  }
  if (i < n) store_first(op(d, load_first(d, x + i, n - i)), d, y + i, n - i);
  return -1;
}

// Op: Vec(d, Vec, Vec)
template <class T, class Op>
int64_t binary_loop(int64_t count, void* out, const void* a, const void* b, const void*,
                    const void* params) {
  const hn::ScalableTag<T> d;
  const Op op = make_op<Op>(params);
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  T* z = static_cast<T*>(out);
  const size_t n = static_cast<size_t>(count);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    hn::StoreU(op(d, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, z + i);
  }
  if (i < n) {
    const size_t rest = n - i;
    store_first(op(d, load_first(d, x + i, rest), load_first(d, y + i, rest)), d, z + i, rest);
  }
  return -1;
}

// What elements of T are computed in.
template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
using Computed = std::conditional_t<kIsHalf<T>, float, T>;

// The kernel for elements of T around a loop on Computed<T>.
template <class T, Loop kLoop, Grain kGrain>
constexpr dlcore_kernel_fn launch_of() {
  if constexpr (kIsHalf<T>) {
    return launch_widened<HWY_TARGET, kLoop, kGrain>;
  } else {
    return launch_elementwise<kLoop, kGrain>;
  }
}

// Runs a loop on Computed<T> for a launch in T.
template <class T>
void run_loop(void* queue, const dlcore_launch& launch, Loop loop, Grain grain,
              const void* params) {
  const Queue& q = *static_cast<const Queue*>(queue);
  if constexpr (kIsHalf<T>) {
    run_widened(q, launch, loop, grain, params, half_conversion(HWY_TARGET, dtype_of<T>()));
  } else {
    run_elementwise(q, launch, loop, grain, params);
  }
}

// A mask as bytes of 0 and 1.
template <class D>
HWY_INLINE auto mask_to_bool(D d, hn::Mask<D> mask) {
  using T = hn::TFromD<D>;
  const hn::Rebind<uint8_t, D> du8;
  const auto one = hn::Set(du8, uint8_t{1});
  if constexpr (sizeof(T) == 1) {
    return hn::And(hn::BitCast(du8, hn::VecFromMask(d, mask)), one);
  } else if constexpr (sizeof(T) == 8) {
    const hn::RebindToUnsigned<D> du;
    return hn::And(hn::TruncateTo(du8, hn::BitCast(du, hn::VecFromMask(d, mask))), one);
  } else {
    const hn::RebindToSigned<D> di;
    const hn::Rebind<int8_t, D> di8;
    const auto bytes = hn::DemoteTo(di8, hn::BitCast(di, hn::VecFromMask(d, mask)));
    return hn::And(hn::BitCast(du8, bytes), one);
  }
}

// Op: Mask(d, Vec, Vec); a unary test ignores its second argument.
template <class T, class Op, bool kUnary>
int64_t test_loop(int64_t count, void* out, const void* a, const void* b, const void*,
                  const void*) {
  const hn::ScalableTag<T> d;
  const hn::Rebind<uint8_t, decltype(d)> du8;
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(kUnary ? a : b);
  uint8_t* z = static_cast<uint8_t*>(out);
  const size_t n = static_cast<size_t>(count);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const auto mask = Op{}(d, hn::LoadU(d, x + i), hn::LoadU(d, y + i));
    hn::StoreU(mask_to_bool(d, mask), du8, z + i);
  }
  if (i < n) {
    const size_t rest = n - i;
    const auto mask = Op{}(d, load_first(d, x + i, rest), load_first(d, y + i, rest));
    HWY_ALIGN uint8_t lanes[hn::MaxLanes(d) + 16];
    hn::StoreU(mask_to_bool(d, mask), du8, lanes);
    std::memcpy(z + i, lanes, rest);
  }
  return -1;
}

}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
