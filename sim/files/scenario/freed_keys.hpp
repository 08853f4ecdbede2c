#pragma once

#include "base/document.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Keys of `strategy` that a search chooses although the scenario states them: `search.free` and `search.keep`. What is
// stated is then the baseline of the search.
struct FreedKeys {
  bool all = false;               // free: all
  std::vector<std::string> free;  // keys to free
  std::vector<std::string> keep;  // keys that stay as stated; without `free`, all others are freed

  bool any() const { return all || !free.empty() || !keep.empty(); }
  // True if the search does not keep to the stated value of a key. The sizes of groups divide one number of GPUs: if
  // one of them is free, `data` is, and so is what only fits the stated sizes (layers of each chunk, groups of ranks).
  bool frees(std::string_view key) const;

  friend bool operator==(const FreedKeys&, const FreedKeys&) = default;
};

// Read `search.free` ("all", or keys) and `search.keep`. Error(input) for a key that a search cannot choose.
void read_free(const Node& node, FreedKeys& out);
void read_keep(const Node& node, FreedKeys& out);

// Returns the keys that a document frees; none if it has no section `search` with one of the two.
FreedKeys freed_keys(const Document& document);

// Returns the document without the stated values of freed keys. Appends a note for each that a search does not choose
// and leaves at its default.
Document without_freed(const Document& document, const FreedKeys& freed, std::vector<std::string>& notes);

}  // namespace mirfak
