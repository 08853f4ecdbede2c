// The variables that launchers set, and the launches that are read from them.

#include "processes/launch.hpp"

#include "base/error.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace mirfak;
using namespace mirfak::measure;

namespace {

using Variables = std::map<std::string, std::string>;

JobLaunch launch(const Variables& variables) {
  return read_launch([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

const Variables kTorch = {{"RANK", "3"},        {"WORLD_SIZE", "8"},      {"LOCAL_RANK", "1"},
                          {"MASTER_ADDR", "a"}, {"MASTER_PORT", "29500"}, {"TORCHELASTIC_RUN_ID", "none"}};
const Variables kSlurm = {{"SLURM_PROCID", "5"},      {"SLURM_STEP_NUM_TASKS", "16"},
                          {"SLURM_LOCALID", "1"},     {"SLURM_STEP_NODELIST", "gpu[07-09,12],login"},
                          {"SLURM_JOB_ID", "123456"}, {"SLURM_STEP_ID", "2"}};

void check_refused(const Variables& variables, const std::string& message, const std::string& hint) {
  CAPTURE(message);
  try {
    launch(variables);
    FAIL("was not refused");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK_MESSAGE(error.message().find(message) != std::string::npos, error.message());
    CHECK_MESSAGE(error.hint().find(hint) != std::string::npos, error.hint());
  }
}

}  // namespace

TEST_CASE("without a launcher a process is alone") {
  const JobLaunch out = launch({{"HOME", "/root"}, {"RANK", ""}});
  CHECK(!out.mpi);
  CHECK(out.size == 1);
  CHECK(out.rank == 0);
}

TEST_CASE("torchrun's variables") {
  const JobLaunch out = launch(kTorch);
  CHECK(!out.mpi);
  CHECK(out.rank == 3);
  CHECK(out.size == 8);
  CHECK(out.place == 1);
  CHECK(out.address == "a");
  CHECK(out.port == 29500);
  CHECK(out.job == launch(with(kTorch, {{"RANK", "4"}})).job);
  CHECK(out.job != launch(with(kTorch, {{"TORCHELASTIC_RESTART_COUNT", "1"}})).job);
  SUBCASE("its agent listens at the port itself") {
    CHECK(launch(with(kTorch, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}})).port == 29501);
    CHECK(launch(with(kTorch, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}})).port == 29500);
    check_refused(with(kTorch, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"MASTER_PORT", "65535"}}), "1 to 65534",
                  "torchrun");
  }
  SUBCASE("a port of our own") {
    CHECK(launch(with(kTorch, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"MIRFAK_PORT", "4000"}})).port == 4000);
    check_refused(with(kTorch, {{"MIRFAK_PORT", "65536"}}), "MIRFAK_PORT=65536: expected a whole number from 1",
                  "free port");
  }
  SUBCASE("one process needs no address") { CHECK(launch({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).size == 1); }
  SUBCASE("by hand, nobody says which process of its machine it is") {
    CHECK(!launch({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "::1"}, {"MASTER_PORT", "1"}}).place);
  }
}

