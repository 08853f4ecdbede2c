#include "comparison/result_difference.hpp"

#include "comparison/difference_report.hpp"
#include "support/example.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

using namespace mirfak;

namespace {

using Overrides = std::vector<std::string>;

struct Two {
  Example first;
  Example second;

  ComparedRun a() const { return {"a.yaml", &first.scenario, &first.simulation}; }
  ComparedRun b() const { return {"b.yaml", &second.scenario, &second.simulation}; }
  ResultDifference difference() const { return result_difference(a(), b()); }
};

Two two(const Overrides& of_a, const Overrides& of_b) { return {example(of_a), example(of_b)}; }

template <typename Parts>
double sum_of_differences(const Parts& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, const auto& part) { return sum + part.difference(); });
}

// Unlike in size, in schedule, in what is exchanged, and in hardware.
const std::vector<std::pair<Overrides, Overrides>> kPairs = {
    {{}, {"strategy.tensor=4", "strategy.pipeline=2", "strategy.micro_batch=2"}},
    {{}, {"strategy.recompute=full"}},
    {{}, {"cluster.nodes[0].type=hgx-h100", "strategy.zero=1", "strategy.overlap_grad_reduce=true"}},
    {{"training.global_batch=32"}, {"cluster.nodes[0].count=4"}},
};

}  // namespace

TEST_CASE("activities add up to the difference of the iteration, stages to the iteration") {
  for (const auto& [of_a, of_b] : kPairs) {
    const Two both = two(of_a, of_b);
    const ResultDifference difference = both.difference();
    const double a = both.first.simulation.result.iteration_time_s;
    const double b = both.second.simulation.result.iteration_time_s;
    CHECK(std::abs(sum_of_differences(difference.activities) - (b - a)) < 1e-9 * std::max(a, b));
    for (const ComparedStage& stage : difference.stages) {
      if (stage.a)
        CHECK(stage.a->compute + stage.a->communication + stage.a->host + stage.a->bubble == doctest::Approx(a));
      if (stage.b)
        CHECK(stage.b->compute + stage.b->communication + stage.b->host + stage.b->bubble == doctest::Approx(b));
    }
    CHECK(sum_of_differences(difference.memory) == doctest::Approx(both.second.simulation.result.memory_peak_bytes -
                                                                   both.first.simulation.result.memory_peak_bytes));
  }
}

TEST_CASE("kernels add up to what the activities say of computing") {
  for (const auto& [of_a, of_b] : kPairs) {
    const ResultDifference difference = two(of_a, of_b).difference();
    double a = 0;
    double b = 0;
    for (const ComparedKernel& kernel : difference.kernels) {
      a += kernel.a ? kernel.a->seconds : 0;
      b += kernel.b ? kernel.b->seconds : 0;
    }
    const auto computing = [&](auto side) {
      double sum = 0;
      for (const char* key : {"gemm_s", "attention_s", "memory_bound_s", "optimizer_s"}) {
        const auto found = std::find_if(difference.activities.begin(), difference.activities.end(),
                                        [key](const ComparedFigure& figure) { return figure.key == key; });
        sum += (*found.*side).value();
      }
      return sum;
    };
    CHECK(a == doctest::Approx(computing(&ComparedFigure::a)).epsilon(1e-6));
    CHECK(b == doctest::Approx(computing(&ComparedFigure::b)).epsilon(1e-6));
  }
}

TEST_CASE("kernels that only one has are told so, and the same ones are matched by name") {
  const ResultDifference difference = two({}, {"strategy.recompute=full"}).difference();
  std::size_t only_b = 0;
  std::size_t matched = 0;
  for (const ComparedKernel& kernel : difference.kernels) {
    CHECK((kernel.a || kernel.b));
    only_b += kernel.a ? 0 : 1;
    matched += kernel.a && kernel.b ? 1 : 0;
    if (!kernel.a) CHECK(kernel.name.starts_with("recompute_"));
  }
  CHECK(only_b > 0);
  CHECK(matched > 0);
  CHECK(std::is_sorted(difference.kernels.begin(), difference.kernels.end(),
                       [](const ComparedKernel& x, const ComparedKernel& y) {
                         return std::abs(x.difference()) > std::abs(y.difference());
                       }));
}

TEST_CASE("a job and itself differ in nothing") {
  const Two both = two({}, {});
  const ResultDifference difference = both.difference();
  CHECK(difference.verdict == RangeVerdict::equal);
  CHECK(difference.keys.empty());
  for (const ComparedFigure& figure : difference.figures) CHECK(figure.difference() == 0);
  for (const ComparedKernel& kernel : difference.kernels) CHECK(kernel.difference() == 0);
  CHECK(difference_text(both.a(), both.b(), difference).find("Both scenarios say the same.") != std::string::npos);
}

TEST_CASE("the keys that differ are those that were set, defaults written out or not") {
  const ResultDifference same = two({}, {"training.precision=bf16"}).difference();
  CHECK(same.keys.empty());
  const ResultDifference other = two({}, {"training.global_batch=64", "cluster.nodes[0].network=ib-hdr"}).difference();
  const auto has = [&](const std::string& key, const std::string& value) {
    return std::any_of(other.keys.begin(), other.keys.end(),
                       [&](const KeyDifference& entry) { return entry.key == key && entry.b == value; });
  };
  CHECK(has("training.global_batch", "64"));
}

TEST_CASE("near figures have ranges that overlap, far ones do not") {
  CHECK(two({}, {"training.global_batch=256"}).difference().verdict == RangeVerdict::separated);
  CHECK(two({}, {"cluster.nodes[0].ports=4"}).difference().verdict == RangeVerdict::overlap);
}

TEST_CASE("text, JSON and CSV hold the same figures") {
  const Two both = two({}, {"strategy.recompute=full"});
  const ResultDifference difference = both.difference();
  const auto json = difference_json(both.a(), both.b(), difference);
  std::istringstream lines(difference_csv(difference));
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    CHECK(std::count(line.begin(), line.end(), ',') == 4);
    if (line.starts_with("figures,iteration_time_s,")) {
      CHECK(line.ends_with(fmt::format("{}", json["figures"]["iteration_time_s"]["difference"].get<double>())));
    }
  }
  CHECK(rows == 1 + json["figures"].size() + json["activities"].size() + 4 * json["stages"].size() +
                    json["kernels"].size() + json["communication"].size() + json["memory"].size());
  CHECK(difference_text(both.a(), both.b(), difference).find("only B") != std::string::npos);
}
