// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/text.h"

#include <cstring>
#include <vector>

#include "core/base/half.h"
#include "core/engine/context.h"
#include "core/ops/rules.h"

namespace dlcore {
namespace {

constexpr int64_t kEdge = 3;       // elements shown at each end of a long axis
constexpr int64_t kLongest = 1000;  // elements shown without shortening

template <class T>
T element(const std::byte* data, int64_t i) {
  T value;
  std::memcpy(&value, data + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

std::string element_text(const std::byte* data, Dtype dtype, int64_t i) {
  switch (dtype) {
    case DLCORE_BOOL:
      return element<uint8_t>(data, i) != 0 ? "true" : "false";
    case DLCORE_U8:
      return fmt::format("{}", unsigned{element<uint8_t>(data, i)});
    case DLCORE_I8:
      return fmt::format("{}", int{element<int8_t>(data, i)});
    case DLCORE_I16:
      return fmt::format("{}", element<int16_t>(data, i));
    case DLCORE_I32:
      return fmt::format("{}", element<int32_t>(data, i));
    case DLCORE_I64:
      return fmt::format("{}", element<int64_t>(data, i));
    case DLCORE_F16:
      return fmt::format("{:g}", to_float(element<Half>(data, i)));
    case DLCORE_BF16:
      return fmt::format("{:g}", to_float(element<BFloat16>(data, i)));
    case DLCORE_F32:
      return fmt::format("{:g}", element<float>(data, i));
    default:
      return fmt::format("{:g}", element<double>(data, i));
  }
}

void append_axis(std::string& text, const std::byte* data, const Tensor& t, size_t axis, int64_t at, int64_t below) {
  if (axis == t.rank) {
    text += element_text(data, t.dtype, at);
    return;
  }
  const int64_t n = t.shape()[axis];
  const int64_t inner = n == 0 ? 0 : below / n;
  const bool shorten = t.count > kLongest && n > 2 * kEdge;
  text += '[';
  for (int64_t i = 0; i < n; ++i) {
    if (i > 0) text += axis + 1 == t.rank ? ", " : ",\n" + std::string(axis + 1, ' ');
    if (shorten && i == kEdge) {
      text += "...";
      i = n - kEdge - 1;
      continue;
    }
    append_axis(text, data, t, axis + 1, at + i * inner, inner);
  }
  text += ']';
}

}  // namespace

std::string tensor_text(Context& ctx, Tensor& tensor) {
  const DimMath math(ctx);
  std::string text = fmt::format("tensor {} {} on {}", dtype_name(tensor.dtype),
                                 tensor.symbolic() && !ctx.capture ? "[?]" : math.text(tensor.dims()), tensor.device->name());
  if (tensor.symbolic()) return text + ", a value of a captured graph";
  if (tensor.leveled()) return text + ", of a transform level";
  std::vector<std::byte> elements(static_cast<size_t>(tensor.count) * dtype_bytes(tensor.dtype));
  read_tensor(ctx, tensor, elements.data());
  text += '\n';
  append_axis(text, elements.data(), tensor, 0, 0, tensor.count);
  return text;
}

}  // namespace dlcore
