// Plans of Perseus, and of Perseus with microbatches in two parts, measured on two nodes of eight A100 by Kareus's
// artifact (ml-energy/kareus@98f02558, arXiv 2601.17654; ../shared/energy-plans). No row chose a constant.
//
// The artifact's times are plans of measured passes: its graph has edges without duration between stages, and ends with
// the last backward pass (tests/perseus/run_optimization.py), so predictions are compared without transfers and without
// the step. time_s is what its energies say: they add 85 W for each of two GPUs and second to the dynamic ones.

#include "base/csv.hpp"
#include "energy/frontier.hpp"
#include "energy/scenario_clocks.hpp"
#include "scenario/scenario.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

using namespace mirfak;

namespace kareus_frontiers_test {

namespace {

constexpr double kGpusPerEnergy = 8;  // the table's energies are of one GPU of each of two stages of eight

struct Configuration {
  const char* model;
  int context;
  int tensor;
  int micro_batch;
  int sequence;
};

constexpr std::array kConfigurations = {
    Configuration{"llama3.2_3b", 1, 8, 8, 4096}, Configuration{"llama3.2_3b", 2, 4, 8, 4096},
    Configuration{"qwen3_1.7b", 1, 8, 16, 4096}, Configuration{"qwen3_1.7b", 1, 8, 8, 8192},
    Configuration{"qwen3_1.7b", 2, 4, 8, 4096}};

struct Plan {
  double time_s = 0;
  double energy_j = 0;
};

// Measured plans of a configuration, the fastest first.
std::vector<Plan> measured(const CsvTable& table, const Configuration& of, const std::string& method) {
  const auto column = [&](const char* name) { return table.require(name); };
  std::vector<Plan> out;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto number = [&](const char* name) { return table.number(row, column(name), 0, 1e9); };
    const bool own = table.text(row, column("method")) == method && table.text(row, column("model")) == of.model &&
                     number("cp") == of.context && number("tp") == of.tensor && number("mbs") == of.micro_batch &&
                     number("seq") == of.sequence;
    if (own) out.push_back({number("time_s"), number("energy_J_2gpus")});
  }
  std::sort(out.begin(), out.end(), [](const Plan& a, const Plan& b) { return a.time_s < b.time_s; });
  return out;
}

// The scenario of the first configuration, and for Qwen3 1.7B its sizes (arXiv 2505.09388, table 1); the rest is taken
// to be the same.
Job job_of(const Configuration& of, int nanobatches) {
  const bool llama = of.model == std::string("llama3.2_3b");
  const std::string model =
      llama ? "{family: llama, layers: 28, hidden: 3072, heads: 24, kv_heads: 8, head_dim: 128, ffn: 8192, "
              "vocab: 128256, max_sequence: 8192, activation: swiglu, normalization: rms_norm, position: rotary, "
              "linear_bias: false, tied_embeddings: false, dropout: 0.1}"
            : "{family: qwen3, layers: 28, hidden: 2048, heads: 16, kv_heads: 8, head_dim: 128, ffn: 6144, "
              "vocab: 151936, max_sequence: 40960, qk_norm: true, activation: swiglu, normalization: rms_norm, "
              "position: rotary, "
              "linear_bias: false, tied_embeddings: false, dropout: 0.1}";
  const std::string text = fmt::format(
      "model: {}\ncluster: {{nodes: [{{type: aws-p4d, count: 2}}]}}\n"
      "training: {{global_batch: {}, sequence_length: {}, precision: bf16, framework: {{like: kareus, "
      "fusion: {{gradient_accumulation: false, cross_entropy: true}}}}}}\n"
      "strategy: {{tensor: {}, context: {}, context_communication: all-gather, pipeline: 2, data: 1, micro_batch: {}, "
      "layer_split: [15, 13], recompute: full, recompute_method: uniform, recompute_layers: 1, nanobatches: {}}}\n",
      model, 8 * of.micro_batch, of.sequence, of.tensor, of.context, of.micro_batch, nanobatches);
  const std::filesystem::path source = source_root();
  return parse_scenario(Document::from_text(text, "none/kareus.yaml"), {source / "models", source / "hw_profiles"}).job;
}

// Passes alone: everything between and behind them takes no time.
ClockedProgram passes_of(ClockedProgram clocked) {
  for (TaskId task = 0; task < static_cast<TaskId>(clocked.lasts.size()); ++task) {
    if (!clocked.is_clocked(task)) clocked.lasts[task] = clocked.program.duration[task] = 0;
  }
  for (TaskClass& each : clocked.program.classes) {
    each.flows = FlowPattern::none;
    each.traffic = kNoTraffic;
  }
  return clocked;
}

Plan fastest(const Frontier& found) { return {found.t_min_s, found.points.front().energy_j / kGpusPerEnergy}; }

// The least energy of the plans that take no longer; of the fastest if all do.
double least_in(const std::vector<Plan>& plans, double time_s) {
  double least = plans.front().energy_j;
  for (const Plan& plan : plans) {
    if (plan.time_s <= time_s) least = std::min(least, plan.energy_j);
  }
  return least;
}

double off(double predicted, double is) { return 100 * (predicted / is - 1); }

}  // namespace

