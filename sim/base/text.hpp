#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// The candidate nearest to `word` by edit distance (insert, delete, substitute, swap of neighbours), or ""
// when none is near enough to be a likely misspelling (at most a third of the word's letters, at least 2).
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// "a, b or c"
std::string join_or(std::span<const std::string> words);

}  // namespace mirfak
