// SPDX-License-Identifier: Apache-2.0
// where: elements are chosen as blocks of bytes, one loop for each size.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/select.cc"
#include <cstring>
#include <type_traits>

#include "backends/cpu/targets.h"
// after targets.h
#include "backends/cpu/elementwise/driver.h"
#include "backends/cpu/elementwise/elementwise.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "backends/cpu/elementwise/vector_loop.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

// Bytes of 0 and 1 as a mask for lanes of D.
template <class D, class V8>
HWY_INLINE hn::Mask<D> mask_from_bool(D d, V8 bytes) {
  using T = hn::TFromD<D>;
  hn::Vec<D> wide;
  if constexpr (sizeof(T) == 1) {
    wide = bytes;
  } else if constexpr (sizeof(T) == 8) {
    const hn::Rebind<uint32_t, D> du32;
    wide = hn::PromoteTo(d, hn::PromoteTo(du32, bytes));
  } else {
    wide = hn::PromoteTo(d, bytes);
  }
  return hn::Ne(wide, hn::Zero(d));
}

template <class T>
int64_t where_loop(int64_t count, void* out, const void* condition, const void* a, const void* b,
                   const void*) {
  const hn::ScalableTag<T> d;
  const hn::Rebind<uint8_t, decltype(d)> d8;
  const uint8_t* c = static_cast<const uint8_t*>(condition);
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  T* z = static_cast<T*>(out);
  const size_t n = static_cast<size_t>(count);
  size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const auto mask = mask_from_bool(d, hn::LoadU(d8, c + i));
    hn::StoreU(hn::IfThenElse(mask, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, z + i);
  }
  for (; i < n; ++i) z[i] = c[i] != 0 ? x[i] : y[i];
  return -1;
}

template <class T>
constexpr dlcore_kernel row(dlcore_dtype dtype) {
  return make_kernel(Op::kWhere, dtype, DLCORE_KERNEL_STRIDED | DLCORE_KERNEL_MAY_REUSE,
                     launch_elementwise<where_loop<T>, kCheap>);
}

constexpr dlcore_kernel kKernels[] = {
    row<uint8_t>(DLCORE_BOOL), row<uint8_t>(DLCORE_U8),    row<uint8_t>(DLCORE_I8),
    row<uint16_t>(DLCORE_I16), row<uint32_t>(DLCORE_I32),  row<uint64_t>(DLCORE_I64),
    row<uint16_t>(DLCORE_F16), row<uint16_t>(DLCORE_BF16), row<uint32_t>(DLCORE_F32),
    row<uint64_t>(DLCORE_F64),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(select)
}  // namespace dlcore::cpu
#endif
