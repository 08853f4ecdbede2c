// The reader of shell scripts against bash: scripts in the style of those that start trainings, and random ones.

#include "import/shell_script.hpp"
#include "base/error.hpp"
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
#include <random>
#include <sstream>

using namespace mirfak;

namespace {

namespace fs = std::filesystem;

// Commands print their words; programs whose output is not known print nothing, as the reader takes it.
constexpr const char* kPrelude = R"PRELUDE(
show() { printf '%s' "${PRE-}"; printf '<%s>' "$@"; printf '\n'; } >&3
for name in torchrun python deepspeed; do eval "$name() { show $name \"\$@\"; }"; export -f $name; done
export -f show
srun() {
  local pre='<srun>'
  while [ $# -gt 0 ] && [ "$1" != bash ]; do pre="$pre<$1>"; shift; done
  PRE="$pre" "$@"
}
pwd() { :; }; scontrol() { :; }; clear() { :; }; mkdir() { :; }; source() { :; }; tee() { cat >/dev/null; }
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

// What bash hands to the commands of each script.
std::vector<std::string> by_bash(const std::vector<std::string>& scripts, const std::string& arguments) {
  const TemporaryFolder folder;
  std::ofstream(folder.path / "prelude.sh") << kPrelude;
  std::ofstream all(folder.path / "all.sh");
  all << "builtin source ./prelude.sh\n";
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    std::ofstream(folder.path / fmt::format("{}.sh", i)) << scripts[i];
    all << fmt::format("( builtin source ./{}.sh {} ) 3>{}.out >/dev/null 2>{}.err </dev/null\n", i, arguments, i, i);
  }
  all.close();
  const std::string command = fmt::format(
      "cd '{}' && ulimit -v 2000000 && env -i PATH=\"$PATH\" timeout 60 bash ./all.sh", folder.path.string());
  REQUIRE(std::system(command.c_str()) == 0);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < scripts.size(); ++i) out.push_back(text_of_file(folder.path / fmt::format("{}.out", i)));
  return out;
}

std::string by_reader(const std::string& script, const std::vector<std::string>& parameters) {
  ShellSetup setup;
  setup.parameters = parameters;
  std::string out;
  for (const ShellCommand& command : run_shell("script.sh", script, setup).commands) {
    std::string line;
    bool launches = false;
    for (const ArgumentWord& word : command.words) {
      if (word.vanishes) continue;
      launches = launches || word.text == "torchrun" || word.text == "python" || word.text == "deepspeed";
      line += fmt::format("<{}>", word.text);
    }
    if (launches) out += line + "\n";
  }
  return out;
}

// Random scripts of the language: values with blanks, quotes and patterns, every expansion, arrays, control flow.
class ScriptWriter {
 public:
  explicit ScriptWriter(std::uint64_t seed) : random_(seed) {}

  std::string script() {
    std::string out;
    for (int i = 0; i < 4; ++i) out += assignment() + "\n";
    for (int i = 0; i < 10; ++i) out += statement(0) + "\n";
    return out + "torchrun \"$A\" \"$B\" ${C} \"${D[@]}\" ${#D[@]} $E\n";
  }

 private:
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  template <std::size_t N>
  std::string one_of(const std::array<const char*, N>& words) {
    return words.at(below(N));
  }
  std::string name() { return one_of(std::array{"A", "B", "C", "E"}); }
  std::string number() { return std::to_string(below(12)); }
  std::string letters() {
    return one_of(
        std::array{"abc", "x.y", "a/b/c.json", "7", "--lr", "12", "a-b", "_", "1e-4", "tp=4", "a,b", "bb:cc"});
  }

  std::string literal() {
    return one_of(std::array{"plain", "'single  quoted $A'", "\"double  quoted\"", "\"a $A b\"", "esc\\ aped",
                             "$'tab\\tx'", "\"it's\"", "'say \"x\"'", "\"\\$A \\\\ \\\"\"", "\"\"", "mixed'q'\"$B\"",
                             "a\\\nb", "{x,y}z", "*.nothing"});
  }

