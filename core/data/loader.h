// SPDX-License-Identifier: Apache-2.0
// Batches of samples and labels, epoch after epoch.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/data/column.h"
#include "core/engine/engine.h"

namespace dlcore {

class Loader : public ObjectHandle {
 public:
  static constexpr Tag kTag = Tag::kLoader;

  Loader(Context& ctx, const std::string& source, int64_t batch, uint64_t flags);
  // Both [N, ...], with elements.
  Loader(Context& ctx, Tensor& samples, Tensor& labels, int64_t batch, uint64_t flags);

  struct Batch {
    TensorRef x, y;  // both absent at the end of an epoch
  };
  Batch next(Context& ctx);
  void seek(int64_t epoch, int64_t batch);

  Engine& engine() const { return counted_.engine(); }
  int64_t samples() const { return count_; }
  int64_t batches() const { return count_ / batch_ + (count_ % batch_ != 0 ? 1 : 0); }
  int64_t epoch() const { return epoch_.load(std::memory_order_relaxed); }

 private:
  struct Data {
    int64_t count;
    Column samples, labels;
  };
  static Data load(Context& ctx, const std::string& source);
  static Data from_tensors(Context& ctx, Tensor& samples, Tensor& labels);
  Loader(Context& ctx, Data data, const std::string& source, int64_t batch, uint64_t flags);
  void make_order();

  const int64_t count_;
  const Column samples_, labels_;
  const int64_t batch_;
  const bool shuffle_;
  const std::string name_;
  const uint64_t seed_;

  Mutex lock_;  // what follows
  std::atomic<int64_t> epoch_{0};
  int64_t next_ = 0;            // batch
  bool ended_ = false;          // the end of the epoch has been reported
  int64_t order_epoch_ = -1;    // that order_ is of
  std::vector<int64_t> order_;  // of the samples
  Counted counted_;
};

}  // namespace dlcore
