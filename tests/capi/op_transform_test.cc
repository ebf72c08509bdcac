// SPDX-License-Identifier: Apache-2.0
// dlcore/autograd.h, for every op of the catalogue: forward and reverse mode are adjoint, and vmap
// is a loop. The calls are the same on every run.
#include "op_random.h"

namespace dlcore::test {
namespace {

constexpr int kTrials = 400;  // of each op; most do not fit together and are refused
constexpr int64_t kExamples = 3;

class OpTransformTest : public ApiTest {
 protected:
  struct Trial {
    int32_t op = 0;
    std::vector<int64_t> words;
    std::vector<dlcore_dtype> dtypes;
    std::vector<Shape> shapes;
    std::vector<Doubles> values;
  };

  static int64_t count(const Shape& shape) {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
  }
  Doubles draw(dlcore_dtype dtype, int64_t n) {
    Doubles values;
    for (int64_t i = 0; i < n; ++i) {
      values.push_back(dtype == DLCORE_F64 ? calls_.between(0.15, 0.85)
                                           : static_cast<double>(calls_.below(2)));
    }
    return values;
  }

  Trial random_trial(const nlohmann::json& op) {
    static const Shape kShapes[] = {{}, {3}, {1}, {2, 3}, {3, 2}, {2, 2}, {1, 3}, {2, 3, 2}};
    Trial t;
    t.op = op.at("number");
    t.words = calls_.attributes(op, false);
    const Shape& base = kShapes[calls_.below(std::size(kShapes))];
    const auto& inputs = op.at("inputs");
    for (const auto& input : inputs) {
      const size_t copies = input.at("variadic") ? 1 + calls_.below(3) : 1;
      const auto type = input.at("type").get<std::string>();
      const auto allowed =
          op.at("types").contains(type) ? op.at("types").at(type).dump() : '"' + type + '"';
      for (size_t k = 0; k < copies; ++k) {
        t.dtypes.push_back(allowed.find("f64") != std::string::npos   ? DLCORE_F64
                           : allowed.find("i64") != std::string::npos ? DLCORE_I64
                                                                      : DLCORE_BOOL);
        t.shapes.push_back(calls_.below(3) != 0 ? base : kShapes[calls_.below(std::size(kShapes))]);
        t.values.push_back(draw(t.dtypes.back(), count(t.shapes.back())));
      }
    }
    return t;
  }

