// The program under other launchers than MPI's: the variables that they set, set by a shell.

#include "free_port.hpp"
#include "measure_program.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace launchers_test {

using namespace mirfak::test;

namespace {

// Two processes with the variables of `variables`, in which $r is the rank, after which all are over. The status is 0
// if both end so, else that of rank 0.
Finished two_processes(const std::string& variables, const std::string& arguments, const ScratchFolder& folder) {
  return run_shell(fmt::format("for r in 1 0; do ( {} exec mirfak-measure {} ) & eval p$r=$!; done\n"
                               "wait $p0; a=$?; wait $p1; b=$?\n"
                               "[ $a = $b ] || echo \"rank 0 ended with $a, rank 1 with $b\" >&2\n"
                               "[ $a != 0 ] || exit $b; exit $a",
                               variables, arguments),
                   folder.path());
}

std::string torchrun(int port, const std::string& more = {}) {
  return fmt::format("RANK=$r WORLD_SIZE=2 LOCAL_RANK=$r MASTER_ADDR=localhost MASTER_PORT={} {}", port, more);
}

// A table without its last column, which is the time.
std::string without_times(const std::string& table) {
  std::istringstream lines(table);
  std::string out;
  for (std::string line; std::getline(lines, line);) out += line.substr(0, line.rfind(',')) + "\n";
  return out;
}

void require_success(const Finished& finished) { REQUIRE_MESSAGE(finished.status == 0, finished.out << finished.err); }

}  // namespace

TEST_CASE("kernels: the same tables under either launcher") {
  const ScratchFolder folder;
  folder.write("job.yaml", tiny_scenario("dgx-a100-80g", 1, "pipeline: 2"));
  const std::string arguments = "kernels job.yaml --repeats 1 --most-gflop 0.1 --timeout 60 --out ";
  require_success(measure(2, arguments + "by-mpi", folder));
  const Finished finished = two_processes(torchrun(free_port()), arguments + "by-torchrun", folder);
  require_success(finished);
  CHECK_MESSAGE(contains(finished.out, "2 processes at a time"), finished.out);
  CHECK(count(finished.out, "by-torchrun") == 1);
  for (const char* name : {"gemm.csv", "memory.csv"}) {
    const std::string by_mpi = read_text(folder.path() / "by-mpi" / name);
    const std::string by_torchrun = read_text(folder.path() / "by-torchrun" / name);
    CHECK(count(by_torchrun, "\n") > 20);
    CHECK(without_times(by_torchrun) == without_times(by_mpi));
  }
  const std::string machine = read_text(folder.path() / "by-torchrun" / "machine.csv");
  CHECK_MESSAGE(contains(machine, "processes,2"), machine);
  CHECK(!read_text(folder.path() / "by-torchrun" / "kernels.h5").empty());
}

TEST_CASE("torchrun's agent and a step of Slurm") {
  const ScratchFolder folder;
  const int port = free_port();
  const HeldPort agent(port);
  REQUIRE(agent.held());
  // The command finds its fault on both ranks, and rank 0 says it once: they have found each other.
  const auto check = [&](const std::string& variables) {
    const Finished finished = two_processes(variables, "kernels job.yaml", folder);
    CHECK_MESSAGE(finished.status == 2, finished.err);
    CHECK_MESSAGE(count(finished.err, "mirfak-measure: error:") == 1, finished.err);
    CHECK_MESSAGE(contains(finished.err, "--out is missing"), finished.err);
  };
  check(torchrun(port, "TORCHELASTIC_RUN_ID=none TORCHELASTIC_USE_AGENT_STORE=True"));
  check(torchrun(port, fmt::format("MIRFAK_PORT={}", port + 1)));
  const std::string slurm =
      "SLURM_PROCID=$r SLURM_LOCALID=$r SLURM_STEP_NUM_TASKS=2 SLURM_STEP_ID=0 SLURM_JOB_ID=1 "
      "SLURM_STEP_NODELIST=localhost";
  check(fmt::format("{} MASTER_PORT={}", slurm, port + 1));
  const Finished taken = two_processes(torchrun(port, "MIRFAK_START_TIMEOUT=1"), "kernels job.yaml", folder);
  CHECK_MESSAGE(contains(taken.err, fmt::format("rank 0 cannot listen at port {}", port)), taken.err);
}

