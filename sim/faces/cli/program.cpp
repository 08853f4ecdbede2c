// The only place that prints. A command's output is complete before its first byte is written, so that a
// failure prints no half answer.

#include "cli/program.hpp"

#include "base/error.hpp"
#include "base/unfinished_file.hpp"
#include "base/visible_text.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace mirfak {

namespace {

// Opens the closed standard streams. Otherwise a file would get the number of a closed stream, and printed text would
// end up in the file.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    const int access = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;  // so that use fails as before
    if (open("/dev/null", access) != stream) _exit(kStatusInternal);
  }
}

// Asks the user. Returns an empty line at the end of input.
std::string ask(std::string_view question) {
  std::fwrite(question.data(), 1, question.size(), stderr);
  std::fflush(stderr);
  std::string line;
  for (int c = std::getchar(); c != EOF && c != '\n'; c = std::getchar()) line += static_cast<char>(c);
  return line;
}

// Prints at once, so that the reader sees the text even through a pipe.
void say(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) != 0) {
    const std::string reason = std::strerror(errno);
    fail_internal("cannot write to standard output: " + reason);
  }
}

Surroundings look_around() {
  Surroundings surroundings;
  surroundings.say = say;
  surroundings.started = std::chrono::steady_clock::now();
  winsize size{};
  if (isatty(STDERR_FILENO) != 0 && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    surroundings.progress_columns = size.ws_col;
    surroundings.progress = [](std::string_view text) {
      std::fwrite(text.data(), 1, text.size(), stderr);
      std::fflush(stderr);
    };
  }
  if (isatty(STDIN_FILENO) != 0 && surroundings.progress) surroundings.ask = ask;
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return surroundings;
  surroundings.columns = size.ws_col;
  const char* no_colour = std::getenv("NO_COLOR");  // no-color.org: any text but an empty one
  surroundings.colour = no_colour == nullptr || *no_colour == '\0';
  return surroundings;
}

int status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::input:
      return kStatusInput;
    case ErrorKind::infeasible:
      return kStatusInfeasible;
    case ErrorKind::internal:
      break;
  }
  return kStatusInternal;
}

// Prints an error. Names of files, which stand in many messages, may hold any bytes.
int complain(std::string message, int status) {
  if (message.ends_with('\n')) message.pop_back();
  message = "mirfak: error: " + visible_text(std::move(message)) + "\n";
  std::fwrite(message.data(), 1, message.size(), stderr);
  return status;
}

int print(CommandOutput output, bool colour) {
  output.text = colour ? visible_coloured_text(std::move(output.text)) : visible_text(std::move(output.text));
  const bool written = std::fwrite(output.text.data(), 1, output.text.size(), stdout) == output.text.size();
  const bool flushed = std::fflush(stdout) == 0;
  const int reason = errno;
  if (!output.remarks.empty()) {
    const std::string remarks = visible_text(std::move(output.remarks));
    std::fwrite(remarks.data(), 1, remarks.size(), stderr);
  }
  if (!output.complaint.empty()) complain(output.complaint, output.status);
  if (written && flushed) return output.status;
  if (reason == EPIPE) return output.status;  // the reader has seen enough
  return complain(fmt::format("cannot write to standard output: {}", std::strerror(reason)), kStatusInternal);
}

using FileTime = std::filesystem::file_time_type;

// Tells a terminal which files were written since `began`.
void confirm_outputs(FileTime began) {
  for (const std::string& file : named_outputs()) {
    std::error_code unknown;
    const FileTime written = std::filesystem::last_write_time(file, unknown);
    if (unknown || written < began) continue;
    const std::string line = visible_text(fmt::format("{} is written\n", file));
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
}

int run(int count, char** words) {
  try {
    const FileTime began = FileTime::clock::now() - std::chrono::milliseconds(20);  // clocks of file systems are coarse
    const Surroundings surroundings = look_around();
    const std::vector<std::string> arguments(words + (count > 0 ? 1 : 0), words + count);
    CommandOutput output = run_command_line(arguments, surroundings);
    const bool confirmed = output.confirms || output.status == kStatusInput || output.status == kStatusInternal;
    const int status = print(std::move(output), surroundings.colour);
    if (!confirmed && surroundings.progress) confirm_outputs(began);
    return status;
  } catch (const Error& error) {
    return complain(error.what(), status_of(error.kind()));
  } catch (const std::bad_alloc&) {
    return complain("out of memory: this machine has too little of it for a simulation of this size", kStatusInternal);
  } catch (const std::exception& error) {
    return complain(fmt::format("unexpected failure: {}", error.what()), kStatusInternal);
  }
}

}  // namespace

int run_program(int count, char** words) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow any more is a failure of writing, with its reason
  remove_unfinished_files_at_signals();
  occupy_standard_streams();
  return run(count, words);
}

}  // namespace mirfak
