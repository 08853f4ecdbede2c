// Every command that writes files, with each call by which it changes one failing in turn: because the disk is full,
// because the device fails, or because the program is killed there. Whatever the call, no file is lost or left half
// written, the message says which file and why, and the same command then does its work as if nothing had been.

#include "fault_runs.hpp"

#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "support/source_root.hpp"
#include "trace/trace_hdf5.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

using namespace mirfak::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kScenario =
    "model: gpt3-1.3b\n"
    "cluster: {nodes: [{type: dgx-a100-80g, count: 1}]}\n"
    "training: {global_batch: 4}\n"
    "strategy: {tensor: 4, pipeline: 2}\n";
constexpr const char* kSearch =
    "model: gpt3-1.3b\n"
    "cluster: {nodes: [{type: dgx-a100-80g, count: 1}]}\n"
    "training: {global_batch: 8}\n"
    "strategy: {tensor: 2, pipeline: 4, micro_batch: 1}\n"
    "search: {top: 1, space: {context: [1], overlap_tensor: [false], uneven_layers: 0}}\n";
constexpr const char* kSweep =
    "scenario: s.yaml\n"
    "axes: [{grid: {strategy.tensor: [1, 3, 4]}}]\n";  // 3 does not divide 8 GPUs
constexpr const char* kRuns =
    "gpu,n_gpus,n_layers,hidden,n_heads,seq_len,micro_batch,global_batch,dtype,s_per_iter_derived\n"
    "A100,8,24,1024,16,1024,4,64,fp16,1\n";

constexpr const char* kMachine =
    "key,value\nprocessor,A processor\nprocesses,4\ncores,2\nmemory_bytes,16000000000\ncache_bytes,4000000\n"
    "clock_hz,2000000000\nsystem,Linux\n";

// The tables that a machine of 20 GFLOP/s and 8 GB/s in each direction would have measured.
std::string product_table() {
  std::string out = "b,m,n,k,latency_us\n";
  for (const int m : {64, 256, 1024, 2048}) {
    for (const int k : {64, 256, 1024}) out += fmt::format("1,{0},{0},{1},{2:.3f}\n", m, k, 1 + 1e-4 * m * m * k);
  }
  return out;
}

std::string memory_table() {
  std::string out = "kernel,bytes,time_us\nlaunch,0,3\n";
  for (double bytes = 1e4; bytes < 1e9; bytes *= 4) {
    out +=
        fmt::format("elementwise,{0:.0f},{1:.3f}\nsoftmax,{0:.0f},{2:.3f}\n", bytes, 3 + bytes / 8e3, 3 + bytes / 3e3);
  }
  return out;
}

std::string send_table() {
  std::string out = "collective,n_gpus,n_nodes,bytes,time_us\n";
  for (double bytes = 1e3; bytes < 1e9; bytes *= 10) {
    out += fmt::format("sendrecv,2,1,{:.0f},{:.3f}\n", bytes, 20 + bytes / 4000);
  }
  return out;
}

std::string energy_table() {
  std::string out =
      "kernel,precision,clock_hz,clock_set,flop,bytes,time_us,energy_j,power_w,temperature_c\n"
      "idle,bf16,210e6,0,0,0,1,1,61,40\n";
  for (const double clock : {1410e6, 1305e6, 1200e6, 1050e6, 900e6, 705e6}) {
    out += fmt::format("gemm,bf16,{},1,0,0,1,1,{:.2f},40\n", clock, 380 * (0.3 + 0.7 * std::pow(clock / 1410e6, 2.5)));
  }
  return out;
}

// The traces of a job as it is predicted, and as if it had been measured so.
Files two_traces() {
  using namespace mirfak;
  const ScratchFolder folder;
  const fs::path source = mirfak::source_root();
  folder.write("s.yaml", kScenario);
  const Scenario scenario = load_scenario(folder.path() / "s.yaml", {}, {source / "models", source / "hw_profiles"});
  const Simulation simulation = simulate(scenario.job);
  Measurement measured;
  measured.machine = "a stand-in";
  measured.backend = "none";
  measured.iterations = 1;
  measured.shortest_s = measured.longest_s = simulation.result.iteration_time_s;
  write_trace(folder.path() / "p.h5", scenario, simulation);
  write_trace(folder.path() / "m.h5", scenario, simulation, measured);
  return {{"p.h5", read_text(folder.path() / "p.h5")}, {"m.h5", read_text(folder.path() / "m.h5")}};
}

bool is_staged(const std::string& file) { return file.find(".partial-") != std::string::npos; }

// The name of the file that is being written as this one: a staged file has its target's name in front.
std::string written_file(const std::string& file) {
  return fs::path(file.substr(0, file.find(".partial-"))).filename().string();
}

std::string reason_of(Fault fault) { return fault == Fault::no_space ? "no space left" : "Input/output error"; }

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

