// The reader of shell scripts against bash: scripts in the style of those that start trainings, and random ones.

#include "import/shell_script.hpp"
#include "base/error.hpp"
#include "import/shell_script_writer.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <unistd.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

using namespace mirfak;

namespace {

namespace fs = std::filesystem;

// Programs show their words.
constexpr const char* kPrelude = R"PRELUDE(
show() { printf '%s' "${PRE-}"; printf '<%s>' "$@"; printf '\n'; } >&3
for name in torchrun python deepspeed; do eval "$name() { show $name \"\$@\"; }"; export -f $name; done
export -f show
)PRELUDE";

// Programs that scripts of launchers start beside: they print nothing, as the reader takes it of unknown output.
constexpr const char* kStandIns = R"PRELUDE(
srun() {
  local pre='<srun>'
  while [ $# -gt 0 ] && [ "$1" != bash ]; do pre="$pre<$1>"; shift; done
  PRE="$pre" "$@"
}
source() { :; }; pwd() { :; }; scontrol() { :; }; clear() { :; }; mkdir() { :; }; tee() { cat >/dev/null; }
)PRELUDE";

std::string text_of_file(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

struct TemporaryFolder {
  fs::path path = fs::temp_directory_path() / fmt::format("mirfak-shell-{}", ::getpid());
  TemporaryFolder() { fs::create_directories(path); }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

bool has_bash() { return std::system("bash -c 'exit 0' >/dev/null 2>&1") == 0; }

// Returns the words that bash hands to the commands of each script, each in a folder of its own.
std::vector<std::string> by_bash(const std::vector<std::string>& scripts, const std::string& arguments,
                                 const std::string& prelude) {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "prelude.sh") << prelude;
  std::ofstream all(folder.path / "all.sh");
  all << "builtin source ./prelude.sh\n";
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    std::ofstream(folder.path / fmt::format("{}.sh", i)) << scripts[i];
    fs::create_directories(folder.path / std::to_string(i));
    all << fmt::format("( builtin cd {}; builtin source ../{}.sh {} ) 3>{}.out >/dev/null 2>{}.err </dev/null\n", i, i,
                       arguments, i, i);
  }
  all << "exit 0\n";
  all.close();
  const std::string command = fmt::format(
      "cd '{}' && ulimit -v 2000000 && env -i PATH=\"$PATH\" timeout 300 bash ./all.sh", folder.path.string());
  REQUIRE(std::system(command.c_str()) == 0);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < scripts.size(); ++i) out.push_back(text_of_file(folder.path / fmt::format("{}.out", i)));
  return out;
}

struct Reading {
  std::string words;
  bool said = false;  // that something is not known
};

Reading by_reader(const std::string& script, const std::vector<std::string>& parameters) {
  static const ShellPrograms programs = read_shell_programs(fs::path(source_root()) / "hw_profiles");
  ShellSetup setup;
  setup.parameters = parameters;
  setup.programs = programs;
  Reading out;
  const ShellRun run = run_shell("script.sh", script, setup);
  out.said = !run.notes.empty();
  for (const ShellCommand& command : run.commands) {
    std::string line;
    bool launches = false;
    for (const ArgumentWord& word : command.words) {
      out.said = out.said || !word.missing.empty();
      if (word.vanishes) continue;
      launches = launches || word.text == "torchrun" || word.text == "python" || word.text == "deepspeed";
      line += fmt::format("<{}>", word.text);
    }
    if (launches) out.words += line + "\n";
  }
  return out;
}

}  // namespace

TEST_CASE("scripts that start trainings: the same argument lists as bash, word for word") {
  if (!has_bash()) {
    MESSAGE("skipped: bash is not here");
    return;
  }
  std::vector<std::string> names;
  std::vector<std::string> scripts;
  for (const auto& entry : fs::directory_iterator(fs::path(source_root()) / "tests" / "import" / "scripts")) {
    names.push_back(entry.path().filename().string());
    scripts.push_back(text_of_file(entry.path()));
  }
  REQUIRE(scripts.size() >= 4);
  for (const auto& [text, parameters] : {std::pair{std::string(), std::vector<std::string>{}},
                                         {"/ckpt 'a b' --layers=7", {"/ckpt", "a b", "--layers=7"}}}) {
    const std::vector<std::string> expected = by_bash(scripts, text, std::string(kPrelude) + kStandIns);
    for (std::size_t i = 0; i < scripts.size(); ++i) {
      INFO(names[i]);
      CHECK(!expected[i].empty());
      CHECK(by_reader(scripts[i], parameters).words == expected[i]);
    }
  }
}

