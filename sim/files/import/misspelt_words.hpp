#pragma once

#include <string_view>

namespace mirfak {

// Distance of a word from the name of an option, where hyphens and underscores are equal: a smaller value is nearer.
enum class Likeness : int {
  same_letters = 1,  // one or two letters differ, and the word is long enough for that to be a typing error
  same_words = 2,    // one word of several is missing, added or shortened: tensor-parallel-size, max_seq_len
  none = 3,
};
Likeness likeness(std::string_view word, std::string_view name);

}  // namespace mirfak
