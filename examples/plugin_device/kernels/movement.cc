// SPDX-License-Identifier: Apache-2.0
// Ops that move elements and leave them as they are.
#include <algorithm>
#include <cstring>
#include <string>

#include "kernels/element.h"
#include "kernels/kernels.h"
#include "kernels/walk.h"

namespace host2 {
namespace {

template <class T>
void copy(Call& call) {
  const T* const x = call.in().data<T>();
  T* y = call.out().data<T>();
  walk<1>(call.out().shape, {call.in().strides}, [&](const auto& at) { *y++ = x[at[0]]; });
}

// [axis]
template <class T>
void concat(Call& call) {
  const int64_t axis = call.attributes().integer();
  const Around out(call.out().shape, axis);
  const int64_t row = out.length * out.inner;
  int64_t begin = 0;
  for (size_t k = 0; k < call.inputs(); ++k) {
    const Around in(call.in(k).shape, axis);
    const int64_t run = in.length * in.inner;
    for (int64_t o = 0; o < out.outer && run > 0; ++o) {
      std::copy_n(call.in(k).data<T>() + o * run, run, call.out().data<T>() + o * row + begin);
    }
    begin += run;
  }
}

// [shape: dims; starts; steps]: g lies in zeros at starts + steps * index.
template <class T>
void slice_backward(Call& call) {
  Attributes attributes = call.attributes();
  attributes.skip_dims();
  const Sizes starts = attributes.list();
  const Sizes steps = attributes.list();
  const Operand& out = call.out();
  std::fill_n(out.data<T>(), out.count, T(0));
  T* to = out.data<T>();
  std::vector<int64_t> strides;
  for (size_t d = 0; d < out.shape.size(); ++d) {
    strides.push_back(out.strides[d] * steps[d]);
    if (call.in().count > 0) to += out.strides[d] * starts[d];
  }
  const T* const g = call.in().data<T>();
  walk<2>(call.in().shape, {call.in().strides, strides},
          [&](const auto& at) { to[at[1]] = g[at[0]]; });
}

// [depth; dtype]: an index out of range leaves its row 0.
template <class Index>
void one_hot(Call& call) {
  const int64_t depth = call.attributes().integer();
  const Index* const indices = call.in().data<Index>();
  with_type(call.out().dtype, [&]<class T>() {
    T* row = call.out().data<T>();
    std::fill_n(row, call.out().count, T(0));
    int64_t element = 0;
    walk<1>(call.in().shape, {call.in().strides}, [&](const auto& at) {
      const auto given = static_cast<int64_t>(indices[at[0]]);
      const int64_t index = given < 0 ? given + depth : given;
      if (index >= 0 && index < depth) {
        row[index] = T(1);
      } else {
        call.fail(DLCORE_OUT_OF_RANGE, "index " + std::to_string(given) + " at element " +
                                           std::to_string(element) +
                                           " is out of bounds for depth " + std::to_string(depth));
      }
      row += depth;
      ++element;
    });
  });
}

}  // namespace

void add_movement(Kernels& kernels) {
  constexpr uint32_t kStrided = DLCORE_KERNEL_STRIDED;
  each_plain([&]<class T>() {
    kernels.push_back({"copy", dtype_of<T>(), kStrided, launch<copy<T>>});
    kernels.push_back({"concat", dtype_of<T>(), 0, launch<concat<T>>});
    kernels.push_back({"slice_backward", dtype_of<T>(), kStrided, launch<slice_backward<T>>});
  });
  // Half precision is moved only.
  for (dlcore_dtype half : {DLCORE_F16, DLCORE_BF16}) {
    kernels.push_back({"copy", half, kStrided, launch<copy<uint16_t>>});
    kernels.push_back({"concat", half, 0, launch<concat<uint16_t>>});
    kernels.push_back({"slice_backward", half, kStrided, launch<slice_backward<uint16_t>>});
  }
  each<uint8_t, int32_t, int64_t>([&]<class T>() {
    kernels.push_back({"one_hot", dtype_of<T>(), kStrided, launch<one_hot<T>>, makes_plain});
  });
}

}  // namespace host2
