// SPDX-License-Identifier: Apache-2.0
// A vector of trivially copyable elements whose first N live inside it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>

namespace dlcore {

template <class T, size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallVector() {}
  SmallVector(std::initializer_list<T> values) { append({values.begin(), values.size()}); }
  explicit SmallVector(std::span<const T> values) { append(values); }
  SmallVector(size_t n, T value) { resize(n, value); }
  SmallVector(const SmallVector& other) { append(other.span()); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      clear();
      append(other.span());
    }
    return *this;
  }

  void push_back(T value) {
    reserve(size_ + 1);
    data()[size_++] = value;
  }
  void append(std::span<const T> values) {
    reserve(size_ + values.size());
    if (!values.empty())
      std::memcpy(static_cast<void*>(data() + size_), values.data(), values.size_bytes());
    size_ += values.size();
  }
  void resize(size_t n, T value = T{}) {
    reserve(n);
    for (size_t i = size_; i < n; ++i) data()[i] = value;
    size_ = n;
  }
  void insert(size_t at, T value) {
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(size_t at) {
    std::copy(begin() + at + 1, end(), begin() + at);
    --size_;
  }
  void clear() { size_ = 0; }

  T* data() { return heap_ ? heap_.get() : inline_data(); }
  const T* data() const { return heap_ ? heap_.get() : inline_data(); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& back() { return data()[size_ - 1]; }
  std::span<const T> span() const { return {data(), size_}; }
  operator std::span<const T>() const { return span(); }
  friend bool operator==(const SmallVector& a, const SmallVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  void reserve(size_t n) {
    if (n <= capacity_) return;
    const size_t capacity = std::max(n, capacity_ * 2);
    std::unique_ptr<T[]> bigger(new T[capacity]);
    if (size_ != 0) std::memcpy(static_cast<void*>(bigger.get()), data(), size_ * sizeof(T));
    heap_ = std::move(bigger);
    capacity_ = capacity;
  }
  T* inline_data() { return reinterpret_cast<T*>(inline_); }
  const T* inline_data() const { return reinterpret_cast<const T*>(inline_); }

  alignas(T) std::byte inline_[N * sizeof(T)];
  std::unique_ptr<T[]> heap_;
  size_t size_ = 0;
  size_t capacity_ = N;
};

}  // namespace dlcore
