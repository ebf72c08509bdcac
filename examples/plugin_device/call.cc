// SPDX-License-Identifier: Apache-2.0
#include "call.h"

#include <algorithm>
#include <utility>

#include "device.h"
#include "queue.h"

namespace host2 {
namespace {

uint64_t width_of(dlcore_dtype dtype) {
  switch (dtype) {
    case DLCORE_I16:
    case DLCORE_F16:
    case DLCORE_BF16:
      return 2;
    case DLCORE_I32:
    case DLCORE_F32:
      return 4;
    case DLCORE_I64:
    case DLCORE_F64:
      return 8;
    default:
      return 1;
  }
}

std::byte* real_start(const dlcore_operand& o) {
  if (o.count == 0) return nullptr;
  int64_t last = 0;
  for (int32_t i = 0; i < o.rank; ++i)
    last += (o.shape[i] - 1) * std::max<int64_t>(o.strides[i], 0);
  const uint64_t bytes = static_cast<uint64_t>(last + 1) * width_of(o.dtype);
  return Device::get().memory().real(o.data, bytes);
}

}  // namespace

std::string Attributes::text() {
  const auto length = static_cast<size_t>(integer());
  const std::string value(reinterpret_cast<const char*>(words_.data() + at_), length);
  at_ += (length + 7) / 8;
  return value;
}

std::span<const int64_t> Attributes::list() {
  const auto length = static_cast<size_t>(integer());
  at_ += length;
  return words_.subspan(at_ - length, length);
}

Call::Call(const dlcore_launch& launch)
    : op_(launch.op),
      inputs_(copy(launch.inputs, launch.n_inputs)),
      outputs_(copy(launch.outputs, launch.n_outputs)),
      words_(launch.attrs, launch.attrs + launch.n_words) {
  if (launch.workspace != nullptr) workspace_ = Device::get().memory().real(launch.workspace, 0);
}

std::vector<Operand> Call::copy(const dlcore_operand* operands, int32_t n) {
  std::vector<Operand> copies;
  for (const dlcore_operand& o : std::span(operands, static_cast<size_t>(n))) {
    Operand& c = copies.emplace_back();
    c.dtype = o.dtype;
    if (o.dtype == DLCORE_DTYPE_NONE) continue;
    const auto rank = static_cast<size_t>(o.rank);
    int64_t* const sizes = dimensions_.emplace_back(new int64_t[2 * rank]).get();
    std::copy_n(o.shape, rank, sizes);
    std::copy_n(o.strides, rank, sizes + rank);
    c.shape = {sizes, rank};
    c.strides = {sizes + rank, rank};
    c.count = o.count;
    c.bytes = real_start(o);
  }
  return copies;
}

void Call::fail(dlcore_status code, std::string message) {
  if (code_ != DLCORE_OK) return;
  code_ = code;
  message_ = std::move(message);
}

dlcore_status enqueue(void* queue, const dlcore_launch* launch, Body body) {
  return report(launch->failure, [&] {
    auto call = std::make_shared<Call>(*launch);
    static_cast<Queue*>(queue)->push([call, body]() -> std::optional<Failure> {
      body(*call);
      if (call->code() == DLCORE_OK) return std::nullopt;
      return Failure{call->code(), Device::get().op_name(call->op()) + ": " + call->message()};
    });
  });
}

}  // namespace host2
