// SPDX-License-Identifier: Apache-2.0
#include "core/ops/execute.h"

#include <cstring>
#include <limits>

#include "core/base/half.h"
#include "core/ops/arrange.h"
#include "core/ops/custom.h"

namespace dlcore {
namespace {

constexpr int32_t kCopy = 47;

template <class To>
void store(void* word, To value) {
  std::memcpy(word, &value, sizeof value);
}

template <class To>
void store_integer(void* word, int64_t value, Dtype dtype) {
  if (value < std::numeric_limits<To>::min() || value > std::numeric_limits<To>::max()) {
    invalid("the scalar {} does not fit {}", value, dtype_name(dtype));
  }
  store<To>(word, static_cast<To>(value));
}

struct ReleaseStorage {
  void operator()(Storage* storage) const { storage->release(); }
};

// Brings one call into the form of plugin.h.
class Launch {
 public:
  Launch(Context& ctx, const OpDef& op, std::span<const int64_t> attrs, size_t n_inputs)
      : ctx_(ctx), op_(op), attrs_(attrs), n_inputs_(n_inputs) {}

  void add_input(Tensor* tensor, std::span<const int64_t> broadcast_shape, bool broadcasts) {
    tensors_.push_back(tensor);
    inputs_.push_back(dlcore_operand{});
    dlcore_operand& o = inputs_.back();
    if (tensor == nullptr) return;
    o = operand_of(*tensor);
    if (!broadcasts || same_shape(*tensor, broadcast_shape)) return;
    // Axes of size 1 and axes that are missing in front repeat: their stride is 0.
    const size_t missing = broadcast_shape.size() - tensor->rank;
    if (strides_.empty()) strides_.reserve(n_inputs_ * broadcast_shape.size());
    int64_t* const strides = strides_.data() + strides_.size();
    for (size_t i = 0; i < broadcast_shape.size(); ++i) {
      const bool repeats = i < missing || tensor->sizes[i - missing] != broadcast_shape[i];
      strides_.push_back(repeats ? 0 : tensor->strides()[i - missing]);
    }
    o.shape = broadcast_shape.data();
    o.strides = strides;
    o.rank = static_cast<int32_t>(broadcast_shape.size());
    o.count = 1;
    for (int64_t d : broadcast_shape) o.count *= d;
  }
  void add_output(Tensor& tensor) {
    outputs_.push_back(operand_of(tensor));
    out_tensors_.push_back(&tensor);
  }

  void run(Device& device, Dtype key) {
    if (op_.arrange != nullptr) arrange();
    const dlcore_kernel* kernel = accepted(device, device.kernel(op_.number, key));
    if (kernel == nullptr) {
      fail(DLCORE_UNIMPLEMENTED, "{}: device '{}' has no kernel for it with dtype {}", op_.name,
           device.name(), dtype_name(key));
    }
    if ((kernel->flags & DLCORE_KERNEL_STRIDED) == 0) make_contiguous();
    ctx_.check_stop();
    start(*kernel, device);
    ctx_.check_stop();
  }

 private:
  void arrange() {
    for (const auto side : {inputs_.span(), outputs_.span()}) {
      for (const dlcore_operand& o : side) {
        OperandView& view = views_.emplace_back();
        for (int32_t i = 0; i < o.rank; ++i)
          view.insert(view.shape.size(), o.shape[i], o.strides[i]);
      }
    }
    const std::span<OperandView> all = views_.span();
    op_.arrange(all.first(inputs_.size()), all.subspan(inputs_.size()));
    size_t next = 0;
    for (const auto side : {inputs_.span(), outputs_.span()}) {
      for (dlcore_operand& o : side) present(o, views_[next++]);
    }
  }
  static void present(dlcore_operand& o, const OperandView& view) {
    o.shape = view.shape.data();
    o.strides = view.strides.data();
    o.rank = static_cast<int32_t>(view.shape.size());
    o.count = 1;
    for (int64_t d : view.shape) o.count *= d;
  }
  static bool same_shape(const Tensor& t, std::span<const int64_t> shape) {
    return t.rank == shape.size() && std::memcmp(t.sizes, shape.data(), shape.size_bytes()) == 0;
  }

  dlcore_launch describe() {
    dlcore_launch l;
    std::memset(&l, 0, sizeof l);
    l.struct_size = sizeof l;
    l.op = op_.number;
    l.inputs = inputs_.data();
    l.outputs = outputs_.data();
    l.n_inputs = static_cast<int32_t>(inputs_.size());
    l.n_outputs = static_cast<int32_t>(outputs_.size());
    l.attrs = attrs_.data();
    l.n_words = static_cast<int32_t>(attrs_.size());
    l.failure = &failure_;
    return l;
  }

