#pragma once

#include "base/document.hpp"

#include <cstddef>
#include <string>

namespace mirfak::block {

// Where something stands in the text of a block: the byte that it begins at. Two syntax trees are equal wherever their
// parts stand.
struct Place {
  std::size_t offset = 0;

  friend bool operator==(const Place& /*a*/, const Place& /*b*/) { return true; }
};

// The text of blocks, which knows where its characters stand in their file.
class Source {
 public:
  // `text`: a scalar of a document that outlives this.
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
