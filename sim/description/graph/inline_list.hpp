#pragma once

#include "base/error.hpp"

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace mirfak {

// A list of at most `kCapacity` values without memory allocation: labels and their shardings are copied millions of
// times in a search, and hold few bytes. Error(internal) beyond the capacity; code that takes lists from users checks
// before.
template <typename T, std::size_t kCapacity>
class InlineList {
  static_assert(kCapacity < 256);

 public:
  constexpr InlineList() = default;
  constexpr InlineList(std::initializer_list<T> values) {
    for (const T& value : values) push_back(value);
  }
  template <typename Iterator>
  constexpr InlineList(Iterator first, Iterator last) {
    for (; first != last; ++first) push_back(*first);
  }

  static constexpr std::size_t capacity() { return kCapacity; }
  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* begin() { return values_.data(); }
  constexpr T* end() { return values_.data() + size_; }
  constexpr const T* begin() const { return values_.data(); }
  constexpr const T* end() const { return values_.data() + size_; }
  constexpr T& operator[](std::size_t i) { return values_[i]; }
  constexpr const T& operator[](std::size_t i) const { return values_[i]; }
  constexpr T& front() { return values_[0]; }
  constexpr const T& front() const { return values_[0]; }
  constexpr T& back() { return values_[size_ - 1U]; }
  constexpr const T& back() const { return values_[size_ - 1U]; }

  constexpr void push_back(const T& value) {
    if (size_ == kCapacity) fail_internal("an inline list is full");
    values_[size_++] = value;
  }
  constexpr void insert(const T* before, const T& value) {
    const auto at = static_cast<std::size_t>(before - begin());
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
  }
  // Values that resizing adds are T().
  constexpr void resize(std::size_t size) {
    if (size > kCapacity) fail_internal("an inline list is full");
    for (std::size_t i = size_; i < size; ++i) values_[i] = T();
    size_ = static_cast<std::uint8_t>(size);
  }
  constexpr bool contains(const T& value) const { return std::find(begin(), end(), value) != end(); }

  friend constexpr bool operator==(const InlineList& a, const InlineList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend constexpr auto operator<=>(const InlineList& a, const InlineList& b) {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<T, kCapacity> values_{};
  std::uint8_t size_ = 0;
};

}  // namespace mirfak
