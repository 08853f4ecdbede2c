// Sweeps as a user runs them, and as a machine that fails ends them.

#include "program.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

using namespace mirfak::test;
namespace fs = std::filesystem;

namespace {

// 1,536 points of some 100 us each.
constexpr const char* kSweep =
    "scenario:\n"
    "  model: gpt3-1.3b\n"
    "  cluster: {nodes: [{type: dgx-a100-80g, count: 1}]}\n"
    "  training: {global_batch: 64}\n"
    "  strategy: {}\n"
    "axes:\n"
    "  - grid:\n"
    "      strategy.tensor: [1, 2, 3, 4, 8, 16]\n"
    "      strategy.micro_batch: [1, 2, 4, 8]\n"
    "      training.global_batch: {from: 8, to: 512, step: 8}\n";

// Starts a sweep and sends `signal` after a while; whether that found it still running.
bool signal_after(const ScratchFolder& folder, int signal, std::chrono::microseconds pause) {
  std::vector<std::string> words = {program().string(), "sweep",  "sweep.yaml", "--out", "r.h5",
                                    "--resume",         "--jobs", "2"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.path().c_str());
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  REQUIRE(posix_spawn(&child, program().c_str(), &actions, nullptr, arguments.data(), environ) == 0);
  posix_spawn_file_actions_destroy(&actions);
  std::this_thread::sleep_for(pause);
  kill(child, signal);
  int state = 0;
  REQUIRE(waitpid(child, &state, 0) == child);
  if (signal != SIGKILL && WIFEXITED(state) && WEXITSTATUS(state) == 130) return true;
  if (WIFSIGNALED(state)) CHECK(WTERMSIG(state) == signal);  // and not a crash
  return WIFSIGNALED(state);
}

Finished sweep(const ScratchFolder& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "sweep");
  return run({std::move(arguments), folder.path()});
}

}  // namespace

TEST_CASE("a sweep that is killed at any moment goes on to the same table") {
  const ScratchFolder folder;
  folder.write("sweep.yaml", kSweep);
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(sweep(folder, {"sweep.yaml", "--out", "whole.h5"}).status == 0);
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
  int ended = 0;
  for (int attempt = 0; attempt < 12 && !fs::exists(folder.path() / "r.h5"); ++attempt) {
    // Moments all over a run, the last of them in the writing of the table.
    const bool running =
        signal_after(folder, attempt % 4 == 3 ? SIGTERM : SIGKILL, whole * (attempt * 7 % 12 + 1) / 12);
    ended += running ? 1 : 0;
  }
  CHECK(ended > 0);
  const Finished finished = sweep(folder, {"sweep.yaml", "--out", "r.h5", "--resume"});
  CHECK(finished.status == 0);
  CHECK(read_text(folder.path() / "r.h5") == read_text(folder.path() / "whole.h5"));
  CHECK(fmt::format("{}", fmt::join(folder.names(), " ")) == "r.h5 sweep.yaml whole.h5");
}

TEST_CASE("an interrupted sweep says how to go on") {
  const ScratchFolder folder;
  folder.write("sweep.yaml", kSweep);
  const Finished finished =
      run_shell("mirfak sweep sweep.yaml --out r.h5 --jobs 1 & sleep 0.05; kill -INT $!; wait $!", folder.path());
  if (finished.status == 0) return;  // it was faster
  CHECK(finished.status == 130);
  CHECK(finished.err.find("points are kept in r.h5.part\n  go on with the same command and --resume") !=
        std::string::npos);
}

TEST_CASE("shards of a job array are merged to the table of one run") {
  const ScratchFolder folder;
  folder.write("sweep.yaml", kSweep);
  REQUIRE(sweep(folder, {"sweep.yaml", "--out", "whole.h5"}).status == 0);
  for (const char* shard : {"1", "2", "3"}) {
    REQUIRE(sweep(folder, {"sweep.yaml", "--out", fmt::format("{}.h5", shard), "--shard", fmt::format("{}/3", shard)})
                .status == 0);
  }
  const Finished merged = sweep(folder, {"--merge", "r.h5", "1.h5", "2.h5", "3.h5", "--format", "json"});
  CHECK(merged.status == 0);
  CHECK(nlohmann::json::parse(merged.out)["points"] == 1536);
  CHECK(read_text(folder.path() / "r.h5") == read_text(folder.path() / "whole.h5"));
  const Finished missing = sweep(folder, {"--merge", "x.h5", "1.h5", "3.h5"});
  CHECK(missing.status == 2);
  CHECK(missing.err.find("name the files of the shards 2/3 too") != std::string::npos);
}

