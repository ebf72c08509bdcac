// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any sequence of calls of the C API, with hostile arguments, ends in results or
// errors and leaves nothing behind.
#include <dlcore/dlcore.h>

#include <array>
#include <vector>

#include "fuzz.h"

namespace dlcore::fuzz {
namespace {

// Handles that calls made, released ones among them: those must be refused.
template <class T>
class Pool {
 public:
  void add(T* handle) {
    if (handle != nullptr) slots_[count_++ % slots_.size()] = handle;
  }
  T* pick(Bytes& in) const {
    return in.below(8) == 0 ? nullptr : slots_[in.below(static_cast<uint32_t>(slots_.size()))];
  }

 private:
  std::array<T*, 12> slots_{};
  size_t count_ = 0;
};

class Session {
 public:
  Session(dlcore_engine* engine, Bytes& in) : in_(in) {
    ctx_ = dlcore_context_open(engine, "cpu", in.next(), in.below(2) * DLCORE_CONTEXT_INFERENCE,
                               nullptr);
  }
  ~Session() { dlcore_context_close(ctx_); }

  void step() {
    switch (in_.below(16)) {
      case 0:
      case 1:
        return create();
      case 2:
      case 3:
      case 4:
      case 5:
        return invoke();
      case 6:
        return tensors_.add(dlcore_autograd_watch(ctx_, tensors_.pick(in_)));
      case 7:
        return differentiate();
      case 8:
        return dlcore_tensor_release(tensors_.pick(in_));
      case 9:
        return scopes();
      case 10:
        return levels();
      case 11:
        return variables();
      case 12:
        return capture();
      case 13:
        return read();
      case 14:
        return dlcore_context_clear_error(ctx_);
      default:
        return modules();
    }
  }

 private:
  void create() {
    int64_t shape[3], count = 1;
    const auto rank = static_cast<int32_t>(in_.below(4));
    for (int32_t i = 0; i < rank; ++i) count *= shape[i] = in_.below(5);
    const auto dtype = static_cast<dlcore_dtype>(in_.below(12));
    std::vector<uint8_t> data(static_cast<size_t>(count) * dlcore_dtype_size(dtype));
    for (uint8_t& b : data) b = dtype == DLCORE_BOOL ? in_.next() % 2 : in_.next();
    tensors_.add(dlcore_tensor_create(ctx_, dtype, shape, rank, data.data(),
                                      data.size() + (in_.below(16) == 0)));
  }

  void invoke() {
    dlcore_tensor* inputs[4];
    dlcore_tensor* outputs[3] = {};
    int64_t words[12];
    const auto n_inputs = static_cast<int32_t>(in_.below(5)),
               n_outputs = static_cast<int32_t>(in_.below(4));
    for (int32_t i = 0; i < n_inputs; ++i)
      inputs[i] = in_.below(10) == 0 ? dlcore_tensor_none() : tensors_.pick(in_);
    const int64_t n_words = in_.below(13);
    for (int64_t i = 0; i < n_words; ++i) words[i] = in_.number();
    if (dlcore_op_invoke(ctx_, in_.next(), inputs, n_inputs, words, n_words, outputs, n_outputs,
                         0) != DLCORE_OK)
      return;
    for (dlcore_tensor* t : outputs) tensors_.add(t);
  }

  void differentiate() {
    dlcore_tensor *outputs[] = {tensors_.pick(in_)}, *wrt[] = {tensors_.pick(in_)},
                  *gradients[] = {nullptr};
    dlcore_grad_options options;
    dlcore_grad_options_init(&options, sizeof options);
    options.create_graph = in_.next() & 1;
    options.allow_unused = in_.next() & 1;
    dlcore_autograd_grad(ctx_, outputs, 1, wrt, 1, nullptr, &options, gradients);
    tensors_.add(gradients[0]);
    if (in_.below(2) == 0) dlcore_backward(ctx_, tensors_.pick(in_));
  }

  void scopes() {
    switch (in_.below(4)) {
      case 0:
        return scopes_.add(dlcore_scope_open(ctx_));
      case 1:
        return dlcore_scope_reset(ctx_, scopes_.pick(in_));
      case 2:
        dlcore_scope_keep(ctx_, tensors_.pick(in_));
        return;
      default:
        return dlcore_scope_close(ctx_, scopes_.pick(in_));
    }
  }

