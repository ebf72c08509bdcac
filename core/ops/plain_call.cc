// SPDX-License-Identifier: Apache-2.0
#include "core/ops/plain_call.h"

#include <cstring>

#include "core/autograd/node.h"
#include "core/engine/context.h"
#include "core/ops/dispatch.h"
#include "core/ops/execute.h"
#include "core/ops/rules.h"

namespace dlcore {
namespace {

constexpr size_t kMostInputs = 3;

// What there is to know of an op and a first input before the other inputs are looked at: the
// kernel, or nullptr when the call is not a plain one.
const dlcore_kernel* plain_kernel(Context& ctx, const OpDef& op, const Tensor& x) {
  if (op.infer != infer_elementwise || op.attrs.size() != 0 || ctx.capture != nullptr)
    return nullptr;
  if (x.data == nullptr || x.weak || x.count == 0 || !x.device->direct()) return nullptr;
  if (!x.contiguous() || !ctx.engine().open()) return nullptr;
  const dlcore_kernel* kernel = x.device->kernel(op.number, x.dtype);
  if (kernel == nullptr || kernel->accepts != nullptr || kernel->workspace != nullptr)
    return nullptr;
  return kernel;
}

// y is to x as the rest of a plain call's inputs are to its first.
bool alike(const Tensor& x, const Tensor& y) {
  return y.dtype == x.dtype && y.rank == x.rank && y.device == x.device && !y.weak &&
         y.data != nullptr && std::memcmp(y.sizes, x.sizes, 2 * sizeof(int64_t) * x.rank) == 0;
}

TensorRef launch(Context& ctx, const OpDef& op, const dlcore_kernel& kernel, const Tensor& like,
                 std::span<const dlcore_operand> inputs) {
  TensorRef y = new_like(ctx, like);
  const dlcore_operand output = operand_of(*y);
  dlcore_failure failure;
  clear(failure);
  dlcore_launch l;
  l.struct_size = sizeof l;
  l.op = op.number;
  l.inputs = inputs.data();
  l.outputs = &output;
  l.n_inputs = static_cast<int32_t>(inputs.size());
  l.n_outputs = 1;
  l.attrs = nullptr;
  l.n_words = 0;
  l.reserved = 0;
  l.workspace = nullptr;
  l.failure = &failure;
  check_device(kernel.launch(ctx.queue(*like.device)->handle, &l), failure, op.name);
  ctx.check_stop();
  return y;
}

}  // namespace

bool plain_call(Context& ctx, const OpDef& op, std::span<Tensor* const> inputs, TensorRef& output) {
  const size_t n = inputs.size();
  if (n == 0 || n > kMostInputs || n != op.inputs.size() || inputs[0] == nullptr) return false;
  const Tensor& x = *inputs[0];
  const dlcore_kernel* kernel = plain_kernel(ctx, op, x);
  if (kernel == nullptr) return false;
  dlcore_operand operands[kMostInputs];
  for (size_t i = 0; i < n; ++i) {
    const Tensor* t = inputs[i];
    if (t == nullptr || !op.inputs[i].promotes || !contains(op.inputs[i].dtypes, x.dtype))
      return false;
    if (i > 0 && !alike(x, *t)) return false;
    operands[i] = operand_of(*t);
  }
  const bool recorded = needs_history(ctx, op, 0, inputs);
  if (recorded && op.vjp == nullptr) return false;
  output = launch(ctx, op, *kernel, x, {operands, n});
  if (recorded) {
    const TensorType made[] = {type_of(output.get())};
    record(ctx, op, 0, inputs, {}, made, {&output, 1});
  }
  return true;
}

bool plain_scalar_call(Context& ctx, const OpDef& op, Tensor& x, Dtype kind, const void* scalar,
                       bool scalar_first, TensorRef& output) {
  if (op.inputs.size() != 2 || !op.inputs[0].promotes || !op.inputs[1].promotes) return false;
  if (!contains(op.inputs[0].dtypes & op.inputs[1].dtypes, x.dtype)) return false;
  const dlcore_kernel* kernel = plain_kernel(ctx, op, x);
  if (kernel == nullptr || promote_weak(x.dtype, kind) != x.dtype) return false;
  Tensor* const inputs[] = {&x};
  if (needs_history(ctx, op, 0, inputs)) return false;

  // Few elements are cheaper for a kernel than the same one many times.
  alignas(64) std::byte elements[Tensor::kInlineBytes];
  const size_t width = dtype_bytes(x.dtype);
  convert_scalar(scalar, kind, x.dtype, elements);
  static constexpr int64_t kNoStrides[DLCORE_MAX_RANK] = {};
  dlcore_operand repeated = operand_of(x);
  repeated.data = elements;
  const auto count = static_cast<size_t>(x.count);
  if (count * width <= sizeof elements) {
    for (size_t i = 1; i < count; ++i) std::memcpy(elements + i * width, elements, width);
  } else {
    repeated.strides = kNoStrides;
  }
  const dlcore_operand tensor = operand_of(x);
  const dlcore_operand operands[] = {scalar_first ? repeated : tensor,
                                     scalar_first ? tensor : repeated};
  output = launch(ctx, op, *kernel, x, operands);
  return true;
}

}  // namespace dlcore
