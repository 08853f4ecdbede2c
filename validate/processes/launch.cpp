#include "processes/launch.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <system_error>

namespace mirfak::measure {

namespace {

// Variables of which every MPI process has one: Open MPI, PMIx, MPICH and Intel, MVAPICH, HPE Cray, IBM Spectrum.
constexpr std::array kMpiVariables = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",   "PMI_RANK",
                                      "MV2_COMM_WORLD_RANK",  "PALS_RANKID", "JSM_NAMESPACE_RANK"};

constexpr const char* kTorchHint =
    "torchrun sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT for every process; by hand, export all four";
constexpr const char* kSlurmHint =
    "in the sbatch file, in front of srun: export MASTER_PORT=29500 "
    "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)";

constexpr int kMaxRanks = 1 << 20;
constexpr int kLastPort = 65535;
// Ports of Slurm jobs: above those of services, below those that systems hand out.
constexpr int kFirstJobPort = 20000;
constexpr int kJobPorts = 10000;

class Variables {
 public:
  explicit Variables(const Environment& environment) : environment_(environment) {}

  // Set and not empty.
  std::optional<std::string> text(const char* name) const {
    const char* value = environment_(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  }

  bool has(const char* name) const { return text(name).has_value(); }

  std::string needed(const char* name, const char* hint) const {
    if (auto value = text(name)) return *value;
    fail_input({}, fmt::format("{} is not set, and this process has to find the others", name), hint);
  }

  // Returns a variable's number, which must lie between `least` and `most`.
  int number(const char* name, int least, int most, const char* hint) const {
    const std::string value = needed(name, hint);
    int out = 0;
    const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), out);
    if (fault == std::errc() && end == value.data() + value.size() && out >= least && out <= most) return out;
    fail_input({}, fmt::format("{}={}: expected a whole number from {} to {}", name, excerpt(value), least, most),
               hint);
  }

 private:
  const Environment& environment_;
};

int port_for(const Variables& variables, int otherwise) {
  if (!variables.has("MIRFAK_PORT")) return otherwise;
  return variables.number("MIRFAK_PORT", 1, kLastPort, "name a free port of rank 0's machine");
}

JobLaunch launch_by_torchrun(const Variables& variables) {
  JobLaunch out;
  out.size = variables.number("WORLD_SIZE", 1, kMaxRanks, kTorchHint);
  out.rank = variables.number("RANK", 0, out.size - 1, kTorchHint);
  if (variables.has("LOCAL_RANK")) out.place = variables.number("LOCAL_RANK", 0, out.rank, kTorchHint);
  if (const auto run = variables.text("TORCHELASTIC_RUN_ID")) {
    out.job = fmt::format("{} {}", *run, variables.text("TORCHELASTIC_RESTART_COUNT").value_or("0"));
  }
  if (out.size == 1) return out;
  out.address = variables.needed("MASTER_ADDR", kTorchHint);
  const bool taken = variables.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  const int port = variables.number("MASTER_PORT", 1, kLastPort - (taken ? 1 : 0), kTorchHint);
  out.port = port_for(variables, port + (taken ? 1 : 0));
  return out;
}

// Task 0 runs on the first node of its step, unless the user distributes tasks, or several jobs make one.
std::string slurm_address(const Variables& variables) {
  if (auto address = variables.text("MASTER_ADDR")) return *address;
  const bool arbitrary = variables.text("SLURM_DISTRIBUTION").value_or("").starts_with("arbitrary");
  const auto nodes = variables.text("SLURM_STEP_NODELIST");
  if (arbitrary || !nodes) {
    fail_input({}, "MASTER_ADDR is not set, and Slurm does not say on which node task 0 runs", kSlurmHint);
  }
  return first_host(*nodes);
}

int slurm_port(const Variables& variables) {
  if (variables.has("MASTER_PORT")) return variables.number("MASTER_PORT", 1, kLastPort, kSlurmHint);
  const int job = variables.number("SLURM_JOB_ID", 0, std::numeric_limits<int>::max(), kSlurmHint);
  return kFirstJobPort + job % kJobPorts;
}

