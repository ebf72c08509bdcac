// SPDX-License-Identifier: Apache-2.0
#include "core/autograd/levels.h"

#include <algorithm>

#include "core/autograd/backward.h"
#include "core/ops/calls.h"
#include "core/ops/dispatch.h"

namespace dlcore {
namespace {

struct Operands {
  std::vector<Value> primals;
  std::vector<Value> tangents;
  std::array<bool, DLCORE_MAX_OP_INPUTS> batched{};
  bool any_tangent = false;
  bool any_batched = false;
};

Operands unwrap(Context& ctx, int32_t depth, std::span<Tensor* const> inputs) {
  Operands o;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor* t = inputs[i];
    const bool here = t != nullptr && t->leveled() && t->extra->level->depth == depth;
    if (!here) {
      o.primals.push_back(t == nullptr ? Value() : Value(ctx, TensorRef(t)));
      o.tangents.emplace_back();
      continue;
    }
    o.primals.emplace_back(ctx, t->extra->primal);
    o.tangents.push_back(t->extra->tangent ? Value(ctx, t->extra->tangent) : Value());
    o.batched[i] = t->extra->batched;
    o.any_tangent = o.any_tangent || t->extra->tangent;
    o.any_batched = o.any_batched || t->extra->batched;
  }
  return o;
}

// A forward derivative from the reverse one: the reverse derivative is linear in its seed u, and
// the derivative of <vjp(u), t> with respect to u is the tangent.
void jvp_from_vjp(Context& ctx, const OpDef& op, std::span<const int64_t> attrs, const Operands& o,
                  std::span<const Value> outputs, std::span<Value> results) {
  std::vector<Value> seeds, directions, partials;
  {
    ModeGuard modes(ctx);
    ctx.recording = true;
    ctx.recording_below = 1 << 30;
    Node node;
    node.op = &op;
    node.device = outputs[0].tensor().device;
    node.attrs.assign(attrs);
    node.plain_outputs = true;
    uint64_t wanted = 0;
    node.inputs.resize(o.primals.size());
    for (size_t i = 0; i < o.primals.size(); ++i) {
      node.input_types.push_back(type_of(o.primals[i] ? &o.primals[i].tensor() : nullptr));
      if (o.primals[i]) node.inputs[i] = o.primals[i].ref();
      if (o.tangents[i]) wanted |= uint64_t{1} << i;
    }
    for (const Value& y : outputs) {
      node.output_types.push_back(type_of(&y.tensor()));
      node.outputs.push_back(y.ref());
      if (is_float(y.dtype())) {
        seeds.emplace_back(ctx, make_leaf(ctx, zeros_like(y).tensor(), nullptr));
      } else {
        seeds.emplace_back();
      }
    }
    std::vector<Value> gradients(o.primals.size());
    Vjp rule(ctx, node, wanted, seeds, gradients);
    op.vjp(rule);
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!o.tangents[i] || !gradients[i]) continue;
      partials.push_back(gradients[i]);
      directions.push_back(o.tangents[i]);
    }
  }
  GradOptions options;
  options.create_graph = ctx.recording;
  options.allow_unused = true;
  std::vector<Value> wrt;
  std::vector<size_t> places;
  for (size_t i = 0; i < seeds.size(); ++i) {
    if (!seeds[i]) continue;
    wrt.push_back(seeds[i]);
    places.push_back(i);
  }
  const std::vector<Value> tangents = gradients_of(ctx, partials, wrt, directions, options);
  for (size_t i = 0; i < places.size(); ++i) results[places[i]] = tangents[i];
}

void invoke_jvp(Context& ctx, const OpDef& op, Transform& level, std::span<const int64_t> attrs,
                Operands& o, std::span<TensorRef> outputs) {
  std::vector<Value> primals =
      call_all(op.number, o.primals, attrs, static_cast<int>(op.outputs.size()));
  std::vector<Value> tangents(primals.size());
  if (o.any_tangent && !op.is(kNoGradient)) {
    const AttrReader reader(attr_defs(op), attrs);
    Jvp rule(ctx, op, reader, o.primals, o.tangents, primals, tangents);
    if (op.jvp != nullptr) {
      op.jvp(rule);
    } else if (op.is(kLinear)) {
      std::vector<Value> moved;
      for (int i = 0; i < rule.input_count(); ++i)
        moved.push_back(rule.input(i) ? rule.zero_filled(i) : Value());
      tangents = call_all(op.number, moved, attrs, static_cast<int>(op.outputs.size()));
    } else {
      jvp_from_vjp(ctx, op, attrs, o, primals, tangents);
    }
  }
  for (size_t i = 0; i < outputs.size() && i < primals.size(); ++i) {
    outputs[i] = lift_jvp(ctx, level, primals[i], tangents[i]);
  }
}

Value pick_example(const Value& x, int64_t i) {
  const int64_t start[] = {i}, stop[] = {i + 1}, axis[] = {0};
  return squeeze(slice(x, start, stop, axis), axis);
}

