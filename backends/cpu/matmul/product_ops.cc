// SPDX-License-Identifier: Apache-2.0
// matmul and linear in floating dtypes, written in matrix products.
#include <algorithm>

#include "backends/cpu/elementwise/driver.h"
#include "backends/cpu/matmul/batch.h"
#include "backends/cpu/matmul/matmul.h"
#include "backends/cpu/matmul/own_split.h"
#include "backends/cpu/reduce/axes.h"

namespace dlcore::cpu {
namespace {

const void* advance(const void* data, int64_t elements, dlcore_dtype dtype) {
  return static_cast<const char*>(data) + elements * element_size(dtype);
}

uint64_t aligned(uint64_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

// Small products are computed one by one, several groups of them at the same time; each group has a
// workspace of its own. One group means that every product may use the whole pool.
struct Groups {
  int64_t count;
  uint64_t workspace;  // of each

  static Groups of(int64_t target, dlcore_dtype dtype, const BatchedProduct& batched) {
    constexpr int64_t kSmallProduct = int64_t{1} << 22;
    constexpr int64_t kGroupWork = int64_t{1} << 18;
    constexpr uint64_t kMostBytes = uint64_t{32} << 20;
    const Product& p = batched.first;
    const uint64_t bytes = aligned(provider_workspace(target, dtype, p.m, p.n, p.k));
    const int64_t work = std::max<int64_t>(1, p.m * p.n * p.k);
    if (work >= kSmallProduct) return {1, bytes};
    const int64_t wanted = divide_up(batched.batch, std::max<int64_t>(1, kGroupWork / work));
    const int64_t affordable =
        bytes == 0 ? 256 : static_cast<int64_t>(std::min<uint64_t>(256, kMostBytes / bytes));
    return {std::max<int64_t>(1, std::min(wanted, affordable)), bytes};
  }
};

// Items that share b and follow each other are one tall product. Its bits are those of the items
// only where the provider says so.
bool is_tall(const BatchedProduct& batched) {
  return batched.batch > 1 && batched.first.m > 1 && batched.first.n > 1 &&
         batched.is_one_product();
}

// The rows of x, merged: evenly spaced where one axis or none is left.
AxisList rows_of(const dlcore_operand& x) { return split_axes(x, axis_mask(x.rank, -1)).rows; }

Product linear_product(const dlcore_launch& launch) {
  const dlcore_operand& x = launch.inputs[0];
  const dlcore_operand& w = launch.inputs[1];
  const dlcore_operand& y = launch.outputs[0];
  Product p;
  p.k = x.shape[x.rank - 1];
  p.n = w.shape[0];
  p.m = 1;
  for (int32_t d = 0; d + 1 < x.rank; ++d) p.m *= x.shape[d];
  p.b = {w.data, w.strides[1], w.strides[0]};
  if (launch.n_inputs > 2 && launch.inputs[2].dtype != DLCORE_DTYPE_NONE) {
    p.bias = {launch.inputs[2].data, 0, launch.inputs[2].strides[0]};
  }
  p.c = {y.data, p.n, 1};
  return p;
}

}  // namespace

uint64_t matmul_workspace(int64_t target, const dlcore_launch& launch) {
  const BatchedProduct batched = BatchedProduct::of(launch);
  const dlcore_dtype dtype = launch.outputs[0].dtype;
  const Product& p = batched.first;
  if (launch.outputs[0].count == 0) return 0;
  const Groups groups = Groups::of(target, dtype, batched);
  const uint64_t bytes = static_cast<uint64_t>(groups.count) * groups.workspace;
  if (!is_tall(batched)) return bytes;
  return std::max(bytes, own_provider(target).workspace(dtype, batched.batch * p.m, p.n, p.k));
}

dlcore_status launch_matmul(int64_t target, const Queue& queue, const dlcore_launch& launch) {
  BatchedProduct batched = BatchedProduct::of(launch);
  batched.first.one_of_many = batched.batch > 1;
  const dlcore_dtype dtype = launch.outputs[0].dtype;
  const Product& p = batched.first;
  if (launch.outputs[0].count == 0) return DLCORE_OK;
  const MatrixProvider& provider =
      choose_provider(target, queue.own_matmul_only, dtype, p.m, p.n, p.k);
  if (provider.bits_ignore_m_and_n && is_tall(batched)) {
    Product tall = p;
    tall.m *= batched.batch;
    provider.multiply(queue, dtype, tall, launch.workspace);
    return DLCORE_OK;
  }
  const Groups groups = Groups::of(target, dtype, batched);
  Queue serial = queue;
  if (groups.count > 1) serial.pool = nullptr;
  queue.parallel_for(groups.count, [&](int64_t group) {
    void* const workspace =
        static_cast<char*>(launch.workspace) + static_cast<uint64_t>(group) * groups.workspace;
    const Range items = even_range({0, batched.batch}, groups.count, group);
    for (int64_t i = items.begin; i < items.end && !queue.stopped(); ++i) {
      Product item = p;
      item.a.data = advance(p.a.data, batched.offset_a(i), dtype);
      item.b.data = advance(p.b.data, batched.offset_b(i), dtype);
      item.c.data = static_cast<char*>(p.c.data) + i * p.m * p.n * element_size(dtype);
      provider.multiply(serial, dtype, item, workspace);
    }
  });
  return DLCORE_OK;
}

uint64_t linear_workspace(int64_t target, const dlcore_launch& launch) {
  const Product p = linear_product(launch);
  const dlcore_dtype dtype = launch.outputs[0].dtype;
  if (launch.outputs[0].count == 0) return 0;
  const uint64_t bytes = aligned(provider_workspace(target, dtype, p.m, p.n, p.k));
  if (rows_of(launch.inputs[0]).n <= 1) return bytes;
  return bytes + static_cast<uint64_t>(p.m * p.k * element_size(dtype));
}

dlcore_status launch_linear(int64_t target, const Queue& queue, const dlcore_launch& launch,
                            Loop finish) {
  Product p = linear_product(launch);
  p.finish = finish;
  const dlcore_operand& x = launch.inputs[0];
  const dlcore_dtype dtype = launch.outputs[0].dtype;
  if (launch.outputs[0].count == 0) return DLCORE_OK;
  const AxisList rows = rows_of(x);
  p.a = {x.data, rows.n == 0 ? 0 : rows.axes[0].stride, x.strides[x.rank - 1]};
  if (rows.n > 1) {
    char* const copy = static_cast<char*>(launch.workspace) +
                       aligned(provider_workspace(target, dtype, p.m, p.n, p.k));
    gather(x.data, split_axes(x, ~0u).elements, 0, x.count, element_size(dtype), copy);
    p.a = {copy, p.k, 1};
  }
  choose_provider(target, queue.own_matmul_only, dtype, p.m, p.n, p.k)
      .multiply(queue, dtype, p, launch.workspace);
  return DLCORE_OK;
}

}  // namespace dlcore::cpu