  dlcore_tensor* run(const Trial& t, const std::vector<dlcore_tensor*>& in) {
    dlcore_tensor* y = nullptr;
    dlcore_op_invoke(ctx_, t.op, in.data(), static_cast<int32_t>(in.size()), t.words.data(),
                     static_cast<int64_t>(t.words.size()), &y, 1, 0);
    return y;
  }
  std::vector<dlcore_tensor*> inputs(const Trial& t) {
    std::vector<dlcore_tensor*> in;
    for (size_t i = 0; i < t.shapes.size(); ++i) {
      in.push_back(tensor(t.dtypes[i], t.shapes[i], t.values[i]));
    }
    return in;
  }
  static double dot(const Doubles& a, const Doubles& b) {
    double total = 0;
    for (size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
    return total;
  }

  // <u, J t> by forward mode is <J' u, t> by reverse mode.
  void check_adjoint(const Trial& t, const Shape& y_shape) {
    std::vector<dlcore_tensor*> in = inputs(t), wrt;
    std::vector<Doubles> directions;
    for (size_t i = 0; i < in.size(); ++i) {
      if (t.dtypes[i] != DLCORE_F64) continue;
      in[i] = dlcore_autograd_watch(ctx_, in[i]);
      wrt.push_back(in[i]);
      directions.push_back(draw(DLCORE_F64, count(t.shapes[i])));
    }
    const Doubles u = draw(DLCORE_F64, count(y_shape));
    dlcore_tensor* y = run(t, in);
    dlcore_tensor* seed = f64(y_shape, u);
    std::vector<dlcore_tensor*> g(wrt.size(), nullptr);
    dlcore_grad_options o;
    dlcore_grad_options_init(&o, sizeof o);
    o.allow_unused = 1;
    dlcore_autograd_grad(ctx_, &y, 1, wrt.data(), static_cast<int64_t>(wrt.size()), &seed, &o,
                         g.data());
    ASSERT_EQ(dlcore_ok(ctx_), 1) << dlcore_context_error_message(ctx_);
    double reverse = 0;
    for (size_t i = 0; i < g.size(); ++i) {
      if (g[i] == nullptr) continue;
      ASSERT_EQ(shape_of(g[i]), shape_of(wrt[i]));
      reverse += dot(read(g[i]), directions[i]);
    }
    dlcore_transform* level = dlcore_jvp_open(ctx_);
    std::vector<dlcore_tensor*> moved = inputs(t);
    for (size_t i = 0, k = 0; i < moved.size(); ++i) {
      if (t.dtypes[i] != DLCORE_F64) continue;
      moved[i] = dlcore_jvp_lift(ctx_, level, moved[i], f64(t.shapes[i], directions[k++]));
    }
    dlcore_tensor* tangent = dlcore_jvp_tangent(ctx_, level, run(t, moved));
    dlcore_transform_close(ctx_, level);
    ASSERT_EQ(dlcore_ok(ctx_), 1) << dlcore_context_error_message(ctx_);
    ASSERT_EQ(shape_of(tangent), y_shape);
    const double forward = dot(u, read(tangent));
    if (std::isnan(reverse) && std::isnan(forward)) return;
    ASSERT_NEAR(reverse, forward, 1e-9 * (1 + std::abs(forward)));
  }

  // Some inputs differ from example to example, with the examples along any axis.
  void check_vmap(const Trial& t) {
    std::vector<Trial> examples(kExamples, t);
    std::vector<bool> batched;
    for (size_t i = 0; i < t.shapes.size(); ++i) {
      batched.push_back(calls_.below(4) != 0);
      if (!batched[i]) continue;
      for (Trial& e : examples) e.values[i] = draw(t.dtypes[i], count(t.shapes[i]));
    }
    Shape shape;
    Doubles expected;
    dlcore_dtype dtype = DLCORE_DTYPE_NONE;
    for (const Trial& e : examples) {
      dlcore_tensor* y = run(e, inputs(e));
      if (y == nullptr) return dlcore_context_clear_error(ctx_);  // for its values
      const Doubles values = read(y);
      expected.insert(expected.end(), values.begin(), values.end());
      shape = shape_of(y);
      dtype = dlcore_tensor_dtype(y);
    }
    shape.insert(shape.begin(), kExamples);
    dlcore_tensor* lowered = by_vmap(examples, batched);
    ASSERT_EQ(dlcore_ok(ctx_), 1) << dlcore_context_error_message(ctx_);
    ASSERT_EQ(dlcore_tensor_dtype(lowered), dtype);
    ASSERT_EQ(shape_of(lowered), shape);
    const Doubles actual = read(lowered);
    for (size_t i = 0; i < actual.size(); ++i) {
      if (std::isnan(expected[i]) && std::isnan(actual[i])) continue;
      if (expected[i] == actual[i]) continue;  // infinities
      ASSERT_NEAR(actual[i], expected[i], 1e-12 * (1 + std::abs(expected[i]))) << "element " << i;
    }
  }

  dlcore_tensor* by_vmap(const std::vector<Trial>& examples, const std::vector<bool>& batched) {
    dlcore_transform* level = dlcore_vmap_open(ctx_, kExamples);
    const Trial& t = examples[0];
    std::vector<dlcore_tensor*> in = inputs(t);
    for (size_t i = 0; i < in.size(); ++i) {
      if (!batched[i]) continue;
      std::vector<dlcore_tensor*> rows;
      for (const Trial& e : examples) rows.push_back(tensor(t.dtypes[i], t.shapes[i], e.values[i]));
      const auto axis = static_cast<int64_t>(calls_.below(t.shapes[i].size() + 1));
      dlcore_tensor* all = dlcore_stack(ctx_, rows.data(), kExamples, axis);
      in[i] = dlcore_vmap_lift(ctx_, level, all, axis);
    }
    dlcore_tensor* lowered = dlcore_vmap_lower(ctx_, level, run(t, in), 0);
    dlcore_transform_close(ctx_, level);
    return lowered;
  }

  std::string describe(const nlohmann::json& op, const Trial& t) {
    std::string text = op.at("name").get<std::string>();
    for (const Shape& s : t.shapes) text += " " + nlohmann::json(s).dump();
    return text + " " + nlohmann::json(t.words).dump();
  }

  RandomCalls calls_{20240602};
};

TEST_F(OpTransformTest, EveryOp) {
  const auto catalogue = nlohmann::json::parse(dlcore_catalogue_json(nullptr));
  int checked = 0;
  for (const auto& op : catalogue.at("ops")) {
    if (op.at("effect") != "pure") continue;
    // Its inputs must fit together: logsumexp is that of the logits.
    if (op.at("name") == "cross_entropy_backward") continue;
    for (int i = 0; i < kTrials; ++i) {
      dlcore_scope* scope = dlcore_scope_open(ctx_);
      const Trial t = random_trial(op);
      dlcore_tensor* y = run(t, inputs(t));
      if (y != nullptr && dlcore_tensor_count(y) < 5000) {
        SCOPED_TRACE(describe(op, t));
        ++checked;
        const bool real = dlcore_tensor_dtype(y) == DLCORE_F64 && !t.shapes.empty();
        if (real && op.at("differentiable")) check_adjoint(t, shape_of(y));
        if (!HasFatalFailure() && !t.shapes.empty()) check_vmap(t);
      }
      dlcore_context_clear_error(ctx_);
      dlcore_scope_close(ctx_, scope);
      if (HasFatalFailure()) break;
    }
    if (HasFatalFailure()) break;
  }
  EXPECT_GT(checked, 5000);
}

}  // namespace
}  // namespace dlcore::test