JobLaunch launch_by_slurm(const Variables& variables) {
  if (variables.has("SLURM_HET_SIZE")) {
    fail_input({}, "this is a job of several Slurm jobs (SLURM_HET_SIZE), whose tasks are not numbered as one",
               "export RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT for every task");
  }
  JobLaunch out;
  out.size = variables.number("SLURM_STEP_NUM_TASKS", 1, kMaxRanks, kSlurmHint);
  out.rank = variables.number("SLURM_PROCID", 0, out.size - 1, kSlurmHint);
  if (variables.has("SLURM_LOCALID")) out.place = variables.number("SLURM_LOCALID", 0, out.rank, kSlurmHint);
  out.job =
      fmt::format("{}.{}", variables.text("SLURM_JOB_ID").value_or(""), variables.text("SLURM_STEP_ID").value_or(""));
  if (out.size == 1) return out;
  out.address = slurm_address(variables);
  out.port = port_for(variables, slurm_port(variables));
  return out;
}

bool by_torchrun(const Variables& variables) {
  const bool rank = variables.has("RANK");
  if (rank == variables.has("WORLD_SIZE")) return rank;
  fail_input({}, fmt::format("{} is set and {} is not", rank ? "RANK" : "WORLD_SIZE", rank ? "WORLD_SIZE" : "RANK"),
             fmt::format("{}; or unset it", kTorchHint));
}

// A script of a batch job has a task's number too, and is no step.
bool by_slurm(const Variables& variables) {
  return variables.has("SLURM_PROCID") && variables.has("SLURM_STEP_NUM_TASKS");
}

JobLaunch launch_by_variables(const Variables& variables) {
  if (by_torchrun(variables)) return launch_by_torchrun(variables);
  if (by_slurm(variables)) return launch_by_slurm(variables);
  return {};
}

JobLaunch launch_chosen(const Variables& variables) {
  const std::string choice = variables.text("MIRFAK_LAUNCHER").value_or("");
  JobLaunch mpi;
  mpi.mpi = true;
  if (choice == "mpi") return mpi;
  if (choice == "env") {
    if (by_torchrun(variables) || by_slurm(variables)) return launch_by_variables(variables);
    fail_input({}, "MIRFAK_LAUNCHER=env: neither torchrun's variables are set nor those of a Slurm step", kTorchHint);
  }
  if (!choice.empty()) {
    fail_input({}, fmt::format("MIRFAK_LAUNCHER={}: expected mpi or env", excerpt(choice)),
               "unset it: mirfak-measure then looks for what a launcher has set");
  }
  if (variables.has("TORCHELASTIC_RUN_ID")) return launch_by_variables(variables);
  const bool found =
      std::any_of(kMpiVariables.begin(), kMpiVariables.end(), [&](const char* name) { return variables.has(name); });
  return found ? mpi : launch_by_variables(variables);
}

}  // namespace

JobLaunch read_launch(const Environment& environment) {
  const Variables variables(environment);
  constexpr int kDay = 86400;
  JobLaunch out = launch_chosen(variables);
  if (variables.has("MIRFAK_START_TIMEOUT")) {
    out.start_timeout_s = variables.number("MIRFAK_START_TIMEOUT", 1, kDay, "it is a number of seconds");
  }
  return out;
}

std::string first_host(const std::string& nodes) {
  std::string out;
  bool in_list = false;  // of numbers, in brackets
  bool skipping = false;
  for (const char c : nodes) {
    if (c == ',' && !in_list) break;
    if (c == '[') {
      in_list = true;
    } else if (c == ']') {
      in_list = skipping = false;
    } else if (in_list && (c == ',' || c == '-')) {
      skipping = true;
    } else if (!skipping) {
      out += c;
    }
  }
  return out;
}

}  // namespace mirfak::measure
