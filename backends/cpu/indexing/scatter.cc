// SPDX-License-Identifier: Apache-2.0
// scatter_add and the backwards of take and take_along_axis: updates added to rows of the result,
// those for one place in their order. The result is cut into parts, never the updates, so that any
// number of threads gives the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/indexing/scatter.cc"
#include "backends/cpu/targets.h"
// after targets.h
#include <algorithm>
#include <cstring>

#include "backends/cpu/indexing/index_list.h"
#include "backends/cpu/indexing/indexing.h"
#include "backends/cpu/queue.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dlcore::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
using Sum = std::conditional_t<kIsHalf<T>, float, T>;

template <class T>
HWY_INLINE Sum<T> widened(T x) {
  if constexpr (kIsHalf<T>) {
    return to_float(x);
  } else {
    return x;
  }
}

// Integers wrap.
template <class T>
HWY_INLINE T plus(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
  } else {
    return a + b;
  }
}

template <class T>
HWY_INLINE void add_row(Sum<T>* to, const T* from, int64_t n) {
  int64_t i = 0;
  if constexpr (!kIsHalf<T>) {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes)
      hn::StoreU(hn::Add(hn::LoadU(d, to + i), hn::LoadU(d, from + i)), d, to + i);
  }
  for (; i < n; ++i) to[i] = plus(to[i], widened(from[i]));
}

enum class Form { kScatterAdd, kTakeBackward, kTakeAlongAxisBackward };

template <class T>
class Scatter {
 public:
  Scatter(const dlcore_launch* launch, Form form)
      : out_(launch->outputs[0]),
        axis_(axis_of(launch, form)),
        has_x_(form == Form::kScatterAdd),
        x_(launch->inputs[0], axis_, has_x_ ? 1 : 0),
        updates_(launch->inputs[has_x_ ? 2 : 0], axis_,
                 form == Form::kTakeBackward ? launch->inputs[1].rank : 1),
        inner_(count(axis_ + 1, out_.rank)),
        indices_(form == Form::kTakeBackward ? Split(launch->inputs[1], inner_)
                                             : Split(launch->inputs[1], axis_, 1, out_.shape)),
        index_dtype_(launch->inputs[1].dtype),
        length_(form == Form::kTakeBackward ? launch->inputs[1].count
                                            : launch->inputs[1].shape[axis_]),
        bound_(out_.shape[axis_]),
        outer_(count(0, axis_)),
        sums_(static_cast<Sum<T>*>(kIsHalf<T> ? launch->workspace : out_.data)) {
    by_rows_ = inner_ >= 8 && indices_.same_for_inner();
    cut();
  }

  static uint64_t workspace(const dlcore_launch* launch) {
    return kIsHalf<T> ? static_cast<uint64_t>(launch->outputs[0].count) * sizeof(Sum<T>) : 0;
  }

  // The position, in indices repeated for every outer and inner position, of the first one that is
  // out of range, or -1.
  int64_t run(const Queue& queue) const {
    const int64_t blocks = (outer_ + outer_per_part_ - 1) / outer_per_part_;
    FirstBad bad(outer_ * length_ * inner_);
    queue.parallel_for(blocks * ranges_ * chunks_, [&](int64_t part) {
      Area area;
      const int64_t chunk = part % chunks_, range = part / chunks_ % ranges_;
      area.column = chunk * kChunk;
      area.columns = std::min(kChunk, inner_ - area.column);
      if (chunks_ == 1) area.columns = inner_;
      area.row = bound_ * range / ranges_;
      area.end = bound_ * (range + 1) / ranges_;
      const int64_t first = part / chunks_ / ranges_ * outer_per_part_;
      for (int64_t o = first; o < std::min(outer_, first + outer_per_part_); ++o) {
        area.sums = sums_ + o * bound_ * inner_;
        start(o, area);
        if (length_ > 0) {
          const int64_t at = by_rows_ ? add_rows(queue, o, area) : add_elements(queue, o, area);
          if (at >= 0) return bad.note(o * length_ * inner_ + at);
        }
        if constexpr (kIsHalf<T>) finish(o, area);
      }
    });
    return bad.position();
  }
  int64_t bound() const { return bound_; }
  int64_t inner() const { return inner_; }

 private:
  static constexpr int64_t kChunk = 4096;

  // A part of the result for one index of the outer axes.
  struct Area {
    Sum<T>* sums;
    int64_t row, end;
    int64_t column, columns;
  };

  static int32_t axis_of(const dlcore_launch* launch, Form form) {
    const int64_t axis =
        form == Form::kScatterAdd ? launch->attrs[0] : launch->attrs[1 + 2 * launch->attrs[0]];
    return static_cast<int32_t>(axis < 0 ? axis + launch->outputs[0].rank : axis);
  }
  int64_t count(int32_t begin, int32_t end) const {
    int64_t product = 1;
    for (int32_t a = begin; a < end; ++a) product *= out_.shape[a];
    return product;
  }

