// SPDX-License-Identifier: Apache-2.0
// Batches of samples and labels, epoch after epoch.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/data/column.h"
#include "core/data/prefetcher.h"
#include "core/engine/engine.h"

namespace dlcore {

class Loader : public ObjectHandle {
 public:
  static constexpr Tag kTag = Tag::kLoader;

  Loader(Context& ctx, const std::string& source, int64_t batch, uint64_t flags);
  // Both [N, ...], with elements.
  Loader(Context& ctx, Tensor& samples, Tensor& labels, int64_t batch, uint64_t flags);
  ~Loader();

  struct Batch {
    TensorRef x, y;  // both absent at the end of an epoch
  };
  Batch next(Context& ctx);
  void seek(int64_t epoch, int64_t batch);
  // How many batches are prepared before they are asked for. Changes nothing but when that happens.
  void set_prefetch(int64_t batches);

  // Where it is, with all that decides which samples come next.
  struct Position {
    uint64_t seed = 0, stream = 0;  // of the orders
    int64_t epoch = 0, batch = 0;   // the next one
    int64_t ended = 0;              // 1: the end of the epoch has been reported
    int64_t samples = 0, size = 0;  // of the set, of a batch
    int64_t shuffled = 0;           // 0 or 1
  };
  Position position() const;
  // Throws INVALID_ARGUMENT, calling the loader `name`, unless restore can take up from there.
  void check(const char* call, const std::string& name, const Position& position) const;
  void restore(const Position& position) noexcept;

  Engine& engine() const { return counted_.engine(); }
  int64_t samples() const { return count_; }
  int64_t batches() const { return count_ / batch_ + (count_ % batch_ != 0 ? 1 : 0); }
  int64_t epoch() const { return epoch_.load(std::memory_order_relaxed); }

 private:
  struct Data {
    int64_t count;
    Column samples, labels;
  };
  class Order;
  struct Ahead;
  static Data load(Context& ctx, const std::string& source);
  static Data from_tensors(Context& ctx, Tensor& samples, Tensor& labels);
  Loader(Context& ctx, Data data, const std::string& source, int64_t batch, uint64_t flags);
  int64_t rows_of(int64_t batch) const;

  Batch prepared(Context& ctx);
  void prepare_ahead(Context& ctx);
  void prepare(Context& ctx, int64_t epoch, int64_t batch);
  void drop_ahead() noexcept;

  const int64_t count_;
  const Column samples_, labels_;
  const int64_t batch_;
  const bool shuffle_;

  mutable Mutex lock_;      // what follows
  uint64_t seed_, stream_;  // of the orders: the stream is the hash of the loader's name
  std::atomic<int64_t> epoch_{0};
  int64_t next_ = 0;    // batch
  bool ended_ = false;  // the end of the epoch has been reported
  std::unique_ptr<Order> order_;
  int64_t prefetch_ = 0;
  Counted counted_;
  std::deque<std::unique_ptr<Ahead>> ahead_;  // batches being prepared, the next one first
  std::unique_ptr<Ahead> late_;               // still being filled, and not needed any more
  std::shared_ptr<Order> ahead_order_;        // the prefetcher's
  std::unique_ptr<Prefetcher> prefetcher_;    // goes first
};

}  // namespace dlcore
