// The spread of steps of production trainings, beside that of steps with perturbations: a factor for each rank and an
// independent jitter for each pass, both as the trace itself has them.

#include "base/random.hpp"
#include "engine/sweep.hpp"
#include "replay/derived_graph.hpp"
#include "replay/replay.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace mirfak;

namespace {

const std::filesystem::path kFolder = source_root() + "/../shared/straggler-traces";

struct Moments {
  double count = 0;
  double sum = 0;
  double squares = 0;

  void add(double value) {
    ++count;
    sum += value;
    squares += value * value;
  }
  double mean() const { return sum / count; }
  double deviation() const { return std::sqrt(std::max(0.0, squares / count - mean() * mean())); }
};

Replay replay_of(const std::string& name) {
  MeasuredTrace trace = read_measured_trace(kFolder / ("trace-" + name + ".csv.gz"));
  StepGraph graph = derive_step_graph(trace);
  return {std::move(trace), std::move(graph)};
}

// The key of a rank's operations of one type, over all steps.
using Key = std::pair<std::uint32_t, ClassId>;
Key key_of(const Program& program, TaskId task) { return {program.rank_of(task), program.task_class[task]}; }

bool is_pass(const Program& program, TaskId task) {
  const TaskKind kind = program.class_of(task).kind;
  return kind == TaskKind::forward || kind == TaskKind::backward;
}

struct Model {
  std::map<Key, Moments> of;   // own times, s
  std::vector<double> common;  // of each step: its passes beside the mean of their rank and type
};

Model model_of(const Replay& replay) {
  Model out;
  std::vector<Program> steps;
  for (std::size_t step = 0; step < replay.steps(); ++step) {
    steps.push_back(replay.program(step, {}));
    const Program& program = steps.back();
    for (TaskId task = 0; task < program.size(); ++task) {
      out.of[key_of(program, task)].add(to_seconds(program.duration[task]));
    }
  }
  for (const Program& program : steps) {
    Moments ratio;
    for (TaskId task = 0; task < program.size(); ++task) {
      if (!is_pass(program, task)) continue;
      ratio.add(to_seconds(program.duration[task]) / out.of[key_of(program, task)].mean());
    }
    out.common.push_back(ratio.mean());
  }
  return out;
}

// Each pass takes the mean of its rank and type, times a jitter of its deviation, and what all passes of a step share;
// all else its mean.
Moments sampled(const Replay& replay, const Model& model, bool shared, std::uint32_t samples) {
  Program program = replay.program(0, {});
  Sweep sweep;
  Moments out;
  for (std::uint32_t sample = 0; sample < samples; ++sample) {
    const auto step = static_cast<std::size_t>(uniform({11, sample, 1, 0}) * static_cast<double>(model.common.size()));
    for (TaskId task = 0; task < program.size(); ++task) {
      const Moments& own = model.of.at(key_of(program, task));
      double seconds = own.mean();
      if (is_pass(program, task)) {
        seconds += own.deviation() * normal_quantile(uniform({11, sample, 0, task}));
        if (shared) seconds *= model.common[step];
      }
      program.duration[task] = to_picoseconds(std::max(0.0, seconds));
    }
    out.add(to_seconds(sweep.makespan(program)));
  }
  return out;
}

}  // namespace

TEST_CASE("the spread of production steps beside that of factors of ranks and jitter of passes") {
  if (!std::filesystem::exists(kFolder)) {
    MESSAGE("skipped: no ../shared/straggler-traces");
    return;
  }
  for (const char* name : {"AR", "ST"}) {
    const Replay replay = replay_of(name);
    Moments measured;
    for (const double seconds : replay.times_s({})) measured.add(seconds);
    const Model model = model_of(replay);
    const Moments jitter = sampled(replay, model, false, 500);
    const Moments shared = sampled(replay, model, true, 500);
    INFO(name << ": measured " << measured.mean() << " +- " << measured.deviation() << ", jitter " << jitter.mean()
              << " +- " << jitter.deviation() << ", with what steps share " << shared.mean() << " +- "
              << shared.deviation());
    CHECK(jitter.mean() == doctest::Approx(measured.mean()).epsilon(0.005));
    CHECK(shared.mean() == doctest::Approx(measured.mean()).epsilon(0.005));
    // Independent jitter evens out over the passes of a step; what its passes share does not.
    CHECK(jitter.deviation() < 0.5 * measured.deviation());
    CHECK(shared.deviation() == doctest::Approx(measured.deviation()).epsilon(0.3));
  }
}
