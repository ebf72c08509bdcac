// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/text.h"

#include <cstring>
#include <vector>

#include "core/base/half.h"
#include "core/engine/context.h"
#include "core/ops/rules.h"

namespace dlcore {
namespace {

constexpr int64_t kEdge = 3;        // elements shown at each end of a long axis
constexpr int64_t kLongest = 1000;  // elements shown without shortening
constexpr int64_t kMost = 2000;     // elements shown of tensors with many axes

template <class T>
T element(const std::byte* data, int64_t i) {
  T value;
  std::memcpy(&value, data + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

std::string element_text(const std::byte* data, Dtype dtype, int64_t i) {
  switch (dtype) {
    case DLCORE_BOOL:
      return element<uint8_t>(data, i) != 0 ? "true" : "false";
    case DLCORE_U8:
      return formatted("{}", unsigned{element<uint8_t>(data, i)});
    case DLCORE_I8:
      return formatted("{}", int{element<int8_t>(data, i)});
    case DLCORE_I16:
      return formatted("{}", element<int16_t>(data, i));
    case DLCORE_I32:
      return formatted("{}", element<int32_t>(data, i));
    case DLCORE_I64:
      return formatted("{}", element<int64_t>(data, i));
    case DLCORE_F16:
      return formatted("{:g}", to_float(element<Half>(data, i)));
    case DLCORE_BF16:
      return formatted("{:g}", to_float(element<BFloat16>(data, i)));
    case DLCORE_F32:
      return formatted("{:g}", element<float>(data, i));
    default:
      return formatted("{:g}", element<double>(data, i));
  }
}

// Walks the elements in row-major order; `left` counts down those that are still shown.
class Writer {
 public:
  Writer(const Tensor& t, const std::byte* data, std::span<const int64_t> strides)
      : tensor_(t), data_(data), strides_(strides) {}

  std::string text() {
    append_axis(0, 0);
    return std::move(text_);
  }

 private:
  void append_axis(size_t axis, int64_t at) {
    if (axis == tensor_.rank) {
      text_ += element_text(data_, tensor_.dtype, at);
      --left_;
      return;
    }
    const int64_t n = tensor_.shape()[axis];
    const bool shorten = (tensor_.count > kLongest || tensor_.count == 0) && n > 2 * kEdge;
    if (n == 0) --left_;
    text_ += '[';
    for (int64_t i = 0; i < n; ++i) {
      if (i > 0) text_ += axis + 1 == tensor_.rank ? ", " : ",\n" + std::string(axis + 1, ' ');
      if (left_ <= 0) {
        text_ += "...";
        break;
      }
      if (shorten && i == kEdge) {
        text_ += "...";
        i = n - kEdge - 1;
        continue;
      }
      append_axis(axis + 1, at + i * strides_[axis]);
    }
    text_ += ']';
  }

  const Tensor& tensor_;
  const std::byte* data_;
  std::span<const int64_t> strides_;
  int64_t left_ = kMost;
  std::string text_;
};

}  // namespace

std::string tensor_text(Context& ctx, Tensor& tensor) {
  const DimMath math(ctx);
  std::string text = formatted("tensor {} {} on {}", dtype_name(tensor.dtype),
                               tensor.symbolic() && !ctx.capture ? "[?]" : math.text(tensor.dims()),
                               tensor.device->name());
  if (tensor.symbolic()) return text + ", a value of a captured graph";
  if (tensor.leveled()) return text + ", of a transform level";
  if (tensor.data == nullptr) return text + ", without elements";
  text += '\n';
  if (tensor.device->host_memory() && !tensor.device->asynchronous()) {
    return text +
           Writer(tensor, static_cast<const std::byte*>(tensor.data), tensor.strides()).text();
  }
  std::vector<std::byte> elements(static_cast<size_t>(tensor.count) * dtype_bytes(tensor.dtype));
  read_tensor(ctx, tensor, elements.data());
  std::vector<int64_t> strides(tensor.rank);
  contiguous_strides(tensor.shape(), strides.data());
  return text + Writer(tensor, elements.data(), strides).text();
}

}  // namespace dlcore
