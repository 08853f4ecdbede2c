#pragma once

#include "base/document.hpp"

#include <cstddef>
#include <string>

namespace mirfak::block {

// Position of a syntax element in the text of a block: the byte at which it begins. All places compare equal, so that
// two syntax trees are equal whatever the positions of their parts.
struct Place {
  std::size_t offset = 0;

  friend bool operator==(const Place& /*a*/, const Place& /*b*/) { return true; }
};

// The text of blocks, which knows the positions of its characters in their file.
class Source {
 public:
  // `text`: a scalar of a document that outlives this object.
  explicit Source(const Node& text) : text_(text) {}

  const std::string& text() const { return text_.value().scalar; }
  const Node& node() const { return text_; }
  // Throws Error(input) at file:line:column of the place.
  [[noreturn]] void fail(Place at, std::string message, std::string hint = {}) const {
    text_.fail_at(at.offset, std::move(message), std::move(hint));
  }

 private:
  Node text_;
};

}  // namespace mirfak::block
