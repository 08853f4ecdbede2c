// Measure, calibrate, predict, run, compare, on this machine. Times are whatever they are here; what is checked is that
// what ran is what the program says.

#include "measure_program.hpp"
#include "schedule/schedule.hpp"
#include "trace/hdf5_file.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>

using namespace mirfak;
using namespace mirfak::test;

namespace {

void require_success(const Finished& finished) { REQUIRE_MESSAGE(finished.status == 0, finished.out << finished.err); }

// Runs nothing but what it names: a profile of this machine in the folder profile/.
void calibrate_here(const ScratchFolder& folder) {
  folder.write("tiny.yaml", tiny_scenario("dgx-a100-80g", 1, "pipeline: 2"));
  require_success(measure(2, "kernels tiny.yaml --out measured --repeats 3", folder));
  require_success(measure(2, "collectives --out measured --repeats 5 --most-mb 4", folder));
  require_success(
      run_shell("mirfak calibrate measured/gemm.csv measured/memory.csv measured/collectives.csv "
                "--machine measured/machine.csv --name here --out profile",
                folder.path()));
}

struct Tasks {
  explicit Tasks(const std::filesystem::path& path) : file(Hdf5File::open(path)) {
    for (const char* name : {"start_s", "end_s", "bytes"}) {
      numbers[name] = file.read_column<double>(std::string("/tasks/") + name);
    }
    for (const char* name : {"rank", "stream", "kind", "name"}) {
      codes[name] = file.read_column<std::uint32_t>(std::string("/tasks/") + name);
    }
  }
  std::size_t size() { return numbers["start_s"].size(); }

  Hdf5File file;
  std::map<std::string, std::vector<double>> numbers;
  std::map<std::string, std::vector<std::uint32_t>> codes;
};

// The same tasks in the same order, each once, with the same bytes.
void check_same_tasks(Tasks& predicted, Tasks& measured) {
  REQUIRE(predicted.size() == measured.size());
  for (const char* name : {"rank", "stream", "kind", "name"}) CHECK(predicted.codes[name] == measured.codes[name]);
  CHECK(predicted.numbers["bytes"] == measured.numbers["bytes"]);
  CHECK(predicted.file.read_texts("/names/task") == measured.file.read_texts("/names/task"));
}

// No task begins before what it waits for has ended, or the task before it on its stream.
void check_order(Tasks& tasks) {
  const auto begin = tasks.file.read_column<std::int64_t>("/dependencies/begin");
  const auto before = tasks.file.read_column<std::uint32_t>("/dependencies/task");
  const auto streams = tasks.file.read_texts("/names/stream");
  const double tolerance = tasks.file.read_number("/summary", "clock_error_s") + 1e-12;
  const std::vector<double>& start = tasks.numbers["start_s"];
  const std::vector<double>& end = tasks.numbers["end_s"];
  REQUIRE(begin.size() == tasks.size() + 1);
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> free;
  double last = 0;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    CHECK(start[task] >= 0);
    CHECK(end[task] >= start[task]);
    for (auto i = begin[task]; i < begin[task + 1]; ++i) {
      CHECK(start[task] >= end[before[static_cast<std::size_t>(i)]] - tolerance);
    }
    last = std::max(last, end[task]);
    if (streams[tasks.codes["stream"][task]] == "group") continue;
    double& until = free[{tasks.codes["rank"][task], tasks.codes["stream"][task]}];
    CHECK(start[task] >= until - tolerance);
    until = end[task];
  }
  CHECK(tasks.file.read_number("/summary", "iteration_time_s") == doctest::Approx(last));
}

struct Case {
  std::string strategy;
  int ranks = 2;
};

