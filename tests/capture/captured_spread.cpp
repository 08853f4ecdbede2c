// Steps of a capture with draws of perturbations, and with more of each resource. Times are told by hand from prices.
#include "capture/captured_spread.hpp"

#include "base/error.hpp"
#include "capture/capture_simulation.hpp"
#include "capture_texts.hpp"
#include "captured_parts.hpp"
#include "cost/kernel_model.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace captured_spread_test {

namespace {

CapturedScenario scenario_of(const std::vector<std::string>& events, const std::string& perturbations) {
  const ScratchFolder folder;
  std::ofstream(folder.path() / "job.capture", std::ios::binary)
      << capture_text_of(kSum, events.size() > 1 ? kLargeReduction : "", events);
  std::ofstream(folder.path() / "job.yaml")
      << "capture: job.capture\ncluster: {nodes: [{type: hgx-h100, count: 1, gpus: 2}], perturbations: "
      << perturbations << "}\n";
  return read_captured_scenario(Document::from_file(folder.path() / "job.yaml"), sources());
}

CapturedScenario two_ranks(const std::string& perturbations) {
  return scenario_of({kSumAndReduction, kSumAndReduction}, perturbations);
}

Spread spread_of(const CapturedScenario& scenario, int samples) {
  SpreadOptions options;
  options.samples = samples;
  return sample_steps(scenario, sources(), options);
}

double sum_s() {
  const GpuSpec gpu = sources().scenario().catalog.node(FileReference("hgx-h100")).gpu;
  return KernelModel(gpu, Precision::bf16).price_memory_bound(3 * 134217728.0).seconds;
}

}  // namespace

TEST_CASE("samples without width take what one step takes with the fixed factors") {
  const std::string fixed = "ranks: [{rank: 1, compute: 1.5, communication: 1.25}]";
  const double one_s = simulate(two_ranks("{" + fixed + "}"), sources()).result.iteration_s;
  const double even_s = simulate(two_ranks("{}"), sources()).result.iteration_s;
  REQUIRE(one_s > even_s + 0.4 * sum_s());
  const Spread spread = spread_of(two_ranks("{" + fixed + ", jitter: {host: {lognormal: {sigma: 1e-9}}}}"), 4);
  CHECK(spread.without_s == doctest::Approx(even_s).epsilon(1e-9));
  for (const SampledIteration& sample : spread.samples) CHECK(sample.time_s == doctest::Approx(one_s).epsilon(1e-6));
}

TEST_CASE("a collective waits for the slower of its ranks in each sample") {
  const Spread spread = spread_of(two_ranks("{ranks: {compute: {lognormal: {sigma: 0.1}}}}"), 2000);
  // The mean of the larger of two normal numbers lies deviation / sqrt(pi) above their mean; that of exp(0.1 x) is
  // e^0.005.
  const double expected_s = sum_s() * (std::exp(0.005) + 0.1 / std::sqrt(3.14159265) - 1);
  CHECK(spread.time.value - spread.without_s == doctest::Approx(expected_s).epsilon(0.05));
  CHECK(spread.binds[static_cast<std::size_t>(Cause::rank)] > 1000);
  CHECK(spread.binds[static_cast<std::size_t>(Cause::jitter)] == 0);
  REQUIRE(spread.ranks.size() == 2);
  CHECK(spread.ranks[0].samples - spread.ranks[1].samples < 200);
  CHECK_FALSE(spread.ranks[0].stage.has_value());
  CHECK(spread.stages.empty());
  CHECK(spread.mean_waste_j > 0);
}

TEST_CASE("jitter of a collective is one number for all of its ranks") {
  const Spread spread = spread_of(two_ranks("{jitter: {communication: {lognormal: {sigma: 0.1}}}}"), 400);
  // Both ranks' parts of the one collective have the same draw: the median is that without factors.
  CHECK(spread.quantiles[0].value == doctest::Approx(spread.without_s).epsilon(0.01));
}

TEST_CASE("a rank that is not in the capture slows what it takes part in") {
  const std::string drawn = "{ranks: {communication: {lognormal: {sigma: 0.1}}}}";
  std::string text = capture_text_of(kSum, kLargeReduction, {kSumAndReduction, kSumAndReduction});
  // The second rank is left out: its line goes, and the first of them stands alone in a world of two.
  const std::size_t begin = text.find("{\"rank\":1");
  text = with_end(text.substr(0, begin));
  const ScratchFolder folder;
  std::ofstream(folder.path() / "job.capture", std::ios::binary) << text;
  std::ofstream(folder.path() / "job.yaml")
      << "capture: job.capture\ncluster: {nodes: [{type: hgx-h100, count: 1, gpus: "
         "2}], perturbations: "
      << drawn << "}\n";
  const CapturedScenario alone = read_captured_scenario(Document::from_file(folder.path() / "job.yaml"), sources());
  REQUIRE(alone.capture->ranks.size() == 1);
  const Spread one = spread_of(alone, 400);
  const Spread both = spread_of(two_ranks(drawn), 400);
  // The collective takes the larger of two factors in both: more than the mean of one.
  CHECK(one.time.value == doctest::Approx(both.time.value).epsilon(1e-9));
  CHECK(one.time.value > one.without_s);
}

TEST_CASE("draws that a captured program has decided itself, and no draws, are refused") {
  const auto refusal = [](const std::string& perturbations) {
    try {
      spread_of(two_ranks(perturbations), 4);
    } catch (const Error& error) {
      return std::string(error.message());
    }
    return std::string();
  };
  CHECK(refusal("{}").find("draws nothing") != std::string::npos);
  CHECK(refusal("{tokens: {lognormal: {sigma: 0.1}}}").find("sequences of a captured program are as long") !=
        std::string::npos);
}

TEST_CASE("a step that moves memory gains from bandwidth, in proportion") {
  const CapturedScenario scenario = scenario_of({R"([["op",0,0,0,0],["op",0,0,0,0]])"}, "{}");
  const CaptureResult result = simulate(scenario, sources()).result;
  const Sensitivity gains = sensitivity(scenario, sources(), result, 2);
  REQUIRE_FALSE(gains.gains.empty());
  CHECK(gains.gains.front().resource.kind == HardwareResource::Kind::memory_bandwidth);
  CHECK(gains.gains.front().elasticity > 0.9);
  CHECK(gains.iteration_time_s == result.iteration_s);
  const auto of = std::find_if(gains.gains.begin(), gains.gains.end(), [](const ResourceGain& gain) {
    return gain.resource.kind == HardwareResource::Kind::bandwidth;
  });
  CHECK(of->gained_s == 0);
}

}  // namespace captured_spread_test
