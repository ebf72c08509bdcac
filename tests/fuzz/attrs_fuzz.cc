// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any packed attributes, for every op of the catalogue and operands of every
// dtype, rank and layout; and then derivatives through what came out.
#include <dlcore/ops.h>

#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "fuzz.h"

namespace dlcore::fuzz {
namespace {

const std::vector<int32_t>& op_numbers() {
  static const std::vector<int32_t> numbers = [] {
    std::vector<int32_t> all;
    const auto catalogue = nlohmann::json::parse(dlcore_catalogue_json(nullptr));
    for (const auto& op : catalogue.at("ops")) all.push_back(op.at("number").get<int32_t>());
    return all;
  }();
  return numbers;
}

constexpr int32_t kMostRank = 4;

dlcore_tensor* operand(dlcore_context* ctx, Bytes& in) {
  if (in.below(12) == 0) return dlcore_tensor_none();
  const auto dtype = static_cast<dlcore_dtype>(1 + in.below(DLCORE_F64));
  int64_t shape[kMostRank];
  size_t bytes = dlcore_dtype_size(dtype);
  const auto rank = static_cast<int32_t>(in.below(kMostRank + 1));
  const uint32_t sizes = in.next();
  for (int32_t i = 0; i < rank; ++i) {
    shape[i] = (sizes >> (2 * i)) % 4;
    bytes *= static_cast<size_t>(shape[i]);
  }
  const uint8_t fill = in.next();
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    const auto b = static_cast<uint8_t>(fill * (i + 1));
    data[i] = dtype == DLCORE_BOOL ? b & 1 : b;
  }
  dlcore_tensor* t = dlcore_tensor_create(ctx, dtype, shape, rank, data.data(), bytes);
  if (in.below(3) == 0 && rank > 1) {
    const int64_t axes[] = {1, 0, 2, 3};
    t = dlcore_permute_dims(ctx, t, axes, rank);
  }
  if (dtype >= DLCORE_F16 && in.below(2) == 0) t = dlcore_autograd_watch(ctx, t);
  return t;
}

void differentiate(dlcore_context* ctx, dlcore_tensor* y, dlcore_tensor* x) {
  dlcore_grad_options options;
  dlcore_grad_options_init(&options, sizeof options);
  options.allow_unused = options.create_graph = 1;
  dlcore_tensor* seed = dlcore_copy(ctx, dlcore_stop_gradient(ctx, y));
  dlcore_tensor* g = nullptr;
  dlcore_autograd_grad(ctx, &y, 1, &x, 1, &seed, &options, &g);
  require_sound_status(ctx);
  dlcore_context_clear_error(ctx);
}

void call(dlcore_context* ctx, Bytes& in) {
  const int32_t op = op_numbers()[in.below(static_cast<uint32_t>(op_numbers().size()))];
  dlcore_tensor* inputs[5];
  const auto n_inputs = static_cast<int32_t>(in.below(6));
  for (int32_t i = 0; i < n_inputs; ++i) {
    // Often of one shape and dtype, as most ops want them.
    inputs[i] = i > 0 && in.below(2) == 0 ? inputs[i - 1] : operand(ctx, in);
  }
  dlcore_context_clear_error(ctx);
  std::array<int64_t, 24> words;
  const int64_t n_words = in.below(static_cast<uint32_t>(words.size() + 1));
  for (int64_t i = 0; i < n_words; ++i)
    words[static_cast<size_t>(i)] = in.below(8) == 0 ? in.word() : in.number();
  dlcore_tensor* outputs[4] = {};
  const auto n_outputs = static_cast<int32_t>(in.below(4));
  const dlcore_status status =
      dlcore_op_invoke(ctx, op, inputs, n_inputs, words.data(), n_words, outputs, n_outputs, 0);
  require_sound_status(ctx);
  if (status != dlcore_context_status(ctx)) found("the status is not that of the context");
  dlcore_context_clear_error(ctx);
  if (status == DLCORE_OK && n_outputs > 0 && n_inputs > 0 &&
      dlcore_tensor_count(outputs[0]) <= 4096) {
    dlcore_tensor_to_string(ctx, outputs[0], nullptr, 0);
    differentiate(ctx, outputs[0], inputs[0]);
  }
}

}  // namespace
}  // namespace dlcore::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dlcore::fuzz;
  return on_fresh_context([&](dlcore_context* ctx) {
    Bytes in(data, size);
    while (!in.empty()) call(ctx, in);
  });
}