class Trial {
 public:
  Trial(const WritingJob& job, Fault fault, std::set<Files>& resumed)
      : job_(job), whole_(undisturbed(job)), fault_(fault), resumed_(resumed) {
    for (const std::string& output : job.outputs) REQUIRE_MESSAGE(whole_.contains(output), output);
  }

  // Runs the job with the fault at its n-th call; false: there was no n-th call.
  bool run_at(long n) {
    const FaultyRun trial = run_with_fault(job_, fault_, n);
    if (std::ssize(trial.calls) < n) {
      CHECK(trial.finished.status == 0);
      CHECK(trial.after == whole_);
      return false;
    }
    const FileCall& failed = trial.calls.back();
    calls_.insert(failed.name + " " + written_file(failed.file));
    INFO("the call is ", failed.name, " of ", failed.file);
    INFO("standard error: ", trial.finished.err);
    check_end(trial.finished, failed);
    check_files(trial, failed);
    check_resumption(trial);
    return true;
  }

  const std::set<std::string>& calls() const { return calls_; }  // that failed: "rename t.h5"

 private:
  void check_end(const Finished& finished, const FileCall& failed) const {
    if (fault_ == Fault::kill) {
      CHECK(finished.signal == SIGKILL);
      return;
    }
    CHECK(finished.signal == 0);
    if (finished.status == 0) return;  // its files say whether that is right
    CHECK(finished.status == 1);
    CHECK(finished.out.empty());
    CHECK(finished.err.starts_with("mirfak: error: "));
    CHECK(occurrences(finished.err, "error: ") == 1);
    CHECK(finished.err.find(written_file(failed.file)) != std::string::npos);
    const bool removal = failed.name == "remove";  // for which it does not matter how much space is left
    const std::string reason = removal && fault_ == Fault::no_space ? "No space left" : reason_of(fault_);
    CHECK(finished.err.find(reason) != std::string::npos);
  }

  void check_files(const FaultyRun& trial, const FileCall& failed) const {
    for (const auto& after : trial.after) {
      const std::string& name = after.first;
      const std::string& text = after.second;
      CAPTURE(name);
      if (is_staged(name)) {
        // A staged file stays only if it could not be removed, and then that is said.
        CHECK((fault_ == Fault::kill || (failed.name == "remove" && failed.file == name)));
        CHECK((fault_ == Fault::kill || trial.finished.err.find(name) != std::string::npos));
      } else if (name != job_.journal) {
        const bool before = job_.before.contains(name) && job_.before.at(name) == text;
        const bool complete = whole_.contains(name) && whole_.at(name) == text;
        CHECK((before || complete));
      } else if (trial.finished.status == 0) {
        CHECK(trial.finished.out.find(name + " could not be removed") != std::string::npos);
      }
    }
    for (const auto& before : job_.before) {
      const std::string& name = before.first;
      if (name != job_.journal) CHECK_MESSAGE(trial.after.contains(name), name, " is lost");
    }
    if (trial.finished.status == 0) check_whole(trial.after, job_.journal);
  }

  // Checks that the command resumes, once for equal files: they lead to the same, however they came about.
  void check_resumption(const FaultyRun& trial) const {
    Files files;
    for (const auto& [name, text] : trial.after) files[is_staged(name) ? written_file(name) + " staged" : name] = text;
    if (!resumed_.insert(std::move(files)).second) return;
    const Resumption resumption = resume(job_, trial);
    CHECK_MESSAGE(resumption.finished.status == 0, resumption.finished.err);
    check_whole(resumption.after, "");
  }

  // All files that a run without faults leaves and no others, but for what another run left.
  void check_whole(Files files, const std::string& journal) const {
    std::erase_if(files, [&](const auto& file) { return is_staged(file.first) || file.first == journal; });
    CHECK(files == whole_);
  }

  const WritingJob& job_;
  const Files whole_;
  Fault fault_;
  std::set<Files>& resumed_;
  std::set<std::string> calls_;
};

// The job with files to replace, which is what a full disk and a kill have to leave alone, and without.
void check_job(const WritingJob& job, const Files& old = {}) {
  CAPTURE(fmt::format("{}", fmt::join(job.words, " ")));
  WritingJob replacing = job;
  replacing.before.insert(old.begin(), old.end());
  std::set<Files> resumed;
  for (const Fault fault : {Fault::no_space, Fault::device, Fault::kill}) {
    CAPTURE(static_cast<int>(fault));
    Trial trial(fault == Fault::device ? job : replacing, fault, resumed);
    long n = 1;
    while (trial.run_at(n)) ++n;
    // The trial of writing before the work, the writing, and taking its name.
    for (const std::string& output : job.outputs) {
      const std::string name = fs::path(output).filename().string();
      for (const char* call : {"open ", "write ", "fsync ", "close ", "rename "}) {
        CHECK_MESSAGE(trial.calls().contains(call + name), call, name);
      }
    }
  }
}

Files old_files(const std::vector<std::string>& names) {
  Files out;
  for (const std::string& name : names) out[name] = "what was there before\n";
  return out;
}