TEST_CASE("on CPUs, ranks communicate by MPI and by nothing else") {
  const ScratchFolder folder;
  folder.write("job.yaml", tiny_scenario("dgx-a100-80g", 1, "pipeline: 2"));
  for (const char* arguments : {"run job.yaml --out trace.h5", "collectives --out measured"}) {
    const Finished finished = two_processes(torchrun(free_port()), arguments, folder);
    CHECK(finished.status == 2);
    CHECK_MESSAGE(count(finished.err, "mirfak-measure: error:") == 1, finished.err);
    CHECK_MESSAGE(contains(finished.err, "--backend cpu communicates by MPI"), finished.err);
    CHECK_MESSAGE(contains(finished.err, fmt::format("mpirun -n 2 mirfak-measure {}", arguments).substr(0, 30)),
                  finished.err);
  }
  CHECK(folder.names() == std::vector<std::string>{"job.yaml"});
}

TEST_CASE("a job of one rank needs no launcher") {
  const ScratchFolder folder;
  folder.write("job.yaml",
               "model: {source: test, family: gpt, layers: 2, hidden: 64, heads: 4, ffn: 256, vocab: 512,\n"
               "  max_sequence: 64, activation: gelu, normalization: layer_norm, position: learned, dropout: 0.1}\n"
               "cluster: {nodes: [{type: dgx-a100-80g, count: 1, gpus: 1}]}\n"
               "training: {global_batch: 2, sequence_length: 64, precision: fp32, cuda_graphs: full}\n");
  const Finished finished = run_shell("mirfak-measure run job.yaml --iterations 2 --out trace.h5", folder.path());
  require_success(finished);
  CHECK_MESSAGE(contains(finished.out, "on 1 rank"), finished.out);
  CHECK(folder.names() == std::vector<std::string>{"job.yaml", "trace.h5"});
}

TEST_CASE("variables that make no sense") {
  const ScratchFolder folder;
  const auto check = [&](const std::string& variables, const std::string& message) {
    const Finished finished = run_shell(variables + " mirfak-measure --version", folder.path());
    CHECK_MESSAGE(finished.status == 2, finished.err);
    CHECK_MESSAGE(contains(finished.err, message), finished.err);
  };
  check("RANK=abc WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=29500", "RANK=abc: expected a whole number");
  check("RANK=2 WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=29500", "RANK=2: expected a whole number from 0 to 1");
  check("RANK=1 WORLD_SIZE=2 MASTER_ADDR=localhost", "MASTER_PORT is not set");
  check("MIRFAK_LAUNCHER=ssh", "expected mpi or env");
}

TEST_CASE("processes that never start are not waited for longer than told") {
  const ScratchFolder folder;
  SUBCASE("by torchrun") {
    const Finished finished = run_shell(
        fmt::format("r=0; {} MIRFAK_START_TIMEOUT=1 mirfak-measure --version", torchrun(free_port())), folder.path());
    CHECK(finished.status == 1);
    CHECK_MESSAGE(contains(finished.err, "for rank 1, which did not come"), finished.err);
  }
  SUBCASE("by mpirun") {
    folder.write("start.sh",
                 "if [ \"$OMPI_COMM_WORLD_RANK\" = 1 ]; then exec sleep 60; fi\n"
                 "MIRFAK_START_TIMEOUT=1 exec mirfak-measure --version\n");
    const Finished finished = run_shell(
        fmt::format("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 '{}' --oversubscribe -n 2 sh start.sh",
                    MIRFAK_MPIRUN),
        folder.path());
    CHECK(finished.status != 0);
    CHECK_MESSAGE(contains(finished.err, "MPI did not start within 1 s"), finished.err);
  }
}

TEST_CASE("a process that dies ends the others, which say so") {
  const ScratchFolder folder;
  folder.write("job.yaml", tiny_scenario("dgx-a100-80g", 1, "pipeline: 2"));
  folder.write(
      "die.sh",
      fmt::format("for r in 1 0; do ( {} exec mirfak-measure kernels job.yaml --repeats 1000000 --out measured "
                  ") & eval p$r=$!; done\n"
                  // Kills rank 1 once it measures.
                  "until [ \"$(awk '{{print $14 + $15}}' /proc/$p1/stat)\" -gt 50 ]; do sleep 0.1; done\n"
                  "kill -9 $p1; wait $p0\n",
                  torchrun(free_port())));
  const Finished finished = run_shell("sh die.sh", folder.path());
  CHECK(finished.status == 1);
  CHECK_MESSAGE(contains(finished.err, "rank 1 went away"), finished.err);
}

}  // namespace launchers_test
