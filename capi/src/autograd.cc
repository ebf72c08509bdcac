// SPDX-License-Identifier: Apache-2.0
#include "dlcore/autograd.h"

#include <algorithm>
#include <cstring>

#include "capi/src/call.h"
#include "core/autograd/backward.h"
#include "core/autograd/gradcheck.h"
#include "core/autograd/levels.h"
#include "core/ops/calls.h"
#include "core/ops/rules.h"

using namespace dlcore;
using namespace dlcore::api;

namespace {

std::vector<Value> need_values(Context& ctx, dlcore_tensor* const* handles, int64_t n,
                               const char* call, const char* name) {
  need_count(n, handles, call, name);
  std::vector<Value> values;
  for (int64_t i = 0; i < n; ++i) {
    const std::string item = formatted("{} {}", name, i);
    values.push_back(value_of(ctx, need_tensor(ctx, handles[i], call, item.c_str())));
  }
  return values;
}

Transform& need_level(Context& ctx, dlcore_transform* handle, Transform::Kind kind,
                      const char* call) {
  Transform& level = need<Transform>(handle, call, "level");
  if (!level.open) fail(DLCORE_FAILED_PRECONDITION, "{}: the level has been closed", call);
  if (std::none_of(ctx.levels.begin(), ctx.levels.end(),
                   [&](const auto& l) { return l.get() == &level; })) {
    fail(DLCORE_FAILED_PRECONDITION, "{}: the level belongs to another context", call);
  }
  if (level.kind != kind) {
    invalid("{}: the level is one of {}", call,
            level.kind == Transform::Kind::kJvp ? "jvp" : "vmap");
  }
  return level;
}

// A level can be put on values of outer levels only.
void need_below(const Value& v, const Transform& level, const char* call) {
  if (v.tensor().leveled() && v.tensor().extra->level->depth >= level.depth) {
    invalid("{}: the tensor belongs to this level, or to one inside it, already", call);
  }
}

bool of_level(const Value& v, const Transform& level) {
  return v.tensor().leveled() && v.tensor().extra->level == &level;
}

Ref<Transform> open_level(Context& ctx, Transform::Kind kind, int64_t size) {
  auto level = make_ref<Transform>(kind, ctx.depth() + 1, size);
  ctx.levels.push_back(level);
  return level;
}

}  // namespace

dlcore_status dlcore_backward(dlcore_context* ctx, dlcore_tensor* loss) {
  return status_call(
      ctx, [&](Context& c) { backward(c, value_of(c, need_tensor(c, loss, "backward", "loss"))); });
}

void dlcore_grad_options_init(dlcore_grad_options* options, uint64_t size) {
  init_struct(options, size);
}

dlcore_status dlcore_autograd_grad(dlcore_context* ctx, dlcore_tensor* const* outputs,
                                   int64_t n_outputs, dlcore_tensor* const* wrt, int64_t n_wrt,
                                   dlcore_tensor* const* seeds, const dlcore_grad_options* options,
                                   dlcore_tensor** gradients) {
  return status_call(ctx, [&](Context& c) {
    const std::vector<Value> ys = need_values(c, outputs, n_outputs, "autograd_grad", "output");
    const std::vector<Value> xs = need_values(c, wrt, n_wrt, "autograd_grad", "wrt");
    if (n_wrt > 0) need_pointer(gradients, "autograd_grad", "gradients");
    std::vector<Value> us;
    for (int64_t i = 0; seeds != nullptr && i < n_outputs; ++i) {
      us.push_back(seeds[i] == nullptr
                       ? Value()
                       : value_of(c, need_tensor(c, seeds[i], "autograd_grad", "seed")));
    }
    dlcore_grad_options o;
    dlcore_grad_options_init(&o, sizeof o);
    if (options != nullptr)
      std::memcpy(&o, options, std::min<size_t>(options->struct_size, sizeof o));
    GradOptions wanted;
    wanted.create_graph = o.create_graph != 0;
    wanted.retain_graph = o.retain_graph != 0;
    wanted.allow_unused = o.allow_unused != 0;
    std::vector<Value> made = gradients_of(c, ys, xs, us, wanted);
    std::vector<TensorRef> refs;
    for (Value& v : made) refs.push_back(v ? v.take() : TensorRef());
    give_all(c, refs, gradients);
  });
}

dlcore_tensor* dlcore_autograd_watch(dlcore_context* ctx, dlcore_tensor* tensor) {
  return tensor_call(ctx, [&](Context& c) {
    Tensor& t = need_tensor(c, tensor, "autograd_watch", "tensor");
    if (!is_float(t.dtype))
      invalid("autograd_watch: the tensor is {}, expected a floating dtype", dtype_name(t.dtype));
    return make_leaf(c, t, nullptr);
  });
}

dlcore_transform* dlcore_jvp_open(dlcore_context* ctx) {
  return object_call<dlcore_transform>(
      ctx, [](Context& c) { return open_level(c, Transform::Kind::kJvp, 0); });
}