void check_replacing(const WritingJob& job) { check_job(job, old_files(job.outputs)); }

}  // namespace

TEST_CASE("simulate") {
  check_replacing(
      {{"simulate", "s.yaml", "--trace", "t.h5", "--timeline", "t.json"}, {{"s.yaml", kScenario}}, {"t.h5", "t.json"}});
}

TEST_CASE("search") {
  check_replacing({{"search", "s.yaml", "--out", "best.yaml"}, {{"s.yaml", kSearch}}, {"best.yaml"}});
}

TEST_CASE("frontier") {
  check_replacing({{"frontier", "s.yaml", "--plan", "p.json", "--out", "f.csv", "--report", "f.html"},
                   {{"s.yaml", kScenario}},
                   {"p.json", "f.csv", "f.html"}});
}

TEST_CASE("schedule") {
  check_replacing(
      {{"schedule", "1f1b", "--stages", "2", "--microbatches", "4", "--out", "order.csv"}, {}, {"order.csv"}});
}

TEST_CASE("validate, of runs") {
  check_replacing({{"validate", "runs.csv", "--out", "e.csv", "--report", "r.md"},
                   {{"runs.csv", kRuns}},
                   {"e.csv", "r.md", "r.svg"}});
}

TEST_CASE("validate, for ranges") {
  check_replacing({{"validate", "a.csv", "b.csv", "c.csv", "--ranges", "r.yaml", "--report", "r.md"},
                   {{"a.csv", kRuns}, {"b.csv", kRuns}, {"c.csv", kRuns}},
                   {"r.yaml", "r.md", "r.svg", "r-ranges.svg"}});
}

TEST_CASE("validate, of traces") {
  check_replacing({{"validate", "p.h5", "m.h5", "--out", "c.csv"}, two_traces(), {"c.csv"}});
}

TEST_CASE("calibrate, of a profile that is there and of a new one") {
  const WritingJob job{{"calibrate", "energy.csv", "--gpu", "a100-80g", "--out", "own.yaml"},
                       {{"energy.csv", energy_table()}},
                       {"own.yaml"}};
  const std::string profile = read_text(fs::path(mirfak::source_root()) / "hw_profiles" / "gpus" / "a100-40g.yaml");
  check_job(job, {{"own.yaml", profile}});
}

TEST_CASE("calibrate, of own runs") {
  check_replacing({{"calibrate", "--runs", "runs.csv", "--out", "ours.yaml"}, {{"runs.csv", kRuns}}, {"ours.yaml"}});
}

TEST_CASE("calibrate, of a machine") {
  const std::vector<std::string> outputs = {"own/here-core.yaml", "own/here-link.yaml", "own/here.yaml"};
  check_replacing({{"calibrate", "gemm.csv", "memory.csv", "collectives.csv", "--machine", "m.csv", "--name", "here",
                    "--out", "own"},
                   {{"m.csv", kMachine},
                    {"gemm.csv", product_table()},
                    {"memory.csv", memory_table()},
                    {"collectives.csv", send_table()}},
                   outputs});
}

TEST_CASE("sweep, and what it left goes on") {
  const std::vector<std::string> words = {"sweep", "sweep.yaml", "--out", "r.h5", "--jobs", "1"};
  WritingJob job{words, {{"s.yaml", kScenario}, {"sweep.yaml", kSweep}}, {"r.h5"}, {"--resume"}, "r.h5.part"};
  check_job(job);
}

TEST_CASE("sweep --resume, of a journal that ends in half a record") {
  const std::vector<std::string> words = {"sweep", "sweep.yaml", "--out", "r.h5", "--jobs", "1", "--resume"};
  WritingJob job{words, {{"s.yaml", kScenario}, {"sweep.yaml", kSweep}}, {"r.h5"}, {}, "r.h5.part"};
  const Files whole = undisturbed(job);
  FaultyRun killed;
  int records = 0;  // the header is one
  for (long n = 1; records < 3; ++n) {
    killed = run_with_fault(job, Fault::kill, n);
    REQUIRE(killed.finished.signal == SIGKILL);
    records = 0;
    for (const FileCall& call : killed.calls) records += call.name == "write" && call.file == job.journal ? 1 : 0;
  }
  job.before[job.journal] = killed.after.at(job.journal);
  CHECK(undisturbed(job) == whole);
  check_job(job);
}

TEST_CASE("sweep --merge") {
  Files tables;
  for (const char* shard : {"1/2", "2/2"}) {
    const std::string out = fmt::format("{}.h5", shard[0]);
    tables[out] = undisturbed({{"sweep", "sweep.yaml", "--out", out, "--shard", shard},
                               {{"s.yaml", kScenario}, {"sweep.yaml", kSweep}},
                               {}})
                      .at(out);
  }
  check_replacing({{"sweep", "--merge", "r.h5", "1.h5", "2.h5"}, tables, {"r.h5"}});
}
