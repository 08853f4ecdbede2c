#include "ranks.hpp"

#include "free_port.hpp"

#include <doctest/doctest.h>

#include <array>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace mirfak::test {

using measure::JobLaunch;
using measure::SocketWorld;

JobLaunch launch_of(int rank, int size, int port) {
  JobLaunch out;
  out.rank = rank;
  out.size = size;
  out.address = "localhost";
  out.port = port;
  out.job = "test";
  out.start_timeout_s = 60;
  return out;
}

std::vector<std::string> in_threads(int size, const std::function<void(SocketWorld&)>& body) {
  const int port = free_port();
  std::vector<std::string> out(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        SocketWorld world(launch_of(rank, size, port), {});
        body(world);
      } catch (const std::exception& error) {
        out[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return out;
}

namespace {

class Child {
 public:
  explicit Child(const std::function<int(const std::function<void(const std::string&)>& say)>& body) {
    REQUIRE(pipe(pipe_.data()) == 0);
    process_ = fork();
    REQUIRE(process_ >= 0);
    if (process_ > 0) {
      close(pipe_[1]);
      return;
    }
    const auto say = [this](const std::string& text) {
      if (write(pipe_[1], text.data(), text.size()) < 0) _exit(99);
    };
    int status = 98;
    try {
      status = body(say);
    } catch (const std::exception& error) {
      say(error.what());
    }
    _exit(status);
  }

  RankEnd end() {
    RankEnd out;
    std::array<char, 4096> piece{};
    for (ssize_t count = 1; count > 0;) {
      count = read(pipe_[0], piece.data(), piece.size());
      if (count > 0) out.said.append(piece.data(), static_cast<std::size_t>(count));
    }
    close(pipe_[0]);
    int state = 0;
    REQUIRE(waitpid(process_, &state, 0) == process_);
    if (WIFEXITED(state)) out.status = WEXITSTATUS(state);
    return out;
  }

 private:
  std::array<int, 2> pipe_ = {-1, -1};
  pid_t process_ = 0;
};

}  // namespace

std::vector<RankEnd> in_processes(int size, const std::function<int(SocketWorld&)>& body) {
  const int port = free_port();
  std::vector<Child> children;
  for (int rank = 0; rank < size; ++rank) {
    children.emplace_back([&](const std::function<void(const std::string&)>& say) {
      SocketWorld world(launch_of(rank, size, port), [&](const std::string& why, int status) {
        say(why);
        _exit(status);
      });
      return body(world);
    });
  }
  std::vector<RankEnd> out;
  for (Child& child : children) out.push_back(child.end());
  return out;
}

}  // namespace mirfak::test
