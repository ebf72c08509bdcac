// SPDX-License-Identifier: Apache-2.0
// Training while memory fails: every step is done or not done, and the next one has the bits that
// it would have had.
#include <array>

#include "faults.h"

namespace dlcore::test {
namespace {

constexpr int64_t kBatch = 8, kIn = 20, kHidden = 32, kClasses = 5;

// An MLP with all that a step can have: history, random numbers, clipping, an optimizer with state.
class Model {
 public:
  explicit Model(dlcore_context* ctx, bool random = true) : ctx_(ctx) {
    dlcore_module* layers[] = {dlcore_linear_layer(ctx, kIn, kHidden), dlcore_gelu_layer(ctx),
                               dlcore_layer_norm_layer(ctx, kHidden),
                               random ? dlcore_dropout_layer(ctx, 0.25) : dlcore_relu_layer(ctx),
                               dlcore_linear_layer(ctx, kHidden, kClasses)};
    model_ = dlcore_sequential(ctx, layers, 5);
    optimizer_ = dlcore_adamw(ctx, model_, 1e-2);
    for (size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i * i % 29) / 29;
    for (size_t i = 0; i < y_.size(); ++i) y_[i] = static_cast<int64_t>(i * 3) % kClasses;
  }
  ~Model() {
    dlcore_executable_release(executable_);
    dlcore_optimizer_release(optimizer_);
    dlcore_module_release(model_);
  }

  int64_t steps() const { return steps_; }

  // Whether it was done is what the context says: nothing follows the optimizer.
  void step() {
    dlcore_context_set_seed(ctx_, static_cast<uint64_t>(steps_));
    dlcore_scope* scope = dlcore_scope_open(ctx_);
    dlcore_optimizer_zero_gradients(ctx_, optimizer_);
    dlcore_tensor* l = loss(x(), y());
    dlcore_tensor_read_f32(ctx_, l, &loss_, 1);
    dlcore_backward(ctx_, l);
    dlcore_optimizer_clip_gradients(ctx_, optimizer_, 1.0);
    dlcore_optimizer_step(ctx_, optimizer_);
    dlcore_scope_close(ctx_, scope);
  }

  // The same step as a graph.
  void capture() {
    dlcore_capture_begin(ctx_, "step");
    dlcore_tensor* x = dlcore_capture_input(ctx_, "x", DLCORE_F32, "[B, 20]");
    dlcore_tensor* y = dlcore_capture_input(ctx_, "y", DLCORE_I64, "[B]");
    dlcore_tensor* outputs[] = {loss(x, y)};
    dlcore_backward(ctx_, outputs[0]);
    dlcore_optimizer_clip_gradients(ctx_, optimizer_, 1.0);
    dlcore_optimizer_step(ctx_, optimizer_);
    dlcore_graph* graph = dlcore_capture_end(ctx_, outputs, 1);
    executable_ = dlcore_graph_compile(ctx_, graph, nullptr, 0);
    dlcore_graph_release(graph);
  }
  void use(dlcore_executable* executable) {
    dlcore_executable_release(executable_);
    executable_ = executable;
  }

  void run() {
    dlcore_context_set_seed(ctx_, static_cast<uint64_t>(steps_));
    dlcore_scope* scope = dlcore_scope_open(ctx_);
    dlcore_tensor* inputs[] = {x(), y()};
    dlcore_tensor* outputs[] = {nullptr};
    dlcore_executable_run(ctx_, executable_, inputs, 2, outputs, 1);
    const dlcore_status status = dlcore_context_status(ctx_);
    // Read even if memory goes on failing: the run has been done.
    if (status == DLCORE_OK) {
      EXPECT_EQ(dlcore_tensor_read_f32(ctx_, outputs[0], &loss_, 1), DLCORE_OK);
    }
    dlcore_scope_close(ctx_, scope);
  }

  float done() {
    ++steps_;
    return loss_;
  }

  std::string bytes(dlcore_variable* v) {
    dlcore_scope* scope = dlcore_scope_open(ctx_);
    dlcore_tensor* t = dlcore_variable_read(ctx_, v);
    std::string raw(
        static_cast<size_t>(dlcore_tensor_count(t)) * dlcore_dtype_size(dlcore_tensor_dtype(t)),
        '\0');
    EXPECT_EQ(dlcore_tensor_read(ctx_, t, dlcore_tensor_dtype(t), raw.data(), raw.size()),
              DLCORE_OK);
    dlcore_scope_close(ctx_, scope);
    return raw;
  }
  std::string bytes() {
    std::string all;
    for (int64_t i = 0; i < dlcore_module_variable_count(model_); ++i)
      all += bytes(dlcore_module_variable(ctx_, model_, i));
    for (int64_t i = 0; i < dlcore_optimizer_variable_count(optimizer_); ++i)
      all += bytes(dlcore_optimizer_variable(ctx_, optimizer_, i));
    return all;
  }
  dlcore_module* module() const { return model_; }
  dlcore_optimizer* optimizer() const { return optimizer_; }

