#pragma once

#include <stdexcept>
#include <string>

namespace mirfak {

// A place in the user's input. Lines and columns count from 1; 0 means "not known".
// An override from the command line has `file` = "--set strategy.tensor=4" and no line.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;

  bool known() const { return !file.empty(); }
  std::string text() const;  // "scenario.yaml:3:11", "--set strategy.tensor=4", or ""
};

// Kind of a failure, which decides the exit status of the program.
enum class ErrorKind {
  input,       // the user's input cannot be understood: exit status 2
  infeasible,  // understood, but it cannot run (divisibility, memory): exit status 3
  internal,    // a defect of mirfak or of the machine (disk full): exit status 1
};

// A failure that the user can act on. `message` says what is wrong and what was expected, `hint` what to do (may be
// empty), `source_line` is the offending line of the input (may be empty).
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, Location where, std::string message, std::string hint = {},
        const std::string& source_line = {});

  ErrorKind kind() const { return kind_; }
  const Location& where() const { return where_; }
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }

 private:
  ErrorKind kind_;
  Location where_;
  std::string message_;
  std::string hint_;
};

[[noreturn]] void fail_input(const Location& where, std::string message, std::string hint = {});
[[noreturn]] void fail_infeasible(const Location& where, std::string message, std::string hint = {});
[[noreturn]] void fail_internal(std::string message);

}  // namespace mirfak
