// SPDX-License-Identifier: Apache-2.0
#include "core/data/loader.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <span>
#include <utility>

#include "core/base/error.h"
#include "core/base/named_stream.h"
#include "core/data/sources.h"
#include "dlcore/data.h"

namespace dlcore {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int64_t kMostPrefetched = 1024;

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

// Of the samples in an epoch. By Fisher and Yates, as in Durstenfeld 1964, with draws of the stream
// that seed, name and epoch select.
class Loader::Order {
 public:
  Order(int64_t count, bool shuffled) : count_(count), shuffled_(shuffled) {}

  struct Key {
    uint64_t seed = 0, stream = 0;
    int64_t epoch = -1;
    bool operator==(const Key&) const = default;
  };
  std::span<const int64_t> of(const Key& key) {
    if (key == key_ || (!shuffled_ && key_.epoch >= 0)) return order_;
    std::vector<int64_t> order(static_cast<size_t>(count_));
    std::iota(order.begin(), order.end(), int64_t{0});
    if (shuffled_) shuffle(key, order);
    order_ = std::move(order);
    key_ = key;
    return order_;
  }

 private:
  static void shuffle(const Key& key, std::vector<int64_t>& order) {
    const RandomCall draws = named_stream(key.seed, key.stream, static_cast<uint64_t>(key.epoch));
    for (size_t i = order.size(); i > 1; --i) {
      const Wide below = static_cast<Wide>(draws.draw64(i)) * i;
      std::swap(order[i - 1], order[static_cast<size_t>(below >> 64)]);
    }
  }

  const int64_t count_;
  const bool shuffled_;
  Key key_;  // that order_ is of
  std::vector<int64_t> order_;
};

// A batch that the prefetcher fills. The tensors are made by whoever asked for an earlier batch, so
// that the thread needs nothing of the engine.
struct Loader::Ahead final : Prefetcher::Job {
  Ahead(const Loader& of, std::shared_ptr<Order> its_order) : loader(of), order(its_order) {}

  // One side of the batch; on devices whose memory the host does not see, in memory of ours first.
  struct Side {
    TensorRef tensor;
    std::vector<std::byte> staging;
    void* data() { return staging.empty() ? tensor->data : staging.data(); }
    void make(Context& ctx, const Column& column, int64_t rows) {
      tensor = column.empty_rows(ctx, rows);
      if (tensor->device->direct()) return;
      staging.resize(static_cast<uint64_t>(tensor->count) * dtype_bytes(tensor->dtype));
    }
    TensorRef take(Context& ctx) {
      if (!staging.empty()) write_tensor(ctx, *tensor, staging.data());
      return std::move(tensor);
    }
  };

  void fill() override {
    const std::span<const int64_t> rows = order->of(key).subspan(
        static_cast<size_t>(batch * loader.batch_), static_cast<size_t>(loader.rows_of(batch)));
    loader.samples_.gather(rows, x.data());
    loader.labels_.gather(rows, y.data());
  }