TEST_CASE("variables that make no sense are named") {
  check_refused(with(kTorch, {{"RANK", "abc"}}), "RANK=abc: expected a whole number from 0 to 7", "export all four");
  check_refused(with(kTorch, {{"RANK", "8"}}), "RANK=8: expected a whole number from 0 to 7", "torchrun");
  check_refused(with(kTorch, {{"RANK", "-1"}}), "RANK=-1", "torchrun");
  check_refused(with(kTorch, {{"RANK", "3 "}}), "RANK=3", "torchrun");
  check_refused(with(kTorch, {{"WORLD_SIZE", "0"}}), "WORLD_SIZE=0", "torchrun");
  check_refused(with(kTorch, {{"WORLD_SIZE", "99999999999999999999"}}), "WORLD_SIZE=9999", "torchrun");
  check_refused(with(kTorch, {{"MASTER_PORT", "http"}}), "MASTER_PORT=http: expected a whole number from 1",
                "torchrun");
  check_refused(with(kTorch, {{"MASTER_PORT", ""}}), "MASTER_PORT is not set", "export all four");
  check_refused(with(kTorch, {{"MASTER_ADDR", ""}}), "MASTER_ADDR is not set", "export all four");
  check_refused({{"RANK", "0"}}, "RANK is set and WORLD_SIZE is not", "unset it");
  check_refused({{"WORLD_SIZE", "2"}}, "WORLD_SIZE is set and RANK is not", "unset it");
  check_refused({{"MIRFAK_START_TIMEOUT", "soon"}}, "MIRFAK_START_TIMEOUT=soon", "seconds");
  check_refused({{"MIRFAK_LAUNCHER", "slurm"}}, "MIRFAK_LAUNCHER=slurm: expected mpi or env", "unset it");
  check_refused({{"MIRFAK_LAUNCHER", "env"}}, "MIRFAK_LAUNCHER=env", "export all four");
}

TEST_CASE("a step of Slurm") {
  const JobLaunch out = launch(kSlurm);
  CHECK(!out.mpi);
  CHECK(out.rank == 5);
  CHECK(out.size == 16);
  CHECK(out.place == 1);
  CHECK(out.address == "gpu07");
  CHECK(out.port == 23456);  // 20000 and the last four digits of the job
  CHECK(out.job == "123456.2");
  SUBCASE("what is set counts") {
    const JobLaunch set = launch(with(kSlurm, {{"MASTER_ADDR", "b"}, {"MASTER_PORT", "29500"}}));
    CHECK(set.address == "b");
    CHECK(set.port == 29500);
  }
  SUBCASE("not a step: a script of a batch job") {
    CHECK(launch(with(kSlurm, {{"SLURM_STEP_NUM_TASKS", ""}})).size == 1);
  }
  SUBCASE("where task 0 runs cannot be known") {
    const char* hint = "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)";
    check_refused(with(kSlurm, {{"SLURM_DISTRIBUTION", "arbitrary"}}), "MASTER_ADDR is not set", hint);
    check_refused(with(kSlurm, {{"SLURM_STEP_NODELIST", ""}}), "MASTER_ADDR is not set", hint);
    check_refused(with(kSlurm, {{"SLURM_HET_SIZE", "2"}}), "SLURM_HET_SIZE", "export RANK");
    CHECK(launch(with(kSlurm, {{"SLURM_DISTRIBUTION", "arbitrary"}, {"MASTER_ADDR", "c"}})).address == "c");
  }
  SUBCASE("torchrun in a step: its own variables") {
    const JobLaunch torch = launch(with(with(kSlurm, kTorch), {{"PMIX_RANK", "0"}}));
    CHECK(torch.size == 8);
    CHECK(torch.rank == 3);
  }
}

TEST_CASE("MPI launchers") {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    CHECK(launch({{name, "0"}}).mpi);
    CHECK(launch(with(kSlurm, {{name, "0"}})).mpi);
  }
  CHECK(launch({{"MIRFAK_LAUNCHER", "mpi"}}).mpi);
  const JobLaunch otherwise = launch(with(kSlurm, {{"PMIX_RANK", "5"}, {"MIRFAK_LAUNCHER", "env"}}));
  CHECK(!otherwise.mpi);
  CHECK(otherwise.rank == 5);
  CHECK(launch({{"PMI_RANK", "0"}, {"MIRFAK_START_TIMEOUT", "7"}}).start_timeout_s == 7);
}

TEST_CASE("the first host of a list") {
  CHECK(first_host("node1") == "node1");
  CHECK(first_host("node1,node2") == "node1");
  CHECK(first_host("gpu-a[07-09,12],login") == "gpu-a07");
  CHECK(first_host("n[5,7]") == "n5");
  CHECK(first_host("rack[1-2]node[3-4]") == "rack1node3");
  CHECK(first_host("n[003-004]-ib.cluster") == "n003-ib.cluster");
}
