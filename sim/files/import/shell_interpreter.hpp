#pragma once

#include "import/shell_script.hpp"
#include "import/shell_syntax.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
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
  bool integer = false;           // assigned text is evaluated as arithmetic
  bool fixed = false;             // read-only
  char letters = '\0';            // 'l', 'u': assigned text becomes lower or upper case
  std::uint32_t assigned_at = 0;  // place of the last assignment
  std::vector<std::pair<std::string, ShellText>> items;
  bool uncertain = false;           // the number of items is not known
  std::vector<ShellMissing> lacks;  // an array without elements: unset values that could be its elements

  const ShellText* find(const std::string& index) const;
  ShellText& at(const std::string& index);  // created if it is missing, in the order of indices
  std::int64_t end() const;                 // one past the last index
  // Returns the items as bash lists them: an associative array in the order of its hash table.
  std::vector<std::pair<std::string, ShellText>> listed() const;
};

// An expanded word of a command.
struct ShellField {
  ShellText text;
  std::uint32_t at = 0;
  bool vanishes = false;
  bool seeks = false;  // a pattern for which bash searches names of files
};

// The flow of control after a command.
enum class ShellFlow : std::uint8_t { on, leave_loop, next_round, leave_function, leave_script };

class ShellInterpreter {
 public:
  ShellInterpreter(const ShellSetup& setup, ShellRun& run) : setup_(setup), run_(run) {}

  void start(const std::string& name, const std::string& text);

 private:
  // The state that a subshell copies.
  struct State {
    std::map<std::string, ShellVariable> variables;
    std::map<std::string, std::shared_ptr<const ShellNode>> functions;
    std::vector<ShellText> parameters;
    std::string script;                // $0
    std::string folder;                // "": the script's start folder, "a/b": below that folder, "/a": from the root
    std::string last_folder;           // $OLDPWD
    std::vector<std::string> folders;  // stack of pushd
    bool astray = false;               // the name of the folder is not known
    bool ends_on_error = false;        // set -e
    bool needs_set = false;            // set -u
    bool any_of_pipeline = false;      // set -o pipefail
    bool extended_patterns = false;
    bool exports_all = false;  // set -a
  };

  [[noreturn]] void fail(std::uint32_t at, const std::string& what) const;
  void note(std::uint32_t at, std::string text);
  void step(std::uint32_t at);

  // --- commands
  ShellTruth run(const ShellNode& node);
  ShellTruth run_kind(const ShellNode& node);
  ShellTruth run_guarded(const ShellNode& node);  // a failure does not end the script
  ShellTruth run_simple(const ShellNode& node);
  ShellTruth run_words(const ShellNode& node, std::vector<ShellField> fields);
  ShellTruth run_declare(const ShellNode& node);
  ShellTruth run_pipeline(const ShellNode& node);
  ShellTruth run_parts(const ShellNode& node);
  ShellTruth run_and_or(const ShellNode& node);
  ShellTruth run_conditional(const ShellNode& node);
  ShellTruth run_choice(const ShellNode& node);
  ShellTruth run_each(const ShellNode& node);
  ShellTruth run_counting(const ShellNode& node);
  ShellTruth run_loop(const ShellNode& node);
  ShellTruth run_function(const std::string& name, const ShellNode& body, std::vector<ShellText> parameters);
  ShellTruth run_subshell(const ShellNode& node);
  ShellTruth run_text(const ShellText& text);
  ShellTruth run_apart(const std::function<ShellTruth()>& act);  // in a subshell
  ShellTruth run_file(const ShellField& name, std::vector<ShellText> parameters, bool own);
  bool leaves_loop();
  bool decided(ShellTruth truth, std::uint32_t at);
  void end_on_error(const ShellNode& node, ShellTruth out);
  ShellTruth failed(int code);  // returns ShellTruth::no and sets $?
  void finish();                // trap ... EXIT

