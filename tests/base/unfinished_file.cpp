// Files that a process leaves when a signal ends it. Each process is a test's own, for which the test waits.

#include "base/unfinished_file.hpp"

#include "base/interrupt_watch.hpp"
#include "base/staged_file.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace mirfak;

namespace {

// Runs `work` in a process of its own and returns how that ended, as wait() says it.
int end_of(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

bool ended_by(int status, int signal) { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }

}  // namespace

TEST_CASE("a signal that ends the process takes unfinished files away first, and no other") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1}) {
    CAPTURE(signal);
    const ScratchFolder folder;
    write_text_file(folder / "done", "text");
    const int status = end_of([&] {
      for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1}) std::signal(each, SIG_DFL);
      remove_unfinished_files_at_signals();
      const StagedFile one(folder / "one");
      const StagedFile again(folder / "done");
      one.write("half");
      again.write("half");
      std::raise(signal);
    });
    CHECK(ended_by(status, signal));
    CHECK(folder.files() == std::vector<std::string>{"done"});
    CHECK(read_text_file(folder / "done") == "text");
  }
}

TEST_CASE("so does one that arrives on another thread, and the second that a watch notices") {
  const ScratchFolder folder;
  const int of_thread = end_of([&] {
    std::signal(SIGTERM, SIG_DFL);
    remove_unfinished_files_at_signals();
    const StagedFile file(folder / "file");
    file.write("half");
    std::thread([] { std::raise(SIGTERM); }).join();
  });
  CHECK(ended_by(of_thread, SIGTERM));
  const int of_watch = end_of([&] {
    const InterruptWatch watch;
    const StagedFile file(folder / "file");
    file.write("half");
    std::raise(SIGTERM);
    if (InterruptWatch::signal() != SIGTERM) ::_exit(1);
    std::raise(SIGTERM);
  });
  CHECK(ended_by(of_watch, SIGTERM));
  CHECK(folder.files().empty());
}

TEST_CASE("a signal that is ignored stays so") {
  const ScratchFolder folder;
  const int status = end_of([&] {
    std::signal(SIGHUP, SIG_IGN);  // as nohup does
    remove_unfinished_files_at_signals();
    std::raise(SIGHUP);
    const InterruptWatch watch;
    std::raise(SIGHUP);
    if (InterruptWatch::interrupted()) ::_exit(1);
    write_text_file(folder / "file", "text");
  });
  CHECK(status == 0);
  CHECK(folder.files() == std::vector<std::string>{"file"});
}

TEST_CASE("a signal between files that belong together waits until all have their names") {
  const ScratchFolder folder;
  const int status = end_of([&] {
    std::signal(SIGTERM, SIG_DFL);
    remove_unfinished_files_at_signals();
    StagedFile one(folder / "one");
    StagedFile two(folder / "two");
    one.write("1");
    two.write("2");
    {
      const SignalPause pause;
      std::raise(SIGTERM);
      ::rename(one.path().c_str(), one.target().c_str());
      ::rename(two.path().c_str(), two.target().c_str());
    }
    ::_exit(0);
  });
  CHECK(ended_by(status, SIGTERM));
  CHECK(folder.files() == std::vector<std::string>{"one", "two"});
}