  dlcore_tensor* x() {
    const int64_t shape[] = {kBatch, kIn};
    return dlcore_tensor_f32(ctx_, shape, 2, x_.data(), kBatch * kIn);
  }
  dlcore_tensor* y() {
    const int64_t shape[] = {kBatch};
    return dlcore_tensor_i64(ctx_, shape, 1, y_.data(), kBatch);
  }
  dlcore_tensor* loss(dlcore_tensor* x, dlcore_tensor* y) {
    return dlcore_cross_entropy(ctx_, dlcore_module_call(ctx_, model_, x), y);
  }

 private:
  dlcore_context* ctx_;
  dlcore_module* model_;
  dlcore_optimizer* optimizer_;
  dlcore_executable* executable_ = nullptr;
  std::array<float, kBatch * kIn> x_;
  std::array<int64_t, kBatch> y_;
  float loss_ = 0;
  int64_t steps_ = 0;
};

class TrainingFaults : public FaultTest {
 protected:
  // A model that trains undisturbed beside the disturbed one: it says what each step has to give.
  void check(const std::function<void(Model&)>& prepare, void (Model::*step)()) {
    Model disturbed(ctx_);
    dlcore_context* calm = open(42);
    {
      Model reference(calm);
      prepare(disturbed);
      prepare(reference);
      const auto next = [&] {
        (reference.*step)();
        EXPECT_EQ(dlcore_context_status(calm), DLCORE_OK) << dlcore_context_error_message(calm);
        return reference.done();
      };
      (disturbed.*step)();
      EXPECT_EQ(disturbed.done(), next());
      const Steps steps{[&] { (disturbed.*step)(); },
                        [&](bool done) {
                          if (!done) (disturbed.*step)();
                          expect_ok();
                          EXPECT_EQ(disturbed.done(), next());
                        }};
      sweep_all(steps);
      EXPECT_EQ(disturbed.bytes(), reference.bytes());
      expect_flat([&] { sweep(Fault::kHostOnce, steps); });
      expect_flat([&] { sweep(Fault::kHostFromThere, steps); });
      EXPECT_EQ(disturbed.bytes(), reference.bytes());
    }
    dlcore_context_close(calm);
  }
};

TEST_F(TrainingFaults, EagerSteps) {
  check([](Model&) {}, &Model::step);
}

TEST_F(TrainingFaults, CapturedSteps) {
  check([](Model& model) { model.capture(); }, &Model::run);
}

// The whole way to a graph: what failed can be done again in the same capture or in a new one.
TEST_F(TrainingFaults, CapturingAndCompiling) {
  Model model(ctx_);
  dlcore_executable* made = nullptr;
  const Steps steps{[&] {
                      dlcore_scope* scope = dlcore_scope_open(ctx_);
                      dlcore_capture_begin(ctx_, "step");
                      dlcore_tensor* x = dlcore_capture_input(ctx_, "x", DLCORE_F32, "[B, 20]");
                      dlcore_tensor* y = dlcore_capture_input(ctx_, "y", DLCORE_I64, "[B]");
                      dlcore_tensor* outputs[] = {model.loss(x, y)};
                      dlcore_backward(ctx_, outputs[0]);
                      dlcore_optimizer_clip_gradients(ctx_, model.optimizer(), 1.0);
                      dlcore_optimizer_step(ctx_, model.optimizer());
                      dlcore_graph* graph = dlcore_capture_end(ctx_, outputs, 1);
                      made = dlcore_graph_compile(ctx_, graph, nullptr, 0);
                      dlcore_graph_release(graph);
                      dlcore_scope_close(ctx_, scope);
                    },
                    [&](bool done) {
                      EXPECT_EQ(made != nullptr, done);
                      dlcore_capture_abort(ctx_);
                      dlcore_executable_release(made);
                      made = nullptr;
                    }};
  sweep_all(steps, /*tensors=*/false);
  expect_flat([&] { sweep(Fault::kHostOnce, steps); });
}

// History that a failed backward pass walked is as it was.
TEST_F(TrainingFaults, BackwardCanBeRepeated) {
  Model model(ctx_);
  model.step();
  expect_ok();
  for (Fault fault : kFaults) {
    dlcore_scope* scope = dlcore_scope_open(ctx_);
    dlcore_optimizer_zero_gradients(ctx_, model.optimizer());
    dlcore_tensor* loss = model.loss(model.x(), model.y());
    const int64_t injected = sweep(fault, {[&] { dlcore_backward(ctx_, loss); },
                                           [&](bool done) {
                                             // A pass that has been done has freed the history.
                                             if (done) loss = model.loss(model.x(), model.y());
                                           }});
    EXPECT_GT(injected, 5) << static_cast<int>(fault);
    dlcore_scope_close(ctx_, scope);
  }
}

// What a capture has recorded survives a call that failed, which can be made again.
TEST_F(TrainingFaults, CallsOfACaptureCanBeRepeated) {
  // Failed calls may have drawn random numbers, which this comparison has to do without.
  dlcore_context* calm = open(42);
  Model model(ctx_, /*random=*/false), reference(calm, /*random=*/false);
  for (Model* m : {&model, &reference}) m->step();
  reference.capture();
  for (Fault fault : {Fault::kHostOnce, Fault::kHostFromThere}) {
    // One number for the whole capture, so that each allocation of each call has its turn.
    for (int64_t n = 1;; ++n) {
      bool injected = false;
      fail_host_allocation(n, fault == Fault::kHostOnce ? Failing::kOnce : Failing::kFromThere);
      // fn is called until it has an answer.
      const auto surely = [&](const auto& fn) {
        auto result = fn();
        if (host_allocation_failed()) injected = disarm_host_allocations() || injected;
        if (dlcore_ok(ctx_) == 0) {
          EXPECT_EQ(dlcore_context_status(ctx_), DLCORE_RESOURCE_EXHAUSTED);
          dlcore_context_clear_error(ctx_);
          result = fn();
        }
        EXPECT_EQ(dlcore_ok(ctx_), 1) << dlcore_context_error_message(ctx_);
        return result;
      };
      dlcore_scope* scope = dlcore_scope_open(ctx_);
      surely([&] { return dlcore_capture_begin(ctx_, "step"); });
      dlcore_tensor* x =
          surely([&] { return dlcore_capture_input(ctx_, "x", DLCORE_F32, "[B, 20]"); });
      dlcore_tensor* y = surely([&] { return dlcore_capture_input(ctx_, "y", DLCORE_I64, "[B]"); });
      dlcore_tensor* logits = surely([&] { return dlcore_module_call(ctx_, model.module(), x); });
      dlcore_tensor* loss = surely([&] { return dlcore_cross_entropy(ctx_, logits, y); });
      surely([&] { return dlcore_backward(ctx_, loss); });
      surely([&] { return dlcore_optimizer_clip_gradients(ctx_, model.optimizer(), 1.0); });
      surely([&] { return dlcore_optimizer_step(ctx_, model.optimizer()); });
      dlcore_graph* graph = surely([&] { return dlcore_capture_end(ctx_, &loss, 1); });
      dlcore_executable* e = surely([&] { return dlcore_graph_compile(ctx_, graph, nullptr, 0); });
      disarm_host_allocations();
      // Each variable is one piece of state: 6 parameters, 12 moments, rate, steps, generator.
      std::string text(static_cast<size_t>(dlcore_graph_to_text(ctx_, graph, nullptr, 0)), '\0');
      dlcore_graph_to_text(ctx_, graph, text.data(), static_cast<int64_t>(text.size()));
      EXPECT_EQ(text.find(".2\""), std::string::npos) << text;
      dlcore_graph* parsed =
          dlcore_graph_parse(ctx_, text.data(), static_cast<int64_t>(text.size()) - 1);
      EXPECT_NE(parsed, nullptr) << dlcore_context_error_message(ctx_);
      dlcore_graph_release(parsed);
      dlcore_graph_release(graph);
      model.use(e);
      model.run();
      reference.run();
      EXPECT_EQ(model.done(), reference.done());
      dlcore_scope_close(ctx_, scope);
      ASSERT_FALSE(HasFailure()) << "allocation " << n << ", fault " << static_cast<int>(fault);
      if (!injected) break;
    }
  }
  EXPECT_EQ(model.bytes(), reference.bytes());
  dlcore_context_close(calm);
}

// A step that cannot have memory for anything else still ends, and so do scopes and contexts.
TEST_F(TrainingFaults, GivingUpNeedsNoMemory) {
  Model model(ctx_);
  dlcore_context* other = open(1);
  Model reference(other);
  for (int i = 0; i < 20; ++i) {
    reference.step();
    dlcore_backward(other, reference.loss(reference.x(), reference.y()));
  }
  EXPECT_EQ(dlcore_context_status(other), DLCORE_OK);
  dlcore_scope* scope = dlcore_scope_open(ctx_);
  dlcore_tensor* kept = dlcore_scope_keep(ctx_, model.loss(model.x(), model.y()));
  fail_host_allocation(1, Failing::kFromThere);
  dlcore_tensor_release(kept);
  dlcore_scope_close(ctx_, scope);
  dlcore_context_close(other);
  dlcore_engine_trim(engine_);
  disarm_host_allocations();
  expect_ok();
}

}  // namespace
}  // namespace dlcore::test
