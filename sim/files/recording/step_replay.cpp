#include "recording/step_replay.hpp"

#include "recording/recording_summary.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace mirfak {

namespace {

struct Mean {
  double sum = 0;
  std::size_t count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  double value() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

// Returns the kernels of every step in the order in which the host launched them.
std::vector<std::vector<const RecordedKernel*>> issued_kernels(const Recording& recording) {
  std::vector<std::vector<const RecordedKernel*>> out(recording.steps.size());
  for (const RecordedKernel& kernel : recording.kernels) {
    if (kernel.step >= 0) out[static_cast<std::size_t>(kernel.step)].push_back(&kernel);
  }
  for (auto& step : out) {
    std::stable_sort(step.begin(), step.end(), [](const RecordedKernel* one, const RecordedKernel* other) {
      return one->launch.value_or(one->start) < other->launch.value_or(other->start);
    });
  }
  return out;
}

class StepModel {
 public:
  StepModel(const Recording& recording, const std::vector<std::vector<const RecordedKernel*>>& issued)
      : recording_(recording), issued_(issued) {}

  void fit(std::size_t step) {
    const auto& kernels = issued_[step];
    Nanoseconds before = recording_.steps[step].start;
    std::map<std::uint32_t, std::size_t> launched;
    for (const RecordedKernel* kernel : kernels) {
      const double took = seconds(kernel->duration());
      exact_[{kernel->name, kernel->operator_}].add(took);
      by_name_[kernel->name].add(took);
      if (!kernel->launch) continue;
      const double interval = seconds(*kernel->launch - before);
      intervals_[{kernel->name, launched[kernel->name]++}].add(interval);
      intervals_by_name_[kernel->name].add(interval);
      interval_.add(interval);
      before = *kernel->launch;
    }
    tail_.add(seconds(recording_.steps[step].end - before));
  }

  ReplayedStep replay(std::size_t step) const {
    ReplayedStep out;
    out.step = step;
    out.kernels = issued_[step].size();
    double host = 0;
    std::map<std::uint32_t, std::size_t> launched;
    std::map<std::int64_t, double> free;  // time at which each stream is free, by its number
    Spans busy;                           // time of kernels that do not communicate
    for (const RecordedKernel* kernel : issued_[step]) {
      const Mean* took = duration_of(*kernel);
      if (kernel->launch) host += interval_of(kernel->name, launched[kernel->name]++);
      if (took == nullptr) {
        ++out.unknown;
        continue;
      }
      double& stream = free[kernel->stream];
      const double start = std::max(stream, host);
      stream = start + took->value();
      if (!recording_.communicates(*kernel)) busy.emplace_back(start, stream);
    }
    out.step_predicted_s = host + tail_.value();
    out.other_predicted_s = covered(std::move(busy));
    return out;
  }

 private:
  using Key = std::pair<std::uint32_t, std::int32_t>;

  const Mean* duration_of(const RecordedKernel& kernel) const {
    if (const auto found = exact_.find({kernel.name, kernel.operator_}); found != exact_.end()) return &found->second;
    const auto found = by_name_.find(kernel.name);
    return found == by_name_.end() ? nullptr : &found->second;
  }

  // Returns the mean interval before the same launch of this kernel in the fitted steps: the host's time between
  // launches depends on the place in the step, and includes waiting for the GPU.
  double interval_of(std::uint32_t name, std::size_t launch) const {
    if (const auto found = intervals_.find({name, launch}); found != intervals_.end()) return found->second.value();
    const auto found = intervals_by_name_.find(name);
    return found == intervals_by_name_.end() ? interval_.value() : found->second.value();
  }

  const Recording& recording_;
  const std::vector<std::vector<const RecordedKernel*>>& issued_;
  std::map<Key, Mean> exact_;
  std::map<std::uint32_t, Mean> by_name_;
  // Time between a launch and the one before it, or the begin of the step; by name and by number among the launches of
  // that name in the step.
  std::map<std::pair<std::uint32_t, std::size_t>, Mean> intervals_;
  std::map<std::uint32_t, Mean> intervals_by_name_;
  Mean interval_;
  Mean tail_;  // from the last launch to the end of the step
};

double spread(const std::vector<double>& values) {
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  return *least > 0 ? *largest / *least - 1 : 0;
}

}  // namespace

ReplayScore replay_steps(const Recording& recording) {
  ReplayScore out;
  if (recording.steps.size() < 2) return out;
  const auto issued = issued_kernels(recording);
  StepModel model(recording, issued);
  std::vector<double> others;
  std::vector<double> lengths;
  for (std::size_t step = 0; step < recording.steps.size(); ++step) {
    others.push_back(seconds(busy_time(recording, [&](const RecordedKernel& kernel) {
      return kernel.step == static_cast<std::int32_t>(step) && !recording.communicates(kernel);
    })));
    lengths.push_back(seconds(recording.steps[step].end - recording.steps[step].start));
    if (step % 2 != 0) continue;
    model.fit(step);
    out.fitted.push_back(step);
  }
  for (std::size_t step = 1; step < recording.steps.size(); step += 2) {
    if (others[step] <= 0 || lengths[step] <= 0) continue;  // nothing was recorded of this step
    ReplayedStep judged = model.replay(step);
    judged.other_measured_s = others[step];
    judged.step_measured_s = lengths[step];
    out.judged.push_back(judged);
  }
  out.other_spread = spread(others);
  out.step_spread = spread(lengths);
  out.shortest_step_s = *std::min_element(lengths.begin(), lengths.end());
  out.longest_step_s = *std::max_element(lengths.begin(), lengths.end());
  return out;
}

}  // namespace mirfak
