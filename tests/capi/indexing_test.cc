// SPDX-License-Identifier: Apache-2.0
// take, scatter_add, embedding and pooling at sizes that are cut into parts, and their layers. What
// each op answers for small inputs is in the conformance corpus.
#include <algorithm>
#include <cmath>
#include <functional>

#include "module_support.h"

namespace dlcore::test {
namespace {

constexpr int32_t kMaxPool = 170, kMaxPoolBackward = 171, kAvgPool = 172, kAvgPoolBackward = 173,
                  kTakeBackward = 136, kTakeAlongAxisBackward = 137;

class Indexing : public ModuleTest {
 protected:
  // Values without a pattern that a mistake could hide behind.
  static Doubles values(int64_t n, int64_t seed = 1) {
    Doubles all;
    uint64_t state = static_cast<uint64_t>(seed);
    for (int64_t i = 0; i < n; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      all.push_back(static_cast<double>(state >> 44) / (1 << 19) - 1);
    }
    return all;
  }
  static Doubles picks(int64_t n, int64_t bound) {
    Doubles all = values(n, 7);
    for (double& v : all) v = std::floor((v + 1) / 2 * static_cast<double>(bound));
    return all;
  }

  // The answer on one thread, which others have to repeat bit by bit.
  Doubles on_any_threads(const std::function<dlcore_tensor*()>& make) {
    Doubles first;
    for (const int32_t threads : {1, 2, 3}) {
      dlcore_engine_options options = engine_options();
      options.threads = threads;
      dlcore_engine* engine = dlcore_engine_open(&options, nullptr);
      dlcore_context* previous =
          std::exchange(ctx_, dlcore_context_open(engine, "cpu", 1, 0, nullptr));
      const Doubles got = read(make());
      EXPECT_EQ(dlcore_ok(ctx_), 1) << dlcore_context_error_message(ctx_);
      dlcore_context_close(std::exchange(ctx_, previous));
      dlcore_engine_close(engine);
      if (threads == 1) first = got;
      EXPECT_EQ(got, first) << threads << " threads";
    }
    return first;
  }
  static Words shape_and_axis(const Shape& shape, int64_t axis) {
    Words words;
    words.i(static_cast<int64_t>(shape.size()));
    for (int64_t n : shape) words.i(0).i(n);
    return words.i(axis);
  }
};

TEST_F(Indexing, TakesManyRows) {
  constexpr int64_t kRows = 3000, kColumns = 70, kPicked = 5000;
  const Doubles table = values(kRows * kColumns), index = picks(kPicked, kRows);
  const Doubles got = on_any_threads([&] {
    return dlcore_take(ctx_, f32({kRows, kColumns}, table), i64({kPicked}, index), 0);
  });
  ASSERT_EQ(got.size(), size_t{kPicked * kColumns});
  for (int64_t i = 0; i < kPicked * kColumns; ++i) {
    const auto row = static_cast<int64_t>(index[static_cast<size_t>(i / kColumns)]);
    ASSERT_EQ(got[static_cast<size_t>(i)],
              static_cast<float>(table[static_cast<size_t>(row * kColumns + i % kColumns)]));
  }
}

// The sum of the updates of each place in f64; `outer` x `n` x `inner` updates into a result of
// `outer` x `bound` x `inner`.
struct Sums {
  int64_t outer, bound, inner;
  Doubles sums;

