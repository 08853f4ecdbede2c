// Two executions of one program, in virtual and in real time, have the same tasks in the same order; so tasks are
// paired by their indices. The length of an iteration is the length of its critical path: a chain of tasks and, in a
// measured iteration, the time between them. So the difference of two iterations is the difference of their paths, kind
// by kind.
#include "trace/trace_comparison.hpp"

#include "base/averages.hpp"
#include "base/error.hpp"
#include "program/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace mirfak {

namespace {

constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);
constexpr double kLeastKernel = 1e-6;  // seconds: times of shorter kernels are not measured more exactly
constexpr std::size_t kMaxLines = 4;   // lines of differing scenarios shown

// Returns the lines of a resolved scenario with the keys above them, without the cluster's lines: a program is
// predicted and measured on different descriptions of its cluster.
std::vector<std::string> job_lines(const std::string& scenario) {
  std::vector<std::string> out;
  std::istringstream lines(scenario);
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    if (line.front() != ' ') section = line.substr(0, line.find(':'));
    if (section == "cluster" || section == "search") continue;
    out.push_back(line.front() == ' ' ? section + "." + line.substr(line.find_first_not_of(' ')) : line);
  }
  return out;
}

[[noreturn]] void refuse(const TraceFile& predicted, const TraceFile& measured, const std::string& what,
                         std::string hint = {}) {
  fail_input({}, fmt::format("{} and {} are not of the same program: {}", predicted.name, measured.name, what),
             std::move(hint));
}

void check_scenarios(const TraceFile& predicted, const TraceFile& measured) {
  const std::vector<std::string> first = job_lines(predicted.scenario);
  const std::vector<std::string> second = job_lines(measured.scenario);
  const std::set<std::string> in_first(first.begin(), first.end());
  const std::set<std::string> in_second(second.begin(), second.end());
  std::vector<std::string> differing;
  for (const std::string& line : first) {
    if (!in_second.contains(line)) differing.push_back(line + " (predicted)");
  }
  for (const std::string& line : second) {
    if (!in_first.contains(line)) differing.push_back(line + " (measured)");
  }
  if (differing.empty()) return;
  const std::size_t more = differing.size() - std::min(differing.size(), kMaxLines);
  differing.resize(std::min(differing.size(), kMaxLines));
  refuse(predicted, measured,
         fmt::format("{}{}", fmt::join(differing, ", "), more > 0 ? fmt::format(" and {} more", more) : ""),
         "predict the scenario that was run");
}

std::string describe(const TraceFile& trace, std::size_t task) {
  return fmt::format("{} '{}' on stream {} of rank {}, microbatch {}", trace.kind_of(task), trace.name_of(task),
                     trace.stream_of(task), trace.rank[task], trace.microbatch[task]);
}

void check_tasks(const TraceFile& predicted, const TraceFile& measured) {
  if (!measured.measured) {
    refuse(predicted, measured, fmt::format("{} was not measured", measured.name),
           "give the predicted trace first, then the one of `mirfak-measure run --out`");
  }
  if (predicted.size() != measured.size()) {
    refuse(predicted, measured, fmt::format("they have {} and {} tasks", predicted.size(), measured.size()),
           "predict with `mirfak simulate --detail operators --unfolded --trace`, on the hardware that was given to "
           "`mirfak-measure run`");
  }
  for (std::size_t task = 0; task < predicted.size(); ++task) {
    const bool same =
        predicted.rank[task] == measured.rank[task] && predicted.stage[task] == measured.stage[task] &&
        predicted.chunk[task] == measured.chunk[task] && predicted.microbatch[task] == measured.microbatch[task] &&
        predicted.bytes[task] == measured.bytes[task] && predicted.stream_of(task) == measured.stream_of(task) &&
        predicted.kind_of(task) == measured.kind_of(task) && predicted.name_of(task) == measured.name_of(task);
    if (same) continue;
    refuse(
        predicted, measured,
        fmt::format("task {} is {} ({:g} bytes) in one and {} ({:g} bytes) in the other", task,
                    describe(predicted, task), predicted.bytes[task], describe(measured, task), measured.bytes[task]),
        "predict again: the program, or a file that the scenario names (schedule, profile), has changed in between");
  }
}