  const dlcore_kernel* accepted(Device& device, const dlcore_kernel* kernel) {
    const dlcore_launch l = describe();
    while (kernel != nullptr && kernel->accepts != nullptr && kernel->accepts(&l) == 0) {
      kernel = device.fallback(kernel);
    }
    return kernel;
  }

  void make_contiguous() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (tensors_[i] == nullptr || is_contiguous(inputs_[i])) continue;
      const dlcore_operand& o = inputs_[i];
      TensorRef dense =
          new_tensor(ctx_, *tensors_[i]->device, o.dtype, {o.shape, static_cast<size_t>(o.rank)});
      TensorRef view = new_view(ctx_, *tensors_[i], {o.shape, static_cast<size_t>(o.rank)},
                                {o.strides, static_cast<size_t>(o.rank)}, 0);
      Tensor* from[] = {view.get()};
      Tensor* to[] = {dense.get()};
      launch_into(ctx_, *ctx_.engine().ops().find(kCopy), from, {}, to);
      inputs_[i] = operand_of(*dense);
      tensors_[i] = dense.get();
      held_.push_back(std::move(dense));
    }
  }
  static bool is_contiguous(const dlcore_operand& o) {
    int64_t expected = 1;
    for (int32_t i = o.rank; i-- > 0;) {
      if (o.shape[i] != 1 && o.strides[i] != expected) return o.count == 0;
      expected *= o.shape[i];
    }
    return true;
  }

  void start(const dlcore_kernel& kernel, Device& device) {
    clear(failure_);
    dlcore_launch l = describe();
    const auto& queue = ctx_.queue(device);
    const uint64_t bytes = kernel.workspace == nullptr ? 0 : kernel.workspace(&l);
    std::unique_ptr<Storage, ReleaseStorage> workspace;
    if (bytes > 0) {
      workspace.reset(Storage::allocate(device, bytes));
      l.workspace = workspace->data();
    }
    dlcore_status status;
    {
      const Ordered ordered(*this, device.asynchronous() ? &queue : nullptr, workspace.get());
      status = kernel.launch(queue->handle, &l);
    }
    check_device(status, failure_, op_.name);
  }

  // Around a launch on an asynchronous device: which queue uses which memory.
  class Ordered {
   public:
    // `queue` is null on other devices.
    Ordered(Launch& launch, const std::shared_ptr<DeviceQueue>* queue, Storage* workspace)
        : launch_(launch), queue_(queue), workspace_(workspace) {
      if (queue_ == nullptr) return;
      try {
        for (Tensor* t : launch_.tensors_) {
          if (t != nullptr) t->storage->before_read(*queue_);
        }
        for (Tensor* t : launch_.out_tensors_) t->storage->before_write(**queue_);
      } catch (...) {
        note();
        throw;
      }
    }
    ~Ordered() {
      if (queue_ != nullptr) note();
    }
    Ordered(const Ordered&) = delete;
    Ordered& operator=(const Ordered&) = delete;

   private:
    void note() {
      for (Tensor* t : launch_.tensors_) {
        if (t != nullptr) t->storage->after_read(**queue_);
      }
      for (Tensor* t : launch_.out_tensors_) t->storage->after_write(*queue_);
      if (workspace_ != nullptr) workspace_->after_write(*queue_);
    }

    Launch& launch_;
    const std::shared_ptr<DeviceQueue>* queue_;
    Storage* workspace_;
  };

  Context& ctx_;
  const OpDef& op_;
  std::span<const int64_t> attrs_;
  const size_t n_inputs_;
  SmallVector<dlcore_operand, 8> inputs_;
  SmallVector<dlcore_operand, 3> outputs_;
  SmallVector<Tensor*, 8> tensors_;
  SmallVector<Tensor*, 3> out_tensors_;
  // Of broadcast inputs, with room for all of them from the first on. Needs no memory while there
  // are none: a launch of an optimizer step must not fail half-way.
  SmallVector<int64_t, 12> strides_;
  SmallVector<OperandView, 4> views_;
  SmallVector<TensorRef, 2> held_;
  dlcore_failure failure_;
};

Ints concrete(const Dims& dims) {
  Ints shape;
  for (Dim d : dims) shape.push_back(d.value);
  return shape;
}

TensorRef make_view(Context& ctx, const OpDef& op, Tensor& input, std::span<const int64_t> attrs,
                    const TensorType& type) {
  const Ints shape = concrete(type.dims);
  checked_count(shape, type.dtype);
  Ints strides(shape.size(), 0);
  const AttrReader reader(attr_defs(op), attrs);
  View rule(input, reader, shape, strides.data());
  op.view(rule);
  if (rule.possible) return new_view(ctx, input, shape, strides, rule.offset);
  TensorRef dense = new_tensor(ctx, *input.device, input.dtype, input.shape());
  Tensor* from[] = {&input};
  Tensor* to[] = {dense.get()};
  launch_into(ctx, *ctx.engine().ops().find(kCopy), from, {}, to);
  View again(*dense, reader, shape, strides.data());
  op.view(again);
  return new_view(ctx, *dense, shape, strides, again.offset);
}

}  // namespace