void run_and_compare(const Case& job, const ScratchFolder& folder) {
  CAPTURE(job.strategy);
  folder.write("job.yaml", tiny_scenario("./profile/here.yaml", job.ranks / 2, job.strategy));
  require_success(
      run_shell("mirfak simulate job.yaml --detail operators --unfolded --trace predicted.h5", folder.path()));
  require_success(measure(job.ranks, "run job.yaml --out measured.h5 --iterations 3 --timeout 30", folder));
  Tasks predicted(folder.path() / "predicted.h5");
  Tasks measured(folder.path() / "measured.h5");
  check_same_tasks(predicted, measured);
  check_order(measured);

  const Finished compared =
      run_shell("mirfak validate predicted.h5 measured.h5 --format json --out e.csv", folder.path());
  require_success(compared);
  const auto json = nlohmann::json::parse(compared.out);
  CHECK(json["tasks"] == predicted.size());
  CHECK(json["measurement"]["iterations"] == 3);
  CHECK(json["measurement"]["shortest_s"] <= json["iteration"]["measured"]);
  CHECK(json["measurement"]["longest_s"] >= json["iteration"]["measured"]);
  CHECK(json["iteration"]["measured"] == measured.file.read_number("/summary", "iteration_time_s"));
  double difference = 0;
  for (const auto& cause : json["causes"])
    difference += cause["measured"].get<double>() - cause["predicted"].get<double>();
  const double total = json["iteration"]["measured"].get<double>() - json["iteration"]["predicted"].get<double>();
  CHECK(difference == doctest::Approx(total).epsilon(1e-6));
  CHECK(run_shell("mirfak validate measured.h5 predicted.h5", folder.path()).status == 2);
}

}  // namespace

TEST_CASE("measure, calibrate, predict, run, compare") {
  const ScratchFolder folder;
  calibrate_here(folder);
  std::vector<Case> jobs = {{"tensor: 2, sequence_parallel: true"},
                            {"data: 2, zero: 1"},
                            {"data: 2, zero: 1, overlap_grad_reduce: true, overlap_param_gather: true"},
                            {"tensor: 2, pipeline: 2, schedule: dualpipe", 4},
                            {"sequence_parallel: true, stages: [{gpus: 1, layers: 1}, {gpus: 2, tensor: 2, layers: 2}, "
                             "{gpus: 1, layers: 1}]",
                             4},
                            {"scatter_gather: true, stages: [{gpus: 1, layers: 1}, {gpus: 2, tensor: 2, layers: 2}, "
                             "{gpus: 1, layers: 1}]",
                             4},
                            {"tensor: 2, pipeline: 2, scatter_gather: true", 4},
                            {"pipeline: 2, schedule: ./crosswise.csv"}};
  for (const Schedule& schedule : schedules()) {
    const char* chunks = schedule.chunks == 0 ? ", virtual_pipeline: 2" : "";
    jobs.push_back({fmt::format("pipeline: 2, schedule: {}{}", schedule.name, chunks)});
  }
  // Both stages hold both parts of the model, and one runs two passes beside each other.
  folder.write("crosswise.csv",
               "0F0,0F2,1F1,1I1,(1F3;0B0)OVERLAP_F_B,1W1,1B3,0B2\n0F1,1F0,1B0,0F3,1F2,1I2,0B1,1W2,0B3\n");
  for (const Case& job : jobs) run_and_compare(job, folder);
  // The scenario in a trace reads back, wherever it is read: it names the node type by its path.
  const std::string stored = Hdf5File::open(folder.path() / "measured.h5").read_text("/scenario");
  std::filesystem::create_directory(folder.path() / "elsewhere");
  folder.write("elsewhere/stored.yaml", stored);
  require_success(run_shell("mirfak simulate stored.yaml", folder.path() / "elsewhere"));
  // Traces of two jobs are told apart.
  folder.write("job.yaml", tiny_scenario("./profile/here.yaml", 2, "pipeline: 4"));
  require_success(
      run_shell("mirfak simulate job.yaml --detail operators --unfolded --trace predicted.h5", folder.path()));
  const Finished other = run_shell("mirfak validate predicted.h5 measured.h5", folder.path());
  CHECK(other.status == 2);
  CHECK_MESSAGE(other.err.find("strategy.pipeline: 4 (predicted)") != std::string::npos, other.err);
}
