#pragma once

#include "import/shell_script.hpp"
#include "import/shell_syntax.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

enum class ShellTruth : std::uint8_t { no, yes, unknown };

// A scalar is an array with the one index 0.
struct ShellVariable {
  bool array = false;
  bool associative = false;
  bool exported = false;
  std::vector<std::pair<std::string, ShellText>> items;

  const ShellText* find(const std::string& index) const;
  ShellText& at(const std::string& index);  // made where it is not there, in the order of indices
};

// A word of a command, expanded.
struct ShellField {
  ShellText text;
  std::uint32_t at = 0;
  bool vanishes = false;
};

// How a command ended: where control goes on, and whether it succeeded.
enum class ShellFlow : std::uint8_t { on, leave_loop, next_round, leave_function, leave_script };

class ShellInterpreter {
 public:
  ShellInterpreter(const ShellSetup& setup, ShellRun& run) : setup_(setup), run_(run) {}

  void start(const std::string& name, const std::string& text);

 private:
  // What a subshell has a copy of.
  struct State {
    std::map<std::string, ShellVariable> variables;
    std::vector<ShellText> parameters;
    std::string script;  // $0
  };

  [[noreturn]] void fail(std::uint32_t at, const std::string& what) const;
  void note(std::uint32_t at, std::string text);
  void step(std::uint32_t at);

  // --- commands
  ShellTruth run(const ShellNode& node);
  ShellTruth run_simple(const ShellNode& node);
  ShellTruth run_words(const ShellNode& node, std::vector<ShellField> fields);
  ShellTruth run_declare(const ShellNode& node);
  ShellTruth run_pipeline(const ShellNode& node);
  ShellTruth run_and_or(const ShellNode& node);
  ShellTruth run_conditional(const ShellNode& node);
  ShellTruth run_choice(const ShellNode& node);
  ShellTruth run_each(const ShellNode& node);
  ShellTruth run_counting(const ShellNode& node);
  ShellTruth run_loop(const ShellNode& node);
  ShellTruth run_function(const ShellNode& body, std::vector<ShellText> parameters);
  ShellTruth run_subshell(const ShellNode& node);
  ShellTruth run_text(const ShellText& text);
  ShellTruth run_file(const ShellField& name, std::vector<ShellText> parameters, bool own);
  bool leaves_loop(ShellTruth& result);
  bool decided(ShellTruth truth, std::uint32_t at);
  ShellTruth with_output(const std::vector<ShellRedirect>& redirects, const std::function<ShellTruth()>& act);

  // --- commands by name
  std::optional<ShellTruth> builtin(const ShellNode& node, const std::vector<ShellField>& all);
  std::optional<ShellTruth> builtin_on_parameters(const std::string& name, const std::vector<ShellField>& fields);
  std::optional<ShellTruth> filter(const std::string& name, const std::vector<ShellField>& fields);
  ShellTruth external(std::vector<ShellField> fields);
  bool nested_text(const std::vector<ShellField>& fields, ShellTruth& out);
  void echo(const std::vector<ShellField>& fields);
  void print_formatted(const std::vector<ShellField>& fields);
  ShellTruth read_variables(const ShellNode& node, const std::vector<ShellField>& fields);
  ShellTruth next_option(const std::vector<ShellField>& fields);
  void write(const ShellText& text);
  std::optional<ShellText> input_of(const ShellNode& node);

  // --- words
  std::vector<ShellField> expand(const std::vector<ShellWord>& words);
  void expand(const ShellWord& word, std::vector<ShellField>& out);
  ShellText expand_joined(const ShellWord& word);   // without splitting: assignments, documents
  ShellText expand_pattern(const ShellWord& word);  // quoted signs with a backslash in front
  struct Values {
    bool list = false;  // several words between quotes: @
    bool set = true;
    std::vector<ShellText> values;
    const ShellWord* instead = nullptr;  // what an operator puts in the place of the value
  };
  void expand_piece(const ShellPiece& piece, class ShellFieldBuilder& fields, bool inside);
  Values instead_of(const ShellPiece& piece);
  Values values_of(const ShellPiece& piece);
  Values parameter(const ShellPiece& piece);
  Values apply_operator(const ShellPiece& piece, Values values);
  ShellText replaced(const ShellPiece& piece, const ShellText& text);
  Values slice(const ShellPiece& piece, Values values);
  ShellText piece_text(const ShellPiece& piece);  // command, arithmetic
  ShellText output_of(const ShellText& command, std::uint32_t at);
  std::vector<ShellWord> braces(const ShellWord& word);

  // --- variables
  const ShellVariable* find(const std::string& name) const;
  ShellText value(const std::string& name) const;  // nothing set: lacks the name
  void assign(const ShellAssignment& assignment);
  void assign(const std::string& name, ShellText text, bool append = false);
  std::string index_of(const ShellVariable& variable, const ShellWord& index);
  std::string separators() const;  // IFS

  // --- arithmetic and conditions
  friend class ShellArithmetic;
  std::optional<std::int64_t> evaluate(const ShellText& expression, std::uint32_t at,
                                       std::vector<ShellMissing>& missing);
  ShellText evaluated(const ShellText& expression, std::uint32_t at);
  ShellTruth truth_of(const ShellText& expression, std::uint32_t at);
  ShellTruth condition(const ShellNode& node);
  ShellTruth condition_or(const ShellNode& node, std::size_t& at);
  ShellTruth condition_and(const ShellNode& node, std::size_t& at);
  ShellTruth condition_one(const ShellNode& node, std::size_t& at);
  ShellTruth compare(const ShellText& left, const std::string& op, const ShellText& right, const ShellText& pattern,
                     std::uint32_t at);
  ShellTruth test(const std::vector<ShellField>& fields, std::uint32_t at);
  ShellTruth test_range(const std::vector<ShellField>& fields, std::size_t begin, std::size_t end, std::uint32_t at);
  ShellTruth unary(const std::string& op, const ShellText& text);

  const ShellSetup& setup_;
  ShellRun& run_;
  ShellSources sources_;
  State state_;
  std::map<std::string, std::shared_ptr<const ShellNode>> functions_;
  std::vector<std::map<std::string, std::optional<ShellVariable>>> locals_;  // what function calls hide
  std::vector<ShellText*> outputs_;  // where what is printed goes; nullptr: to the terminal
  std::vector<ShellText> inputs_;    // of commands behind a |
  std::vector<ShellField> outer_;    // words of a command that runs a text: srun ... bash -c
  std::vector<std::shared_ptr<const ShellNode>> parsed_;
  ShellFlow flow_ = ShellFlow::on;
  int levels_ = 0;  // of loops that break or continue leave
  ShellTruth returned_ = ShellTruth::yes;
  ShellTruth last_ = ShellTruth::yes;  // $?
  std::int64_t steps_ = 0;
  int depth_ = 0;
  std::uint32_t here_ = 0;
  std::size_t option_letter_ = 0;  // of getopts
};

// Whether all of `text` fits a pattern of the shell: * ? [..], a backslash in front of a sign that stands for itself.
bool fits_shell_pattern(std::string_view text, std::string_view pattern);

}  // namespace mirfak
