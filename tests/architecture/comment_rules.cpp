#include "source_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string_view>

namespace mirfak::architecture {

namespace {

// A language by the end of its files' names, with the mark that makes the rest of a line a comment.
struct Language {
  std::string_view ending;
  std::string_view mark;
  bool docstrings = false;
};
constexpr std::array<Language, 9> kLanguages{{{".cpp", "//"},
                                              {".hpp", "//"},
                                              {".cu", "//"},
                                              {".js", "//"},
                                              {".py", "#", true},
                                              {".sh", "#"},
                                              {".cmake", "#"},
                                              {"CMakeLists.txt", "#"},
                                              {".yaml", "#"}}};
constexpr Language kScript{"", "#"};

constexpr std::array<std::string_view, 7> kQuestions{"What", "Of", "Whether", "How", "Where", "Which", "That"};
constexpr std::string_view kDocstring = "\"\"\"";
// The Python package's docstrings are strings of C++.
constexpr std::string_view kPythonRoom = "sim/faces/python/";

// A script is a file of .ci/ without an extension.
const Language* language_of(std::string_view path) {
  for (const Language& language : kLanguages) {
    if (path.ends_with(language.ending)) return &language;
  }
  const bool script = path.starts_with(".ci/") && path.find('.', 1) == std::string_view::npos;
  return script ? &kScript : nullptr;
}

// A comment in a line. Comments of lines that follow each other are one comment if their marks stand in one column.
struct Comment {
  std::size_t column = 0;
  std::string_view text;
  bool docstring = false;
};

std::optional<Comment> comment_of(std::string_view line, const Language& language) {
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(first);
  if (rest.starts_with(language.mark)) return Comment{first, rest.substr(language.mark.size())};
  if (language.docstrings && rest.starts_with(kDocstring)) return Comment{first, rest.substr(kDocstring.size()), true};
  for (std::size_t at = line.find(language.mark, first); at != std::string_view::npos;
       at = line.find(language.mark, at + 1)) {
    const std::string_view text = line.substr(at + language.mark.size());
    if (line[at - 1] == ' ' && text.starts_with(' ')) return Comment{at, text};
  }
  return std::nullopt;
}

// Returns the word at the beginning of a comment, without more marks in front; "" if it begins otherwise.
std::string_view first_word(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t/#!<*"), text.size()));
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  return text.substr(0, static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_letter) - text.begin()));
}

// Returns the word that a docstring of a line begins with, if no docstring may begin with it; "": there is none.
std::string_view question_of_docstring(std::string_view line) {
  for (const std::string_view word : kQuestions) {
    if (line.find(fmt::format("\"{} ", word)) != std::string_view::npos) return word;
  }
  return "";
}

std::string violation(std::string_view kind, const SourceFile& file, int line, std::string_view word) {
  return fmt::format(
      "{}:{}: a {} begins with \"{}\": let it begin with its noun or verb (\"The ...\", \"Returns ...\", \"True if "
      "...\")",
      file.path, line, kind, word);
}

}  // namespace

std::vector<std::string> comment_violations(const SourceFile& file) {
  const Language* language = language_of(file.path);
  if (language == nullptr) return {};
  std::vector<std::string> out;
  std::optional<std::size_t> column;  // of the comment that a next line may continue
  std::string_view rest = file.text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::optional<Comment> comment = comment_of(line, *language);
    const std::string_view word = comment ? first_word(comment->text) : std::string_view();
    const bool begins = comment && (comment->docstring || column != comment->column);
    if (begins && std::find(kQuestions.begin(), kQuestions.end(), word) != kQuestions.end()) {
      out.push_back(violation("comment", file, number, word));
    }
    const std::string_view asked = file.path.starts_with(kPythonRoom) ? question_of_docstring(line) : "";
    if (!asked.empty()) out.push_back(violation("docstring", file, number, asked));
    const bool goes_on =
        comment && !comment->docstring && comment->text.find_first_not_of(' ') != std::string_view::npos;
    column = goes_on ? std::optional(comment->column) : std::nullopt;
  }
  return out;
}

}  // namespace mirfak::architecture
