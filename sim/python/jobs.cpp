#include "base/error.hpp"
#include "python/functions.hpp"
#include "python/inputs.hpp"
#include "python/json.hpp"
#include "python/waiting.hpp"
#include "report/jobs_report.hpp"
#include "scenario/jobs_file.hpp"
#include "simulation/joint_jobs.hpp"
#include "simulation/joint_links.hpp"

#include <nanobind/stl/string.h>

#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace mirfak::python {

namespace {

nlohmann::ordered_json joint_json(const Input& input, const LoweringOptions& lowering) {
  const Document document = input.document();
  if (!has_jobs(document)) {
    fail_input({document.name(), 0, 0}, "the section `jobs` is missing", "call mirfak.simulate() for a single job");
  }
  const JobsFile file = read_jobs(document, *sources_of(input.data));
  std::vector<JobAmong> jobs;
  for (const NamedJob& job : file.jobs) jobs.push_back({job.job(), job.start_s});
  const JointSimulation simulation = simulate_together(jobs, file.iterations, lowering);
  return jobs_json(file, simulation, network_use(simulation, file.names()));
}

}  // namespace

void add_jobs(nb::module_& module) {
  module.def(
      "simulate_jobs",
      [](const Input& input, bool unfolded, bool operators) {
        const LoweringOptions lowering{unfolded, operators};
        return to_python(wait_for(nb::none(), [&](Reporter& /*unused*/) { return joint_json(input, lowering); }));
      },
      "input"_a, "unfolded"_a, "operators"_a,
      nb::sig("def simulate_jobs(input: Input, unfolded: bool, operators: bool) -> dict[str, typing.Any]"),
      "Simulates several jobs on one cluster: see mirfak.simulate_jobs().");
}

}  // namespace mirfak::python