  // --- commands by name
  std::optional<ShellTruth> builtin(const ShellNode& node, const std::vector<ShellField>& all);
  std::optional<ShellTruth> builtin_of_flow(const std::string& name, const std::vector<ShellField>& fields);
  std::optional<ShellTruth> builtin_of_folders(const std::string& name, const std::vector<ShellField>& fields);
  std::optional<ShellTruth> builtin_of_texts(const ShellNode& node, const std::vector<ShellField>& all);
  ShellTruth set_options(const std::vector<ShellField>& fields);
  ShellTruth switch_option(const std::vector<ShellField>& fields);  // shopt
  ShellTruth unset(const std::vector<ShellField>& fields);
  ShellTruth go_to(const ShellText& folder, std::uint32_t at);
  ShellTruth echo(const std::vector<ShellField>& fields);
  ShellTruth print_formatted(const std::vector<ShellField>& fields);
  ShellTruth read_variables(const std::vector<ShellField>& fields);
  ShellTruth read_lines(const std::vector<ShellField>& fields);
  ShellTruth next_option(const std::vector<ShellField>& fields);

  // --- programs
  std::optional<ShellTruth> filter(const std::string& name, const std::vector<ShellField>& fields);
  std::optional<ShellTruth> filter_of_words(const std::string& name, const std::vector<ShellField>& fields);
  std::optional<ShellTruth> filter_of_paths(const std::string& name, const std::vector<ShellField>& fields);
  std::optional<ShellTruth> filter_by_substitutions(const std::vector<ShellField>& fields);
  std::optional<ShellTruth> filter_of_input(const std::string& name, const std::vector<ShellField>& fields);
  ShellTruth external(std::vector<ShellField> fields);
  ShellTruth started(const std::vector<ShellField>& fields);
  bool nested_text(const std::vector<ShellField>& fields, ShellTruth& out);
  std::optional<std::size_t> nested_at(const std::vector<ShellField>& fields);
  ShellTruth with_environment(const std::vector<ShellField>& fields, std::size_t& first,
                              const std::function<ShellTruth()>& act);
  ShellTruth remote_text(const std::vector<ShellField>& fields);

  // --- files
  ShellTruth with_output(const std::vector<ShellRedirect>& redirects, const std::function<ShellTruth()>& act);
  std::optional<ShellText> input_from(const ShellRedirect& redirect);
  std::optional<ShellTruth> change_files(const std::string& name, const std::vector<ShellField>& fields);
  std::string path_of(const ShellText& name) const;  // "": not known
  ShellText folder_text() const;
  std::optional<ShellText> text_of_file(const ShellText& name, std::uint32_t at);
  void write_file(const ShellText& name, ShellText text, bool appends, std::uint32_t at);
  void copy_file(const ShellText& from, const ShellText& to, bool moves, std::uint32_t at);
  void write(const ShellText& text);

  // --- words
  std::vector<ShellField> expand(const std::vector<ShellWord>& words);
  void expand(const ShellWord& word, std::vector<ShellField>& out);
  ShellText expand_joined(const ShellWord& word);   // without splitting: for assignments and documents
  ShellText expand_pattern(const ShellWord& word);  // quoted signs get a backslash before them
  struct Values {
    bool list = false;  // several words between quotes: @
    bool set = true;
    std::vector<ShellText> values;
    const ShellWord* instead = nullptr;      // the word with which an operator replaces the value
    std::vector<std::int64_t> indices = {};  // indices of the elements of an array
    std::vector<ShellMissing> absent = {};   // values of an array that is not set
  };
  void expand_piece(const ShellPiece& piece, class ShellFieldBuilder& fields, bool inside);
  Values instead_of(const ShellPiece& piece);
  Values values_of(const ShellPiece& piece);
  Values parameter(const ShellPiece& piece);
  Values parameter_value(const ShellPiece& piece);  // before operators are applied
  Values special_parameter(const ShellPiece& piece);
  Values array_values(const ShellPiece& piece, bool list);
  Values indirect(const ShellPiece& piece);
  std::optional<ShellText> dynamic(const std::string& name, std::uint32_t at) const;  // $PWD, $LINENO, $BASH_SOURCE
  ShellText joined(const std::vector<ShellText>& values, std::uint32_t at) const;     // joined as "$*" is
  Values apply_operator(const ShellPiece& piece, Values values);
  Values default_of(const ShellPiece& piece, Values values);
  ShellText transformed(const ShellPiece& piece, const ShellText& text);  // ${x@Q}
  ShellText cut(const ShellPiece& piece, const ShellText& text, const ShellText& pattern);
  ShellText replaced(const ShellPiece& piece, const ShellText& text);
  Values slice(const ShellPiece& piece, Values values);
  ShellText piece_text(const ShellPiece& piece);                    // command, arithmetic
  ShellText output_of(const ShellText& command, std::uint32_t at);  // without the line ends at its end
  ShellText printed_by(const ShellText& command, std::uint32_t at);
  ShellText process(const ShellPiece& piece);
  std::vector<ShellWord> braces(const ShellWord& word);
  void spend(std::size_t bytes, std::uint32_t at);