  Sums(int64_t outer_in, int64_t bound_in, int64_t inner_in)
      : outer(outer_in),
        bound(bound_in),
        inner(inner_in),
        sums(static_cast<size_t>(outer * bound * inner)) {}
  void add(int64_t n, const Doubles& updates, const std::function<double(int64_t)>& index_of) {
    for (int64_t i = 0; i < outer * n * inner; ++i) {
      const auto row = static_cast<int64_t>(index_of(i));
      const int64_t at = (i / (n * inner) * bound + row) * inner + i % inner;
      sums[static_cast<size_t>(at)] += static_cast<float>(updates[static_cast<size_t>(i)]);
    }
  }
};

TEST_F(Indexing, AddsManyRowsInAnyNumberOfParts) {
  struct Size {
    int64_t outer, bound, n, inner;
  };
  // Cut by rows, by columns, by outer positions, and not at all.
  for (const Size& s : {Size{1, 2000, 3000, 70}, Size{1, 3, 5, 20000}, Size{20, 50, 100, 64},
                        Size{1, 9000, 40000, 1}, Size{2, 700, 900, 40}}) {
    const Doubles g = values(s.outer * s.n * s.inner), index = picks(s.n, s.bound);
    const Shape shape = {s.outer, s.bound, s.inner};
    const Doubles got = on_any_threads([&] {
      return op2(kTakeBackward, f32({s.outer, s.n, s.inner}, g), i64({s.n}, index),
                 shape_and_axis(shape, 1));
    });
    Sums expected(s.outer, s.bound, s.inner);
    expected.add(s.n, g, [&](int64_t i) { return index[static_cast<size_t>(i / s.inner % s.n)]; });
    expect_close(got, expected.sums, 1e-5);
    // Element by element the order is the same, and so are the bits.
    const Doubles again = read([&] {
      dlcore_tensor* column = i64({1, s.n, 1}, index);
      const int64_t wide[] = {s.outer, s.n, s.inner};
      return op2(kTakeAlongAxisBackward, f32({s.outer, s.n, s.inner}, g),
                 dlcore_copy(ctx_, dlcore_broadcast_to(ctx_, column, wide, 3)),
                 shape_and_axis(shape, 1));
    }());
    EXPECT_EQ(again, got);
  }
}

TEST_F(Indexing, AddsElementsOfEachRow) {
  constexpr int64_t kRows = 300, kBound = 40, kPicked = 90;
  const Doubles g = values(kRows * kPicked), index = picks(kRows * kPicked, kBound);
  const Doubles got = on_any_threads([&] {
    return op2(kTakeAlongAxisBackward, f32({kRows, kPicked}, g), i64({kRows, kPicked}, index),
               shape_and_axis({kRows, kBound}, -1));
  });
  Sums expected(kRows, kBound, 1);
  expected.add(kPicked, g, [&](int64_t i) { return index[static_cast<size_t>(i)]; });
  expect_close(got, expected.sums, 1e-5);
}

TEST_F(Indexing, NamesTheFirstIndexOutOfRangeWhateverThePart) {
  constexpr int64_t kPicked = 40000;
  Doubles index(kPicked, 1);
  index[31000] = 5;
  index[39000] = -9;
  dlcore_tensor* table = f32({5, 64}, Doubles(5 * 64, 1));
  EXPECT_EQ(dlcore_take(ctx_, table, i64({kPicked}, index), 0), nullptr);
  expect_error(DLCORE_OUT_OF_RANGE, "take: index 5 at element 31000 is out of bounds for size 5");
  EXPECT_EQ(dlcore_scatter_add(ctx_, table, i64({kPicked, 1}, index),
                               f32({kPicked, 64}, Doubles(kPicked * 64, 1)), 0),
            nullptr);
  expect_error(DLCORE_OUT_OF_RANGE, "index 5 at element 31000 is out of bounds for size 5");
}

// One axis of windows, all of whose cells are visited.
struct Axis {
  int64_t size, kernel, stride, before, count;
};

// Calls body(result, element) for every window in row-major order and every element in it.
void for_each_window(int64_t planes, const Axis& rows, const Axis& columns,
                     const std::function<void(int64_t, int64_t)>& body) {
  for (int64_t o = 0; o < planes * rows.count * columns.count; ++o) {
    const int64_t plane = o / (rows.count * columns.count);
    const int64_t top = o / columns.count % rows.count * rows.stride - rows.before;
    const int64_t left = o % columns.count * columns.stride - columns.before;
    for (int64_t i = std::max<int64_t>(0, top); i < std::min(rows.size, top + rows.kernel); ++i) {
      for (int64_t j = std::max<int64_t>(0, left);
           j < std::min(columns.size, left + columns.kernel); ++j) {
        body(o, (plane * rows.size + i) * columns.size + j);
      }
    }
  }
}

TEST_F(Indexing, PoolsManyPlanes) {
  struct Case {
    int64_t planes;
    Axis rows, columns;
  };
  for (const Case& c : {Case{300, {28, 2, 2, 0, 14}, {28, 2, 2, 0, 14}},
                        Case{90, {29, 2, 2, 0, 14}, {37, 2, 2, 0, 18}},
                        Case{40, {30, 3, 2, 1, 15}, {41, 3, 2, 1, 21}},
                        Case{3, {90, 5, 1, 2, 90}, {130, 5, 1, 2, 130}}}) {
    const Doubles x = values(c.planes * c.rows.size * c.columns.size);
    const Doubles g = values(c.planes * c.rows.count * c.columns.count, 3);
    Doubles largest(g.size(), -2), mean(g.size(), 0), spread(x.size(), 0), chosen(x.size(), 0);
    std::vector<size_t> winner(g.size());
    const double area = static_cast<double>(c.rows.kernel * c.columns.kernel);
    for_each_window(c.planes, c.rows, c.columns, [&](int64_t result, int64_t element) {
      const auto o = static_cast<size_t>(result), e = static_cast<size_t>(element);
      if (x[e] > largest[o]) winner[o] = e;
      largest[o] = std::max(largest[o], x[e]);
      mean[o] += x[e] / area;
      spread[e] += g[o] / area;
    });
    for (size_t o = 0; o < g.size(); ++o) chosen[winner[o]] += g[o];

    const Shape x_shape = {c.planes, c.rows.size, c.columns.size};
    const Shape y_shape = {c.planes, c.rows.count, c.columns.count};
    const Words kernel = Words().ints({c.rows.kernel, c.columns.kernel});
    const Words window = Words(kernel)
                             .i(1)
                             .ints({c.rows.stride, c.columns.stride})
                             .i(1)
                             .ints({c.rows.before, c.columns.before});
    const auto size = [&](Words words) {
      return words.i(2).i(0).i(c.rows.size).i(0).i(c.columns.size);
    };
    expect_close(on_any_threads([&] { return op1(kMaxPool, f32(x_shape, x), window); }), largest,
                 1e-6);
    expect_close(on_any_threads([&] { return op1(kAvgPool, f32(x_shape, x), window); }), mean,
                 1e-5);
    const auto max_gradient = [&] {
      dlcore_tensor* in = f32(x_shape, x);
      dlcore_tensor* out[2] = {};
      dlcore_op_invoke(ctx_, kMaxPool, &in, 1, window.data(), window.size(), out, 2, 0);
      return op2(kMaxPoolBackward, f32(y_shape, g), out[1], size({}));
    };
    expect_close(on_any_threads(max_gradient), chosen, 1e-5);
    const auto mean_gradient = [&] {
      return op1(kAvgPoolBackward, f32(y_shape, g), size(Words(window).i(0).i(1)));
    };
    expect_close(on_any_threads(mean_gradient), spread, 1e-5);
  }
}

TEST_F(Indexing, MaxPoolGradientRefusesIndicesOutsideOfThePlane) {
  const Words size = Words().i(2).i(0).i(4).i(0).i(4);
  for (const double bad : {16.0, -1.0, 1e9}) {
    dlcore_tensor* indices = tensor(DLCORE_I32, {1, 2, 2}, {0, 2, bad, 10});
    EXPECT_EQ(op2(kMaxPoolBackward, f32({1, 2, 2}, {1, 2, 3, 4}), indices, size), nullptr);
    expect_error(DLCORE_OUT_OF_RANGE, "at element 2 is out of bounds for size 16");
  }
  // Inside of the plane, and not in their windows of 2 x 2: added all the same.
  dlcore_tensor* indices = tensor(DLCORE_I32, {1, 2, 2}, {0, 0, 15, 3});
  EXPECT_EQ(read(op2(kMaxPoolBackward, f32({1, 2, 2}, {1, 2, 3, 4}), indices, size)),
            Doubles({3, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3}));
}

TEST_F(Indexing, PoolingLayersTakeTheAttributesOfTheOps) {
  dlcore_tensor* x = f32({1, 1, 4, 4}, range(16));
  EXPECT_EQ(read(call(layer("MaxPool2d", Words().ints({2})), x)), Doubles({5, 7, 13, 15}));
  EXPECT_EQ(read(call(layer("AvgPool2d", Words().ints({2})), x)), Doubles({2.5, 4.5, 10.5, 12.5}));
  const Words overlapping = Words().ints({3}).i(1).ints({2}).i(1).ints({1});
  EXPECT_EQ(read(call(layer("MaxPool2d", overlapping), x)), Doubles({5, 7, 13, 15}));
  EXPECT_EQ(layer("MaxPool2d"), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "max_pool2d_layer: attribute kernel is missing");
  EXPECT_EQ(layer("MaxPool2d", Words().ints({2}).i(1).ints({0})), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "max_pool2d_layer: stride is 0, expected 1 or more");
  EXPECT_EQ(layer("AvgPool2d", Words().ints({2}).i(0).i(1).ints({2})), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "avg_pool2d_layer: padding is 2");
}

TEST_F(Indexing, EmbeddingLooksRowsUp) {
  dlcore_module* m = layer("Embedding", Words().i(3).i(2).i(1).i(-1));
  set(m, "weight", {1, 2, 3, 4, 5, 6});
  dlcore_tensor* y = call(m, i64({2, 2}, {0, 2, -2, 0}));
  EXPECT_EQ(shape_of(y), Shape({2, 2, 2}));
  EXPECT_EQ(read(y), Doubles({1, 2, 5, 6, 3, 4, 1, 2}));
  ASSERT_EQ(dlcore_backward(ctx_, sum(y)), DLCORE_OK);
  // The row of the padding gets nothing.
  dlcore_variable* weight = dlcore_module_find(ctx_, m, "weight");
  EXPECT_EQ(read(dlcore_variable_gradient(ctx_, weight)), Doubles({2, 2, 1, 1, 0, 0}));
  EXPECT_EQ(call(m, i64({1}, {3})), nullptr);
  expect_error(DLCORE_OUT_OF_RANGE, "index 3 at element 0 is out of bounds for size 3");
  EXPECT_EQ(layer("Embedding", Words().i(3).i(2).i(1).i(3)), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "embedding_layer: padding_idx is 3");
  EXPECT_EQ(layer("Embedding", Words().i(3).i(-2)), nullptr);
  expect_error(DLCORE_INVALID_ARGUMENT, "embedding_layer: embedding_dim is -2");
}

TEST_F(Indexing, EmbeddingStartsNormal) {
  dlcore_module* m = layer("Embedding", Words().i(100).i(100));
  const Doubles w = read(dlcore_module_find(ctx_, m, "weight"));
  double total = 0, squares = 0;
  for (double v : w) {
    total += v;
    squares += v * v;
  }
  EXPECT_NEAR(total / 1e4, 0, 0.05);
  EXPECT_NEAR(squares / 1e4, 1, 0.06);
}

}  // namespace
}  // namespace dlcore::test
