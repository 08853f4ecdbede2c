// Braces: {a,b} and {1..8}, before any other expansion of a word. Quoted text, or text after a dollar sign, is one sign
// here.

#include "import/shell_interpreter.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace mirfak {

namespace {

constexpr std::size_t kMostBraceWords = 100'000;
constexpr std::size_t kMostBraceSigns = 20'000;

using Signs = std::vector<ShellPiece>;

bool is_sign(const ShellPiece& piece, char sign) {
  return piece.kind == ShellPieceKind::literal && !piece.quoted && piece.text.chars.size() == 1 &&
         piece.text.chars[0] == sign;
}

Signs signs_of(const ShellWord& word) {
  Signs out;
  for (const ShellPiece& piece : word.pieces) {
    if (piece.kind != ShellPieceKind::literal || piece.quoted) {
      out.push_back(piece);
      continue;
    }
    for (std::size_t i = 0; i < piece.text.size(); ++i) {
      ShellPiece sign;
      sign.at = piece.text.at(i);
      sign.text = piece.text.part(i, 1);
      out.push_back(std::move(sign));
    }
    if (piece.text.empty()) out.push_back(piece);
  }
  return out;
}

ShellWord word_of(const Signs& signs, std::uint32_t at) {
  ShellWord out;
  out.at = at;
  for (const ShellPiece& sign : signs) {
    const bool joins = !out.pieces.empty() && out.pieces.back().kind == ShellPieceKind::literal &&
                       !out.pieces.back().quoted && sign.kind == ShellPieceKind::literal && !sign.quoted;
    if (joins) out.pieces.back().text.append(sign.text);
    if (!joins) out.pieces.push_back(sign);
  }
  return out;
}

// Returns the index of the '}' that closes the '{' at `open`.
std::size_t closing(const Signs& signs, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < signs.size(); ++i) {
    if (is_sign(signs[i], '{')) ++depth;
    if (is_sign(signs[i], '}') && --depth == 0) return i;
  }
  return std::string::npos;
}

std::vector<Signs> at_commas(const Signs& signs, std::size_t begin, std::size_t end) {
  std::vector<Signs> out(1);
  int depth = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (is_sign(signs[i], '{')) ++depth;
    if (is_sign(signs[i], '}')) --depth;
    if (is_sign(signs[i], ',') && depth == 0) {
      out.emplace_back();
    } else {
      out.back().push_back(signs[i]);
    }
  }
  return out;
}

std::optional<std::int64_t> number_in_braces(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t out = 0;
  const char* const end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc{} || behind != end) return std::nullopt;
  return out;
}

bool padded(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0';
}

// Returns the words of 1..8, 08..12, a..e or 0..64..8; nullopt: the text is no sequence.
std::optional<std::vector<std::string>> sequence(std::string_view inside, bool& too_long) {
  const std::size_t dots = inside.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const std::size_t second = std::min(inside.find("..", dots + 2), inside.size());
  const std::string_view first = inside.substr(0, dots);
  const std::string_view last = inside.substr(dots + 2, second - dots - 2);
  const auto by =
      second == inside.size() ? std::optional<std::int64_t>(1) : number_in_braces(inside.substr(second + 2));
  auto from = number_in_braces(first);
  auto to = number_in_braces(last);
  const bool letters = !from && !to && first.size() == 1 && last.size() == 1 &&
                       std::isalpha(static_cast<unsigned char>(first[0])) != 0 &&
                       std::isalpha(static_cast<unsigned char>(last[0])) != 0;
  if (letters) {
    from = first[0];
    to = last[0];
  }
  if (!from || !to || !by || std::abs(*from) > 1'000'000'000 || std::abs(*to) > 1'000'000'000) return std::nullopt;
  const std::size_t width = !letters && (padded(first) || padded(last)) ? std::max(first.size(), last.size()) : 0;
  const std::int64_t step = std::max<std::int64_t>(1, std::abs(*by % 1'000'000'000)) * (*to < *from ? -1 : 1);
  std::vector<std::string> out;
  for (std::int64_t i = *from; step > 0 ? i <= *to : i >= *to; i += step) {
    if (out.size() >= kMostBraceWords) {
      too_long = true;
      return out;
    }
    out.push_back(letters ? std::string(1, static_cast<char>(i)) : fmt::format("{:0{}}", i, width));
  }
  return out;
}

// Appends the words that the signs expand to; false: too many.
bool expand_braces(const Signs& signs, std::vector<Signs>& out, int depth, std::size_t& left) {
  if (depth > 32 || left < signs.size() + 1) return false;
  left -= signs.size() + 1;
  for (std::size_t open = 0; open < signs.size(); ++open) {
    if (!is_sign(signs[open], '{')) continue;
    const std::size_t close = closing(signs, open);
    if (close == std::string::npos) {
      if (left < signs.size()) return false;
      left -= signs.size();
      continue;
    }
    if (left < close - open) return false;
    left -= close - open;
    std::vector<Signs> parts = at_commas(signs, open + 1, close);
    bool too_long = false;
    if (parts.size() == 1) {
      std::string inside;
      bool plain = true;
      for (const ShellPiece& sign : parts.front()) {
        plain = plain && sign.kind == ShellPieceKind::literal && !sign.quoted;
        inside += sign.text.chars;
      }
      const auto values = plain ? sequence(inside, too_long) : std::nullopt;
      if (!values) continue;
      if (too_long) return false;
      parts.clear();
      for (const std::string& value : *values) {
        parts.emplace_back(1);
        parts.back().back().text = shell_text(value, signs[open].at);
        parts.back().back().at = signs[open].at;
      }
    }
    std::vector<Signs> middles;
    for (const Signs& part : parts) {
      if (!expand_braces(part, middles, depth + 1, left)) return false;
    }
    std::vector<Signs> ends;
    if (!expand_braces(Signs(signs.begin() + static_cast<std::ptrdiff_t>(close) + 1, signs.end()), ends, depth + 1,
                       left))
      return false;
    for (const Signs& middle : middles) {
      for (const Signs& end : ends) {
        Signs one(signs.begin(), signs.begin() + static_cast<std::ptrdiff_t>(open));
        one.insert(one.end(), middle.begin(), middle.end());
        one.insert(one.end(), end.begin(), end.end());
        if (out.size() >= kMostBraceWords || left < one.size()) return false;
        left -= one.size();
        out.push_back(std::move(one));
      }
    }
    return true;
  }
  out.push_back(signs);
  return true;
}

}  // namespace

std::vector<ShellWord> ShellInterpreter::braces(const ShellWord& word) {
  bool open = false;
  std::size_t size = 0;
  for (const ShellPiece& piece : word.pieces) {
    if (piece.kind != ShellPieceKind::literal || piece.quoted) continue;
    open = open || piece.text.chars.find('{') != std::string::npos;
    size += piece.text.size();
  }
  if (!open) return {word};
  std::size_t left = 400'000;
  std::vector<Signs> found;
  if (size > kMostBraceSigns || !expand_braces(signs_of(word), found, 0, left))
    fail(word.at, "too many words between braces");
  std::vector<ShellWord> out;
  for (const Signs& signs : found) {
    step(word.at);
    spend(64 * signs.size(), word.at);
    out.push_back(word_of(signs, word.at));
  }
  return out;
}

}  // namespace mirfak