  std::string expansion() {
    const std::string v = name();
    switch (below(22)) {
      case 0:
        return "$" + v;
      case 1:
        return "${" + v + "}";
      case 2:
        return "${" + v + ":-" + one_of(std::array{"dflt", "a b", "$B", "\"q r\"", "'s t'"}) + "}";
      case 3:
        return "${U" + v + "-" + one_of(std::array{"dflt", "a  b", "${A}"}) + "}";
      case 4:
        return "${" + v + ":+" + one_of(std::array{"alt", "\"$C\" x", "$A"}) + "}";
      case 5:
        return "${" + v + "#" + one_of(std::array{"*", "a", "?", "*/", "[a-c]"}) + "}";
      case 6:
        return "${" + v + "##" + one_of(std::array{"*/", "*-", "?", "*."}) + "}";
      case 7:
        return "${" + v + "%" + one_of(std::array{".*", "c", "/*", "\"$B\""}) + "}";
      case 8:
        return "${" + v + "%%" + one_of(std::array{".*", "/*", "[0-9]*"}) + "}";
      case 9:
        return "${" + v + "/" + one_of(std::array{"a/X", "b", "?/-", "o*/_", "'.'/,"}) + "}";
      case 10:
        return "${" + v + "//" + one_of(std::array{"a/X", "b/", "[0-9]/N", " /_"}) + "}";
      case 11:
        return "${#" + v + "}";
      case 12:
        return "$(( " + arithmetic(0) + " ))";
      case 13:
        return "${D[" + std::to_string(below(2)) + "]}";
      case 14:
        return "${D[*]}";
      case 15:
        return "${D[@]}";
      case 16:
        return "${#D[@]}";
      case 17:
        return "${" + v + ":" + std::to_string(below(3)) + ":" + std::to_string(below(4)) + "}";
      case 18:
        return "${" + v + "^^}";
      case 19:
        return "$(echo " + one_of(std::array{"$A x", "\"$B\"  y", "-n z", "a b"}) + ")";
      case 20:
        return "$#";
      default:
        return "$" + one_of(std::array{"1", "2", "3", "@", "*"});
    }
  }

  std::string word() {
    switch (below(5)) {
      case 0:
        return literal();
      case 1:
        return letters();
      case 2:
        return expansion();
      case 3:
        return "\"" + expansion() + "\"";
      default:
        return letters() + "\"" + expansion() + "\"" + expansion();
    }
  }

  std::string arithmetic(int depth) {
    if (depth > 2 || below(3) == 0) return below(2) == 0 ? number() : "N";
    static constexpr std::array operators = {"+",  "-", "*", "<",  "==", "&&", "||",
                                             "**", "%", "/", "<<", "|",  "!=", ">="};
    const std::string op = one_of(operators);
    if (op == "/" || op == "%") return "(" + arithmetic(depth + 1) + ") " + op + " " + std::to_string(1 + below(5));
    if (op == "**" || op == "<<") return "(" + arithmetic(depth + 1) + ") " + op + " " + std::to_string(below(4));
    if (below(8) == 0)
      return "(" + arithmetic(depth + 1) + " ? " + arithmetic(depth + 1) + " : " + arithmetic(depth + 1) + ")";
    return "(" + arithmetic(depth + 1) + " " + op + " " + arithmetic(depth + 1) + ")";
  }

  std::string assignment() {
    switch (below(9)) {
      case 0:
        return "D=(" + word() + " " + word() + ")";
      case 1:
        return "D+=(" + word() + ")";
      case 2:
        return "N=$((" + arithmetic(0) + "))";
      case 3:
        return name() + "+=" + word();
      case 4:
        return "export " + name() + "=" + word();
      case 5:
        return "D[" + std::to_string(below(3)) + "]=" + word();
      case 6:
        return "(( N = " + arithmetic(0) + " ))";
      case 7:
        return ": ${" + name() + ":=" + letters() + "}";
      default:
        return name() + "=" + word();
    }
  }