  const Loader& loader;
  const std::shared_ptr<Order> order;
  Order::Key key;
  int64_t batch = 0;
  Side x, y;
};

Loader::Loader(Context& ctx, Data data, const std::string& source, int64_t batch, uint64_t flags)
    : count_(data.count),
      samples_(std::move(data.samples)),
      labels_(std::move(data.labels)),
      batch_(checked_batch(batch)),
      shuffle_(shuffles(flags)),
      seed_(ctx.seed()),
      stream_(text_hash(formatted("{}#{}", source, ctx.loader_number()))),
      order_(std::make_unique<Order>(count_, shuffle_)),
      counted_(ctx.engine(), ctx.engine().live.loaders) {
  ctx.count_loader();
}

Loader::~Loader() { drop_ahead(); }

int64_t Loader::rows_of(int64_t batch) const { return std::min(batch_, count_ - batch * batch_); }

Loader::Batch Loader::next(Context& ctx) {
  if (!ctx.engine().open()) fail(DLCORE_FAILED_PRECONDITION, "loader_next: the engine is closed");
  std::lock_guard<Mutex> guard(lock_);
  if (ended_) {
    ended_ = false;
    next_ = 0;
    ++epoch_;
  }
  if (next_ == batches()) {
    ended_ = true;
    return {};
  }
  Batch batch = prepared(ctx);
  if (!batch.x) {
    const std::span<const int64_t> rows =
        order_->of({seed_, stream_, epoch()})
            .subspan(static_cast<size_t>(next_ * batch_), static_cast<size_t>(rows_of(next_)));
    batch = {samples_.rows(ctx, rows), labels_.rows(ctx, rows)};
  }
  ++next_;
  prepare_ahead(ctx);
  return batch;
}

// The next batch if it has been prepared. If not, the caller makes it, and fails where it cannot be
// made.
Loader::Batch Loader::prepared(Context& ctx) {
  if (ahead_.empty()) return {};
  const Order::Key wanted{seed_, stream_, epoch()};
  const Ahead& first = *ahead_.front();
  if (first.key != wanted || first.batch != next_ || first.x.tensor->device != &ctx.device() ||
      !prefetcher_->works()) {
    drop_ahead();
    return {};
  }
  const Prefetcher::Outcome outcome = prefetcher_->collect(*ahead_.front());
  std::unique_ptr<Ahead> taken = std::move(ahead_.front());
  ahead_.pop_front();
  if (outcome == Prefetcher::Outcome::kLate) late_ = std::move(taken);
  if (outcome != Prefetcher::Outcome::kReady) return {};
  return {taken->x.take(ctx), taken->y.take(ctx)};
}

// Whatever fails here fails again when it is asked for.
void Loader::prepare_ahead(Context& ctx) {
  if (std::cmp_greater_equal(ahead_.size(), prefetch_) || !ctx.engine().open()) return;
  try {
    if (prefetcher_ && !prefetcher_->works()) drop_ahead();
    if (!prefetcher_) {
      ahead_order_ = std::make_shared<Order>(count_, shuffle_);
      prefetcher_ = Prefetcher::start(ctx.engine(), ahead_order_);
      if (!prefetcher_) return;
    }
    int64_t epoch = ahead_.empty() ? epoch_.load() : ahead_.back()->key.epoch;
    int64_t batch = ahead_.empty() ? next_ : ahead_.back()->batch + 1;
    for (; std::cmp_less(ahead_.size(), prefetch_); ++batch) {
      if (batch == batches()) {
        ++epoch;
        batch = 0;
      }
      prepare(ctx, epoch, batch);
    }
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  }
}

void Loader::prepare(Context& ctx, int64_t epoch, int64_t batch) {
  auto job = std::make_unique<Ahead>(*this, ahead_order_);
  job->key = {seed_, stream_, epoch};
  job->batch = batch;
  job->x.make(ctx, samples_, rows_of(batch));
  job->y.make(ctx, labels_, rows_of(batch));
  ahead_.push_back(std::move(job));
  try {
    prefetcher_->submit(*ahead_.back());
  } catch (...) {
    ahead_.pop_back();
    throw;
  }
}

// In a child of fork() the thread is not there, and what it was filling is of no use.
void Loader::drop_ahead() noexcept {
  if (!prefetcher_) return;
  prefetcher_->take_back();
  ahead_.clear();
  late_ = nullptr;
  if (prefetcher_->works()) return;
  prefetcher_ = nullptr;
  ahead_order_ = nullptr;
}

void Loader::set_prefetch(int64_t batches) {
  if (batches < 0 || batches > kMostPrefetched) {
    invalid("loader_set_prefetch: batches is {}, expected 0 to {}", batches, kMostPrefetched);
  }
  std::lock_guard<Mutex> guard(lock_);
  prefetch_ = batches;
  if (batches > 0) return;
  drop_ahead();
  prefetcher_ = nullptr;
}

void Loader::seek(int64_t epoch, int64_t batch) {
  if (epoch < 0) invalid("loader_seek: epoch is {}, expected 0 or more", epoch);
  if (batch < 0 || batch > batches()) {
    fail(DLCORE_OUT_OF_RANGE, "loader_seek: batch is {}, but an epoch has {}", batch, batches());
  }
  std::lock_guard<Mutex> guard(lock_);
  epoch_ = epoch;
  next_ = batch;
  ended_ = false;
}

Loader::Position Loader::position() const {
  std::lock_guard<Mutex> guard(lock_);
  return {seed_, stream_, epoch(), next_, ended_ ? 1 : 0, count_, batch_, shuffle_ ? 1 : 0};
}

void Loader::check(const char* call, const std::string& name, const Position& p) const {
  const auto differs = [&](const char* what, int64_t there, int64_t here) {
    invalid("{}: loader '{}': {} {} in the file, but {} here", call, name, what, there, here);
  };
  if (p.samples != count_) differs("the number of samples is", p.samples, count_);
  if (p.size != batch_) differs("the size of a batch is", p.size, batch_);
  if (p.shuffled != (shuffle_ ? 1 : 0)) differs("shuffling is", p.shuffled, shuffle_ ? 1 : 0);
  if (p.epoch < 0 || p.batch < 0 || p.batch > batches() || p.ended < 0 || p.ended > 1 ||
      (p.ended == 1 && p.batch != batches())) {
    fail(DLCORE_DATA_LOSS, "{}: loader '{}': epoch {}, batch {} of {}, ended {} is no position",
         call, name, p.epoch, p.batch, batches(), p.ended);
  }
}

void Loader::restore(const Position& p) noexcept {
  std::lock_guard<Mutex> guard(lock_);
  seed_ = p.seed;
  stream_ = p.stream;
  epoch_ = p.epoch;
  next_ = p.batch;
  ended_ = p.ended != 0;
}

}  // namespace dlcore