// MIRFAK_SHELL_SCRIPTS=2000 compares as many, where a change of the reader is judged.
TEST_CASE("random scripts: the same argument lists as bash, or what differs is said") {
  if (!has_bash()) {
    MESSAGE("skipped: bash is not here");
    return;
  }
  const char* const wished = std::getenv("MIRFAK_SHELL_SCRIPTS");
  const std::uint64_t count = wished == nullptr ? 250 : std::strtoull(wished, nullptr, 10);
  std::vector<std::string> scripts;
  for (std::uint64_t seed = 0; seed < count; ++seed) scripts.push_back(ShellScriptWriter(seed).script());
  const std::vector<std::string> expected = by_bash(scripts, "'p q' r", kPrelude);
  std::size_t said = 0;
  std::size_t same = 0;
  int shown = 0;
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    try {
      const Reading found = by_reader(scripts[i], {"p q", "r"});
      if (found.words == expected[i]) {
        ++same;
      } else if (found.said) {
        ++said;
      } else if (++shown <= 3) {
        FAIL_CHECK(fmt::format("script:\n{}\nreader:\n{}\nbash:\n{}", scripts[i], found.words, expected[i]));
      }
    } catch (const Error& error) {
      CHECK(error.where().known());
      ++said;
    }
  }
  MESSAGE(same << " of " << scripts.size() << " the same, " << said << " said to be not known");
  CHECK(same + said == scripts.size());
  CHECK(said * 8 < scripts.size());
}

TEST_CASE("what hangs on values that no script says is told at the word, and nowhere else") {
  const std::string script =
      "OPTS=\"--save $SAVE_TO --tp 4 --node $(hostname)\"\nrun=\"torchrun t.py $OPTS --pp $PP --end\"\neval $run\n";
  ShellSetup plain;
  plain.programs = read_shell_programs(fs::path(source_root()) / "hw_profiles");
  const ShellRun run = run_shell("script.sh", script, plain);
  REQUIRE(run.commands.size() == 1);
  std::map<std::string, std::vector<std::string>> missing;
  for (const ArgumentWord& word : run.commands.front().words) missing[word.text] = word.missing;
  CHECK(missing["--tp"].empty());
  CHECK(missing["4"].empty());
  CHECK(missing["--end"].empty());
  CHECK(missing["t.py"].empty());
  ShellSetup setup;
  setup.environment["PP"] = "8";
  const ShellRun known = run_shell("script.sh", "torchrun t.py --pp $PP --tp $TP --x\n", setup);
  REQUIRE(known.commands.size() == 1);
  const std::vector<ArgumentWord>& words = known.commands.front().words;
  REQUIRE(words.size() == 7);
  CHECK(words[3].text == "8");
  CHECK(words[5].vanishes);
  CHECK(words[5].missing == std::vector<std::string>{"TP"});
  CHECK(words[6].where.column == 33);
}

TEST_CASE("scripts that do not end, or nest without end, are refused with their place") {
  for (const std::string script :
       {"while true; do x=1; done", "f() { f; }\nf", "for ((;;)); do :; done", "eval \"$0\"\nx() { eval x; }; x"}) {
    INFO(script);
    try {
      run_shell("script.sh", script, {});
    } catch (const Error& error) {
      CHECK(error.where().line >= 1);
      continue;
    }
    CHECK(script.starts_with("eval"));
  }
}

TEST_CASE("more commands or more unknown things than are kept are refused with their place, and not left out") {
  const auto refused = [](const std::string& script) {
    try {
      run_shell("script.sh", script, {});
    } catch (const Error& error) {
      return fmt::format("{}: {}", error.where().line, error.message());
    }
    return std::string("read");
  };
  CHECK(refused("true\nfor ((i = 0; i < 10001; i++)); do work x; done\n") ==
        "2: more than 10000 commands that are started");
  std::string many;
  for (int i = 0; i < 201; ++i) many += fmt::format("if [ -e /x/{} ]; then :; fi\n", i);
  CHECK(refused(many) == "201: more than 200 things that are not known");
}