dlcore_tensor* dlcore_jvp_lift(dlcore_context* ctx, dlcore_transform* level, dlcore_tensor* primal,
                               dlcore_tensor* tangent) {
  return tensor_call(ctx, [&](Context& c) {
    Transform& l = need_level(c, level, Transform::Kind::kJvp, "jvp_lift");
    const Value x = value_of(c, need_tensor(c, primal, "jvp_lift", "primal"));
    const Value t = value_of(c, need_tensor(c, tangent, "jvp_lift", "tangent"));
    if (!is_float(x.dtype()))
      invalid("jvp_lift: primal is {}, expected a floating dtype", dtype_name(x.dtype()));
    if (x.dtype() != t.dtype() || !(x.dims() == t.dims())) {
      const DimMath math(c);
      invalid("jvp_lift: tangent is {} {}, expected {} {} as primal", dtype_name(t.dtype()),
              math.text(t.dims()), dtype_name(x.dtype()), math.text(x.dims()));
    }
    need_below(x, l, "jvp_lift");
    need_below(t, l, "jvp_lift");
    return lift_jvp(c, l, x, t);
  });
}

dlcore_tensor* dlcore_jvp_primal(dlcore_context* ctx, dlcore_transform* level,
                                 dlcore_tensor* tensor) {
  return tensor_call(ctx, [&](Context& c) {
    Transform& l = need_level(c, level, Transform::Kind::kJvp, "jvp_primal");
    const Value v = value_of(c, need_tensor(c, tensor, "jvp_primal", "tensor"));
    return of_level(v, l) ? v.tensor().extra->primal : v.ref();
  });
}

dlcore_tensor* dlcore_jvp_tangent(dlcore_context* ctx, dlcore_transform* level,
                                  dlcore_tensor* tensor) {
  return tensor_call(ctx, [&](Context& c) {
    Transform& l = need_level(c, level, Transform::Kind::kJvp, "jvp_tangent");
    const Value v = value_of(c, need_tensor(c, tensor, "jvp_tangent", "tensor"));
    if (!of_level(v, l)) return zeros_like(v).take();
    const TensorExtra& extra = *v.tensor().extra;
    return extra.tangent ? extra.tangent : zeros_like(Value(c, extra.primal)).take();
  });
}

dlcore_transform* dlcore_vmap_open(dlcore_context* ctx, int64_t size) {
  return object_call<dlcore_transform>(ctx, [&](Context& c) {
    if (size < 0) invalid("vmap_open: size is {}, expected 0 or more", size);
    return open_level(c, Transform::Kind::kVmap, size);
  });
}

dlcore_tensor* dlcore_vmap_lift(dlcore_context* ctx, dlcore_transform* level, dlcore_tensor* tensor,
                                int64_t axis) {
  return tensor_call(ctx, [&](Context& c) {
    Transform& l = need_level(c, level, Transform::Kind::kVmap, "vmap_lift");
    const Value v = value_of(c, need_tensor(c, tensor, "vmap_lift", "tensor"));
    need_below(v, l, "vmap_lift");
    const int a = normal_axis("vmap_lift", "axis", axis, v.rank());
    if (!(v.dim(a) == Dim(l.size))) {
      invalid("vmap_lift: axis {} has size {}, but the level has {} examples", axis,
              DimMath(c).text(v.dim(a)), l.size);
    }
    return lift_vmap(c, l, move_axis(v, a, 0));
  });
}

dlcore_tensor* dlcore_vmap_lower(dlcore_context* ctx, dlcore_transform* level,
                                 dlcore_tensor* tensor, int64_t axis) {
  return tensor_call(ctx, [&](Context& c) {
    Transform& l = need_level(c, level, Transform::Kind::kVmap, "vmap_lower");
    const Value v = value_of(c, need_tensor(c, tensor, "vmap_lower", "tensor"));
    const int a = normal_axis("vmap_lower", "axis", axis, v.rank() + 1);
    if (of_level(v, l)) return move_axis(Value(c, v.tensor().extra->primal), 0, a).take();
    Dims shape = v.dims();
    shape.insert(static_cast<size_t>(a), l.size);
    return broadcast_to(expand_dims(v, a), shape).take();
  });
}

dlcore_status dlcore_transform_close(dlcore_context* ctx, dlcore_transform* level) {
  return status_call(
      ctx,
      [&](Context& c) {
        Transform& l = need<Transform>(level, "transform_close", "level");
        if (!l.open) return;
        if (c.depth() <= c.inherited_levels || c.levels.back().get() != &l) {
          fail(DLCORE_FAILED_PRECONDITION,
               "transform_close: the level is not the innermost one of this context");
        }
        l.open = false;
        c.levels.pop_back();
        release<Transform>(level);
      },
      Entry::Kind::kAlwaysRuns);
}

dlcore_status dlcore_gradcheck(dlcore_context* ctx, dlcore_gradcheck_function function,
                               void* user_data, dlcore_tensor* const* inputs, int64_t n_inputs,
                               int32_t order, double tolerance) {
  return status_call(ctx, [&](Context& c) {
    need_pointer(reinterpret_cast<const void*>(function), "gradcheck", "function");
    const std::vector<Value> xs = need_values(c, inputs, n_inputs, "gradcheck", "input");
    gradcheck(c, function, user_data, xs, order, tolerance);
  });
}