class Comparison {
 public:
  Comparison(const TraceFile& predicted, const TraceFile& measured) : predicted_(predicted), measured_(measured) {}

  TraceComparison run() {
    out_.predicted = predicted_.name;
    out_.measured = measured_.name;
    out_.tasks = predicted_.size();
    out_.iteration = {predicted_.iteration_time_s, measured_.iteration_time_s};
    if (predicted_.energy_j && measured_.energy_j) out_.energy = {*predicted_.energy_j, *measured_.energy_j};
    out_.range = measured_.range;
    out_.communication_s = median_communication();
    compare_kinds();
    compare_names();
    score();
    compare_ranks();
    find_earlier_on_streams();
    out_.predicted_path = path_of(predicted_);
    out_.measured_path = path_of(measured_);
    find_causes();
    return std::move(out_);
  }

 private:
  bool computes(std::size_t task) const { return predicted_.stream_of(task) == name_of(StreamKind::compute); }
  bool communicates(std::size_t task) const {
    const std::string& kind = predicted_.kind_of(task);
    return kind == name_of(TaskKind::collective) || kind == name_of(TaskKind::transfer);
  }
  void add(ComparedTime& to, std::size_t task) const {
    ++to.tasks;
    to.predicted_s += predicted_.seconds(task);
    to.measured_s += measured_.seconds(task);
  }

  double median_communication() const {
    std::vector<double> times;
    for (std::size_t task = 0; task < out_.tasks; ++task) {
      if (communicates(task)) times.push_back(measured_.seconds(task));
    }
    return times.empty() ? 0 : middle(std::move(times));
  }

  void compare_kinds() {
    std::map<std::string, ComparedTime> kinds;
    for (std::size_t task = 0; task < out_.tasks; ++task) add(kinds[predicted_.kind_of(task)], task);
    for (const std::string& name : predicted_.kind_names) {
      const auto found = kinds.find(name);
      if (found == kinds.end() || name == name_of(TaskKind::meeting)) continue;
      found->second.name = name;
      out_.kinds.push_back(found->second);
    }
  }

  void compare_names() {
    std::map<std::string, ComparedTime> names;
    for (std::size_t task = 0; task < out_.tasks; ++task) {
      if (computes(task) || communicates(task)) add(names[predicted_.name_of(task)], task);
    }
    for (auto& [name, time] : names) {
      time.name = name;
      out_.names.push_back(std::move(time));
    }
    std::stable_sort(out_.names.begin(), out_.names.end(), [](const ComparedTime& a, const ComparedTime& b) {
      return std::abs(a.difference_s()) > std::abs(b.difference_s());
    });
  }

  void score() {
    std::vector<PredictedPair> kernels;
    for (std::size_t task = 0; task < out_.tasks; ++task) {
      const PredictedPair pair{predicted_.seconds(task), measured_.seconds(task)};
      if (computes(task) && std::min(pair.predicted, pair.measured) >= kLeastKernel) kernels.push_back(pair);
    }
    out_.kernels = error_statistics(kernels);
    std::vector<PredictedPair> operators;
    for (const ComparedTime& time : out_.names) {
      if (std::min(time.predicted_s, time.measured_s) > 0) operators.push_back({time.predicted_s, time.measured_s});
    }
    out_.operators = error_statistics(operators);
  }

  void compare_ranks() {
    std::map<int, ComparedRank> ranks;
    std::map<int, int> stage_of;
    for (std::size_t task = 0; task < out_.tasks; ++task) {
      if (!computes(task) && !communicates(task)) continue;
      const int number = static_cast<int>(predicted_.rank[task]);
      ComparedRank& rank = ranks[number];
      rank.number = number;
      add(computes(task) ? rank.kernels : rank.communication, task);
      if (predicted_.stage[task] >= 0) stage_of[number] = predicted_.stage[task];
    }
    for (auto& [number, rank] : ranks) {
      rank.waiting.predicted_s = out_.iteration.predicted - rank.kernels.predicted_s;
      rank.waiting.measured_s = out_.iteration.measured - rank.kernels.measured_s;
      out_.ranks.push_back(rank);
    }
    average_stages(stage_of);
  }

