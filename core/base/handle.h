// SPDX-License-Identifier: Apache-2.0
// Handles: what programs hold. Every object behind the C API starts with a Handle, which says what
// it is and counts its references, and lives in a slot whose memory stays a slot of its type for
// the life of the process. So a closed or foreign handle is recognised instead of followed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "core/base/mutex.h"

namespace dlcore {

enum class Tag : uint32_t {
  kDead = 0,
  kEngine = 0x444c454eu,
  kContext,
  kError,
  kScope,
  kTensor,
  kNone,  // the one static tensor that stands for an absent input
  kVariable,
  kTransform,
  kGraph,
  kExecutable,
  kModule,
  kOptimizer,
  kLoader,
  kArchive,
  kOpCall,
  kCheckpoint,
  kSchedule,
};

class SlotPool;

// A word of a slot, which threads may read whatever becomes of the slot meanwhile. So even its
// constructor, which runs again for each object in the slot, writes atomically; that of std::atomic
// does not.
template <class T>
class SlotWord {
 public:
  constexpr explicit SlotWord(T value) {
    if (std::is_constant_evaluated()) {
      value_ = value;
    } else {
      store(value, std::memory_order_relaxed);
    }
  }
  SlotWord(const SlotWord&) = delete;
  SlotWord& operator=(const SlotWord&) = delete;

  T load(std::memory_order order) const { return word().load(order); }
  void store(T value, std::memory_order order) { word().store(value, order); }
  T fetch_add(T n, std::memory_order order) { return word().fetch_add(n, order); }
  T fetch_sub(T n, std::memory_order order) { return word().fetch_sub(n, order); }
  bool compare_exchange_weak(T& seen, T wanted, std::memory_order order) {
    return word().compare_exchange_weak(seen, wanted, order);
  }

 private:
  std::atomic_ref<T> word() const { return std::atomic_ref<T>(value_); }
  mutable T value_;
};

struct Handle {
  constexpr Handle() = default;
  constexpr explicit Handle(Tag t) : tag(t) {}

  SlotWord<Tag> tag{Tag::kDead};
  // References: the program's in the upper half, the library's in the lower. All of the program's
  // references together hold one of the library's, so that a program which releases too often can
  // never take a reference that the library relies on.
  SlotWord<uint64_t> counts{0};
  SlotPool* pool = nullptr;
  Handle* next = nullptr;  // free list, or list of objects waiting to be destroyed

  static constexpr uint64_t kProgramReference = uint64_t{1} << 32;

  void retain() { counts.fetch_add(1, std::memory_order_relaxed); }
  // True when that was the last reference: the caller then destroys the object.
  bool drop() { return counts.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  bool unique() const { return (counts.load(std::memory_order_acquire) & 0xffffffffu) == 1; }

  // Adds a reference of the program's. False when the program holds none (the handle is closed to
  // it).
  bool program_retain();
  // Turns one library reference into the program's first, or adds a reference of the program's and
  // drops the library's.
  void give_to_program();
  enum class Released { kNotHeld, kHeld, kLast };
  // Gives up a reference of the program's; kLast: nobody holds the object any more.
  Released program_release();
  bool held_by_program_once() const {
    return counts.load(std::memory_order_relaxed) / kProgramReference == 1;
  }
  bool held_by_program() const {
    return counts.load(std::memory_order_relaxed) >= kProgramReference;
  }
};

// Objects other than tensors, which a context may own for the program.
class Context;
struct ObjectHandle : Handle {
  Context* owner = nullptr;  // guarded by the lock in context.cc
};

// Slots of one size. One thread at a time takes (the entered context, or under `lock`); any thread
// puts back. Memory is never returned, so a slot can be looked at for ever; slots are reused oldest
// first.
class SlotPool {
 public:
  constexpr explicit SlotPool(size_t slot_bytes) : slot_bytes_(slot_bytes) {}
  SlotPool(const SlotPool&) = delete;
  SlotPool& operator=(const SlotPool&) = delete;

  // A slot whose Handle is dead. Throws Error RESOURCE_EXHAUSTED.
  void* take();
  void put(Handle* slot);
  // Makes sure that the next `n` calls of take cannot fail.
  void reserve(int64_t n);
  int64_t live() const;

  Mutex lock;  // for pools that several threads take from

 private:
  void grow();
  void drain();

  size_t slot_bytes_;
  Handle* first_ = nullptr;
  Handle* last_ = nullptr;
  int64_t ready_ = 0;
  std::atomic<Handle*> returned_{nullptr};
  std::atomic<int64_t> taken_{0};
  std::atomic<int64_t> put_back_{0};
};

// The pool of a handle type other than Tensor: process-wide, constant-initialised, shared under its
// lock.
template <class T>
inline constinit SlotPool shared_pool{(sizeof(T) + 63) / 64 * 64};

// Makes a T with one library reference.
template <class T, class... Args>
T* make_handle(Args&&... args) {
  SlotPool& pool = shared_pool<T>;
  void* slot;
  {
    std::lock_guard<Mutex> guard(pool.lock);
    slot = pool.take();
  }
  T* object;
  try {
    object = new (slot) T(std::forward<Args>(args)...);
  } catch (...) {
    auto* dead = new (slot) Handle;
    dead->pool = &pool;
    pool.put(dead);
    throw;
  }
  object->pool = &pool;
  object->counts.store(1, std::memory_order_relaxed);
  object->tag.store(T::kTag, std::memory_order_release);
  return object;
}

// Runs the destructor and gives the slot back.
template <class T>
void destroy_handle(T* object) {
  object->tag.store(Tag::kDead, std::memory_order_release);
  SlotPool* pool = object->pool;
  object->~T();
  auto* dead = new (static_cast<void*>(object)) Handle;
  dead->pool = pool;
  pool->put(dead);
}

void destroy(Handle* object);  // by tag; of any type

// A library reference to a handle.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  // Takes over one reference.
  static Ref adopt(T* object) {
    Ref r;
    r.object_ = object;
    return r;
  }
  explicit Ref(T* object) : object_(object) {
    if (object_ != nullptr) object_->retain();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr && object_->drop()) destroy(object_);
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  T* leak() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>::adopt(make_handle<T>(std::forward<Args>(args)...));
}

}  // namespace dlcore
