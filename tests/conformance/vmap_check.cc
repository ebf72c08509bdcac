// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "checks.h"

namespace dlcore::conformance {
namespace {

constexpr size_t kExamples = 3;

// Example `k` of an input: its elements moved on by k places, so that every example is within the
// domain.
Array example(const Array& array, size_t k) {
  const size_t size = dlcore_dtype_size(array.dtype);
  const size_t count = array.bytes.size() / size;
  Array moved = array;
  if (count == 0) return moved;
  const size_t by = k % count * size;
  std::rotate(moved.bytes.begin(), moved.bytes.begin() + static_cast<std::ptrdiff_t>(by),
              moved.bytes.end());
  return moved;
}

Array stacked(const Array& array) {
  Array all{array.dtype, array.shape, {}};
  all.shape.insert(all.shape.begin(), kExamples);
  for (size_t k = 0; k < kExamples; ++k) {
    const Array one = example(array, k);
    all.bytes.insert(all.bytes.end(), one.bytes.begin(), one.bytes.end());
  }
  return all;
}

void compare_with_loop(const Session& session, const Case& test,
                       const std::vector<dlcore_tensor*>& inputs, const std::vector<size_t>& mapped,
                       const std::string& what) {
  std::vector<Array> arrays;
  for (size_t i : mapped) arrays.push_back(session.read(inputs[i]));
  Array expected;
  for (size_t k = 0; k < kExamples; ++k) {
    std::vector<dlcore_tensor*> one = inputs;
    for (size_t m = 0; m < mapped.size(); ++m)
      one[mapped[m]] = session.create(example(arrays[m], k));
    const Array result = session.read(session.invoke(test.op, one, test.words, 1)[0]);
    if (k == 0) {
      expected = Array{result.dtype, result.shape, {}};
      expected.shape.insert(expected.shape.begin(), kExamples);
    }
    expected.bytes.insert(expected.bytes.end(), result.bytes.begin(), result.bytes.end());
  }
  Array got;
  {
    std::vector<dlcore_tensor*> all = inputs;
    for (size_t m = 0; m < mapped.size(); ++m) all[mapped[m]] = session.create(stacked(arrays[m]));
    const Level level(session, dlcore_vmap_open(session.context(), kExamples));
    for (size_t i : mapped) all[i] = dlcore_vmap_lift(session.context(), level.get(), all[i], 0);
    session.check();
    dlcore_tensor* result = session.invoke(test.op, all, test.words, 1)[0];
    dlcore_tensor* lowered = dlcore_vmap_lower(session.context(), level.get(), result, 0);
    session.check();
    got = session.read(lowered);
  }
  if (got.dtype != expected.dtype || got.shape != expected.shape) {
    throw Failure(what + ": shape is " + to_string(got.shape) + ", expected " +
                  to_string(expected.shape));
  }
  const std::string text = difference(decode(got), decode(expected), got.dtype, test.tolerance());
  if (!text.empty()) throw Failure(what + ": " + text);
}

}  // namespace

void check_vmap(const Session& session, const Case& test) {
  const std::vector<dlcore_tensor*> inputs = test.make_inputs(session);
  std::vector<size_t> tensors;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (test.input(i).is_object() && !test.input(i).value("weak", false)) tensors.push_back(i);
  }
  compare_with_loop(session, test, inputs, tensors, "vmap");
  if (tensors.size() > 1)
    compare_with_loop(session, test, inputs, {tensors[0]}, "vmap of the first input");
}

}  // namespace dlcore::conformance