// The rule that every op has: one example after the other.
void batch_by_loop(Batch& r, size_t n_outputs, std::span<Value> results) {
  std::vector<std::vector<Value>> rows(n_outputs);
  for (int64_t e = 0; e < r.size; ++e) {
    std::vector<Value> inputs;
    for (int i = 0; i < r.input_count(); ++i) {
      inputs.push_back(r.has(i) && r.batched(i) ? pick_example(r.input(i), e) : r.input(i));
    }
    std::vector<Value> row =
        call_all(r.op.number, inputs, r.attrs.words(), static_cast<int>(n_outputs));
    for (size_t o = 0; o < n_outputs; ++o) rows[o].push_back(row[o]);
  }
  for (size_t o = 0; o < n_outputs; ++o) results[o] = stack(rows[o], 0);
}

void invoke_vmap(Context& ctx, const OpDef& op, Transform& level, std::span<const int64_t> attrs,
                 Operands& o, std::span<TensorRef> outputs) {
  std::vector<Value> results(op.outputs.size());
  if (!o.any_batched) {
    results = call_all(op.number, o.primals, attrs, static_cast<int>(op.outputs.size()));
    for (size_t i = 0; i < outputs.size() && i < results.size(); ++i)
      outputs[i] = results[i].take();
    return;
  }
  const AttrReader reader(attr_defs(op), attrs);
  Batch rule(ctx, op, reader, level.size, o.primals, {o.batched.data(), o.primals.size()}, results);
  if (op.batch != nullptr) {
    op.batch(rule);
  } else {
    if (level.size == 0) {
      fail(DLCORE_UNIMPLEMENTED,
           "{}: vmap over 0 examples needs a batching rule, which it does not have", op.name);
    }
    batch_by_loop(rule, results.size(), results);
  }
  for (size_t i = 0; i < outputs.size() && i < results.size(); ++i)
    outputs[i] = lift_vmap(ctx, level, results[i]);
}

TensorRef wrap(Context& ctx, Transform& level, const Value& primal, const Dims& dims) {
  TensorRef t =
      new_abstract(ctx, *primal.tensor().device, primal.dtype(), dims, primal.tensor().weak);
  TensorExtra& extra = t->make_extra();
  level.retain();
  extra.level = &level;
  extra.primal = primal.ref();
  return t;
}

}  // namespace

int32_t top_level(Context& ctx, std::span<Tensor* const> inputs) {
  int32_t depth = 0;
  for (Tensor* t : inputs) {
    if (t == nullptr || !t->leveled()) continue;
    const Transform& level = *t->extra->level;
    if (!level.open) {
      fail(DLCORE_FAILED_PRECONDITION,
           "a tensor of a transform level was used after the level was closed");
    }
    if (level.depth > ctx.depth() ||
        ctx.levels[static_cast<size_t>(level.depth - 1)].get() != &level) {
      fail(DLCORE_FAILED_PRECONDITION, "a tensor of a transform level of another context");
    }
    depth = std::max(depth, level.depth);
  }
  return depth;
}

void invoke_at_level(Context& ctx, const OpDef& op, int32_t depth, std::span<Tensor* const> inputs,
                     std::span<const int64_t> attrs, std::span<TensorRef> outputs) {
  Transform& level = *ctx.levels[static_cast<size_t>(depth - 1)];
  Operands o = unwrap(ctx, depth, inputs);
  if (level.kind == Transform::Kind::kJvp) {
    invoke_jvp(ctx, op, level, attrs, o, outputs);
  } else {
    invoke_vmap(ctx, op, level, attrs, o, outputs);
  }
}

TensorRef lift_jvp(Context& ctx, Transform& level, Value primal, Value tangent) {
  TensorRef t = wrap(ctx, level, primal, primal.dims());
  if (tangent) t->extra->tangent = tangent.ref();
  return t;
}

TensorRef lift_vmap(Context& ctx, Transform& level, Value primal) {
  Dims dims = primal.dims();
  dims.erase(0);
  TensorRef t = wrap(ctx, level, primal, dims);
  t->extra->batched = true;
  return t;
}

bool random_in_vmap(Context& ctx, const OpDef& op, std::span<const int64_t> attrs,
                    std::span<TensorRef> outputs) {
  std::vector<Transform*> examples;
  Dims shape;
  for (auto& level : ctx.levels) {
    if (level->kind != Transform::Kind::kVmap) continue;
    examples.push_back(level.get());
    shape.push_back(level->size);
  }
  if (examples.empty()) return false;
  // The shape is the first attribute of every random op.
  const AttrReader reader(attr_defs(op), attrs);
  for (Dim d : reader.dims(0)) shape.push_back(d);
  Attrs wider;
  wider.dims(shape);
  wider.words().append(attrs.subspan(attr_length(op.attrs[0], attrs, 0)));
  const TensorRef key = ctx.next_key(ctx.device());
  Tensor* inputs[] = {key.get()};
  Value drawn(ctx, invoke1(ctx, op, inputs, wider));
  for (Transform* level : examples) drawn = Value(ctx, lift_vmap(ctx, *level, drawn));
  outputs[0] = drawn.take();
  return true;
}

}  // namespace dlcore
