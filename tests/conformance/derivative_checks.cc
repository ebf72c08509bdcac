// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "checks.h"

namespace dlcore::conformance {
namespace {

Array seed_of(const Case& test) {
  const Array& stored = test.family.tensor(test.json.at("gradients").at("seed"));
  const std::string dtype = test.output(0).at("dtype");
  return encode(decode(stored).reals, shape_from(test.output(0).at("shape")),
                dlcore_dtype_by_name(dtype.c_str()));
}

Numbers expected_gradient(const Case& test, size_t input) {
  return decode(test.family.tensor(test.json.at("gradients").at("inputs").at(input)));
}

dlcore_dtype dtype_of_input(const Case& test, size_t input) {
  return dlcore_dtype_by_name(test.input(input).at("dtype").get<std::string>().c_str());
}

// A direction without pattern that a mistake could hide behind, the same in every run.
std::vector<double> direction(size_t count, size_t input) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = (static_cast<double>((i * 7 + input * 3 + 3) % 11) - 5) / 8;
  }
  return values;
}

struct GradcheckCall {
  const Session& session;
  const Case& test;
  std::vector<dlcore_tensor*> inputs;
  std::vector<size_t> positions;
};

dlcore_status gradcheck_function(void* user_data, dlcore_context* ctx, dlcore_tensor* const* inputs,
                                 int64_t n_inputs, dlcore_tensor** output) {
  const auto& call = *static_cast<const GradcheckCall*>(user_data);
  std::vector<dlcore_tensor*> all = call.inputs;
  for (int64_t i = 0; i < n_inputs; ++i) all[call.positions[static_cast<size_t>(i)]] = inputs[i];
  *output = call.session.invoke(call.test.op, all, call.test.words, 1, ctx)[0];
  return *output != nullptr ? static_cast<dlcore_status>(DLCORE_OK) : dlcore_context_status(ctx);
}

void require_gradient(const Session& session, const Case& test, size_t input,
                      dlcore_tensor* gradient) {
  const std::string where = "gradient of input " + std::to_string(input) + ": ";
  const Shape shape = shape_from(test.input(input).at("shape"));
  const dlcore_dtype dtype = dtype_of_input(test, input);
  Array got;
  if (gradient == nullptr) {  // an input without influence
    got = encode(std::vector<double>(static_cast<size_t>(count_of(shape))), shape, dtype);
  } else {
    got = session.read(gradient);
  }
  if (got.dtype != dtype) {
    throw Failure(where + "dtype is " + dlcore_dtype_name(got.dtype) + ", expected " +
                  dlcore_dtype_name(dtype));
  }
  if (got.shape != shape) {
    throw Failure(where + "shape is " + to_string(got.shape) + ", expected " + to_string(shape));
  }
  const Tolerance tolerance = Tolerance::from(test.json.at("gradients").at("tolerance"));
  const std::string text =
      difference(decode(got), expected_gradient(test, input), dtype, tolerance);
  if (!text.empty()) throw Failure(where + text);
}

}  // namespace

void check_gradients(const Session& session, const Case& test) {
  const std::vector<size_t> positions = test.differentiable();
  std::vector<dlcore_tensor*> inputs = test.make_inputs(session);
  std::vector<dlcore_tensor*> leaves;
  for (size_t i : positions) {
    inputs[i] = dlcore_autograd_watch(session.context(), inputs[i]);
    session.check();
    leaves.push_back(inputs[i]);
  }
  dlcore_tensor* output = session.invoke(test.op, inputs, test.words, 1)[0];
  std::vector<dlcore_tensor*> gradients(leaves.size(), nullptr);
  // A result without history is a constant: its gradients are zeros.
  if (session.describe(output).requires_grad) {
    dlcore_tensor* seed = session.create(seed_of(test));
    dlcore_grad_options options;
    dlcore_grad_options_init(&options, sizeof options);
    options.allow_unused = 1;
    dlcore_autograd_grad(session.context(), &output, 1, leaves.data(),
                         static_cast<int64_t>(leaves.size()), &seed, &options, gradients.data());
    session.check();
  }
  for (size_t i = 0; i < positions.size(); ++i)
    require_gradient(session, test, positions[i], gradients[i]);
}

void check_forward_mode(const Session& session, const Case& test) {
  const std::vector<size_t> positions = test.differentiable();
  std::vector<dlcore_tensor*> inputs = test.make_inputs(session);
  double expected = 0;
  double size = 0;
  std::vector<dlcore_tensor*> tangents;
  for (size_t i : positions) {
    const std::vector<double> gradient = expected_gradient(test, i).reals;
    const std::vector<double> tangent = direction(gradient.size(), i);
    for (size_t e = 0; e < tangent.size(); ++e) {
      expected += gradient[e] * tangent[e];
      size += std::abs(gradient[e] * tangent[e]);
    }
    tangents.push_back(session.create(
        encode(tangent, shape_from(test.input(i).at("shape")), dtype_of_input(test, i))));
  }
  if (!std::isfinite(size)) return;
  const Array seed = seed_of(test);
  const Level level(session, dlcore_jvp_open(session.context()));
  for (size_t i = 0; i < positions.size(); ++i) {
    inputs[positions[i]] =
        dlcore_jvp_lift(session.context(), level.get(), inputs[positions[i]], tangents[i]);
    session.check();
  }
  dlcore_tensor* output = session.invoke(test.op, inputs, test.words, 1)[0];
  dlcore_tensor* primal = dlcore_jvp_primal(session.context(), level.get(), output);
  dlcore_tensor* tangent = dlcore_jvp_tangent(session.context(), level.get(), output);
  session.check();
  const Array value = session.read(primal);
  const Numbers wanted = decode(test.family.tensor(test.output(0).at("tensor")));
  const std::string text = difference(decode(value), wanted, value.dtype, test.tolerance());
  if (!text.empty()) throw Failure("forward mode, primal: " + text);
  const Array derivative = session.read(tangent);
  if (derivative.shape != seed.shape || derivative.dtype != seed.dtype) {
    throw Failure("forward mode: tangent has shape " + to_string(derivative.shape) + ", expected " +
                  to_string(seed.shape));
  }
  const std::vector<double> weights = decode(seed).reals;
  const std::vector<double> rates = decode(derivative).reals;
  double got = 0;
  for (size_t e = 0; e < weights.size(); ++e) {
    got += weights[e] * rates[e];
    size += std::abs(weights[e] * rates[e]);
  }
  const Tolerance tolerance = Tolerance::from(test.json.at("gradients").at("tolerance"));
  const double allowed = (tolerance.relative + 1e-10) * size + tolerance.absolute;
  if (!(std::abs(got - expected) <= allowed)) {
    throw Failure("forward mode: <seed, J t> is " + std::to_string(got) + ", expected " +
                  std::to_string(expected));
  }
}

void check_gradcheck(const Session& session, const Case& test) {
  GradcheckCall call{session, test, test.make_inputs(session), test.differentiable()};
  std::vector<dlcore_tensor*> points;
  for (size_t i : call.positions) points.push_back(call.inputs[i]);
  dlcore_gradcheck(session.context(), gradcheck_function, &call, points.data(),
                   static_cast<int64_t>(points.size()), 2, 0);
  session.check();
}

}  // namespace dlcore::conformance