const dlcore_kernel* find_kernel(Device& device, const OpDef& op, Dtype key) {
  return device.kernel(op.number, key);
}

void launch_into(Context& ctx, const OpDef& op, std::span<Tensor* const> inputs,
                 std::span<const int64_t> attrs, std::span<Tensor* const> outputs) {
  if (!ctx.engine().open() && !ctx.unstoppable())
    fail(DLCORE_FAILED_PRECONDITION, "{}: the engine is closed", op.name);
  Launch launch(ctx, op, attrs, inputs.size());
  bool work = outputs.empty();
  for (Tensor* t : inputs) launch.add_input(t, outputs[0]->shape(), op.is(kElementwise));
  for (Tensor* t : outputs) {
    launch.add_output(*t);
    work = work || t->count > 0;
  }
  if (!work) return;
  const Dtype key =
      op.key_input >= 0 ? inputs[static_cast<size_t>(op.key_input)]->dtype : outputs[0]->dtype;
  launch.run(*outputs[0]->device, key);
}

void run_composite(Context& ctx, const OpDef& op, std::span<Tensor* const> inputs,
                   std::span<const int64_t> attrs, std::span<TensorRef> outputs) {
  std::vector<Value> values, results(op.outputs.size());
  for (Tensor* t : inputs) values.push_back(t == nullptr ? Value() : Value(ctx, TensorRef(t)));
  Compose rule(ctx, AttrReader(attr_defs(op), attrs), values, results);
  op.compose(rule);
  for (size_t i = 0; i < outputs.size() && i < results.size(); ++i) outputs[i] = results[i].take();
}

void execute(Context& ctx, const OpDef& op, std::span<Tensor* const> inputs,
             std::span<const int64_t> attrs, std::span<const TensorType> types,
             std::span<TensorRef> outputs) {
  if (!ctx.engine().open()) fail(DLCORE_FAILED_PRECONDITION, "{}: the engine is closed", op.name);
  if (op.custom != nullptr) {
    custom_forward(ctx, *op.custom, inputs, attrs, types, outputs);
    return;
  }
  if (op.is(kView)) {
    outputs[0] = make_view(ctx, op, *inputs[0], attrs, types[0]);
    return;
  }
  Device& device = inputs.empty() || inputs[0] == nullptr ? ctx.device() : *inputs[0]->device;
  const Dtype key =
      op.key_input >= 0 ? inputs[static_cast<size_t>(op.key_input)]->dtype : types[0].dtype;
  if (op.compose != nullptr && contains(op.composes, key) &&
      find_kernel(device, op, key) == nullptr) {
    ModeGuard modes(ctx);
    ctx.recording = false;  // history is of the op as called
    Context::OnDevice on(ctx, device);
    run_composite(ctx, op, inputs, attrs, outputs);
    return;
  }
  SmallVector<Tensor*, 4> raw;
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = new_tensor(ctx, device, types[i].dtype, concrete(types[i].dims));
    outputs[i]->weak = types[i].weak;
    raw.push_back(outputs[i].get());
  }
  launch_into(ctx, op, inputs, attrs, raw);
}

void convert_scalar(const void* scalar, Dtype from, Dtype dtype, void* word) {
  double real = 0;
  int64_t integer = 0;
  const bool from_real = from == DLCORE_F64;
  if (from_real) {
    std::memcpy(&real, scalar, sizeof real);
  } else if (from == DLCORE_I64) {
    std::memcpy(&integer, scalar, sizeof integer);
    real = static_cast<double>(integer);
  } else {
    uint8_t byte;
    std::memcpy(&byte, scalar, 1);
    integer = byte;
    real = byte;
  }
  switch (dtype) {
    case DLCORE_BOOL:
      return store<uint8_t>(word, from_real ? real != 0 : integer != 0);
    case DLCORE_U8:
      return store_integer<uint8_t>(word, integer, dtype);
    case DLCORE_I8:
      return store_integer<int8_t>(word, integer, dtype);
    case DLCORE_I16:
      return store_integer<int16_t>(word, integer, dtype);
    case DLCORE_I32:
      return store_integer<int32_t>(word, integer, dtype);
    case DLCORE_I64:
      return store<int64_t>(word, integer);
    case DLCORE_F16:
      return store(word, half_from(real));
    case DLCORE_BF16:
      return store(word, bfloat16_from(real));
    case DLCORE_F32:
      return store<float>(word, static_cast<float>(real));
    default:
      return store<double>(word, real);
  }
}

}  // namespace dlcore
