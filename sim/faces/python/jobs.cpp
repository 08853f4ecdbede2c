#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "page/page_data.hpp"
#include "python/functions.hpp"
#include "python/inputs.hpp"
#include "python/json.hpp"
#include "python/sampling.hpp"
#include "python/waiting.hpp"
#include "report/jobs_report.hpp"
#include "scenario/jobs_file.hpp"
#include "simulation/joint_jobs.hpp"
#include "simulation/joint_links.hpp"
#include "simulation/joint_spread.hpp"
#include "trace/timeline_json.hpp"
#include "trace/trace_hdf5.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace mirfak::python {

namespace {

// Jobs that were simulated together, with all data that their reports use.
struct SimulatedJobs {
  JobsFile file;
  std::vector<JobAmong> jobs;
  LoweringOptions lowering;
  JointSimulation simulation;
  NetworkUse links;
  std::optional<JointSpread> spread;
  ReadFiles::ListPointer read = ReadFiles::of_this_thread();

  nlohmann::ordered_json json() const {
    nlohmann::ordered_json out = jobs_json(file, simulation, links);
    if (spread) out["spread"] = jobs_spread_json(file, *spread);
    return out;
  }
  std::string text() const {
    return jobs_text(file, simulation) + (spread ? "\n" + jobs_spread_text(file, *spread) : "");
  }
  std::string explanation() const { return text_of(jobs_explanation(file, jobs, simulation, links, lowering)); }
};

std::unique_ptr<SimulatedJobs> simulated_jobs(const Input& input, const LoweringOptions& lowering,
                                              const SampleChoice& samples) {
  const std::optional<SpreadOptions> sampling = sampling_of(samples);
  const Document document = input.document();
  if (!has_jobs(document)) {
    fail_input({document.name(), 0, 0}, "the section `jobs` is missing", "call mirfak.simulate() for a single job");
  }
  JobsFile file = read_jobs(document, *sources_of(input.data));
  note_what_is_idle(file, sampling.has_value());
  std::vector<JobAmong> jobs;
  for (const NamedJob& job : file.jobs) jobs.push_back({job.job(), job.start_s});
  JointSimulation simulation = simulate_together(jobs, file.iterations, lowering);
  NetworkUse links = network_use(simulation, file.names());
  std::optional<JointSpread> spread;
  if (sampling) spread = sample_together(jobs, file.iterations, *sampling);
  return std::make_unique<SimulatedJobs>(SimulatedJobs{std::move(file), std::move(jobs), lowering,
                                                       std::move(simulation), std::move(links), std::move(spread)});
}

using JobsClass = nb::class_<SimulatedJobs>;

template <typename Write>
void add_writer(JobsClass& type, const char* name, const char* what, Write write) {
  const std::string signature = std::string("def ") + name + "(self, path: str | os.PathLike[str]) -> None";
  type.def(
      name,
      [write](const SimulatedJobs& self, const std::filesystem::path& path) {
        write_beside(self.read, [&] { write(self, path); });
      },
      "path"_a, nb::sig(signature.c_str()), what);
}

void add_writers(JobsClass& type) {
  add_writer(type, "write_trace", "Writes all iterations of all jobs, and the links that they share, as HDF5.",
             [](const SimulatedJobs& self, const std::filesystem::path& path) {
               write_trace(path, self.file, self.simulation, self.links);
             });
  add_writer(type, "write_timeline", "Writes a timeline of all jobs for Perfetto or chrome://tracing.",
             [](const SimulatedJobs& self, const std::filesystem::path& path) {
               write_timeline_json(path, self.simulation, self.links);
             });
  add_writer(type, "write_report", "Writes a page (HTML) with views and reasons.",
             [](const SimulatedJobs& self, const std::filesystem::path& path) {
               write_text_file(path, page_of(jobs_page_data(self.file, self.simulation, self.links,
                                                            network_explanation(self.file, self.jobs, self.simulation,
                                                                                self.links, self.lowering))));
             });
}

}  // namespace

void add_jobs(nb::module_& module) {
  JobsClass type(module, "SimulatedJobs", "Result of mirfak.simulate_jobs().");
  type.def(
          "to_dict", [](const SimulatedJobs& self) { return to_python(self.json()); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"), "The keys of `mirfak simulate --format json`.")
      .def(
          "summary", [](const SimulatedJobs& self) { return self.text(); }, "Text that `mirfak simulate` prints.")
      .def(
          "explain",
          [](const SimulatedJobs& self) {
            return wait_for(nb::none(), [&](Reporter& /*unused*/) { return self.explanation(); });
          },
          "Links that bind, jobs whose traffic slows others, and every cost of each job with its sources.");
  add_writers(type);
  module.def(
      "simulate_jobs",
      [](const Input& input, bool unfolded, bool operators, int samples, std::optional<std::uint64_t> seed,
         bool antithetic) {
        const LoweringOptions lowering{unfolded, operators};
        const SampleChoice choice{samples, seed, antithetic};
        return wait_for(nb::none(), [&](Reporter& /*unused*/) { return simulated_jobs(input, lowering, choice); });
      },
      "input"_a, "unfolded"_a, "operators"_a, "samples"_a, "seed"_a.none(), "antithetic"_a,
      "Simulates several jobs on one cluster: see mirfak.simulate_jobs().");
}

}  // namespace mirfak::python