TEST_CASE("plans of Kareus's artifact: fastest times and energies, and what two parts of a microbatch gain") {
  const std::filesystem::path path =
      std::filesystem::path(source_root()) / ".." / "shared" / "energy-plans" / "kareus-frontiers.csv";
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: no ", path.string());
    return;
  }
  const CsvTable table = CsvTable::from_file(path);
  double time_error = 0;
  double energy_error = 0;
  for (const Configuration& of : kConfigurations) {
    CAPTURE(of.model);
    CAPTURE(of.context);
    CAPTURE(of.sequence);
    const std::vector<Plan> whole = measured(table, of, "perseus");
    const std::vector<Plan> parts = measured(table, of, "nanobatch_perseus");
    REQUIRE_FALSE(whole.empty());
    REQUIRE_FALSE(parts.empty());
    const Frontier of_whole = frontier(passes_of(clocked_program(job_of(of, 1))));
    const Frontier of_parts = frontier(passes_of(clocked_program(job_of(of, 2))));
    const Plan one = fastest(of_whole);
    const Plan two = fastest(of_parts);
    const double gain = 100 * (1 - two.time_s / one.time_s);
    const double measured_gain = 100 * (1 - parts.front().time_s / whole.front().time_s);
    const auto saved_energy = of_parts.min_energy_j(of_whole.t_min_s);
    const double saved = saved_energy ? 100 * (1 - *saved_energy / kGpusPerEnergy / one.energy_j) : 0;
    const double measured_saved = 100 * (1 - least_in(parts, whole.front().time_s) / whole.front().energy_j);
    MESSAGE(fmt::format(
        "{} tensor {} context {} of {} x {}: whole {:.3f} s ({:+.1f} %) {:.0f} J ({:+.1f} %), parts {:.3f} s ({:+.1f} "
        "%) {:.0f} J ({:+.1f} %); parts are faster by {:.1f} % (measured {:.1f} %), save {:.1f} % (measured {:.1f} %)",
        of.model, of.tensor, of.context, of.micro_batch, of.sequence, one.time_s, off(one.time_s, whole.front().time_s),
        one.energy_j, off(one.energy_j, whole.front().energy_j), two.time_s, off(two.time_s, parts.front().time_s),
        two.energy_j, off(two.energy_j, parts.front().energy_j), gain, measured_gain, saved, measured_saved));
    if (const std::vector<Plan> joint = measured(table, of, "kareus"); !joint.empty()) {
      // Clocks of parts that change in a millisecond, whole and halved microbatches, launches, channels.
      ClockUnits units;
      units.change = to_picoseconds(1e-3);
      for (const int channels : {0, 2, 4, 8, 16}) {
        units.ways.push_back({2, channels});
        if (channels > 0) units.ways.push_back({1, channels});
      }
      const Frontier at_once = frontier(passes_of(clocked_program(job_of(of, 1), units)));
      units.launches = true;
      const Frontier of_passes = frontier(passes_of(clocked_program(job_of(of, 1), units)));
      units.channels_of_parts = true;
      const Frontier of_joint = frontier(passes_of(clocked_program(job_of(of, 1), units)));
      const Plan best = fastest(of_joint);
      const double saves = 100 * (1 - *of_joint.min_energy_j(of_whole.t_min_s) / kGpusPerEnergy / one.energy_j);
      const double measured_saves = 100 * (1 - least_in(joint, whole.front().time_s) / whole.front().energy_j);
      MESSAGE(fmt::format("jointly {:.3f} s ({:+.1f} %) {:.0f} J ({:+.1f} %), save {:.1f} % (measured {:.1f} %)",
                          best.time_s, off(best.time_s, joint.front().time_s), best.energy_j,
                          off(best.energy_j, joint.front().energy_j), saves, measured_saves));
      MESSAGE(fmt::format("launches as soon as data are there: {:.3f} s, {:+.2f} % of the energy in the same time",
                          at_once.t_min_s,
                          off(*at_once.min_energy_j(of_whole.t_min_s), *of_joint.min_energy_j(of_whole.t_min_s))));
      MESSAGE(fmt::format("one number of channels for a pass: {:.3f} s, {:+.2f} % of the energy in the same time",
                          of_passes.t_min_s,
                          off(*of_passes.min_energy_j(of_whole.t_min_s), *of_joint.min_energy_j(of_whole.t_min_s))));
      CHECK(of_joint.t_min_s <= of_passes.t_min_s);
      CHECK(*of_joint.min_energy_j(of_whole.t_min_s) <= *of_passes.min_energy_j(of_whole.t_min_s) * (1 + 1e-12));
      CHECK(of_joint.t_min_s <= at_once.t_min_s);
      CHECK(*of_joint.min_energy_j(of_whole.t_min_s) <= *at_once.min_energy_j(of_whole.t_min_s) * (1 + 1e-12));
      // The shortest iteration; its energy is off by as much, and 0.7 points more.
      CHECK(std::abs(off(best.time_s, joint.front().time_s)) < 6);
      CHECK(std::abs(saves - measured_saves) < 6);
    }
    if (of.context > 1) {
      // Some 2.5 ms of a layer are missing, in which the GPUs draw little: halves of microbatches take longer, not
      // less.
      CHECK(std::abs(off(one.time_s, whole.front().time_s)) < 13);
      CHECK(std::abs(off(one.energy_j, whole.front().energy_j)) < 7);
      continue;
    }
    for (const auto& [predicted, is] : {std::pair(one, whole.front()), std::pair(two, parts.front())}) {
      time_error = std::max(time_error, std::abs(off(predicted.time_s, is.time_s)));
      energy_error = std::max(energy_error, std::abs(off(predicted.energy_j, is.energy_j)));
    }
    CHECK(gain == doctest::Approx(measured_gain).epsilon(0.15));
    CHECK(std::abs(saved - measured_saved) < 6);
  }
  CHECK(time_error < 5);
  CHECK(energy_error < 6);
}

}  // namespace kareus_frontiers_test