TEST_CASE("a sweep refuses what it cannot do") {
  const ScratchFolder folder;
  folder.write("sweep.yaml", kSweep);
  const auto refused = [&](std::vector<std::string> arguments, const std::string& message) {
    const Finished finished = sweep(folder, std::move(arguments));
    CHECK(finished.status == 2);
    CHECK(finished.out.empty());
    CHECK_MESSAGE(finished.err.find(message) != std::string::npos, finished.err);
  };
  refused({"sweep.yaml"}, "--out is missing");
  refused({"sweep.yaml", "--out", "none/r.h5"}, "there is no folder 'none'");
  refused({"sweep.yaml", "--out", "r.h5", "--shard", "0/3"}, "--shard: expected I/N with 1 <= I <= N, found '0/3'");
  refused({"sweep.yaml", "--out", "r.h5", "--shard", "3"}, "--shard: expected I/N");
  refused({"sweep.yaml", "--out", "r.h5", "--jobs", "-1"}, "--jobs: expected 0 or more");
  refused({"sweep.yaml", "sweep.yaml", "--out", "r.h5"}, "expected one sweep file");
  refused({"none.yaml", "--out", "r.h5"}, "none.yaml: there is no such file");
  refused({"--merge", "r.h5", "sweep.yaml"}, "this is not a table of mirfak sweep");
  CHECK(folder.names() == std::vector<std::string>{"sweep.yaml"});
}

TEST_CASE("a second sweep on a live one says that it is running, and not to delete its file") {
  const ScratchFolder folder;
  folder.write("sweep.yaml", kSweep);
  for (const char* resume : {"", " --resume"}) {
    const Finished finished = run_shell(
        fmt::format("rm -f r.h5; mirfak sweep sweep.yaml --out r.h5 --jobs 1 >/dev/null & running=$!; "
                    "while [ ! -s r.h5.part ] && kill -0 $running; do :; done; kill -STOP $running || exit 77; "
                    "test -e r.h5.part || exit 77; mirfak sweep sweep.yaml --out r.h5{}; status=$?; "
                    "kill -CONT $running; wait $running; exit $status",
                    resume),
        folder.path());
    if (finished.status == 77) continue;  // it was faster
    CHECK(finished.status == 2);
    CHECK_MESSAGE(finished.err.find("r.h5.part: this sweep is running now") != std::string::npos, finished.err);
    CHECK(finished.err.find("delete") == std::string::npos);
    CHECK(folder.names() == std::vector<std::string>{"r.h5", "sweep.yaml"});  // the first one was not disturbed
  }
}

TEST_CASE(
    "the points of a small sweep are printed, in their order and with what became of them; of a large one counts "
    "alone") {
  const ScratchFolder folder;
  folder.write("sweep.yaml",
               "scenario:\n"
               "  model: gpt3-13b\n"
               "  cluster: {nodes: [{type: dgx-a100-80g, count: 1}]}\n"
               "  training: {global_batch: 16}\n"
               "axes:\n"
               "  - grid: {strategy.tensor: [8, 1, 3]}\n"
               "  - grid: {strategy.sequence_parallel: [false]}\n");
  const Finished finished = sweep(folder, {"sweep.yaml", "--out", "r.h5"});
  REQUIRE(finished.status == 0);
  std::vector<std::string> rows;
  std::istringstream lines(finished.out.substr(finished.out.find("\n\n") + 2));
  for (std::string line; std::getline(lines, line) && !line.empty();) rows.push_back(line);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].find("tensor  sequence_parallel  iteration time  iteration time, from  iteration time, to  model "
                     "TFLOP/s per GPU") != std::string::npos);
  CHECK(rows[1].find("     8              false") != std::string::npos);
  CHECK(rows[1].find("GiB") != std::string::npos);
  CHECK(rows[2].find("out-of-memory") != std::string::npos);
  CHECK(rows[3].find("infeasible") != std::string::npos);
  CHECK(rows[3].find(" - ") != std::string::npos);

  folder.write("large.yaml", kSweep);
  CHECK(sweep(folder, {"large.yaml", "--out", "l.h5"}).out.find("iteration") == std::string::npos);
}

