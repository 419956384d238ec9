// A text that is nearly always short, kept in place: a verdict is made a million times a second,
// and asking for memory would be a third of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace runner::arithmetic {

class ShortText {
 public:
  static constexpr std::size_t kInPlace = 112;

  ShortText() {}  // leaves the characters as they are
  ShortText(std::string_view text) { assign(text); }
  ShortText(const ShortText& other) { assign(other); }
  ShortText(ShortText&& other) noexcept { take(other); }
  ShortText& operator=(const ShortText& other) {
    if (this != &other) assign(other);
    return *this;
  }
  ShortText& operator=(ShortText&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }
  ~ShortText() = default;

  void assign(std::string_view text) { assign({text}); }

  // The parts in a row; none of them is in here.
  void assign(std::initializer_list<std::string_view> parts) {
    std::size_t size = 0;
    for (const std::string_view part : parts) size += part.size();
    if (size > kInPlace) long_ = std::make_unique<char[]>(size);
    char* to = size > kInPlace ? long_.get() : in_place_.data();
    for (const std::string_view part : parts) to = std::copy(part.begin(), part.end(), to);
    size_ = size;
  }

  // To write up to kInPlace characters to, before fill() says how many they are.
  char* room() { return in_place_.data(); }
  void fill(std::size_t size) { size_ = size; }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  const char* data() const { return size_ > kInPlace ? long_.get() : in_place_.data(); }
  operator std::string_view() const { return {data(), size_}; }
  std::string str() const { return std::string(data(), size_); }

  friend bool operator==(const ShortText& left, std::string_view right) {
    return std::string_view(left) == right;
  }

 private:
  void take(ShortText& other) {
    size_ = std::exchange(other.size_, 0);
    long_ = std::move(other.long_);
    if (size_ <= kInPlace) std::memcpy(in_place_.data(), other.in_place_.data(), size_);
  }

  std::size_t size_ = 0;
  std::unique_ptr<char[]> long_;  // where it is longer than the place
  std::array<char, kInPlace> in_place_;
};

}  // namespace runner::arithmetic
