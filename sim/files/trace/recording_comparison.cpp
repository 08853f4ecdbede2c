#include "trace/recording_comparison.hpp"

#include "base/error.hpp"
#include "program/program.hpp"
#include "recording/recording_summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace mirfak {

namespace {

// Division of one rank's time: computing, communication, and the union of both.
struct Division {
  double computing = 0;
  double communication = 0;
  double either = 0;

  double exposed() const { return either - computing; }
};

class RecordingComparer {
 public:
  RecordingComparer(const TraceFile& predicted, const Recording& recording, const KernelClasses& classes)
      : predicted_(predicted), recording_(recording), names_(classes) {}

  RecordingComparison run() {
    out_.predicted = predicted_.name;
    out_.measured = recording_.file;
    out_.steps = recording_.steps.size();
    choose_rank();
    compare_iterations();
    compare_classes();
    compare_streams();
    compare_divisions();
    return std::move(out_);
  }

 private:
  // Counts all kernels if there are no steps, else only kernels that belong to a step.
  bool counts(const RecordedKernel& kernel) const { return recording_.steps.empty() || kernel.step >= 0; }
  double iterations() const { return std::max<double>(1, static_cast<double>(recording_.steps.size())); }
  bool counts(std::size_t task) const { return predicted_.rank[task] == out_.rank; }
  bool computes(std::size_t task) const { return predicted_.stream_of(task) == name_of(StreamKind::compute); }
  bool communicates(std::size_t task) const {
    const std::string& kind = predicted_.kind_of(task);
    return kind == name_of(TaskKind::collective) || kind == name_of(TaskKind::transfer);
  }

  // A rank that the prediction folds into another has no tasks of its own: the prediction's first rank stands for it.
  void choose_rank() {
    if (predicted_.size() == 0) fail_input({predicted_.name, 0, 0}, "the trace has no tasks");
    out_.rank = *std::min_element(predicted_.rank.begin(), predicted_.rank.end());
    if (!recording_.rank || *recording_.rank < 0) return;
    const auto wanted = static_cast<std::uint64_t>(*recording_.rank);
    const auto found = std::find(predicted_.rank.begin(), predicted_.rank.end(), wanted);
    if (found == predicted_.rank.end()) return;
    out_.rank = *found;
    out_.rank_is_said = true;
  }

  void compare_iterations() {
    out_.iteration = {"iteration", predicted_.iteration_time_s, std::nullopt};
    std::vector<double> lengths;
    double sum = 0;
    for (const RecordedStep& step : recording_.steps) {
      lengths.push_back(seconds(step.end - step.start));
      sum += lengths.back();
    }
    if (lengths.empty()) return;
    out_.iteration.measured_s = sum / iterations();
    out_.shortest_s = *std::min_element(lengths.begin(), lengths.end());
    out_.longest_s = *std::max_element(lengths.begin(), lengths.end());
  }

  void compare_classes() {
    std::map<std::string, RecordedAgainst> rows;
    const auto add = [&](const std::string& name, std::optional<double> RecordedAgainst::*side, double time) {
      RecordedAgainst& row = rows[name];
      row.name = name;
      row.*side = (row.*side).value_or(0) + time;
    };
    for (std::size_t task = 0; task < predicted_.size(); ++task) {
      if (!counts(task) || predicted_.seconds(task) <= 0) continue;
      if (communicates(task)) add("communication", &RecordedAgainst::predicted_s, predicted_.seconds(task));
      if (!computes(task)) continue;
      out_.has_operators = out_.has_operators || predicted_.kind_of(task) == name_of(TaskKind::kernel);
      const std::string* cls = names_.class_of_operator(predicted_.name_of(task));
      add(cls != nullptr ? *cls : predicted_.name_of(task), &RecordedAgainst::predicted_s, predicted_.seconds(task));
    }
    for (const RecordedKernel& kernel : recording_.kernels) {
      if (!counts(kernel)) continue;
      const std::string name = recording_.communicates(kernel) ? "communication" : recording_.class_of(kernel).name;
      add(name, &RecordedAgainst::measured_s, seconds(kernel.duration()) / iterations());
    }
    out_.classes = sorted(rows);
  }

  void compare_streams() {
    std::map<std::string, RecordedAgainst> rows;
    for (std::size_t task = 0; task < predicted_.size(); ++task) {
      if (!counts(task) || !(computes(task) || communicates(task))) continue;
      RecordedAgainst& row = rows["predicted: " + predicted_.stream_of(task)];
      row.predicted_s = row.predicted_s.value_or(0) + predicted_.seconds(task);
    }
    for (const RecordedKernel& kernel : recording_.kernels) {
      if (!counts(kernel)) continue;
      RecordedAgainst& row = rows[fmt::format("recorded: stream {}", kernel.stream)];
      row.measured_s = row.measured_s.value_or(0) + seconds(kernel.duration()) / iterations();
    }
    for (auto& [name, row] : rows) row.name = name;
    out_.streams = sorted(rows);
  }

  Division predicted_division() const {
    Spans computing;
    Spans communication;
    for (std::size_t task = 0; task < predicted_.size(); ++task) {
      if (!counts(task)) continue;
      if (computes(task)) computing.emplace_back(predicted_.start_s[task], predicted_.end_s[task]);
      if (communicates(task)) communication.emplace_back(predicted_.start_s[task], predicted_.end_s[task]);
    }
    Division out{covered(computing), covered(communication), 0};
    computing.insert(computing.end(), communication.begin(), communication.end());
    out.either = covered(std::move(computing));
    return out;
  }

  Division measured_division() const {
    const auto busy = [&](bool computing, bool communication) {
      return seconds(busy_time(recording_,
                               [&](const RecordedKernel& kernel) {
                                 return counts(kernel) && (recording_.communicates(kernel) ? communication : computing);
                               })) /
             iterations();
    };
    return {busy(true, false), busy(false, true), busy(true, true)};
  }

  void compare_divisions() {
    const Division predicted = predicted_division();
    const Division measured = measured_division();
    out_.totals = {{"GPU without communication", predicted.computing, measured.computing},
                   {"communication", predicted.communication, measured.communication},
                   {"exposed communication", predicted.exposed(), measured.exposed()}};
    out_.path = {{"computing", predicted.computing, measured.computing},
                 {"exposed communication", predicted.exposed(), measured.exposed()},
                 {"GPU idle", predicted_.iteration_time_s - predicted.either, std::nullopt}};
    // Kernels may end after the last step ends: then the idle time would be negative, and is left out.
    if (out_.iteration.measured_s && *out_.iteration.measured_s >= measured.either) {
      out_.path.back().measured_s = *out_.iteration.measured_s - measured.either;
    }
  }

  static std::vector<RecordedAgainst> sorted(const std::map<std::string, RecordedAgainst>& rows) {
    std::vector<RecordedAgainst> out;
    for (const auto& entry : rows) out.push_back(entry.second);
    const auto time = [](const RecordedAgainst& row) {
      return std::max(row.predicted_s.value_or(0), row.measured_s.value_or(0));
    };
    std::stable_sort(out.begin(), out.end(),
                     [&](const RecordedAgainst& a, const RecordedAgainst& b) { return time(a) > time(b); });
    return out;
  }

  const TraceFile& predicted_;
  const Recording& recording_;
  const KernelClasses& names_;
  RecordingComparison out_;
};

}  // namespace

RecordingComparison compare_with_recording(const TraceFile& predicted, const Recording& recording,
                                           const KernelClasses& classes) {
  return RecordingComparer(predicted, recording, classes).run();
}

}  // namespace mirfak