  // Parts by outer positions where there are many; else by columns and, as every range of rows has
  // to look at all indices, by few of those.
  void cut() {
    constexpr int64_t kFew = 16;
    const int64_t work = std::max(length_, bound_) * inner_;
    outer_per_part_ = std::max<int64_t>(1, (int64_t{1} << 15) / std::max<int64_t>(1, work));
    chunks_ = ranges_ = 1;
    if (outer_ >= kFew) return;
    chunks_ = std::max<int64_t>(1, (inner_ + kChunk - 1) / kChunk);
    if (!by_rows_ || chunks_ >= kFew) return;
    ranges_ = std::clamp<int64_t>(std::min({work >> 16, bound_, inner_ / 8}), 1, kFew);
  }

  // The result before anything is added.
  void start(int64_t o, const Area& area) const {
    if (area.columns == inner_) {
      begin_run(o, area, area.row * inner_, (area.end - area.row) * inner_);
      return;
    }
    for (int64_t r = area.row; r < area.end; ++r)
      begin_run(o, area, r * inner_ + area.column, area.columns);
  }

  void begin_run(int64_t o, const Area& area, int64_t at, int64_t n) const {
    if (!has_x_) {
      std::fill(area.sums + at, area.sums + at + n, Sum<T>{0});
      return;
    }
    const char* const x = x_.at(x_.outer.offset(o));
    if constexpr (kIsHalf<T>) {
      T buffer[kIndexBlock];
      for (int64_t i = 0; i < n; i += kIndexBlock) {
        const int64_t some = std::min(kIndexBlock, n - i);
        gather(x, x_.tail, at + i, some, sizeof(T), buffer);
        for (int64_t k = 0; k < some; ++k) area.sums[at + i + k] = widened(buffer[k]);
      }
    } else {
      gather(x, x_.tail, at, n, sizeof(T), area.sums + at);
    }
  }

  // Both return the position of the first index out of range, or -1.
  int64_t add_rows(const Queue& queue, int64_t o, const Area& area) const {
    int64_t rows[kIndexBlock];
    const char* const list = indices_.at(indices_.outer.offset(o));
    const char* const from = updates_.at(updates_.outer.offset(o));
    for (int64_t k = 0; k < length_ && !queue.stopped(); k += kIndexBlock) {
      const int64_t n = std::min(kIndexBlock, length_ - k);
      const int64_t good = read_indices(list, index_dtype_, indices_.middle, k, n, bound_, rows);
      if (good < n) return (k + good) * inner_;
      add_rows_of(area, from, k, rows, n);
    }
    return -1;
  }

  // Updates k to k + n, those for other parts left out.
  void add_rows_of(const Area& area, const char* from, int64_t k, const int64_t* rows,
                   int64_t n) const {
    constexpr int64_t kAhead = 4;
    int64_t places[kIndexBlock];
    int64_t count = 0;
    const auto range = static_cast<uint64_t>(area.end - area.row);
    for (int64_t i = 0; i < n; ++i) {
      places[count] = i;
      count += static_cast<uint64_t>(rows[i] - area.row) < range ? 1 : 0;
    }
    const auto update = [&](int64_t i) {
      return from + updates_.middle.offset(k + places[i]) * updates_.size;
    };
    const int64_t bytes = updates_.inner.contiguous() ? area.columns * updates_.size : 0;
    for (int64_t i = 0; i < count; ++i) {
      if (bytes > 0 && i + kAhead < count)
        fetch_row(update(i + kAhead) + area.column * updates_.size, bytes);
      add_one_row(area, rows[places[i]], update(i));
    }
  }

  void add_one_row(const Area& area, int64_t row, const char* update) const {
    Sum<T>* const to = area.sums + row * inner_ + area.column;
    if (updates_.inner.contiguous()) {
      add_row<T>(to, reinterpret_cast<const T*>(update) + area.column, area.columns);
      return;
    }
    T buffer[kIndexBlock];
    for (int64_t c = 0; c < area.columns; c += kIndexBlock) {
      const int64_t n = std::min(kIndexBlock, area.columns - c);
      gather(update, updates_.inner, area.column + c, n, sizeof(T), buffer);
      add_row<T>(to + c, buffer, n);
    }
  }

  int64_t add_elements(const Queue& queue, int64_t o, const Area& area) const {
    if (area.columns == inner_) return add_run(queue, o, area, 0, length_ * inner_);
    for (int64_t k = 0; k < length_; ++k) {
      const int64_t bad = add_run(queue, o, area, k * inner_ + area.column, area.columns);
      if (bad >= 0) return bad;
    }
    return -1;
  }

