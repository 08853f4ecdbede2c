#include "recording/recording_summary.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace mirfak {

namespace {

// Returns a kernel's name without its parameters, which begin at the first bracket that does not belong to "(anonymous
// namespace)".
std::string short_name(const std::string& name) {
  std::size_t at = name.find('(');
  while (at != std::string::npos && name.compare(at, 11, "(anonymous ") == 0) at = name.find('(', at + 1);
  return name.substr(0, at);
}

double median_of(std::vector<Nanoseconds> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  if (values.size() % 2 == 1) return static_cast<double>(values[half]);
  return (static_cast<double>(values[half - 1]) + static_cast<double>(values[half])) / 2;
}

std::vector<ClassTime> class_times(const Recording& recording) {
  std::vector<ClassTime> out;
  for (std::size_t i = 0; i < recording.classes.size(); ++i) {
    ClassTime time{recording.classes[i].name, 0, 0, 0};
    for (const RecordedKernel& kernel : recording.kernels) {
      if (kernel.cls != i) continue;
      ++time.count;
      time.sum += kernel.duration();
    }
    if (time.count == 0) continue;
    time.busy = busy_time(recording, [&](const RecordedKernel& kernel) { return kernel.cls == i; });
    out.push_back(std::move(time));
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& one, const auto& other) { return one.sum > other.sum; });
  return out;
}

std::vector<CommunicationTime> communication_times(const Recording& recording) {
  std::map<std::pair<std::string, std::int32_t>, std::vector<Nanoseconds>> durations;
  for (const RecordedKernel& kernel : recording.kernels) {
    if (!recording.communicates(kernel)) continue;
    durations[{short_name(recording.names[kernel.name]), kernel.collective}].push_back(kernel.duration());
  }
  std::vector<CommunicationTime> out;
  for (const auto& [key, times] : durations) {
    CommunicationTime time;
    time.kernel = key.first;
    if (key.second >= 0) time.collective = &recording.collectives[static_cast<std::size_t>(key.second)];
    time.count = times.size();
    for (const Nanoseconds each : times) time.sum += each;
    time.shortest = *std::min_element(times.begin(), times.end());
    time.longest = *std::max_element(times.begin(), times.end());
    time.median = median_of(times);
    out.push_back(std::move(time));
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& one, const auto& other) { return one.sum > other.sum; });
  return out;
}

std::vector<StepTime> step_times(const Recording& recording) {
  std::vector<StepTime> out(recording.steps.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    StepTime& time = out[i];
    time.step = &recording.steps[i];
    const auto is_here = [&](const RecordedKernel& kernel) { return kernel.step == static_cast<std::int32_t>(i); };
    bool any = false;
    for (const RecordedKernel& kernel : recording.kernels) {
      if (!is_here(kernel)) continue;
      if (!recording.class_of(kernel).copies) ++time.kernels;
      time.first = any ? std::min(time.first, kernel.start) : kernel.start;
      time.last = any ? std::max(time.last, kernel.end) : kernel.end;
      any = true;
    }
    time.busy = busy_time(recording, is_here);
    time.communication = busy_time(
        recording, [&](const RecordedKernel& kernel) { return is_here(kernel) && recording.communicates(kernel); });
    time.other = busy_time(
        recording, [&](const RecordedKernel& kernel) { return is_here(kernel) && !recording.communicates(kernel); });
  }
  return out;
}

IssueTime issue_time(const Recording& recording, bool backward) {
  std::vector<std::pair<Nanoseconds, const RecordedKernel*>> launches;
  for (const RecordedKernel& kernel : recording.kernels) {
    if (kernel.launch && kernel.step >= 0) launches.emplace_back(*kernel.launch, &kernel);
  }
  std::sort(launches.begin(), launches.end());
  std::vector<Nanoseconds> intervals;
  std::vector<Nanoseconds> calls;
  for (std::size_t i = 0; i + 1 < launches.size(); ++i) {
    const RecordedKernel& one = *launches[i].second;
    const RecordedKernel& next = *launches[i + 1].second;
    if (one.step != next.step || one.backward != backward || next.backward != backward) continue;
    intervals.push_back(*next.launch - *one.launch);
    calls.push_back(*one.launch_end - *one.launch);
  }
  IssueTime out;
  out.count = intervals.size();
  if (intervals.empty()) return out;
  Nanoseconds sum = 0;
  for (const Nanoseconds interval : intervals) sum += interval;
  out.mean_s = static_cast<double>(sum) / static_cast<double>(intervals.size()) * kSecondsPerNanosecond;
  out.median_s = median_of(std::move(intervals)) * kSecondsPerNanosecond;
  out.call_median_s = median_of(std::move(calls)) * kSecondsPerNanosecond;
  return out;
}

}  // namespace

// Relies on kernels being sorted by their start.
Nanoseconds busy_time(const Recording& recording, const std::function<bool(const RecordedKernel&)>& counts) {
  Nanoseconds out = 0;
  Nanoseconds until = std::numeric_limits<Nanoseconds>::min();
  for (const RecordedKernel& kernel : recording.kernels) {
    if (kernel.end <= until || !counts(kernel)) continue;
    out += kernel.end - std::max(kernel.start, until);
    until = kernel.end;
  }
  return out;
}

RecordingSummary summarize(const Recording& recording) {
  RecordingSummary out;
  Nanoseconds last = std::numeric_limits<Nanoseconds>::min();
  for (const RecordedKernel& kernel : recording.kernels) {
    const RecordedClass& cls = recording.class_of(kernel);
    ++(cls.copies ? out.copies : out.kernels);
    if (!cls.copies) out.kernel_sum += kernel.duration();
    if (!kernel.launch) ++out.unlaunched;
    if (kernel.operator_ >= 0 && !recording.operators[static_cast<std::size_t>(kernel.operator_)].shape.empty()) {
      ++out.with_shapes;
    }
    if (cls.communication) ++out.communications;
    if (cls.communication && kernel.collective >= 0) ++out.communications_described;
    last = std::max(last, kernel.end);
  }
  out.first_to_last = last - recording.kernels.front().start;
  out.busy = busy_time(recording, [](const RecordedKernel&) { return true; });
  out.communication =
      busy_time(recording, [&](const RecordedKernel& kernel) { return recording.communicates(kernel); });
  out.other = busy_time(recording, [&](const RecordedKernel& kernel) { return !recording.communicates(kernel); });
  out.overlapped = out.communication + out.other - out.busy;
  out.classes = class_times(recording);
  out.communication_kernels = communication_times(recording);
  out.steps = step_times(recording);
  out.forward = issue_time(recording, false);
  out.backward = issue_time(recording, true);
  return out;
}

double covered(Spans spans) {
  std::sort(spans.begin(), spans.end());
  double out = 0;
  double until = 0;
  for (const auto& [start, end] : spans) {
    if (end <= until) continue;
    out += end - std::max(start, until);
    until = end;
  }
  return out;
}

}  // namespace mirfak
