// SPDX-License-Identifier: Apache-2.0
#include "core/data/loader.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/base/named_stream.h"
#include "core/data/sources.h"
#include "dlcore/data.h"

namespace dlcore {
namespace {

__extension__ using Wide = unsigned __int128;

int64_t checked_batch(int64_t batch) {
  if (batch < 1) invalid("loader: batch is {}, expected 1 or more", batch);
  return batch;
}

bool shuffles(uint64_t flags) {
  if ((flags & ~uint64_t{DLCORE_LOADER_SHUFFLE}) != 0) {
    invalid("loader: flags are {:#x}, which has bits that mean nothing", flags);
  }
  return (flags & DLCORE_LOADER_SHUFFLE) != 0;
}

}  // namespace

Loader::Data Loader::load(Context& ctx, const std::string& source) {
  Dataset set = load_dataset(source, ctx.data_directory());
  return {set.count, Column::scaled_bytes(std::move(set.sample_shape), std::move(set.samples)),
          Column::of_labels(std::move(set.labels))};
}

Loader::Data Loader::from_tensors(Context& ctx, Tensor& samples, Tensor& labels) {
  for (const Tensor* t : {&samples, &labels}) {
    const char* name = t == &samples ? "samples" : "labels";
    if (t->data == nullptr) {
      invalid(
          "loader_from_tensors: {} have no elements: they belong to a capture, a transform or an "
          "infer callback",
          name);
    }
    if (t->rank == 0) invalid("loader_from_tensors: {} have rank 0, expected 1 or more", name);
  }
  const int64_t count = samples.sizes[0];
  if (labels.sizes[0] != count) {
    invalid("loader_from_tensors: there are {} samples, but {} labels", count, labels.sizes[0]);
  }
  return {count, Column::of_tensor(ctx, samples), Column::of_tensor(ctx, labels)};
}

// Arguments are checked before files are read.
Loader::Loader(Context& ctx, const std::string& source, int64_t batch, uint64_t flags)
    : Loader(ctx, (checked_batch(batch), shuffles(flags), load(ctx, source)), source, batch,
             flags) {}

Loader::Loader(Context& ctx, Tensor& samples, Tensor& labels, int64_t batch, uint64_t flags)
    : Loader(ctx, from_tensors(ctx, samples, labels), "tensors", batch, flags) {}

Loader::Loader(Context& ctx, Data data, const std::string& source, int64_t batch, uint64_t flags)
    : count_(data.count),
      samples_(std::move(data.samples)),
      labels_(std::move(data.labels)),
      batch_(checked_batch(batch)),
      shuffle_(shuffles(flags)),
      name_(fmt::format("{}#{}", source, ctx.loader_number())),
      seed_(ctx.seed()),
      counted_(ctx.engine(), ctx.engine().live.loaders) {
  ctx.count_loader();
}

// Fisher and Yates, as in Durstenfeld 1964, with draws of the stream that seed, name and epoch
// select.
void Loader::make_order() {
  if (order_epoch_ == epoch_ || (!shuffle_ && order_epoch_ >= 0)) return;
  std::vector<int64_t> order(static_cast<size_t>(count_));
  std::iota(order.begin(), order.end(), int64_t{0});
  if (shuffle_) {
    const RandomCall draws = named_stream(seed_, name_, static_cast<uint64_t>(epoch_.load()));
    for (size_t i = order.size(); i > 1; --i) {
      const Wide below = static_cast<Wide>(draws.draw64(i)) * i;
      std::swap(order[i - 1], order[static_cast<size_t>(below >> 64)]);
    }
  }
  order_ = std::move(order);
  order_epoch_ = epoch_;
}

Loader::Batch Loader::next(Context& ctx) {
  std::lock_guard<std::mutex> guard(lock_);
  if (ended_) {
    ended_ = false;
    next_ = 0;
    ++epoch_;
  }
  if (next_ == batches()) {
    ended_ = true;
    return {};
  }
  make_order();
  const int64_t start = next_ * batch_;
  const auto n = static_cast<size_t>(std::min(batch_, count_ - start));
  const std::span<const int64_t> indices = std::span(order_).subspan(static_cast<size_t>(start), n);
  Batch batch = {samples_.rows(ctx, indices), labels_.rows(ctx, indices)};
  ++next_;
  return batch;
}

void Loader::seek(int64_t epoch, int64_t batch) {
  if (epoch < 0) invalid("loader_seek: epoch is {}, expected 0 or more", epoch);
  if (batch < 0 || batch > batches()) {
    fail(DLCORE_OUT_OF_RANGE, "loader_seek: batch is {}, but an epoch has {}", batch, batches());
  }
  std::lock_guard<std::mutex> guard(lock_);
  epoch_ = epoch;
  next_ = batch;
  ended_ = false;
}

}  // namespace dlcore