  void average_stages(const std::map<int, int>& stage_of) {
    std::map<int, std::vector<const ComparedRank*>> stages;
    for (const ComparedRank& rank : out_.ranks) stages[stage_of.at(rank.number)].push_back(&rank);
    for (const auto& [stage, ranks] : stages) {
      ComparedRank mean;
      mean.number = stage;
      const auto count = static_cast<double>(ranks.size());
      for (const ComparedRank* rank : ranks) {
        for (ComparedTime ComparedRank::*part :
             {&ComparedRank::kernels, &ComparedRank::communication, &ComparedRank::waiting}) {
          (mean.*part).tasks += (rank->*part).tasks;
          (mean.*part).predicted_s += (rank->*part).predicted_s / count;
          (mean.*part).measured_s += (rank->*part).measured_s / count;
        }
      }
      out_.stages.push_back(mean);
    }
  }

  void find_earlier_on_streams() {
    earlier_.assign(out_.tasks, kNone);
    std::map<std::pair<std::uint32_t, std::uint8_t>, std::uint32_t> last;
    for (std::uint32_t task = 0; task < out_.tasks; ++task) {
      if (predicted_.stream_of(task) == name_of(StreamKind::group)) continue;
      const auto [found, added] = last.try_emplace({predicted_.rank[task], predicted_.stream[task]}, task);
      if (!added) earlier_[task] = std::exchange(found->second, task);
    }
  }

  // Returns the task whose end a task waited for last; kNone: no task.
  std::uint32_t cause_of(const TraceFile& trace, std::uint32_t task) const {
    std::uint32_t latest = earlier_[task];
    for (const std::uint32_t before : measured_.dependencies_of(task)) {
      if (latest == kNone || trace.end_s[before] > trace.end_s[latest]) latest = before;
    }
    return latest;
  }

  CriticalPath path_of(const TraceFile& trace) const {
    CriticalPath path;
    if (out_.tasks == 0) return path;
    const auto last = std::max_element(trace.end_s.begin(), trace.end_s.end());
    auto task = static_cast<std::uint32_t>(last - trace.end_s.begin());
    std::map<std::string, ComparedTime> kinds;
    for (;;) {
      ComparedTime& time = kinds[trace.kind_of(task)];
      ++time.tasks;
      ++path.tasks;
      (&trace == &predicted_ ? time.predicted_s : time.measured_s) += trace.seconds(task);
      const std::uint32_t before = cause_of(trace, task);
      path.waiting_s += trace.start_s[task] - (before == kNone ? 0 : trace.end_s[before]);
      if (before == kNone) break;
      task = before;
    }
    for (auto& [name, time] : kinds) {
      time.name = name;
      if (name != name_of(TaskKind::meeting)) path.kinds.push_back(time);
    }
    return path;
  }

  void find_causes() {
    std::map<std::string, ComparedTime> causes;
    for (const CriticalPath* path : {&out_.predicted_path, &out_.measured_path}) {
      for (const ComparedTime& time : path->kinds) {
        ComparedTime& cause = causes[time.name];
        cause.name = time.name;
        cause.tasks += time.tasks;
        cause.predicted_s += time.predicted_s;
        cause.measured_s += time.measured_s;
      }
    }
    for (const auto& entry : causes) out_.causes.push_back(entry.second);
    out_.causes.push_back({"between tasks", 0, out_.predicted_path.waiting_s, out_.measured_path.waiting_s});
    std::stable_sort(out_.causes.begin(), out_.causes.end(), [](const ComparedTime& a, const ComparedTime& b) {
      return std::abs(a.difference_s()) > std::abs(b.difference_s());
    });
  }

  const TraceFile& predicted_;
  const TraceFile& measured_;
  TraceComparison out_;
  std::vector<std::uint32_t> earlier_;  // by task: the task before it on its stream
};

}  // namespace

TraceComparison compare_traces(const TraceFile& predicted, const TraceFile& measured) {
  check_scenarios(predicted, measured);
  check_tasks(predicted, measured);
  return Comparison(predicted, measured).run();
}

}  // namespace mirfak