  // --- variables
  const ShellVariable* find(const std::string& name) const;
  ShellText value(const std::string& name) const;  // lacks the name if nothing is set
  void lack(ShellText& text, const std::string& name) const;
  ShellVariable& writable(const std::string& name, std::uint32_t at);
  void assign(const ShellAssignment& assignment);
  void assign(const std::string& name, ShellText text, bool append = false);
  void assign_elements(const ShellAssignment& assignment);
  ShellVariable elements_of(const ShellAssignment& assignment, bool associative, std::int64_t begin);
  void put_elements(const ShellAssignment& assignment, ShellVariable elements);
  // Assigns to NAME or NAME[index], as read, printf -v and ${x:=...} name it.
  void assign_named(const std::string& name, ShellText text);
  void store(const std::string& name, const std::string& index, ShellText text, bool append);
  std::optional<std::string> index_of(const ShellVariable* variable, const ShellWord& index,
                                      std::vector<ShellMissing>& missing);
  std::string sure_index_of(const ShellVariable* variable, const ShellWord& index);
  std::string separators() const;      // IFS
  void hide(const std::string& name);  // makes a variable local to the running function

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
  ShellTruth matches(const ShellText& text, const ShellText& pattern, std::uint32_t at);  // =~
  ShellText expand_regular(const ShellWord& word);                                        // the pattern of =~
  ShellTruth test(const std::vector<ShellField>& fields, std::uint32_t at);
  ShellTruth test_range(const std::vector<ShellField>& fields, std::size_t begin, std::size_t end, std::uint32_t at);
  ShellTruth unary(const std::string& op, const ShellText& text);

  const ShellSetup& setup_;
  ShellRun& run_;
  ShellSources sources_;
  State state_;
  std::vector<std::map<std::string, std::optional<ShellVariable>>> locals_;  // values that function calls hide
  std::vector<std::string> called_;                                          // functions that are running
  std::vector<ShellText*> outputs_;  // targets of printed text; nullptr: the terminal
  std::vector<ShellText> inputs_;    // inputs of commands after a |
  std::vector<ShellField> outer_;    // words of a command that runs a text: srun ... bash -c
  std::vector<std::shared_ptr<const ShellNode>> parsed_;
  std::map<std::string, std::optional<ShellText>> files_;  // written or read files, by path; nullopt: removed
  std::set<std::string> written_;                          // paths of `files_` that the script has written
  std::optional<ShellText> at_exit_;
  ShellFlow flow_ = ShellFlow::on;
  int levels_ = 0;        // loops that break or continue still has to leave
  int loops_ = 0;         // around this place
  int returnable_ = 0;    // functions and files that are read, around this place
  bool assumed_ = false;  // the last command is a program that is assumed to succeed
  ShellTruth returned_ = ShellTruth::yes;
  ShellTruth last_ = ShellTruth::yes;                      // truth of $?
  int code_ = 0;                                           // $? if it is known
  int failed_code_ = 1;                                    // $? of the running command if it fails
  std::optional<std::pair<ShellTruth, int>> substituted_;  // result of the last $( )
  bool dry_ = false;                                       // a part of a condition that is not evaluated
  int guarded_ = 0;                                        // conditions around this place: failures end nothing
  int processes_ = 0;                                      // number of <( ) so far
  std::int64_t steps_ = 0;
  int depth_ = 0;
  std::uint32_t here_ = 0;
  std::uint32_t last_byte_ = 0;    // place of the last byte of the running command's last word
  std::size_t option_letter_ = 0;  // position of getopts in its word
};

// Replaces backslashes as echo -e reads them (\0101), or as printf reads those of its format (\101). `ends` becomes
// true at \c.
ShellText unescaped_text(const ShellText& text, bool of_format, bool& ends);

// True if all of `text` matches a shell pattern: * ? [..]; a backslash makes the next sign literal.
bool fits_shell_pattern(std::string_view text, std::string_view pattern);

}  // namespace mirfak
