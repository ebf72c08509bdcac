// SPDX-License-Identifier: Apache-2.0
// Ops as functions, for rules and for the parts of the engine that are written in ops. Each is
// defined beside its op in families/.
#pragma once

#include "core/ops/value.h"

namespace dlcore {

// arithmetic.cc
Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a, const Value& b);
Value operator*(const Value& a, const Value& b);
Value operator/(const Value& a, const Value& b);
Value operator-(const Value& x);
Value operator*(const Value& x, double weak_scalar);
Value operator+(const Value& x, double weak_scalar);
Value operator-(double weak_scalar, const Value& x);
Value operator/(double weak_scalar, const Value& x);
Value power(const Value& a, const Value& b);
Value floor_divide(const Value& a, const Value& b);
Value maximum(const Value& a, const Value& b);
Value minimum(const Value& a, const Value& b);

// comparison.cc
Value equal(const Value& a, const Value& b);
Value not_equal(const Value& a, const Value& b);
Value less(const Value& a, const Value& b);
Value greater(const Value& a, const Value& b);
Value logical_and(const Value& a, const Value& b);
Value logical_not(const Value& x);
Value where(const Value& condition, const Value& a, const Value& b);

// elementwise.cc, activations.cc
Value sign(const Value& x);
Value square(const Value& x);
Value exp(const Value& x);
Value log(const Value& x);
Value sqrt(const Value& x);
Value sin(const Value& x);
Value cos(const Value& x);
Value tanh(const Value& x);
Value sigmoid(const Value& x);
Value isfinite(const Value& x);
Value copy(const Value& x);
Value astype(const Value& x, Dtype dtype);

// reduction.cc. Axes as given; keepdims keeps reduced axes with size 1.
Value sum(const Value& x, std::span<const int64_t> axes, bool keepdims);
Value sum_all(const Value& x);
Value max(const Value& x, std::span<const int64_t> axes, bool keepdims);
// Sums over the axes along which a shape was broadcast to x's.
Value sum_to(const Value& x, const Dims& shape);

// softmax.cc
Value softmax(const Value& x, int64_t axis);

// matrix.cc
Value matmul(const Value& a, const Value& b, bool transpose_a = false, bool transpose_b = false);

// views.cc, movement.cc
Value reshape(const Value& x, const Dims& shape);
Value permute_dims(const Value& x, std::span<const int64_t> axes);
Value slice(const Value& x, std::span<const int64_t> starts, std::span<const int64_t> stops,
            std::span<const int64_t> axes, std::span<const int64_t> steps = {});
Value broadcast_to(const Value& x, const Dims& shape);
Value expand_dims(const Value& x, int64_t axis);
Value squeeze(const Value& x, std::span<const int64_t> axes);
Value concat(std::span<const Value> parts, int64_t axis);
Value stack(std::span<const Value> parts, int64_t axis);
// Moves one axis to another place.
Value move_axis(const Value& x, int from, int to);

// creation.cc. On the context's device, or on that of `like`.
Value full(Context& ctx, const Dims& shape, double value, Dtype dtype);
Value full_like(const Value& like, const Dims& shape, double value);
Value zeros_like(const Value& like);

// random.cc
Value random_uniform(Context& ctx, const Value& key, const Dims& shape, double low, double high,
                     Dtype dtype);
Value random_normal(Context& ctx, const Value& key, const Dims& shape, double mean,
                    double deviation, Dtype dtype);
Value random_bernoulli(Context& ctx, const Dims& shape, double probability);
// The key of a call that comes `calls` after the one of `key`.
Value advance_key(const Value& key, int64_t calls);

}  // namespace dlcore
