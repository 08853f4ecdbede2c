#include "program.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mirfak::test {

namespace fs = std::filesystem;

namespace {

const fs::path kSource = source_root();
constexpr std::array kLinked = {"scenarios", "models", "hw_profiles", "validate"};

// The streams of a child, set up between fork and exec.
class ChildStreams {
 public:
  ChildStreams(Output output, const fs::path& out, const fs::path& err) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    redirect(STDERR_FILENO, err);
    switch (output) {
      case Output::captured:
        redirect(STDOUT_FILENO, out);
        break;
      case Output::full_device:
        redirect(STDOUT_FILENO, "/dev/full");
        break;
      case Output::closed:
        posix_spawn_file_actions_addclose(&actions_, STDOUT_FILENO);
        break;
      case Output::closed_reader:
        REQUIRE(pipe2(pipe_.data(), O_CLOEXEC) == 0);
        close(pipe_[0]);
        posix_spawn_file_actions_adddup2(&actions_, pipe_[1], STDOUT_FILENO);
        break;
    }
  }
  ~ChildStreams() {
    posix_spawn_file_actions_destroy(&actions_);
    if (pipe_[1] >= 0) close(pipe_[1]);
  }
  ChildStreams(const ChildStreams&) = delete;
  ChildStreams& operator=(const ChildStreams&) = delete;

  void enter(const fs::path& folder) { posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str()); }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }

 private:
  void redirect(int stream, const fs::path& to) {
    posix_spawn_file_actions_addopen(&actions_, stream, to.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  }

  posix_spawn_file_actions_t actions_{};
  std::array<int, 2> pipe_ = {-1, -1};
};

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// The environment of this process, but for what is given anew and for what would change what the program says.
std::vector<std::string> environment_with(const std::vector<std::string>& additions) {
  std::vector<std::string> out = additions;
  const auto name_of = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view name = name_of(*entry);
    const bool given =
        std::any_of(additions.begin(), additions.end(), [&](const auto& a) { return name_of(a) == name; });
    if (!given && name != "MIRFAK_DATA") out.emplace_back(*entry);
  }
  return out;
}

Finished spawn(const fs::path& program, const Invocation& invocation) {
  const ScratchFolder capture;
  ChildStreams streams(invocation.output, capture.path() / "out", capture.path() / "err");
  streams.enter(invocation.folder.empty() ? kSource : invocation.folder);
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), invocation.arguments.begin(), invocation.arguments.end());
  std::vector<std::string> environment = environment_with(invocation.environment);
  pid_t child = 0;
  REQUIRE(posix_spawn(&child, program.c_str(), streams.actions(), nullptr, pointers(words).data(),
                      pointers(environment).data()) == 0);
  int state = 0;
  REQUIRE(waitpid(child, &state, 0) == child);

  Finished finished;
  if (WIFEXITED(state)) finished.status = WEXITSTATUS(state);
  if (WIFSIGNALED(state)) finished.signal = WTERMSIG(state);
  if (invocation.output == Output::captured) finished.out = read_text(capture.path() / "out");
  finished.err = read_text(capture.path() / "err");
  return finished;
}

}  // namespace

const fs::path& program() {
  static const fs::path path = MIRFAK_PROGRAM;
  return path;
}

Finished run(const Invocation& invocation) { return spawn(program(), invocation); }
Finished run(std::vector<std::string> arguments) { return run(Invocation{std::move(arguments), {}}); }

Finished run_shell(const std::string& line, const fs::path& folder) {
  const char* path = std::getenv("PATH");
  const std::string search = program().parent_path().string() + ":" + (path != nullptr ? path : "/usr/bin:/bin");
  return spawn("/bin/sh", {{"-c", line}, folder, {"PATH=" + search}});
}

ScratchFolder::ScratchFolder() {
  std::string pattern = (fs::temp_directory_path() / "mirfak-test-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
  for (const char* name : kLinked) fs::create_directory_symlink(kSource / name, path_ / name);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void ScratchFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream out(path_ / name, std::ios::binary);
  out << text;
  REQUIRE(out.flush().good());
}

std::vector<std::string> ScratchFolder::names() const {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(path_)) {
    const std::string name = entry.path().filename().string();
    if (std::find(kLinked.begin(), kLinked.end(), name) == kLinked.end()) out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace mirfak::test