TEST_CASE("a sweep says beforehand what it takes") {
  const ScratchFolder folder;
  folder.write("sweep.yaml", kSweep);
  const Finished finished = sweep(folder, {"sweep.yaml", "--estimate", "--jobs", "2", "--format", "json"});
  REQUIRE(finished.status == 0);
  const nlohmann::json estimate = nlohmann::json::parse(finished.out);
  CHECK(estimate["points"] == 1536);
  CHECK(estimate["threads"] == 2);
  CHECK(estimate["sampled"].get<int>() > 0);
  CHECK(estimate["sampled"].get<int>() <= 1536);
  CHECK(estimate["seconds"].get<double>() > 0);
  REQUIRE(sweep(folder, {"sweep.yaml", "--out", "r.h5"}).status == 0);
  const auto size = static_cast<double>(fs::file_size(folder.path() / "r.h5"));
  CHECK(estimate["disk_bytes"].get<double>() > size / 5);  // an order of magnitude
  CHECK(estimate["disk_bytes"].get<double>() < size * 5);
  const Finished part = sweep(folder, {"sweep.yaml", "--estimate", "--shard", "1/4", "--format", "json"});
  CHECK(nlohmann::json::parse(part.out)["points"] == 384);
  CHECK(folder.names() == std::vector<std::string>{"r.h5", "sweep.yaml"});
}

TEST_CASE("a sweep of absurdly many points is refused with what it would take, and the option that allows it") {
  const ScratchFolder folder;
  std::string large = kSweep;
  large += "      training.tokens: {from: 1000000000, to: 66534000000, step: 1000000}\n";
  large.replace(large.find("{from: 8, to: 512, step: 8}"), 27, "{from: 1, to: 2730, step: 1}");
  folder.write("sweep.yaml", large);
  const Finished finished = sweep(folder, {"sweep.yaml", "--out", "r.h5"});
  CHECK(finished.status == 2);
  for (const char* said :
       {"sweep.yaml: the axes make 4293853200 points, and --points allows 10000000", "4293853200 points: about ",
        " on disk, ", " of memory", "--points 4293853200 to run them all"}) {
    CHECK_MESSAGE(finished.err.find(said) != std::string::npos, finished.err);
  }
  CHECK(folder.names() == std::vector<std::string>{"sweep.yaml"});
  folder.write("sweep.yaml", kSweep);
  CHECK(sweep(folder, {"sweep.yaml", "--out", "r.h5", "--points", "1535"}).status == 2);
  CHECK(sweep(folder, {"sweep.yaml", "--out", "r.h5", "--points", "0"}).status == 2);
  CHECK(sweep(folder, {"sweep.yaml", "--out", "r.h5", "--points", "1536"}).status == 0);
}

TEST_CASE("a sweep's scenario may be a launch script, on nodes that the command names") {
  const ScratchFolder folder;
  folder.write("train.sh",
               "#!/bin/bash\ntorchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --num-layers 24 --hidden-size 2048 "
               "--num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 --padded-vocab-size 51200 "
               "--micro-batch-size 2 --global-batch-size 64 --bf16 --tensor-model-parallel-size $TP\n");
  folder.write("sweep.yaml", "scenario: train.sh\naxes:\n  - grid: {strategy.micro_batch: [1, 2, 4]}\n");
  const std::vector<std::string> words = {"sweep",      "sweep.yaml", "--out", "r.h5",     "--nodes",
                                          "hgx-h100:1", "--env",      "TP=2",  "--format", "json"};
  const Finished finished = run({words, folder.path()});
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  const auto printed = nlohmann::json::parse(finished.out);
  CHECK(printed.at("points") == 3);
  CHECK(printed.at("ok") == 3);
  const Finished refused = run({{"sweep", "sweep.yaml", "--out", "s.h5", "--env", "TP=2"}, folder.path()});
  CHECK(refused.status == 2);
  CHECK_MESSAGE(refused.err.find("which nodes it runs on is not known") != std::string::npos, refused.err);
  folder.write("own.yaml", kSweep);
  const Finished own = run({{"sweep", "own.yaml", "--out", "s.h5", "--nodes", "hgx-h100:1"}, folder.path()});
  CHECK(own.status == 2);
  CHECK_MESSAGE(own.err.find("are for a launch file") != std::string::npos, own.err);
}
