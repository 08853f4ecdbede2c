// Edits of a script's text that keep its form: a word is delimited as in bash, and what is added looks like what stands
// beside it.
//
//   --sequence-parallel \      is a line of a command: what is added before it ends in a backslash too
//   --sequence-parallel        is an element of an array: what is added before it is a line without a backslash
//   ARGS="--bf16 --swiglu"     is a string: what is added stands after a blank

#include "import/script_text.hpp"

#include <algorithm>

namespace mirfak {

namespace {

bool is_blank(char sign) { return sign == ' ' || sign == '\t' || sign == '\r'; }

std::size_t line_begin(std::string_view text, std::size_t at) {
  const std::size_t newline = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

std::size_t line_end(std::string_view text, std::size_t at) { return std::min(text.find('\n', at), text.size()); }

bool all_blank(std::string_view text) { return std::all_of(text.begin(), text.end(), is_blank); }

// True if the line that ends before `end` continues on the next line.
bool continues(std::string_view text, std::size_t end) { return end > 0 && text[end - 1] == '\\'; }

// Returns the end of the last word before the line that begins at `begin`, without a continuation.
std::size_t end_of_line_before(std::string_view text, std::size_t begin) {
  std::size_t end = begin == 0 ? 0 : begin - 1;
  if (continues(text, end)) --end;
  while (end > 0 && is_blank(text[end - 1])) --end;
  return end;
}

// True if nothing but a comment or a continuation follows on the line.
bool stands_alone(std::string_view text, std::size_t end) {
  std::string_view after = text.substr(end, line_end(text, end) - end);
  if (after.ends_with('\\')) after.remove_suffix(1);
  const std::size_t rest = after.find_first_not_of(" \t\r");
  return rest == std::string_view::npos || after[rest] == '#';
}

// Returns the offset after the sign that closes a group: "$(" ")", "${" "}".
std::size_t closed(std::string_view text, std::size_t at, char open, char close) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == open) {
      ++depth;
    } else if (text[at] == close && --depth == 0) {
      return at + 1;
    }
  }
  return text.size();
}

std::size_t after_quotes(std::string_view text, std::size_t at) {
  const char quote = text[at++];
  for (; at < text.size() && text[at] != quote; ++at) {
    if (quote == '"' && text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

}  // namespace

std::string edited(std::string_view text, const TextEdit& edit) {
  std::string out(text.substr(0, edit.range.begin));
  out += edit.text;
  out += text.substr(edit.range.end);
  return out;
}

std::size_t offset_of(std::string_view text, const Location& where) {
  std::size_t at = 0;
  for (int line = 1; line < where.line; ++line) {
    at = text.find('\n', at);
    if (at == std::string_view::npos) return text.size();
    ++at;
  }
  return std::min(text.size(), at + static_cast<std::size_t>(std::max(1, where.column)) - 1);
}

int line_at(std::string_view text, std::size_t offset) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

std::optional<TextRange> written_range(const ArgumentWord& word, std::size_t begin, std::string_view text,
                                       std::string_view file) {
  std::size_t at = 0;
  for (const WrittenPart& part : word.parts) {
    if (begin >= at + part.size) {
      at += part.size;
      continue;
    }
    const std::size_t size = word.text.size() - begin;
    if (begin < at || at + part.size != word.text.size() || part.where.file != file) return std::nullopt;
    const std::size_t from = offset_of(text, part.where) + (begin - at);
    if (text.substr(from, size) != std::string_view(word.text).substr(begin)) return std::nullopt;
    return TextRange{from, from + size};
  }
  return std::nullopt;
}

TextRange word_at(std::string_view text, std::size_t begin, bool in_string) {
  std::size_t at = begin;
  while (at < text.size()) {
    const char sign = text[at];
    if (is_blank(sign) || sign == '\n') break;
    if (sign == '\\' && at + 1 < text.size()) {
      if (text[at + 1] == '\n') break;
      at += 2;
    } else if (sign == '$' && at + 1 < text.size() && (text[at + 1] == '(' || text[at + 1] == '{')) {
      at = closed(text, at + 1, text[at + 1], text[at + 1] == '(' ? ')' : '}');
    } else if (sign == '"' || sign == '\'') {
      if (in_string) break;
      at = after_quotes(text, at);
    } else if (!in_string && std::string_view(";&|<>()").find(sign) != std::string_view::npos) {
      break;
    } else {
      ++at;
    }
  }
  return {begin, std::min(at, text.size())};
}

std::size_t next_word(std::string_view text, std::size_t from) {
  while (from < text.size()) {
    if (is_blank(text[from]) || text[from] == '\n') {
      ++from;
    } else if (text[from] == '\\' && from + 1 < text.size() && text[from + 1] == '\n') {
      from += 2;
    } else {
      break;
    }
  }
  return from;
}

TextEdit removal(std::string_view text, const TextRange& words) {
  const std::size_t first = line_begin(text, words.begin);
  const std::size_t last = line_end(text, words.end);
  const bool begins = all_blank(text.substr(first, words.begin - first));
  const bool goes_on = continues(text, last);
  const bool alone = begins && stands_alone(text, words.end);
  const bool ends_command = !goes_on && first > 0 && continues(text, first - 1);
  if (alone && !ends_command) return {{first, std::min(last + 1, text.size())}, ""};
  const bool closes = words.end < last && std::string_view("\"')").find(text[words.end]) != std::string_view::npos;
  if (begins && first > 0 && (alone || closes))
    return {{end_of_line_before(text, first), alone ? last : words.end}, ""};
  std::size_t begin = words.begin;
  std::size_t end = words.end;
  while (begin > first && is_blank(text[begin - 1])) --begin;
  const bool parted = begin < words.begin && begin > first;
  if (parted) return {{begin, end}, ""};
  while (end < last && is_blank(text[end])) ++end;
  return {{words.begin, end}, ""};
}

TextEdit insertion_beside(std::string_view text, const TextRange& words, const std::string& added, Side side) {
  const std::size_t first = line_begin(text, words.begin);
  const std::string indent(text.substr(first, words.begin - first));
  if (!all_blank(indent)) return {{words.end, words.end}, " " + added};
  const std::size_t last = line_end(text, words.end);
  const bool goes_on = continues(text, last);
  const bool went_on = first > 0 && continues(text, first - 1);
  if (side == Side::before) return {{first, first}, indent + added + (goes_on || went_on ? " \\\n" : "\n")};
  if (!stands_alone(text, words.end)) return {{words.end, words.end}, " " + added};
  if (goes_on) return {{last - 1, last}, "\\\n" + indent + added + " \\"};
  if (went_on) return {{words.end, words.end}, " \\\n" + indent + added};
  return {{last, last}, "\n" + indent + added};
}

TextEdit insertion_after(std::string_view text, std::size_t end, const std::string& added) {
  const std::size_t first = line_begin(text, end);
  const std::string_view line = text.substr(first, end - first);
  const std::size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
  const bool continued = first > 0 && continues(text, first - 1);
  if (!continued) return {{end, end}, " " + added};
  return {{end, end}, " \\\n" + std::string(line.substr(0, indent)) + added};
}

TextEdit line_before(std::string_view text, std::size_t offset, const std::string& added) {
  std::size_t first = line_begin(text, offset);
  while (first > 0 && continues(text, first - 1)) first = line_begin(text, first - 1);
  const std::size_t indent = std::min(text.find_first_not_of(" \t", first), text.size());
  return {{first, first}, std::string(text.substr(first, indent - first)) + added + "\n"};
}

}  // namespace mirfak
