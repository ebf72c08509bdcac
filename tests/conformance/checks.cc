// SPDX-License-Identifier: Apache-2.0
#include "checks.h"

namespace dlcore::conformance {
namespace {

// Another dtype whose elements have the same size, so that only the dtype can give the mistake
// away.
dlcore_dtype look_alike(dlcore_dtype dtype) {
  switch (dtype) {
    case DLCORE_BOOL:
      return DLCORE_U8;
    case DLCORE_U8:
      return DLCORE_I8;
    case DLCORE_I8:
      return DLCORE_BOOL;
    case DLCORE_I16:
      return DLCORE_F16;
    case DLCORE_F16:
      return DLCORE_BF16;
    case DLCORE_BF16:
      return DLCORE_I16;
    case DLCORE_I32:
      return DLCORE_F32;
    case DLCORE_F32:
      return DLCORE_I32;
    case DLCORE_I64:
      return DLCORE_F64;
    default:
      return DLCORE_I64;
  }
}

void require_dtype_checked(const Session& session, dlcore_tensor* tensor, const Array& array) {
  std::vector<uint8_t> bytes(array.bytes.size());
  const dlcore_dtype wrong = look_alike(array.dtype);
  dlcore_tensor_read(session.context(), tensor, wrong, bytes.data(), bytes.size());
  try {
    session.check();
  } catch (const CallError& error) {
    if (error.code == DLCORE_INVALID_ARGUMENT) return;
    throw;
  }
  throw Failure(std::string("read as ") + dlcore_dtype_name(wrong) + " was accepted for " +
                dlcore_dtype_name(array.dtype));
}

void require_within(const Numbers& numbers, const Json& bounds) {
  const double low = bounds.at(0);
  const double high = bounds.at(1);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double value =
        numbers.integral ? static_cast<double>(numbers.integers[i]) : numbers.reals[i];
    if (!(value >= low && value < high)) {
      throw Failure("element " + std::to_string(i) + " is " + std::to_string(value) +
                    ", expected it in [" + std::to_string(low) + ", " + std::to_string(high) + ")");
    }
  }
}

void require_output(const Session& session, const Case& test, size_t index, dlcore_tensor* tensor) {
  const Json& expected = test.output(index);
  const std::string where = "output " + std::to_string(index) + ": ";
  const Description found = session.describe(tensor);
  const std::string dtype = expected.at("dtype");
  if (found.dtype != dlcore_dtype_by_name(dtype.c_str())) {
    const char* name = dlcore_dtype_name(found.dtype);
    throw Failure(where + "dtype is " + (name != nullptr ? name : "none") + ", expected " + dtype);
  }
  if (found.shape != shape_from(expected.at("shape"))) {
    throw Failure(where + "shape is " + to_string(found.shape) + ", expected " +
                  expected.at("shape").dump());
  }
  if (found.weak != expected.value("weak", false)) {
    throw Failure(where + (found.weak ? "is a weak scalar" : "is not a weak scalar"));
  }
  const Array array = session.read(tensor);
  const Numbers numbers = decode(array);
  if (expected.contains("within")) require_within(numbers, expected.at("within"));
  if (expected.contains("tensor")) {
    const Numbers wanted = decode(test.family.tensor(expected.at("tensor")));
    const std::string text = difference(numbers, wanted, array.dtype, test.tolerance());
    if (!text.empty()) throw Failure(where + text);
  }
  require_dtype_checked(session, tensor, array);
}

}  // namespace

Case::Case(const Catalogue& catalogue, const Family& family_in, const Json& json_in)
    : family(family_in), json(json_in), op(json_in.at("op")) {
  words = json.contains("words") ? json.at("words").get<std::vector<int64_t>>()
                                 : catalogue.pack(op, json.value("attrs", Json::object()));
}

bool Case::has_flag(const char* flag) const {
  if (!json.contains("flags")) return false;
  for (const Json& item : json.at("flags")) {
    if (item == flag) return true;
  }
  return false;
}

Tolerance Case::tolerance() const {
  Tolerance tolerance = Tolerance::from(json.value("tolerance", Json::object()));
  tolerance.signed_zero = has_flag("signed_zero");
  return tolerance;
}

std::vector<dlcore_tensor*> Case::make_inputs(const Session& session) const {
  std::vector<dlcore_tensor*> tensors;
  for (const Json& record : json.at("inputs")) tensors.push_back(session.input(family, record));
  return tensors;
}

std::vector<size_t> Case::differentiable() const {
  std::vector<size_t> positions;
  if (!json.contains("gradients")) return positions;
  const Json& keys = json.at("gradients").at("inputs");
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!keys[i].is_null()) positions.push_back(i);
  }
  return positions;
}

void check_error(const Session& session, const Case& test) {
  const std::string code = test.json.at("expect").at("error");
  const std::vector<dlcore_tensor*> inputs = test.make_inputs(session);
  try {
    session.invoke(test.op, inputs, test.words, 1);
    dlcore_context_synchronize(session.context());  // where an asynchronous device tells
    session.check();
  } catch (const CallError& error) {
    if (error.code == DLCORE_UNIMPLEMENTED) throw;
    if (dlcore_status_name(error.code) != code)
      throw Failure("failed with " + std::string(error.what()) + ", expected " + code);
    for (const Json& word : test.json.at("expect").at("contains")) {
      if (error.text.find(word.get<std::string>()) == std::string::npos) {
        throw Failure("message '" + error.text + "' lacks " + word.dump());
      }
    }
    return;
  }
  throw Failure("succeeded, expected " + code);
}

void check_outputs(const Session& session, const Case& test) {
  const size_t count = test.json.at("expect").at("outputs").size();
  const std::vector<dlcore_tensor*> outputs =
      session.invoke(test.op, test.make_inputs(session), test.words, count);
  for (size_t i = 0; i < count; ++i) require_output(session, test, i, outputs[i]);
}

void check_layout(const Session& session, const Case& test) {
  bool strided = false;
  std::vector<dlcore_tensor*> inputs = test.make_inputs(session);
  const std::vector<dlcore_tensor*> original = inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!test.input(i).is_object() || !test.input(i).contains("view")) continue;
    strided = true;
    inputs[i] = session.create(session.read(inputs[i]));
  }
  if (!strided) return;
  const Array viewed = session.read(session.invoke(test.op, original, test.words, 1)[0]);
  const Array plain = session.read(session.invoke(test.op, inputs, test.words, 1)[0]);
  if (viewed.bytes == plain.bytes) return;
  const std::string text = difference(decode(viewed), decode(plain), plain.dtype, {});
  throw Failure("not the same bits as with contiguous inputs: " +
                (text.empty() ? "NaN or zeros" : text));
}

}  // namespace dlcore::conformance
