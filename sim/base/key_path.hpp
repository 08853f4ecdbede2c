#pragma once

#include "base/document.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// A place in a document: "cluster.nodes[0].count" is the keys cluster and nodes, the index 0, and the key count.
class KeyPath {
 public:
  struct Step {
    std::string key;
    std::optional<std::size_t> index;

    friend bool operator==(const Step&, const Step&) = default;
  };

  // Error(input) at `where` unless `text` is a path of keys and indices.
  KeyPath(std::string_view text, const Location& where);

  const std::vector<Step>& steps() const { return steps_; }
  bool contains(const KeyPath& other) const;  // true if `other` is this place or inside it

  // Puts `value` at this place in `root`. Mappings on the way are created, with `where` as their place; items of lists
  // must exist. Error(input) at `where` for a path that does not fit the document, or values nested too deep.
  void assign(Value& root, Value value, const Location& where) const;

 private:
  std::vector<Step> steps_;
};

}  // namespace mirfak
