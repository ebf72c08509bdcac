// SPDX-License-Identifier: Apache-2.0
// astype. Conversions that training loops make often have loops on vectors, with the same results
// as those of astype_loops.cc.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/astype.cc"
#include <cstring>
#include <type_traits>

#include "backends/cpu/targets.h"
// after targets.h
#include "backends/cpu/elementwise/astype_loops.h"
#include "backends/cpu/elementwise/driver.h"
#include "backends/cpu/elementwise/elementwise.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/elementwise/vector_loop.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

// A vector of fewer lanes of the narrower type, so that both sides have the same number.
template <class From, class To>
using FromTag = std::conditional_t<(sizeof(From) > sizeof(To)), hn::ScalableTag<From>,
                                   hn::Rebind<From, hn::ScalableTag<To>>>;

template <class To, class From, class Op>
int64_t convert_loop(int64_t count, void* out, const void* a, const void*, const void*,
                     const void*) {
  const FromTag<From, To> from;
  const hn::Rebind<To, decltype(from)> to;
  const From* x = static_cast<const From*>(a);
  To* y = static_cast<To*>(out);
  const size_t n = static_cast<size_t>(count);
  size_t i = 0;
  for (; i + hn::Lanes(from) <= n; i += hn::Lanes(from)) {
    hn::StoreU(Op{}(to, hn::LoadU(from, x + i)), to, y + i);
  }
  if (i < n) {
    HWY_ALIGN From in[hn::MaxLanes(from)] = {};
    HWY_ALIGN To result[hn::MaxLanes(to)];
    std::memcpy(in, x + i, (n - i) * sizeof(From));
    hn::Store(Op{}(to, hn::Load(from, in)), to, result);
    std::memcpy(y + i, result, (n - i) * sizeof(To));
  }
  return -1;
}

struct Promote {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D to, V x) const {
    return hn::PromoteTo(to, x);
  }
};

struct Demote {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D to, V x) const {
    return hn::DemoteTo(to, x);
  }
};

struct IntegerToFloat {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D to, V x) const {
    return hn::ConvertTo(to, x);
  }
};

struct ByteToFloat {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D to, V x) const {
    const hn::Rebind<int32_t, D> wide;
    return hn::ConvertTo(to, hn::PromoteTo(wide, x));
  }
};

struct BoolToFloat {
  template <class D, class V>
  HWY_INLINE hn::Vec<D> operator()(D to, V x) const {
    const hn::Rebind<uint8_t, D> bytes;
    return ByteToFloat{}(to, hn::Min(x, hn::Set(bytes, uint8_t{1})));
  }
};

template <dlcore_dtype kFrom>
int64_t widen_loop(int64_t n, void* out, const void* a, const void*, const void*, const void*) {
  half_conversion(HWY_TARGET, kFrom).widen(n, a, static_cast<float*>(out));
  return -1;
}

template <dlcore_dtype kTo>
int64_t narrow_loop(int64_t n, void* out, const void* a, const void*, const void*, const void*) {
  half_conversion(HWY_TARGET, kTo).narrow(n, static_cast<const float*>(a), out);
  return -1;
}

// The loop on vectors, or null.
Loop vector_loop(dlcore_dtype from, dlcore_dtype to) {
  if (to == DLCORE_F32) {
    switch (from) {
      case DLCORE_BOOL:
        return convert_loop<float, uint8_t, BoolToFloat>;
      case DLCORE_U8:
        return convert_loop<float, uint8_t, ByteToFloat>;
      case DLCORE_I32:
        return convert_loop<float, int32_t, IntegerToFloat>;
      case DLCORE_F16:
        return widen_loop<DLCORE_F16>;
      case DLCORE_BF16:
        return widen_loop<DLCORE_BF16>;
      case DLCORE_F64:
        return convert_loop<float, double, Demote>;
      default:
        return nullptr;
    }
  }
  if (to == DLCORE_F64 && from == DLCORE_F32) return convert_loop<double, float, Promote>;
  if (to == DLCORE_F64 && from == DLCORE_I32) return convert_loop<double, int32_t, Promote>;
  if (to == DLCORE_F16 && from == DLCORE_F32) return narrow_loop<DLCORE_F16>;
  if (to == DLCORE_BF16 && from == DLCORE_F32) return narrow_loop<DLCORE_BF16>;
  return nullptr;
}

dlcore_status launch_astype(void* queue, const dlcore_launch* launch) {
  const dlcore_dtype from = launch->inputs[0].dtype;
  const dlcore_dtype to = launch->outputs[0].dtype;
  Loop loop = vector_loop(from, to);
  if (loop == nullptr) loop = astype_loop(from, to);
  run_elementwise(*static_cast<const Queue*>(queue), *launch, loop, kCheap, nullptr);
  return DLCORE_OK;
}

constexpr dlcore_kernel row(dlcore_dtype from) {
  return make_kernel(Op::kAstype, from, DLCORE_KERNEL_STRIDED, launch_astype);
}

constexpr dlcore_kernel kKernels[] = {
    row(DLCORE_BOOL), row(DLCORE_U8),  row(DLCORE_I8),   row(DLCORE_I16), row(DLCORE_I32),
    row(DLCORE_I64),  row(DLCORE_F16), row(DLCORE_BF16), row(DLCORE_F32), row(DLCORE_F64),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(astype)
}  // namespace dlcore::cpu
#endif
