// Passes of captured programs at several clocks: at the highest clocks they are the step that is simulated, and plans
// keep in the whole step, kernel by kernel, what they promise.
#include "capture/captured_clocks.hpp"

#include "base/error.hpp"
#include "captured_parts.hpp"
#include "energy/frontier.hpp"
#include "engine/execute.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace captured_clocks_test {

namespace {

CapturedScenario scenario_of(const std::string& name, const std::string& node, const std::string& of_cluster = "") {
  const std::string text = "capture: " + source_root() + "/scenarios/capture/" + name + ".capture\n" +
                           "cluster: {nodes: [{type: " + node + ", count: 1}]" + of_cluster + "}\n";
  return read_captured_scenario(Document::from_text(text, "job.yaml"), sources());
}

// The whole step with its kernels at the clocks of a plan.
CaptureResult executed_at(const CapturedScenario& scenario, const CapturedClocks& clocks,
                          const ClockAssignment& assigned) {
  const CapturePricing pricing = pricing_of(scenario, sources());
  CapturedProgram executed = clocks.simulated.executed;
  execute_at(*scenario.capture, pricing, kernel_limits_of(clocks, assigned), executed);
  return capture_result(*scenario.capture, pricing, executed);
}

}  // namespace

TEST_CASE("at the highest clocks the passes are the step that is simulated") {
  for (const char* name : {"stages", "pipeline", "attention"}) {
    for (const char* node : {"hgx-h100", "dgx-a100-80g"}) {
      CAPTURE(name);
      CAPTURE(node);
      const CapturedScenario scenario = scenario_of(name, node);
      const CapturedClocks found = captured_clocks(scenario, sources());
      const CaptureResult& result = found.simulated.result;
      found.clocked.program.validate();
      const Timeline timeline = execute(found.clocked.program);
      CHECK(timeline.makespan == found.simulated.executed.timeline.makespan);
      for (std::size_t i = 0; i < found.passes.passes.size(); ++i) {
        const TaskId task = found.passes.task_of[i];
        CHECK(timeline.start[task] == found.passes.passes[i].start(found.simulated.executed));
        CHECK(timeline.end[task] == found.passes.passes[i].end(found.simulated.executed));
      }
      const ExecutedClocks highest = execute_clocks(found.clocked, highest_clocks(found.clocked));
      CHECK(highest.energy_j == doctest::Approx(result.energy_j).epsilon(1e-9));
    }
  }
}

TEST_CASE("a pipeline has a forward and a backward pass for each microbatch") {
  const CapturedClocks found = captured_clocks(scenario_of("stages", "hgx-h100"), sources());
  for (std::size_t rank = 0; rank < 4; ++rank) {
    for (const CapturedPassKind kind : {CapturedPassKind::forward, CapturedPassKind::backward}) {
      CAPTURE(rank);
      const std::vector<CapturedPass>& passes = found.passes.passes;
      CHECK(std::count_if(passes.begin(), passes.end(),
                          [&](const CapturedPass& pass) { return pass.rank == rank && pass.kind == kind; }) == 8);
    }
  }
}

TEST_CASE("a plan, executed kernel by kernel, keeps its time and energy") {
  for (const char* node : {"hgx-h100", "dgx-a100-80g"}) {
    const CapturedScenario scenario = scenario_of("stages", node);
    const CapturedClocks found = captured_clocks(scenario, sources());
    const Frontier planned = frontier(found.clocked, std::vector<double>{1.1});
    REQUIRE(planned.plans.size() == 2);
    for (const StragglerPlan& plan : planned.plans) {
      CAPTURE(node);
      CAPTURE(plan.slowdown);
      const CaptureResult whole = executed_at(scenario, found, plan.executed.clocks);
      CHECK(whole.iteration_s == doctest::Approx(to_seconds(plan.executed.makespan)).epsilon(0.005));
      CHECK(whole.energy_j == doctest::Approx(plan.executed.energy_j).epsilon(0.01));
    }
    // Passes of the stage that bounds the step keep the highest clock; others have time to spare.
    CHECK(planned.intrinsic_saving() > 0.05);
    // With all passes at the highest clocks, the whole step is the one that is simulated.
    const CaptureResult highest = executed_at(scenario, found, highest_clocks(found.clocked));
    CHECK(highest.iteration_s == found.simulated.result.iteration_s);
  }
}

TEST_CASE("ranks that meet inside passes, or are slow, are refused, with the place") {
  const auto refusal = [](const CapturedScenario& scenario) -> std::string {
    try {
      captured_clocks(scenario, sources());
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::infeasible);
      return error.what();
    }
    return "";
  };
  CHECK(refusal(scenario_of("fsdp", "hgx-h100")).find("ranks 0 and 1 wait for each other inside a pass") !=
        std::string::npos);
  CHECK(refusal(scenario_of("stages", "hgx-h100", ", perturbations: {ranks: [{rank: 1, compute: 1.5}]}"))
            .find("job.yaml:2:") == 0);
}

}  // namespace captured_clocks_test
