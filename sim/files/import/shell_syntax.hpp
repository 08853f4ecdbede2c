#pragma once

#include "import/shell_text.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// The syntax of a script: POSIX shell, and the part of bash that launch scripts use.

struct ShellNode;
struct ShellWord;

enum class ShellPieceKind : std::uint8_t { literal, parameter, command, arithmetic, process };

// A part of a word.
struct ShellPiece {
  ShellPieceKind kind = ShellPieceKind::literal;
  bool quoted = false;
  bool writes = false;  // process: >( )
  std::uint32_t at = 0;
  ShellText text;  // literal: the text itself; command, arithmetic: the text inside
  // parameter: ${#name[index]op...}
  std::string name;
  bool length = false;    // ${#name}
  bool indirect = false;  // ${!name}
  std::shared_ptr<ShellWord> index;
  std::string op;  // ":-", "-", ":=", "=", ":?", "?", ":+", "+", "#", "##", "%", "%%", "/", "//", "/#", "/%", ":", "^",
                   // "^^", ",", ",,"
  std::shared_ptr<ShellWord> first;   // the word after the operator
  std::shared_ptr<ShellWord> second;  // the word after the next sign: a replacement, a length
};

struct ShellWord {
  std::vector<ShellPiece> pieces;
  std::uint32_t at = 0;

  // Returns the text of a word without quotes and expansions; nullopt if the word has any.
  std::optional<std::string> plain() const;
};

struct ShellAssignment {
  std::string name;
  std::uint32_t at = 0;
  bool append = false;
  std::shared_ptr<ShellWord> index;  // name[index]=
  bool array = false;                // name=(...)
  struct Element {
    std::shared_ptr<ShellWord> key;  // [key]=value
    bool append = false;             // [key]+=value
    ShellWord value;
  };
  std::vector<Element> elements;
  ShellWord value;
};

struct ShellRedirect {
  std::string descriptor;  // the number in front: "2" of 2>
  std::string op;          // "<", ">", ">>", "<<", "<<<", ">&", "&>", ...
  ShellWord target;
  std::shared_ptr<ShellWord> document;  // <<: the document's text
};

enum class ShellNodeKind : std::uint8_t {
  simple,       // words, assignments
  declare,      // export, readonly, declare, typeset, local: words are options and plain names
  pipeline,     // children
  and_or,       // children, operators
  sequence,     // children
  conditional,  // if: children are condition, branch, condition, branch, ..., else
  choice,       // case: word, items
  each,         // for name in words: child
  counting,     // for ((a; b; c)): child
  loop,         // while, until: condition, body
  group,        // { ...; }
  subshell,     // ( ... )
  function,     // name, child
  arithmetic,   // (( ... ))
  condition,    // [[ ... ]]
};

struct ShellConditionToken {
  std::string op;  // "&&", "||", "!", "(", ")", or "" for a word
  ShellWord word;
};

struct ShellCase {
  std::vector<ShellWord> patterns;
  std::shared_ptr<const ShellNode> body;
  std::string end;  // ";;", ";&", ";;&"
};

struct ShellNode {
  ShellNodeKind kind = ShellNodeKind::simple;
  std::uint32_t at = 0;
  std::uint32_t last = 0;   // simple: place of the last byte of the last word
  bool negated = false;     // ! in front of a pipeline
  bool until = false;       // loop
  bool background = false;  // subshell: command &
  bool has_words = false;   // each: "in" is there
  std::string name;         // function, each; declare: its command
  std::vector<ShellWord> words;
  std::vector<ShellAssignment> assignments;
  std::vector<ShellRedirect> redirects;
  std::vector<std::string> operators;
  std::vector<ShellText> expressions;  // arithmetic: one, counting: three
  std::vector<ShellConditionToken> tokens;
  std::vector<ShellCase> cases;
  std::vector<std::shared_ptr<const ShellNode>> children;
};

// Parses a text into its syntax tree. Error(input) at its place for text that is no script, or that is outside of the
// understood part of bash.
std::shared_ptr<const ShellNode> parse_shell(const ShellText& text, const ShellSources& sources);

// Parses all of a text as one word, blanks included: for indices of arrays.
ShellWord parse_shell_word(const ShellText& text, const ShellSources& sources);

// Parses a text in which $, ` and \ act as between double quotes: for documents (<<) and arithmetic.
ShellWord parse_shell_quoted(const ShellText& text, const ShellSources& sources);

}  // namespace mirfak
