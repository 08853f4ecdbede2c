// Trace and timeline of several jobs on one cluster.
#include "base/staged_file.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"
#include "trace/hdf5_file.hpp"
#include "trace/timeline_json.hpp"
#include "trace/trace_hdf5.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

constexpr const char* kJobs = R"(
cluster:
  nodes: [{type: dgx-a100-80g, count: 8}]
  fabric: {type: fat-tree, leaf_ports: 16, oversubscription: 8}
iterations: 2
jobs:
  - name: even
    nodes: "0,2,4,6"
    scenario: &training
      model: gpt3-2.7b
      training: {global_batch: 32, sequence_length: 1024, precision: bf16}
      strategy: {tensor: 2, pipeline: 2, micro_batch: 1, overlap_grad_reduce: true}
  - name: odd
    count: 4
    start_s: 0.05
    scenario: *training
    set: {strategy.pipeline: 4, strategy.virtual_pipeline: 2, strategy.schedule: interleaved-1f1b}
)";

struct TwoJobs {
  JobsFile file;
  JointSimulation simulation;
  NetworkUse links;
};

TwoJobs two_jobs() {
  const std::string& root = mirfak::source_root();
  JobsFile file =
      read_jobs(Document::from_text(kJobs, "jobs.yaml"), ScenarioSources({root + "/models", root + "/hw_profiles"}));
  std::vector<JobAmong> jobs;
  for (const NamedJob& job : file.jobs) jobs.push_back({job.job(), job.start_s});
  JointSimulation simulation = simulate_together(jobs, file.iterations);
  NetworkUse links = network_use(simulation, file.names());
  return {std::move(file), std::move(simulation), std::move(links)};
}

}  // namespace

TEST_CASE("a trace of jobs holds every job as a trace of its own, and the links that they share") {
  const TwoJobs two = two_jobs();
  const ScratchFolder folder;
  write_trace(folder / "jobs.h5", two.file, two.simulation, two.links);
  const Hdf5File file = Hdf5File::open(folder / "jobs.h5");
  CHECK(file.read_text("/", "filetype") == "mirfak trace of jobs");
  CHECK(file.read_texts("/names/job") == std::vector<std::string>{"even", "odd"});
  CHECK(file.read_column<double>("/shared_links/bytes").size() == two.links.links.size());
  for (std::size_t job = 0; job < 2; ++job) {
    const std::string at = fmt::format("/jobs/{}", job);
    const JobAmongOthers& of = two.simulation.jobs[job];
    CHECK(file.read_number(at + "/summary", "iteration_time_s") == of.together.iteration_time_s);
    const auto end = file.read_column<double>(at + "/tasks/end_s");
    const auto iterations = file.read_column<double>(at + "/iterations/end_s");
    CHECK(iterations.size() == two.simulation.joint.ends[job].size());
    CHECK(*std::max_element(end.begin(), end.end()) == iterations.back());
    CHECK(file.read_column<double>(at + "/iterations/begin_s").front() == doctest::Approx(job == 0 ? 0 : 0.05));
    const auto counts = file.read_column<std::uint8_t>(at + "/iterations/counts");
    CHECK(std::count(counts.begin(), counts.end(), 1) == of.iterations);
    const auto memory = file.read_column<double>(at + "/memory/bytes");
    CHECK(*std::max_element(memory.begin(), memory.end()) == of.together.memory_peak_bytes);
    for (const std::uint32_t device : file.read_column<std::uint32_t>(at + "/ranks/device")) {
      CHECK(two.file.cluster.place_of(static_cast<int>(device)).node % 2 == static_cast<int>(job));
    }
  }
  const auto slowed = file.read_column<double>("/slowed/slowed_s");
  const auto even = file.read_column<double>("/slowed/by_job_0_s");
  const auto odd = file.read_column<double>("/slowed/by_job_1_s");
  REQUIRE_FALSE(slowed.empty());
  for (std::size_t i = 0; i < slowed.size(); ++i) CHECK(even[i] + odd[i] == doctest::Approx(slowed[i]));
}

TEST_CASE("a timeline of jobs has a process for each rank of each, named after its job") {
  const TwoJobs two = two_jobs();
  const ScratchFolder folder;
  write_timeline_json(folder / "jobs.json", two.simulation, two.links);
  const auto json = nlohmann::json::parse(read_text_file(folder / "jobs.json"));
  std::map<int, std::string> processes;
  std::map<std::string, double> last;  // end of the last event, by job
  bool counters = false;
  for (const auto& event : json.at("traceEvents")) {
    const std::string phase = event.at("ph");
    const int process = event.at("pid");
    counters = counters || phase == "C";
    if (event.at("name") == "process_name") {
      CHECK(processes.emplace(process, event.at("args").at("name")).second);
    }
    if (phase != "X") continue;
    double& end = last[processes.at(process).substr(0, processes.at(process).find(':'))];
    end = std::max(end, event.at("ts").get<double>() + event.at("dur").get<double>());
  }
  CHECK(counters == two.links.binds());
  REQUIRE(last.size() == 2);
  CHECK(last.at("even") * 1e-6 ==
        doctest::Approx(to_seconds(two.simulation.timeline.end[two.simulation.joint.ends[0].back()])));
  CHECK(last.at("odd") * 1e-6 ==
        doctest::Approx(to_seconds(two.simulation.timeline.end[two.simulation.joint.ends[1].back()])));
}
