// SPDX-License-Identifier: Apache-2.0
#include "session.h"

namespace dlcore::conformance {
namespace {

dlcore_tensor* weak_scalar(dlcore_context* ctx, const Json& record) {
  const std::string kind = record.at("kind");
  const Json& value = record.at("value");
  if (kind == "f64") return dlcore_tensor_weak_f64(ctx, value.get<double>());
  if (kind == "i64") return dlcore_tensor_weak_i64(ctx, value.get<int64_t>());
  return dlcore_tensor_weak_bool(ctx, static_cast<uint8_t>(value.get<bool>()));
}

// Views share storage: what a case calls strided must reach the op strided.
void require_view(const Description& found, const Json& record) {
  const Shape strides = shape_from(record.at("strides"));
  bool same =
      found.shape == shape_from(record.at("shape")) && found.strides.size() == strides.size();
  for (size_t i = 0; same && i < strides.size(); ++i) {
    same = found.shape[i] <= 1 || found.strides[i] == strides[i] || count_of(found.shape) == 0;
  }
  if (!same) {
    throw Failure("input: view has shape " + to_string(found.shape) + " and strides " +
                  to_string(found.strides) + ", expected " + record.at("shape").dump() + " and " +
                  record.at("strides").dump());
  }
}

}  // namespace

CallError::CallError(dlcore_status code_in, const std::string& text_in)
    : Failure(std::string(dlcore_status_name(code_in)) + ": " + text_in),
      code(code_in),
      text(text_in) {}

Session::Session(dlcore_engine* engine, const std::string& device, const Catalogue& catalogue)
    : catalogue_(catalogue) {
  dlcore_error* error = nullptr;
  context_ = dlcore_context_open(engine, device.c_str(), 42, 0, &error);
  if (context_ != nullptr) return;
  const CallError failure(dlcore_error_code(error), dlcore_error_message(error));
  dlcore_error_release(error);
  throw failure;
}

Session::~Session() { dlcore_context_close(context_); }

void Session::check() const {
  if (dlcore_ok(context_) != 0) return;
  const CallError failure(dlcore_context_status(context_), dlcore_context_error_message(context_));
  dlcore_context_clear_error(context_);
  throw failure;
}

dlcore_tensor* Session::create(const Array& array) const {
  dlcore_tensor* tensor = dlcore_tensor_create(context_, array.dtype, array.shape.data(),
                                               static_cast<int32_t>(array.shape.size()),
                                               array.bytes.data(), array.bytes.size());
  check();
  return tensor;
}

std::vector<dlcore_tensor*> Session::invoke(const std::string& op,
                                            const std::vector<dlcore_tensor*>& inputs,
                                            const std::vector<int64_t>& words, size_t outputs,
                                            dlcore_context* on) const {
  std::vector<dlcore_tensor*> results(outputs, nullptr);
  const dlcore_status status = dlcore_op_invoke(
      on != nullptr ? on : context_, catalogue_.number(op), inputs.data(),
      static_cast<int32_t>(inputs.size()), words.data(), static_cast<int64_t>(words.size()),
      results.data(), static_cast<int32_t>(outputs), 0);
  if (on != nullptr) return results;
  check();
  if (status != DLCORE_OK) throw Failure(op + ": returned a code but left no error on the context");
  for (const dlcore_tensor* result : results) {
    if (result == nullptr) throw Failure(op + ": succeeded without writing an output");
  }
  return results;
}

dlcore_tensor* Session::input(const Family& family, const Json& record) const {
  if (record.is_null()) return dlcore_tensor_none();
  if (record.value("weak", false)) {
    dlcore_tensor* scalar = weak_scalar(context_, record);
    check();
    return scalar;
  }
  dlcore_tensor* tensor = create(family.tensor(record.at("tensor")));
  if (!record.contains("view")) return tensor;
  for (const Json& step : record.at("view")) {
    const std::string op = step.at(0);
    tensor = invoke(op, {tensor}, catalogue_.pack(op, step.at(1)), 1)[0];
  }
  require_view(describe(tensor), record);
  return tensor;
}

Description Session::describe(const dlcore_tensor* tensor) const {
  dlcore_tensor_description raw{};
  raw.struct_size = sizeof raw;
  if (dlcore_tensor_describe(context_, tensor, &raw) != DLCORE_OK) {
    check();
    throw Failure("describe failed");
  }
  return {raw.dtype, Shape(raw.shape, raw.shape + raw.rank),
          Shape(raw.strides, raw.strides + raw.rank), raw.is_weak != 0, raw.requires_grad != 0};
}

Array Session::read(dlcore_tensor* tensor) const {
  const Description what = describe(tensor);
  Array array{what.dtype, what.shape, {}};
  array.bytes.resize(static_cast<size_t>(count_of(what.shape)) * dlcore_dtype_size(what.dtype));
  dlcore_tensor_read(context_, tensor, what.dtype, array.bytes.data(), array.bytes.size());
  check();
  return array;
}

}  // namespace dlcore::conformance