  void levels() {
    dlcore_transform* level = levels_.pick(in_);
    switch (in_.below(8)) {
      case 0:
        return levels_.add(dlcore_jvp_open(ctx_));
      case 1:
        return levels_.add(dlcore_vmap_open(ctx_, in_.below(4)));
      case 2:
        return tensors_.add(dlcore_jvp_lift(ctx_, level, tensors_.pick(in_), tensors_.pick(in_)));
      case 3:
        return tensors_.add(dlcore_vmap_lift(ctx_, level, tensors_.pick(in_), in_.number()));
      case 4:
        return tensors_.add(dlcore_jvp_tangent(ctx_, level, tensors_.pick(in_)));
      case 5:
        return tensors_.add(dlcore_vmap_lower(ctx_, level, tensors_.pick(in_), in_.number()));
      default:
        dlcore_transform_close(ctx_, level);
    }
  }

  void variables() {
    dlcore_variable* variable = variables_.pick(in_);
    switch (in_.below(5)) {
      case 0:
        return variables_.add(dlcore_variable_create(ctx_, "v", tensors_.pick(in_), in_.below(2)));
      case 1:
        dlcore_variable_assign(ctx_, variable, tensors_.pick(in_));
        return;
      case 2:
        dlcore_variable_set_gradient(ctx_, variable, tensors_.pick(in_));
        return;
      case 3:
        return dlcore_variable_release(variable);
      default:
        return tensors_.add(dlcore_variable_read(ctx_, variable));
    }
  }

  void capture() {
    dlcore_tensor* outputs[] = {tensors_.pick(in_)};
    switch (in_.below(7)) {
      case 0:
        dlcore_capture_begin(ctx_, "g");
        return;
      case 1:
        return tensors_.add(
            dlcore_capture_input(ctx_, "x", DLCORE_F32, in_.below(2) != 0 ? "[B, 3]" : "[2, 3]"));
      case 2:
        return tensors_.add(dlcore_capture_constant(ctx_, tensors_.pick(in_)));
      case 3:
        return graphs_.add(dlcore_capture_end(ctx_, outputs, in_.below(2)));
      case 4: {
        const std::string text = in_.rest();
        return graphs_.add(
            dlcore_graph_parse(ctx_, text.data(), static_cast<int64_t>(text.size())));
      }
      case 5:
        return dlcore_executable_release(dlcore_graph_compile(ctx_, graphs_.pick(in_), nullptr, 0));
      default:
        dlcore_capture_abort(ctx_);
    }
  }

  void read() {
    char text[64];
    dlcore_tensor_description description;
    description.struct_size = in_.next();
    dlcore_tensor* tensor = tensors_.pick(in_);
    dlcore_tensor_describe(ctx_, tensor, &description);
    dlcore_tensor_to_string(ctx_, tensor, text, sizeof text);
    float value = 0;
    dlcore_tensor_read_f32(ctx_, tensor, &value, 1);
  }

  void modules() {
    int64_t words[6];
    const int64_t n = in_.below(7);
    for (int64_t i = 0; i < n; ++i) words[i] = in_.number();
    dlcore_module* child[] = {modules_.pick(in_)};
    switch (in_.below(3)) {
      case 0:
        return modules_.add(dlcore_module_create(ctx_, static_cast<int32_t>(in_.below(18)), child,
                                                 in_.below(2), words, n));
      case 1:
        return dlcore_module_release(child[0]);
      default:
        return tensors_.add(dlcore_module_call(ctx_, child[0], tensors_.pick(in_)));
    }
  }

  Bytes& in_;
  dlcore_context* ctx_;
  Pool<dlcore_tensor> tensors_;
  Pool<dlcore_scope> scopes_;
  Pool<dlcore_transform> levels_;
  Pool<dlcore_variable> variables_;
  Pool<dlcore_graph> graphs_;
  Pool<dlcore_module> modules_;
};

}  // namespace
}  // namespace dlcore::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dlcore::fuzz;
  dlcore_engine* engine = open_engine();
  Bytes in(data, size);
  {
    Session session(engine, in);
    while (!in.empty()) session.step();
  }
  require_nothing_alive(engine);
  dlcore_engine_close(engine);
  return 0;
}
