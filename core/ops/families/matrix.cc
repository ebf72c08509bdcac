// SPDX-License-Identifier: Apache-2.0
// Matrix products.
#include <algorithm>

#include "core/ops/arrange.h"
#include "core/ops/families/common.h"
#include "core/ops/families/dense.h"

namespace dlcore {
namespace {

constexpr int32_t kMatmul = 110, kLinearOp = 111, kDense = 115;

constexpr DtypeSet kProductSet = kAnyFloatSet | dtype_set(DLCORE_I32, DLCORE_I64);

struct Sides {
  Dims batch_a, batch_b;
  Dim rows, inner_a, inner_b, columns;
};

// NumPy's rules: a vector on the left is a row, on the right a column, and its axis is dropped from
// the result.
Sides sides_of(const Infer& r) {
  Sides s;
  const Dims &a = r.dims(0), &b = r.dims(1);
  const bool ta = r.attrs.flag(0), tb = r.attrs.flag(1);
  if (r.rank(0) == 1) {
    s.rows = 1;
    s.inner_a = a[0];
  } else {
    const size_t n = a.size();
    s.rows = a[n - (ta ? 1 : 2)];
    s.inner_a = a[n - (ta ? 2 : 1)];
    for (size_t i = 0; i + 2 < n; ++i) s.batch_a.push_back(a[i]);
  }
  if (r.rank(1) == 1) {
    s.columns = 1;
    s.inner_b = b[0];
  } else {
    const size_t n = b.size();
    s.inner_b = b[n - (tb ? 1 : 2)];
    s.columns = b[n - (tb ? 2 : 1)];
    for (size_t i = 0; i + 2 < n; ++i) s.batch_b.push_back(b[i]);
  }
  return s;
}

void infer_matmul(Infer& r) {
  for (int i = 0; i < 2; ++i) {
    if (r.rank(i) == 0)
      r.refuse("{} is [], a scalar, expected a matrix or a vector; use multiply for scalars",
               i == 0 ? "a" : "b");
    if (r.rank(i) == 1 && r.attrs.flag(i))
      r.refuse("{} has rank 1 and cannot be transposed", i == 0 ? "a" : "b");
  }
  const Sides s = sides_of(r);
  if (!(s.inner_a == s.inner_b)) {
    const bool other = r.rank(1) > 1 && s.inner_a == s.columns;
    r.refuse("inner dimensions differ: a is {}, b is {}{}", r.math.text(r.dims(0)),
             r.math.text(r.dims(1)),
             other && !r.attrs.flag(1) ? "; did you mean transpose_b?" : "");
  }
  Dims y;
  try {
    y = broadcast(r, s.batch_a, s.batch_b);
  } catch (const Error&) {
    r.refuse("batch axes do not broadcast: a is {}, b is {}", r.math.text(r.dims(0)),
             r.math.text(r.dims(1)));
  }
  if (r.rank(0) > 1) y.push_back(s.rows);
  if (r.rank(1) > 1) y.push_back(s.columns);
  r.set(0, r.dtype(0), y);
}

// Kernels see matrices with equal batch axes: vectors get an axis of size 1, batch axes that are
// missing or of size 1 are repeated by strides of 0.
void arrange_matmul(std::span<OperandView> inputs, std::span<OperandView> outputs) {
  OperandView &a = inputs[0], &b = inputs[1], &y = outputs[0];
  if (a.shape.size() == 1) {
    a.insert(0, 1, 0);
    y.insert(y.shape.size() - (b.shape.size() == 1 ? 0 : 1), 1, 0);
  }
  if (b.shape.size() == 1) {
    b.insert(1, 1, 0);
    y.insert(y.shape.size(), 1, 1);
  }
  for (OperandView* v : {&a, &b}) {
    while (v->shape.size() < y.shape.size()) v->insert(0, 1, 0);
    for (size_t i = 0; i + 2 < y.shape.size(); ++i) {
      if (v->shape[i] != y.shape[i]) {
        v->shape[i] = y.shape[i];
        v->strides[i] = 0;
      }
    }
  }
}

// A vector operand as the matrix it stands for, so that derivatives need to know matrices only.
Value as_matrix(const Value& v, bool left) {
  return v.rank() == 1 ? expand_dims(v, left ? 0 : 1) : v;
}

// The gradient, or tangent, of the result with the axes of vector operands put back.
Value as_result_matrix(Value g, int rank_a, int rank_b) {
  if (rank_b == 1) g = expand_dims(g, -1);
  if (rank_a == 1) g = expand_dims(g, -2);
  return g;
}

void matmul_vjp(Vjp& r) {
  const bool ta = r.attrs.flag(0), tb = r.attrs.flag(1);
  const Value g = as_result_matrix(r.g(), r.rank(0), r.rank(1));
  if (r.needs(0)) {
    const Value b = as_matrix(r.input(1), false);
    Value d = ta ? matmul(b, g, tb, true) : matmul(g, b, false, !tb);
    if (r.rank(0) == 1) {  // sum over batch axes first: the row axis is ours
      Dims row = {Dim(1), r.input_dims(0)[0]};
      d = sum_to(d, row);
    }
    r.set(0, reshape(sum_to(d, r.rank(0) == 1 ? d.dims() : r.input_dims(0)), r.input_dims(0)));
  }
  if (r.needs(1)) {
    const Value a = as_matrix(r.input(0), true);
    Value d = tb ? matmul(g, a, true, ta) : matmul(a, g, !ta, false);
    if (r.rank(1) == 1) {
      Dims column = {r.input_dims(1)[0], Dim(1)};
      d = sum_to(d, column);
    }
    r.set(1, reshape(sum_to(d, r.rank(1) == 1 ? d.dims() : r.input_dims(1)), r.input_dims(1)));
  }
}

void matmul_batch(Batch& r) {
  const int rank_a = r.logical_rank(0), rank_b = r.logical_rank(1);
  const int rank = std::max({rank_a, rank_b, 2});
  // Vectors become matrices first, then missing batch axes are put between the examples and the
  // matrix.
  auto side = [&](int i, int own_rank) {
    Value v = r.input(i);
    if (own_rank == 1) v = expand_dims(v, i == 0 ? (r.batched(i) ? 1 : 0) : -1);
    if (!r.batched(i)) return v;
    Dims shape = v.dims();
    while (static_cast<int>(shape.size()) < rank + 1) shape.insert(1, 1);
    return reshape(v, shape);
  };
  Value y = matmul(side(0, rank_a), side(1, rank_b), r.attrs.flag(0), r.attrs.flag(1));
  Ints dropped;
  if (rank_a == 1) dropped.push_back(-2);
  if (rank_b == 1) dropped.push_back(-1);
  r.set(0, dropped.empty() ? y : squeeze(y, dropped));
}

constexpr OpDef op_matmul = {
    .number = kMatmul,
    .name = "matmul",
    .family = "matrix",
    .doc =
        "The matrix product over the last two axes; axes before them are batches and broadcast. A "
        "vector on the left is "
        "a row, on the right a column, and its axis is dropped from the result. Integers wrap; f16 "
        "and bf16 are summed in f32 and rounded once.",
    .inputs = {in("a", kProductSet, "[..., M, K]"), in("b", kProductSet, "[..., K, N]")},
    .attrs = {bool_attr("transpose_a", "swap the last two axes of a"),
              bool_attr("transpose_b", "swap the last two axes of b")},
    .infer = infer_matmul,
    .arrange = arrange_matmul,
    .vjp = matmul_vjp,
    .saves =
        [](uint32_t needs) {
          return ((needs & 1) != 0 ? save_input(1) : 0) | ((needs & 2) != 0 ? save_input(0) : 0);
        },
    .jvp =
        [](Jvp& r) {
          const bool ta = r.attrs.flag(0), tb = r.attrs.flag(1);
          if (r.moves(0)) r.add(0, matmul(r.tangent(0), r.input(1), ta, tb));
          if (r.moves(1)) r.add(0, matmul(r.input(0), r.tangent(1), ta, tb));
        },
    .batch = matmul_batch,
};

void infer_linear(Infer& r) {
  r.need_rank(0, 1);
  if (r.rank(1) != 2) r.refuse("weight is {}, expected [out, in]", r.math.text(r.dims(1)));
  const Dim in = r.dim(0, r.rank(0) - 1);
  if (!(in == r.dim(1, 1))) {
    r.refuse("x is {} and weight is {}: expected weight [out, {}]", r.math.text(r.dims(0)),
             r.math.text(r.dims(1)), r.math.text(in));
  }
  if (r.has(2)) r.need_same(2, {r.dim(1, 0)});
  Dims y = r.dims(0);
  y[y.size() - 1] = r.dim(1, 0);
  r.set(0, r.dtype(0), y);
}

// Leading axes as one.
Value as_rows(const DimMath& math, const Value& x) {
  Dims lead = x.dims();
  const Dim last = lead.back();
  lead.erase(lead.size() - 1);
  return reshape(x, {math.product(lead), last});
}

void linear_vjp(Vjp& r) {
  if (r.needs(0)) r.set(0, matmul(r.g(), r.input(1)));
  if (!r.needs(1) && !r.needs(2)) return;
  const Value g = as_rows(r.math, r.g());
  if (r.needs(1)) r.set(1, matmul(g, as_rows(r.math, r.input(0)), true, false));
  const int64_t rows[] = {0};
  if (r.needs(2)) r.set(2, sum(g, rows, false));
}

constexpr OpDef op_linear = {
    .number = kLinearOp,
    .name = "linear",
    .family = "matrix",
    .doc = "x W^T + b. f16 and bf16 are summed in f32 and rounded once.",
    .inputs = {in("x", kAnyFloatSet, "[..., in]"), in("weight", kAnyFloatSet, "[out, in]"),
               optional_in("bias", kAnyFloatSet, "[out]")},
    .infer = infer_linear,
    .vjp = linear_vjp,
    .saves =
        [](uint32_t needs) {
          return ((needs & 1) != 0 ? save_input(1) : 0) | ((needs & 2) != 0 ? save_input(0) : 0);
        },
    .jvp =
        [](Jvp& r) {
          const Dims shape = r.output().dims();
          if (r.moves(0)) r.add(0, call(kLinearOp, {r.tangent(0), r.input(1)}));
          if (r.moves(1)) r.add(0, call(kLinearOp, {r.input(0), r.tangent(1)}));
          if (r.moves(2)) r.add(0, broadcast_to(r.tangent(2), shape));
        },
    .batch =
        [](Batch& r) {
          const bool plain = !r.batched(1) && !(r.has(2) && r.batched(2));
          if (plain)
            return r.set(
                0, call(kLinearOp, {r.input(0), r.input(1), r.has(2) ? r.input(2) : Value()}));
          const bool vector = r.logical_rank(0) == 1;
          Value x = r.aligned(0, std::max(r.logical_rank(0), 1));
          if (vector) x = expand_dims(x, -2);
          const int rank = vector ? 2 : r.logical_rank(0);
          const Value w = r.batched(1) ? r.aligned(1, rank) : r.input(1);
          const int64_t row[] = {-2};
          if (!r.has(2)) {
            const Value y = matmul(x, w, false, true);
            return r.set(0, vector ? squeeze(y, row) : y);
          }
          // Half precision is rounded after the bias, as by the kernel.
          const Dtype dtype = x.dtype();
          const Dtype sums = contains(kHalfSet, dtype) ? DLCORE_F32 : dtype;
          const Value bias = r.batched(2) ? r.aligned(2, rank) : r.input(2);
          const Value y =
              matmul(astype(x, sums), astype(w, sums), false, true) + astype(bias, sums);
          r.set(0, astype(vector ? squeeze(y, row) : y, dtype));
        },
};

void compose_dense(Compose& r) {
  const Value y = call(kLinearOp, {r.input(0), r.input(1), r.has(2) ? r.input(2) : Value()});
  const std::string_view activation = r.attrs.text(0);
  r.set(0, activation == "none" ? y : call(r.ctx.engine().ops().find(activation)->number, {y}));
}

constexpr OpDef op_dense = {
    .number = kDense,
    .name = "dense",
    .family = "matrix",
    .doc =
        "activation(x W^T + b), with the bits of linear followed by the activation. Where no "
        "history is kept the activation is computed while the product is in the caches.",
    .inputs = {in("x", kAnyFloatSet, "[..., in]"), in("weight", kAnyFloatSet, "[out, in]"),
               optional_in("bias", kAnyFloatSet, "[out]")},
    .attrs = {string_attr("activation", "the op that is applied to the result", "none",
                          kActivations)},
    .infer = infer_linear,
    .compose = compose_dense,
};

constexpr const OpDef* kOps[] = {&op_matmul, &op_linear, &op_dense};

}  // namespace

extern const OpFamily matrix_ops = kOps;

Value matmul(const Value& a, const Value& b, bool transpose_a, bool transpose_b) {
  return call(kMatmul, {a, b}, Attrs().flag(transpose_a).flag(transpose_b));
}

}  // namespace dlcore
