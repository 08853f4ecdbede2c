// Questions and answers go over a pair of sockets: a length of eight bytes, and then that many bytes. The first byte of
// an answer tells whether the rest is an error's message.
#include "trace/reading_process.hpp"

#include "base/cancellation.hpp"
#include "base/error.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <utility>

namespace mirfak {

namespace {

constexpr rlim_t kMostSeconds = 120;  // processor time of the child, all answers together
constexpr int kPollMilliseconds = 50;
constexpr char kAnswer = 'a';
constexpr char kError = 'e';

bool send_all(int socket, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool send_text(int socket, char kind, const std::string& text) {
  const std::uint64_t size = text.size();
  std::array<char, sizeof size + 1> head{};
  std::memcpy(head.data(), &size, sizeof size);
  head.back() = kind;
  return send_all(socket, head.data(), head.size()) && send_all(socket, text.data(), text.size());
}

// Receives `size` bytes; `wait` is called before each piece.
template <typename Wait>
bool receive_all(int socket, char* bytes, std::size_t size, const Wait& wait) {
  while (size > 0) {
    wait();
    const ssize_t got = ::recv(socket, bytes, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

template <typename Wait>
bool receive_text(int socket, char& kind, std::string& text, const Wait& wait) {
  std::uint64_t size = 0;
  std::array<char, sizeof size + 1> head{};
  if (!receive_all(socket, head.data(), head.size(), wait)) return false;
  std::memcpy(&size, head.data(), sizeof size);
  kind = head.back();
  text.resize(size);
  return receive_all(socket, text.data(), text.size(), wait);
}

template <typename Make>
bool answer_with(int socket, const Make& make) {
  try {
    return send_text(socket, kAnswer, make());
  } catch (const Error& error) {
    return send_text(socket, kError, error.message());
  } catch (const std::exception& error) {
    return send_text(socket, kError, error.what());
  }
}

// Closes all other files of the parent, so that each process sees when the other has ended.
void keep_only(int socket) {
  ::close_range(3, static_cast<unsigned>(socket) - 1, 0);
  ::close_range(static_cast<unsigned>(socket) + 1, ~0U, 0);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, standard);
}

[[noreturn]] void serve(int socket, const std::function<ReadingProcess::Answers()>& open) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM, SIGHUP, SIGXCPU}) {
    std::signal(signal, SIG_DFL);
  }
  std::signal(SIGINT, SIG_IGN);  // the parent receives the signal, and ends this process
  keep_only(socket);
  const rlimit seconds = {kMostSeconds, kMostSeconds};
  const rlimit none = {0, 0};
  ::setrlimit(RLIMIT_CPU, &seconds);
  ::setrlimit(RLIMIT_CORE, &none);
  ReadingProcess::Answers answers;
  const auto begin = [&] {
    answers = open();
    return std::string();
  };
  char kind = 0;
  std::string question;
  bool goes_on = answer_with(socket, begin);
  while (goes_on && answers && receive_text(socket, kind, question, [] {})) {
    goes_on = answer_with(socket, [&] { return answers(question); });
  }
  ::_exit(0);
}

}  // namespace

ReadingProcess::ReadingProcess(std::string file, const std::function<Answers()>& open) : file_(std::move(file)) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    fail_internal(file_ + ": no sockets for a process that reads it: " + std::strerror(errno));
  }
  child_ = ::fork();
  if (child_ == 0) serve(ends[1], open);
  ::close(ends[1]);
  socket_ = ends[0];
  try {
    if (child_ < 0) fail_internal(file_ + ": no process that reads it: " + std::strerror(errno));
    receive();
  } catch (...) {
    end();
    throw;
  }
}

ReadingProcess::~ReadingProcess() { end(); }

void ReadingProcess::end() const {
  ::close(socket_);
  if (child_ <= 0) return;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::string ReadingProcess::ask(const std::string& question) const {
  if (!send_text(socket_, kAnswer, question)) fail_ended();
  return receive();
}

std::string ReadingProcess::receive() const {
  const auto wait = [&] {
    pollfd ready = {socket_, POLLIN, 0};
    while (::poll(&ready, 1, kPollMilliseconds) <= 0) check_cancelled();
  };
  char kind = 0;
  std::string text;
  if (!receive_text(socket_, kind, text, wait)) fail_ended();
  if (kind == kError) fail_internal(text);
  return text;
}

void ReadingProcess::fail_ended() const {
  fail_input({file_, 0, 0}, "this file is damaged: the library that reads it breaks on it", "write it again");
}

}  // namespace mirfak
