// SPDX-License-Identifier: Apache-2.0
// astype, between the plain dtypes.
#include "kernels/element.h"
#include "kernels/kernels.h"
#include "kernels/walk.h"

namespace host2 {
namespace {

template <class From, class To>
void convert_all(Call& call) {
  const From* const x = call.in().data<From>();
  To* y = call.out().data<To>();
  walk<1>(call.out().shape, {call.in().strides},
          [&](const auto& at) { *y++ = convert<To>(x[at[0]]); });
}

template <class From>
void astype(Call& call) {
  with_type(call.out().dtype, [&]<class To>() { convert_all<From, To>(call); });
}

}  // namespace

void add_convert(Kernels& kernels) {
  each_plain([&]<class T>() {
    kernels.push_back(
        {"astype", dtype_of<T>(), DLCORE_KERNEL_STRIDED, launch<astype<T>>, makes_plain});
  });
}

}  // namespace host2
