// SPDX-License-Identifier: Apache-2.0
// full: [shape: dims; value; dtype].
#include <algorithm>

#include "kernels/element.h"
#include "kernels/kernels.h"

namespace host2 {
namespace {

template <class T>
void full(Call& call) {
  Attributes attributes = call.attributes();
  attributes.skip_dims();
  std::fill_n(call.out().data<T>(), call.out().count, convert<T>(attributes.real()));
}

}  // namespace

void add_create(Kernels& kernels) {
  each_plain([&]<class T>() { kernels.push_back({"full", dtype_of<T>(), 0, launch<full<T>>}); });
}

}  // namespace host2
