#pragma once

#include <string_view>

namespace mirfak {

// The distance of a word from the name of an option, hyphens and underscores being one: fewer are nearer.
enum class Likeness : int {
  same_letters = 1,  // one or two letters differ, and the word is long enough for that to be a slip of the finger
  same_words = 2,    // one word of several is missing, added or shortened: tensor-parallel-size, max_seq_len
  none = 3,
};
Likeness likeness(std::string_view word, std::string_view name);

}  // namespace mirfak
