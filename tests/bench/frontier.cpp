// The time-energy frontier, from the file of a measured profile to the exact curve, beside the times it has to keep and
// the times of others; how it grows with stages, microbatches and clocks; and one plan for one deadline.
//   mirfak_bench_frontier [--profile P.csv] [--largest] [--smoke]
// P.csv: 8 stages; what goals are for is the GPT-3 175B profile on A100 of the artifact of Perseus. --largest: 64 x 512
// too.

#include "energy/frontier.hpp"
#include "energy/clock_plan.hpp"
#include "energy/profiled_pipeline.hpp"
#include "energy/project_cost.hpp"
#include "support/source_root.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

using namespace mirfak;

constexpr double kBlockedW = 83.64;  // of an A100 SXM, as Perseus measured
constexpr double kSpread = 0.05;

struct Size {
  int stages = 8;
  int microbatches = 12;
  double spread = 0;      // every stage longer than the next, by up to this share
  std::size_t every = 1;  // of the clocks, take one in so many
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// A file as if every stage of such a pipeline had been measured.
class ProfileFileOf {
 public:
  ProfileFileOf(const StageProfile& measured, const Size& size)
      : path_(std::filesystem::temp_directory_path() / fmt::format("mirfak-bench-{}.csv", getpid())) {
    std::ofstream out(path_);
    out << "stage,instruction,frequency,time,energy\n";
    for (int stage = 0; stage < size.stages; ++stage) write_stage(out, measured, size, stage);
  }
  ~ProfileFileOf() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ProfileFileOf(const ProfileFileOf&) = delete;
  ProfileFileOf& operator=(const ProfileFileOf&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  static void write_stage(std::ofstream& out, const StageProfile& measured, const Size& size, int stage) {
    const auto last = static_cast<int>(measured.stages.size()) - 1;
    const int row = stage + 1 == size.stages ? last : std::min(stage, std::max(last - 1, 0));
    constexpr int kScatter = 7919;  // a prime: neighbours differ
    const double place = size.stages > 1 ? static_cast<double>(stage * kScatter % size.stages) / (size.stages - 1) : 0;
    const double scale = 1 + size.spread * place;
    for (const bool backward : {false, true}) {
      const auto& choices = measured.stages[static_cast<std::size_t>(row)][backward ? 1 : 0];
      for (std::size_t i = 0; i < choices.size(); i += size.every) {
        out << fmt::format("{},{},{},{:.17g},{:.17g}\n", stage, backward ? "backward" : "forward",
                           choices[i].clock_hz / 1e6, to_seconds(choices[i].duration) * scale,
                           choices[i].energy_j * scale);
      }
    }
  }

  std::filesystem::path path_;
};

ClockedProgram read_pipeline(const std::filesystem::path& path, const Size& size) {
  return profiled_pipeline(read_stage_profile(path), {size.stages, 1, size.microbatches, size.stages},
                           schedule_named("1f1b"), kBlockedW);
}

struct Traced {
  double seconds = 0;
  std::size_t corners = 0;
  std::uint64_t pivots = 0;
};

Traced trace_once(const std::filesystem::path& path, const Size& size) {
  const auto begin = std::chrono::steady_clock::now();
  const ClockedProgram clocked = read_pipeline(path, size);
  const ProgramNetwork network = network_of(clocked);
  ProjectCost cost(network.network);
  cost.shorten_to(0);
  const std::size_t corners = cost.corners().size();
  return {seconds_since(begin), corners, cost.pivots()};
}

// The best of several runs, as many as fit into about a second.
Traced trace(const StageProfile& measured, const Size& size, bool smoke) {
  const ProfileFileOf file(measured, size);
  Traced best = trace_once(file.path(), size);
  const int runs = smoke ? 0 : static_cast<int>(std::min(20.0, 1 / best.seconds));
  for (int i = 0; i < runs; ++i) {
    const Traced again = trace_once(file.path(), size);
    if (again.seconds < best.seconds) best = again;
  }
  return best;
}

void print_frontiers(const StageProfile& measured, bool largest, bool smoke) {
  struct Row {
    Size size;
    double goal_s;       // 0: none
    double reference_s;  // ml-energy/lowtime 0.3.0 with its compiled minimum cut, 2 virtual cores; 0: not known
    double trial_s;      // the dual flow by textbook steps, in a hundred lines
  };
  std::vector<Row> rows = {{{8, 12}, 0, 9.4, 0.004},     {{8, 32}, 0, 82, 0.017},        {{8, 64}, 0.04, 411, 0.048},
                           {{8, 128}, 0.12, 0, 0.15},    {{8, 512}, 1, 0, 2.3},          {{16, 128, kSpread}, 0, 0, 0},
                           {{32, 64, kSpread}, 0, 0, 0}, {{32, 128, kSpread}, 3, 0, 23}, {{32, 256, kSpread}, 0, 0, 0}};
  if (largest) rows.push_back({{64, 512, kSpread}, 60, 0, 0});
  if (smoke) rows.resize(1);
  fmt::print(
      "the whole exact frontier, from file to curve, "
      "seconds\n{:>8}{:>14}{:>10}{:>10}{:>11}{:>10}{:>8}{:>11}{:>9}{:>10}\n",
      "stages", "microbatches", "passes", "corners", "pivots", "time", "goal", "reference", "trial", "peak MiB");
  const auto known = [](double seconds) { return seconds > 0 ? fmt::format("{:g}", seconds) : std::string("-"); };
  for (const Row& row : rows) {
    const Traced found = trace(measured, row.size, smoke);
    fmt::print("{:>8}{:>14}{:>10}{:>10}{:>11}{:>10.4f}{:>8}{:>11}{:>9}{:>10.0f}{}\n", row.size.stages,
               row.size.microbatches, 2 * row.size.stages * row.size.microbatches, found.corners, found.pivots,
               found.seconds, known(row.goal_s), known(row.reference_s), known(row.trial_s), peak_mib(),
               row.size.spread > 0 ? "  every stage different" : "");
  }
}

void print_clocks(const StageProfile& measured) {
  fmt::print("\n8 x 64 with fewer clocks\n{:>10}{:>10}{:>11}{:>10}\n", "clocks", "corners", "pivots", "time");
  for (const std::size_t every : {1, 2, 4, 8, 16}) {
    const Size size{8, 64, 0, every};
    const Traced found = trace(measured, size, false);
    fmt::print("{:>10}{:>10}{:>11}{:>10.4f}\n", (measured.stages[0][0].size() + every - 1) / every, found.corners,
               found.pivots, found.seconds);
  }
}

// Prints single plans: from the file to clocks that exist, executed.
void print_single_plans(const StageProfile& measured, bool smoke) {
  const Size size{8, smoke ? 12 : 128};
  const ProfileFileOf file(measured, size);
  const ClockedProgram clocked = read_pipeline(file.path(), size);
  const Picoseconds highest = execute_clocks(clocked, highest_clocks(clocked)).makespan;
  fmt::print("\none plan, {} x {}, from file to executed clocks (goal 0.02)\n{:>10}{:>12}{:>14}{:>10}\n", size.stages,
             size.microbatches, "slowdown", "deadline s", "energy J", "time");
  for (const double slowdown : {1.0, 1.02, 1.05, 1.1, 1.2}) {
    double best = 1e9;
    ExecutedClocks executed;
    for (int i = 0; i < (smoke ? 1 : 10); ++i) {
      const auto begin = std::chrono::steady_clock::now();
      const auto deadline = static_cast<Picoseconds>(std::floor(static_cast<double>(highest) * slowdown));
      executed = plan_for(read_pipeline(file.path(), size), deadline);
      best = std::min(best, seconds_since(begin));
    }
    fmt::print("{:>10.2f}{:>12.4f}{:>14.1f}{:>10.4f}\n", slowdown, to_seconds(executed.makespan), executed.energy_j,
               best);
  }
}

std::filesystem::path shared_profile() {
  return std::filesystem::path(source_root()) / ".." / "shared" / "perseus" / "stage_profile" /
         "gpt3-175b+a100_sxm_bf16.csv";
}

// A profile for where no measured one is: t = 0.2 + 0.8 / c and P = 0.4 + 0.6 c^4.5 of their values at the full clock.
StageProfile made_up_profile() {
  StageProfile profile;
  for (int stage = 0; stage < 8; ++stage) {
    std::array<std::vector<ClockChoice>, 4> passes;
    for (int backward = 0; backward < 2; ++backward) {
      const double full_s = 0.05 * (1 + backward) * (stage == 7 ? 1.07 : 1);
      for (int step = 0; step < 38; ++step) {
        const double clock = 1 - step * 15.0 / 1410;
        const double time = full_s * (0.2 + 0.8 / clock);
        passes[static_cast<std::size_t>(backward)].push_back(
            {clock * 1410e6, to_picoseconds(time), 480 * time * (0.4 + 0.6 * std::pow(clock, 4.5))});
      }
    }
    profile.stages.push_back(std::move(passes));
  }
  return profile;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto given = [&](const char* name) {
    return std::find(arguments.begin(), arguments.end(), std::string(name)) != arguments.end();
  };
  std::filesystem::path profile = shared_profile();
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] == "--profile") profile = arguments[i + 1];
  }
  const bool measured = std::filesystem::exists(profile);
  if (!measured) fmt::print("no measured profile: a made-up one of the same size\n");
  const StageProfile source = measured ? read_stage_profile(profile) : made_up_profile();
  const bool smoke = given("--smoke");
  print_frontiers(source, given("--largest"), smoke);
  if (!smoke) print_clocks(source);
  print_single_plans(source, smoke);
  return 0;
}
