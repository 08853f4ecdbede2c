// Explanations add up: what `--explain` prints of every scenario that comes with mirfak is read back, every formula is
// evaluated, and has to come to the figure beside it.
#include "report/explanation.hpp"

#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace mirfak;

namespace {

// Numbers, + - * / ^, parentheses, max(a, b).
class Arithmetic {
 public:
  explicit Arithmetic(const std::string& text) : at_(text.c_str()) {}

  double value() {
    const double out = sum();
    skip();
    REQUIRE_MESSAGE(*at_ == '\0', "not arithmetic: ", at_);
    return out;
  }

 private:
  void skip() {
    while (*at_ == ' ') ++at_;
  }
  bool take(char wanted) {
    skip();
    if (*at_ != wanted) return false;
    ++at_;
    return true;
  }
  double sum() {
    double out = product();
    for (;;) {
      if (take('+')) {
        out += product();
      } else if (take('-')) {
        out -= product();
      } else {
        return out;
      }
    }
  }
  double product() {
    double out = power();
    for (;;) {
      if (take('*')) {
        out *= power();
      } else if (take('/')) {
        out /= power();
      } else {
        return out;
      }
    }
  }
  double power() {
    const double base = atom();
    return take('^') ? std::pow(base, power()) : base;
  }
  double atom() {
    skip();
    if (std::string(at_).starts_with("max(")) {
      at_ += 4;
      const double first = sum();
      REQUIRE(take(','));
      const double second = sum();
      REQUIRE(take(')'));
      return std::max(first, second);
    }
    if (take('(')) {
      const double out = sum();
      REQUIRE(take(')'));
      return out;
    }
    char* end = nullptr;
    const double out = std::strtod(at_, &end);
    REQUIRE_MESSAGE(end != at_, "a number was expected: ", at_);
    at_ = end;
    return out;
  }

  const char* at_;
};

// "4.95 ms"; nothing for what is no time.
std::optional<double> seconds_in(const std::string& cell) {
  static const std::vector<std::pair<std::string, double>> units = {
      {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"days", 86400}};
  char* end = nullptr;
  const double number = std::strtod(cell.c_str(), &end);
  if (end == cell.c_str() || *end != ' ') return std::nullopt;
  for (const auto& [name, seconds] : units) {
    if (name == end + 1) return number * seconds;
  }
  return std::nullopt;
}

// Columns stand at least two spaces apart.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> out;
  for (std::size_t at = line.find_first_not_of(' '); at != std::string::npos;) {
    const std::size_t end = std::min(line.find("  ", at), line.size());
    out.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(' ', end);
  }
  return out;
}

std::optional<double> time_in(const std::vector<std::string>& cells) {
  for (const std::string& cell : cells) {
    if (const auto seconds = seconds_in(cell)) return seconds;
  }
  return std::nullopt;
}

bool is_collective(const std::string& name) {
  for (const char* kind : {"all-reduce ", "all-gather ", "reduce-scatter ", "all-to-all ", "shift ", "broadcast "}) {
    if (name.starts_with(kind)) return true;
  }
  return false;
}

constexpr double kThreeDigits = 0.006;  // what a figure of three digits may be off by, and a little

// Reads an explanation line by line.
class Reader {
 public:
  void read(const std::string& line) {
    const std::size_t formula = line.rfind(" = ");
    const bool evaluated = formula != std::string::npos && line.ends_with(" s");
    const std::vector<std::string> cells = cells_of(line);
    if (evaluated) {
      const auto shown = time_in(cells);
      CAPTURE(line);
      REQUIRE(shown);
      const double found = Arithmetic(line.substr(formula + 3, line.size() - formula - 5)).value();
      CHECK(found == doctest::Approx(*shown).epsilon(kThreeDigits));
      ++evaluations;
      if (!is_collective(cells.front())) kernels_s_ += *shown;
    }
    if (cells.empty() || line.find(" of them kernels, ") != std::string::npos) finish_pass();
    const std::size_t begins = line.find(" on the device, ");
    if (begins != std::string::npos) {
      const std::size_t from = begins + std::string(" on the device, ").size();
      pass_s_ = seconds_in(line.substr(from, line.find(" of them kernels") - from));
      pass_ = line;
    }
  }

  int evaluations = 0;
  int passes = 0;

 private:
  // The kernels of a pass take what its heading says.
  void finish_pass() {
    if (pass_s_) {
      CAPTURE(pass_);
      CHECK(kernels_s_ == doctest::Approx(*pass_s_).epsilon(kThreeDigits));
      ++passes;
    }
    pass_s_.reset();
    kernels_s_ = 0;
  }

  std::optional<double> pass_s_;
  std::string pass_;
  double kernels_s_ = 0;
};

Reader read_explanation(const std::filesystem::path& path, const std::vector<std::string>& overrides) {
  static const DataFolders folders{source_root() + "/models", source_root() + "/hw_profiles"};
  const Scenario scenario = load_scenario(path, overrides, folders);
  std::istringstream lines(text_of(explanation(scenario, simulate(scenario.job))));
  Reader reader;
  for (std::string line; std::getline(lines, line);) reader.read(line);
  return reader;
}

}  // namespace

TEST_CASE("every formula of an explanation comes to the figure that it explains") {
  int scenarios = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_root() + "/scenarios")) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".yaml" || name.starts_with("search-")) continue;
    CAPTURE(name);
    const Reader read = read_explanation(entry.path(), {});
    CHECK(read.evaluations > 40);
    CHECK(read.passes >= 2);
    ++scenarios;
  }
  CHECK(scenarios > 8);
}

TEST_CASE("... also where frameworks are slower than the links, hosts hold kernels up, or kernels are cut in pieces") {
  const std::filesystem::path path = source_root() + "/scenarios/llama3-8b-h100-single-node.yaml";
  for (const std::vector<std::string>& overrides : std::vector<std::vector<std::string>>{
           {"training.framework=deepspeed", "strategy.sequence_parallel=false", "strategy.tensor=1"},
           {"training.framework=deepspeed-2021", "strategy.sequence_parallel=false", "strategy.tensor=1"},
           {"training.framework=megatron-lm-2022"},
           {"strategy.overlap_tensor=true"},
           {"strategy.context=2", "strategy.tensor=2"},
           {"training.precision=fp8"},
           {"training.blocking_launches=true"},
           {"model=mixtral-8x7b", "strategy.expert=4"},
           {"model=mamba2-1.3b"},
           {"cluster.nodes=[{type: mi250-8, count: 2}]"},
       }) {
    CAPTURE(overrides.front());
    CHECK(read_explanation(path, overrides).evaluations > 20);
  }
}
