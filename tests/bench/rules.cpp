// Rule expressions: nanoseconds to evaluate one rule for one strategy, median of rounds.
//   mirfak_bench_rules [--smoke]

#include "strategy/rule_field_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

std::vector<RuleFields> strategies() {
  std::vector<RuleFields> all;
  for (int tensor = 1; tensor <= 16; tensor *= 2) {
    for (int pipeline = 1; pipeline <= 8; ++pipeline) {
      for (int recompute = 0; recompute < 3; ++recompute) {
        RuleFields fields;
        fields[rule_field("tensor")] = tensor;
        fields[rule_field("pipeline")] = pipeline;
        fields[rule_field("recompute")] = recompute;
        fields[rule_field("micro_batch")] = tensor + pipeline;
        fields[rule_field("layers")] = 96;
        all.push_back(fields);
      }
    }
  }
  return all;
}

double nanoseconds_of(const formula::Condition& rule, const std::vector<RuleFields>& all, int rounds) {
  std::vector<double> times;
  int held = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int repetition = 0; repetition < 100; ++repetition) {
      for (const RuleFields& fields : all) held += rule.holds(fields.values()) ? 1 : 0;
    }
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    times.push_back(time.count() / static_cast<double>(100 * all.size()));
  }
  if (held < 0) fmt::print("{}", held);  // so that the results are used
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[static_cast<std::size_t>(rounds / 2)];
}

}  // namespace

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string(argv[1]) == "--smoke";
  constexpr std::array rules = {"tensor <= 8", "not (recompute == 'full' and micro_batch > 4)",
                                "2 <= tensor <= 8 and pipeline in [1, 2, 4, 8]",
                                "layers % pipeline == 0 and layers // pipeline >= 12 or tensor * pipeline == 1"};
  const std::vector<RuleFields> all = strategies();
  fmt::print("{:>8}  rule\n", "ns");
  for (const char* text : rules) {
    const Document document = Document::from_text(fmt::format("rule: \"{}\"\n", text), "bench.yaml");
    const formula::Condition rule = parse_rule(Mapping(Node(document)).require("rule"));
    fmt::print("{:>8.1f}  {}\n", nanoseconds_of(rule, all, smoke ? 1 : 101), text);
  }
  return 0;
}
