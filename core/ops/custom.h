// SPDX-License-Identifier: Apache-2.0
// Ops that programs define by callbacks. They belong to one engine.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>

#include "core/base/mutex.h"
#include "core/ops/rules.h"
#include "core/ops/schema.h"
#include "dlcore/op.h"

namespace dlcore {

class CustomOp {
 public:
  OpDef def;
  std::string name;
  dlcore_op_callback infer = nullptr;
  dlcore_op_callback forward = nullptr;
  dlcore_op_callback backward = nullptr;
  bool manual = false;  // the context of its callbacks
  void* user_data = nullptr;
  void (*destroy)(void*) = nullptr;

  // Fills in `def` for a number of inputs, outputs and attribute words.
  void describe(int32_t n_inputs, int32_t n_outputs, int32_t n_attrs);

  CustomOp() = default;
  CustomOp(const CustomOp&) = delete;
  CustomOp& operator=(const CustomOp&) = delete;
  ~CustomOp() {
    if (destroy != nullptr) destroy(user_data);
  }
};

class CustomOps {
 public:
  static constexpr int32_t kFirstNumber = 1 << 20;

  // Numbers the op and takes it over. Throws ALREADY_EXISTS.
  int32_t add(std::unique_ptr<CustomOp> op);
  const OpDef* find(int32_t number) const;
  const OpDef* find(std::string_view name) const;

 private:
  mutable Mutex lock_;
  std::deque<std::unique_ptr<CustomOp>> ops_;
};

// The callbacks, each on a child context of its own.
void custom_infer(Context& ctx, const CustomOp& op, std::span<const TensorType> inputs,
                  std::span<const int64_t> attrs, std::span<TensorType> outputs);
void custom_forward(Context& ctx, const CustomOp& op, std::span<Tensor* const> inputs,
                    std::span<const int64_t> attrs, std::span<const TensorType> types,
                    std::span<TensorRef> outputs);
void custom_backward(const CustomOp& op, Vjp& rule);

}  // namespace dlcore