  // Updates [at, at + n) of the row-major order of the axis and the inner ones.
  int64_t add_run(const Queue& queue, int64_t o, const Area& area, int64_t at, int64_t n) const {
    int64_t rows[kIndexBlock];
    T buffer[kIndexBlock];
    const char* const list = indices_.at(indices_.outer.offset(o));
    const char* const from = updates_.at(updates_.outer.offset(o));
    int64_t c = at % inner_;
    for (const int64_t end = at + n; at < end && !queue.stopped(); at += kIndexBlock) {
      const int64_t some = std::min(kIndexBlock, end - at);
      const int64_t good = read_indices(list, index_dtype_, indices_.tail, at, some, bound_, rows);
      if (good < some) return at + good;
      gather(from, updates_.tail, at, some, sizeof(T), buffer);
      if (inner_ == 1) {
        for (int64_t i = 0; i < some; ++i)
          area.sums[rows[i]] = plus(area.sums[rows[i]], widened(buffer[i]));
        continue;
      }
      for (int64_t i = 0; i < some; ++i) {
        Sum<T>& to = area.sums[rows[i] * inner_ + c];
        to = plus(to, widened(buffer[i]));
        if (++c == inner_) c = 0;
      }
    }
    return -1;
  }

  void finish(int64_t o, const Area& area) const {
    T* const to = static_cast<T*>(out_.data) + o * bound_ * inner_;
    for (int64_t r = area.row; r < area.end; ++r) {
      for (int64_t c = area.column; c < area.column + area.columns; ++c) {
        const float sum = area.sums[r * inner_ + c];
        if constexpr (std::is_same_v<T, Half>) to[r * inner_ + c] = half_from(sum);
        if constexpr (std::is_same_v<T, BFloat16>) to[r * inner_ + c] = bfloat16_from(sum);
      }
    }
  }

  const dlcore_operand& out_;
  int32_t axis_;
  bool has_x_;
  Split x_, updates_;
  int64_t inner_;
  Split indices_;
  dlcore_dtype index_dtype_;
  int64_t length_, bound_, outer_;  // indices along the axis, its size, positions before it
  Sum<T>* sums_;
  bool by_rows_;
  int64_t outer_per_part_, chunks_, ranges_;
};

template <class T, Form kForm>
dlcore_status scatter(void* queue, const dlcore_launch* launch) {
  const Scatter<T> call(launch, kForm);
  int64_t bad = call.run(*static_cast<const Queue*>(queue));
  if (bad < 0) return DLCORE_OK;
  const dlcore_operand& indices = launch->inputs[1];
  if (kForm == Form::kTakeBackward) {
    bad = bad / call.inner() % indices.count;
  } else {
    const dlcore_operand& updates = launch->inputs[kForm == Form::kScatterAdd ? 2 : 0];
    bad = position_in(indices, updates.shape, bad);
  }
  return refuse_index(indices, bad, call.bound(), launch->failure);
}

template <Form kForm, class T>
constexpr dlcore_kernel kernel() {
  constexpr Op kOps[] = {Op::kScatterAdd, Op::kTakeBackward, Op::kTakeAlongAxisBackward};
  dlcore_kernel k = make_kernel(kOps[static_cast<int>(kForm)], dtype_of<T>(), DLCORE_KERNEL_STRIDED,
                                scatter<T, kForm>);
  k.workspace = Scatter<T>::workspace;
  return k;
}

constexpr dlcore_kernel kKernels[] = {
    kernel<Form::kScatterAdd, float>(),
    kernel<Form::kScatterAdd, double>(),
    kernel<Form::kScatterAdd, Half>(),
    kernel<Form::kScatterAdd, BFloat16>(),
    kernel<Form::kScatterAdd, uint8_t>(),
    kernel<Form::kScatterAdd, int8_t>(),
    kernel<Form::kScatterAdd, int16_t>(),
    kernel<Form::kScatterAdd, int32_t>(),
    kernel<Form::kScatterAdd, int64_t>(),
    kernel<Form::kTakeBackward, float>(),
    kernel<Form::kTakeBackward, double>(),
    kernel<Form::kTakeBackward, Half>(),
    kernel<Form::kTakeBackward, BFloat16>(),
    kernel<Form::kTakeAlongAxisBackward, float>(),
    kernel<Form::kTakeAlongAxisBackward, double>(),
    kernel<Form::kTakeAlongAxisBackward, Half>(),
    kernel<Form::kTakeAlongAxisBackward, BFloat16>(),
};

}  // namespace
}  // namespace dlcore::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlcore::cpu {
DLCORE_CPU_KERNEL_FILE(scatter)
}
#endif
