#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Returns the candidate nearest to `word` by edit distance (insert, delete, substitute, swap of neighbours; case does
// not count), the first of equally near candidates; "": none is likely, as more than a third of the word's letters
// differ (2 of 3 to 6 letters). If no candidate is one edit away, candidates are preferred that have the word's parts
// in their order, one of them a number, as "rtx-4090-pcie-8" has those of "rtx4090-8"; then the first that begins with
// the word and continues with a further part.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

// Returns the hint of a message about an unknown word: "did you mean 'tensor'?" with the nearest candidate, or
// `otherwise`.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates, std::string otherwise);

// Returns the excerpt that a message quotes from a text of unknown length and content: the first `longest` bytes or
// slightly fewer, cut between characters and followed by "..." if something is left out; control characters and bytes
// that are not UTF-8 become '?'.
std::string excerpt(std::string_view text, std::size_t longest = 60);

// Returns the text without the blanks at both ends.
std::string_view trimmed(std::string_view text, std::string_view blanks = " \t");

// Returns the text with its ASCII capitals as small letters.
std::string lower_case(std::string_view text);

// Returns the words of a name in small letters, split between letters, digits and other signs: "LLaMA3.1-8B" gives
// llama, 3, 1, 8, b.
std::vector<std::string> name_words(std::string_view name);

// Returns line `number` (from 1) of `text`, without its line end; "" if there is no such line.
std::string nth_line(std::string_view text, int number);

// "a, b or c"
std::string join_or(std::span<const std::string> words);

// Returns the text as one word of a POSIX shell, between single quotes.
std::string shell_quoted(std::string_view text);

// "0-3, 7" for {0, 1, 2, 3, 7}; ascending.
std::string ranges_text(const std::vector<int>& numbers);

}  // namespace mirfak
