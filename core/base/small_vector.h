// SPDX-License-Identifier: Apache-2.0
// A vector whose first N elements live inside it. Elements move when it grows or is moved.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace dlcore {

template <class T, size_t N>
class SmallVector {
 public:
  SmallVector() = default;
  SmallVector(std::initializer_list<T> values) { append({values.begin(), values.size()}); }
  explicit SmallVector(std::span<const T> values) { append(values); }
  explicit SmallVector(size_t n) { resize(n); }
  SmallVector(size_t n, const T& value) { resize(n, value); }
  SmallVector(const SmallVector& other) { append(other.span()); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      clear();
      append(other.span());
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      discard();
      take(other);
    }
    return *this;
  }
  ~SmallVector() { discard(); }

  void push_back(T value) { emplace_back(std::move(value)); }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) reserve(size_ + 1);
    T* made = ::new (static_cast<void*>(data_ + size_)) T(std::forward<Args>(args)...);
    ++size_;
    return *made;
  }
  // Of elements that lie elsewhere.
  void append(std::span<const T> values) {
    reserve(size_ + values.size());
    std::uninitialized_copy(values.begin(), values.end(), data_ + size_);
    size_ += static_cast<uint32_t>(values.size());
  }
  void assign(std::span<const T> values) {
    clear();
    append(values);
  }
  void resize(size_t n) {
    if (shrink(n)) return;
    std::uninitialized_value_construct(data_ + size_, data_ + n);
    size_ = static_cast<uint32_t>(n);
  }
  void resize(size_t n, const T& value) {
    if (shrink(n)) return;
    std::uninitialized_fill(data_ + size_, data_ + n, value);
    size_ = static_cast<uint32_t>(n);
  }
  void insert(size_t at, T value) {
    push_back(std::move(value));
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(size_t at) {
    std::move(begin() + at + 1, end(), begin() + at);
    shrink(size_ - size_t{1});
  }
  void clear() { shrink(0); }
  void reserve(size_t n) {
    if (n <= capacity_) return;
    const size_t capacity = std::max<size_t>(n, size_t{capacity_} * 2);
    T* bigger = std::allocator<T>().allocate(capacity);
    std::uninitialized_move(data_, data_ + size_, bigger);
    std::destroy(data_, data_ + size_);
    free_heap();
    data_ = bigger;
    capacity_ = static_cast<uint32_t>(capacity);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& back() { return data_[size_ - 1]; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }
  operator std::span<const T>() const { return span(); }
  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  static_assert(std::is_nothrow_move_constructible_v<T>);

  T* inside() { return reinterpret_cast<T*>(inside_); }
  void free_heap() {
    if (data_ != inside()) std::allocator<T>().deallocate(data_, capacity_);
  }
  void discard() {
    std::destroy(data_, data_ + size_);
    free_heap();
  }
  // What `other` holds, into one that holds nothing.
  void take(SmallVector& other) {
    size_ = other.size_;
    if (other.data_ == other.inside()) {
      data_ = inside();
      capacity_ = N;
      std::uninitialized_move(other.begin(), other.end(), data_);
      other.clear();
      return;
    }
    capacity_ = std::exchange(other.capacity_, static_cast<uint32_t>(N));
    data_ = std::exchange(other.data_, other.inside());
    other.size_ = 0;
  }
  // True when there is nothing to add; otherwise makes room.
  bool shrink(size_t n) {
    if (n > size_) {
      reserve(n);
      return false;
    }
    std::destroy(data_ + n, data_ + size_);
    size_ = static_cast<uint32_t>(n);
    return true;
  }

  T* data_ = inside();
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  alignas(T) std::byte inside_[N * sizeof(T)];
};

}  // namespace dlcore
