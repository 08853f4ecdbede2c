#pragma once

#include <sys/types.h>
#include <functional>
#include <string>

namespace mirfak {

// A file of unknown origin, read by a child process: if damaged bytes break the reading library, they end the child,
// never this process. The child ends with this object.
class ReadingProcess {
 public:
  using Answers = std::function<std::string(const std::string& question)>;

  // `open` runs in the child, and returns the function that answers the questions there. Other threads of this process
  // do not exist in the child, which must not wait for them. Errors of `open` are thrown by this constructor.
  ReadingProcess(std::string file, const std::function<Answers()>& open);
  ~ReadingProcess();
  ReadingProcess(const ReadingProcess&) = delete;
  ReadingProcess& operator=(const ReadingProcess&) = delete;

  // Returns the child's answer. Error(internal) with the message that the child's answer threw; Error(input) if the
  // file ended the child.
  std::string ask(const std::string& question) const;

 private:
  std::string receive() const;
  [[noreturn]] void fail_ended() const;
  void end() const;

  std::string file_;
  pid_t child_ = -1;
  int socket_ = -1;
};

}  // namespace mirfak
