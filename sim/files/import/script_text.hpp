#pragma once

#include "import/argument_words.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mirfak {

// Bytes of a text from `begin` to `end`.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// A change of a text: `text` in place of a range.
struct TextEdit {
  TextRange range;
  std::string text;
};
std::string edited(std::string_view text, const TextEdit& edit);

// Returns the offset of a place in its file's text.
std::size_t offset_of(std::string_view text, const Location& where);
// Returns the line of an offset, from 1.
int line_at(std::string_view text, std::size_t offset);

// Returns the range in which a file holds the bytes of a word from `begin` on; nullopt if the bytes stand in several
// places or in another file, or if the file's bytes are others, as for a computed value.
std::optional<TextRange> written_range(const ArgumentWord& word, std::size_t begin, std::string_view text,
                                       std::string_view file);

// Returns the range of the word that begins at an offset, as bash delimits words. `in_string`: the word stands between
// the quotes of a string, at whose end it ends too.
TextRange word_at(std::string_view text, std::size_t begin, bool in_string);
// Returns the offset of the next word: after blanks, line ends and continuations.
std::size_t next_word(std::string_view text, std::size_t from);

// Returns the edit that removes words, with the line on which they stand alone and with the blanks between words.
TextEdit removal(std::string_view text, const TextRange& words);
// Returns the edit that adds words beside other words: on a line of their own if those begin a line, else after them.
enum class Side : std::uint8_t { before, after };
TextEdit insertion_beside(std::string_view text, const TextRange& words, const std::string& added, Side side);
// Returns the edit that adds words after the word that ends before `end`, on a line of their own if that word begins a
// line.
TextEdit insertion_after(std::string_view text, std::size_t end, const std::string& added);
// Returns the edit that adds a line before the command that the line of `offset` belongs to.
TextEdit line_before(std::string_view text, std::size_t offset, const std::string& added);

}  // namespace mirfak