  std::string condition() {
    switch (below(8)) {
      case 0:
        return "[ -z \"$" + name() + "\" ]";
      case 1:
        return "[[ -n $" + name() + " ]]";
      case 2:
        return "[[ $" + name() + " == " + one_of(std::array{"a*", "\"a*\"", "$B", "[0-9]*", "'x.y'"}) + " ]]";
      case 3:
        return "[ \"$" + name() + "\" " + one_of(std::array{"=", "!=", "=="}) + " \"" + letters() + "\" ]";
      case 4:
        return "(( " + arithmetic(0) + " ))";
      case 5:
        return "[ $N " + one_of(std::array{"-eq", "-ne", "-lt", "-ge"}) + " " + number() + " ]";
      case 6:
        return "[[ ( -n \"$A\" || -z $B ) && ! $C == x ]]";
      default:
        return "! [[ $A =~ ^[a-c]+$ ]] && " + std::string(one_of(std::array{"true", "false"}));
    }
  }

  std::string block(int depth) { return statement(depth + 1) + "\n" + statement(depth + 1); }

  std::string statement(int depth) {
    if (depth > 2) return assignment();
    switch (below(10)) {
      case 0:
        return "if " + condition() + "; then\n" + block(depth) + "\nelse\n" + block(depth) + "\nfi";
      case 1:
        return "for E in " + word() + " " + word() + "; do\n" + block(depth) + "\ndone";
      case 2:
        return "case " + word() + " in\na*|x*) " + assignment() + ";;\n\"b\"*) :;;\n*) " + block(depth) + ";;\nesac";
      case 3:
        return "for ((i=0; i<" + std::to_string(below(4)) + "; i++)); do " + assignment() + "; done";
      case 4:
        return "f() { local A=" + word() + "; " + assignment() + "; torchrun \"$@\" $A; }\nf " + word() + " \"$B\"";
      case 5:
        return condition() + " && " + assignment() + " || " + assignment();
      case 6:
        return "cmd=\"torchrun $A --x ${B}\"\neval \"$cmd\"";
      case 7:
        return "( " + assignment() + "; torchrun " + word() + " )";
      case 8:
        return "torchrun " + word() + " " + word() + " \\\n  " + word();
      default:
        return assignment();
    }
  }

  std::mt19937_64 random_;
};

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
    const std::vector<std::string> expected = by_bash(scripts, text);
    for (std::size_t i = 0; i < scripts.size(); ++i) {
      INFO(names[i]);
      CHECK(!expected[i].empty());
      CHECK(by_reader(scripts[i], parameters) == expected[i]);
    }
  }
}

TEST_CASE("random scripts: the same argument lists as bash, or refused with a place") {
  if (!has_bash()) {
    MESSAGE("skipped: bash is not here");
    return;
  }
  std::vector<std::string> scripts;
  for (std::uint64_t seed = 0; seed < 400; ++seed) scripts.push_back(ScriptWriter(seed).script());
  const std::vector<std::string> expected = by_bash(scripts, "'p q' r");
  int refused = 0;
  int same = 0;
  int shown = 0;
  for (std::size_t i = 0; i < scripts.size(); ++i) {
    try {
      const std::string found = by_reader(scripts[i], {"p q", "r"});
      if (found == expected[i]) {
        ++same;
        continue;
      }
      if (++shown > 3) continue;
      FAIL_CHECK(fmt::format("script:\n{}\nreader:\n{}\nbash:\n{}", scripts[i], found, expected[i]));
    } catch (const Error& error) {
      CHECK(error.where().known());
      ++refused;
    }
  }
  MESSAGE(same << " of " << scripts.size() << " the same, " << refused << " refused");
  CHECK(same + refused == static_cast<int>(scripts.size()));
  CHECK(refused * 10 < static_cast<int>(scripts.size()));
}

TEST_CASE("what hangs on values that no script says is told at the word, and nowhere else") {
  const std::string script =
      "OPTS=\"--save $SAVE_TO --tp 4 --node $(hostname)\"\nrun=\"torchrun t.py $OPTS --pp $PP --end\"\neval $run\n";
  const ShellRun run = run_shell("script.sh", script, {});
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
  CHECK(refused("true\nfor ((i = 0; i < 10001; i++)); do touch x; done\n") ==
        "2: more than 10000 commands that are started");
  std::string many;
  for (int i = 0; i < 201; ++i) many += fmt::format("if [ -e /x/{} ]; then :; fi\n", i);
  CHECK(refused(many) == "201: more than 200 things that are not known");
}
