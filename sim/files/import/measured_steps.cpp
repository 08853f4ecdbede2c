#include "import/measured_steps.hpp"

#include "base/averages.hpp"
#include "base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

constexpr double kLowShare = 0.1;
constexpr double kHighShare = 0.9;

// A stated time in seconds.
struct TimedStep {
  double seconds = 0;
  Location where;
};

// Returns the number of times of a part that are its warm-up. A single time counts, as nothing else is known.
std::size_t warm_up_of(const std::vector<TimedStep>& part, bool only_part) {
  if (part.size() == 1) return only_part ? 0 : 1;
  std::vector<double> late;
  for (std::size_t i = part.size() / 2; i < part.size(); ++i) late.push_back(part[i].seconds);
  std::sort(late.begin(), late.end());
  const double usual = interpolated_quantile(late, kHighShare);
  std::size_t out = 1;
  while (out < part.size() / 2 && part[out].seconds > usual) ++out;
  return out;
}

std::optional<double> seconds_of(const LoggedTime& time, const StepSizes& sizes, std::vector<std::string>& missing) {
  const auto need = [&](const std::optional<double>& size, const char* key) {
    if (!size && std::find(missing.begin(), missing.end(), key) == missing.end()) missing.emplace_back(key);
    return size.value_or(0);
  };
  const std::optional<double> batch = time.batch ? time.batch : sizes.sequences;
  switch (time.unit) {
    case LogUnit::seconds:
      return time.value;
    case LogUnit::milliseconds:
      return time.value / 1e3;
    case LogUnit::steps_per_second:
      return 1 / time.value;
    case LogUnit::samples_per_second:
      return need(batch, "training.global_batch") / time.value;
    case LogUnit::tokens_per_second_per_gpu:
      return need(batch, "training.global_batch") * need(sizes.tokens, "training.sequence_length") /
             (time.value * need(sizes.gpus, "cluster.nodes"));
    case LogUnit::elapsed:
      break;
  }
  return std::nullopt;
}

// A progress bar states whole seconds, so that its two ends are each a second off at most.
std::optional<MeasuredSteps> by_bar(const std::vector<std::vector<LoggedTime>>& parts) {
  MeasuredSteps out;
  double seconds = 0;
  double steps = 0;
  double rounding = 0;
  for (const std::vector<LoggedTime>& part : parts) {
    const LoggedTime* first = nullptr;
    const LoggedTime* last = nullptr;
    for (const LoggedTime& time : part) {
      if (time.unit != LogUnit::elapsed || *time.step < 1) continue;
      if (first == nullptr) first = &time;
      last = &time;
    }
    if (first == nullptr || *last->step <= *first->step) continue;
    if (steps == 0) out.first = first->where;
    seconds += last->value - first->value;
    steps += *last->step - *first->step;
    rounding += 1;
    out.warm_up += static_cast<std::int64_t>(*first->step);
  }
  if (steps <= 0 || seconds <= 0) return std::nullopt;
  out.used = static_cast<std::int64_t>(steps);
  out.seconds = seconds / steps;
  out.low_s = std::max(0.0, seconds - rounding) / steps;
  out.high_s = (seconds + rounding) / steps;
  out.basis = fmt::format("mean of {} steps by the progress bar", out.used);
  return out;
}

// Returns the mean over the whole run, if nothing else is known.
std::optional<MeasuredSteps> by_whole_run(const std::vector<std::vector<LoggedTime>>& parts) {
  for (const std::vector<LoggedTime>& part : parts) {
    for (const LoggedTime& time : part) {
      if (time.unit != LogUnit::steps_per_second) continue;
      MeasuredSteps out;
      out.seconds = out.low_s = out.high_s = 1 / time.value;
      out.used = 1;
      out.first = time.where;
      out.basis = "mean of the whole run, its warm-up, evaluations and checkpoints included";
      return out;
    }
  }
  return std::nullopt;
}

bool states_a_step(const LoggedTime& time) {
  return time.unit != LogUnit::elapsed && time.unit != LogUnit::steps_per_second;
}

// Returns the global batch of the last time, which ramps end with; nothing if times do not state it.
std::optional<double> last_batch(const std::vector<std::vector<LoggedTime>>& parts) {
  std::optional<double> out;
  for (const std::vector<LoggedTime>& part : parts) {
    for (const LoggedTime& time : part) {
      if (states_a_step(time)) out = time.batch;
    }
  }
  return out;
}

}  // namespace

std::optional<MeasuredSteps> measured_steps(const std::vector<std::vector<LoggedTime>>& parts, const StepSizes& sizes,
                                            std::vector<std::string>& missing) {
  MeasuredSteps out;
  std::vector<double> times;
  const std::optional<double> batch = last_batch(parts);
  for (const std::vector<LoggedTime>& part : parts) {
    std::vector<TimedStep> steps;
    for (const LoggedTime& time : part) {
      if (!states_a_step(time)) continue;
      if (batch && time.batch && *time.batch != *batch) {
        ++out.other_batches;
        continue;
      }
      const std::optional<double> seconds = seconds_of(time, sizes, missing);
      if (seconds) steps.push_back({*seconds, time.where});
    }
    if (steps.empty()) continue;
    const std::size_t warm_up = warm_up_of(steps, parts.size() == 1);
    out.warm_up += static_cast<std::int64_t>(warm_up);
    for (std::size_t i = warm_up; i < steps.size(); ++i) {
      if (times.empty()) out.first = steps[i].where;
      times.push_back(steps[i].seconds);
    }
  }
  if (!missing.empty()) return std::nullopt;
  if (times.empty()) {
    const std::optional<MeasuredSteps> bar = by_bar(parts);
    return bar ? bar : by_whole_run(parts);
  }
  std::sort(times.begin(), times.end());
  out.used = static_cast<std::int64_t>(times.size());
  out.seconds = interpolated_quantile(times, 0.5);
  out.low_s = interpolated_quantile(times, kLowShare);
  out.high_s = interpolated_quantile(times, kHighShare);
  out.basis = times.size() == 1 ? "the only time that is stated" : fmt::format("median of {} times", times.size());
  return out;
}

std::string measured_text(const MeasuredSteps& steps) {
  std::string out = fmt::format("{}, {}", format_seconds(steps.seconds), steps.basis);
  if (steps.low_s < steps.high_s)
    out += fmt::format(" ({} to {}{})", format_seconds(steps.low_s), format_seconds(steps.high_s),
                       steps.basis.starts_with("median") ? ", 80 % of them" : ", as the bar states whole seconds");
  if (steps.warm_up > 0) out += fmt::format("; {} before left out as warm-up", steps.warm_up);
  if (steps.other_batches > 0)
    out += fmt::format("; {} left out, as their global batch is not the last one", steps.other_batches);
  return out;
}

}  // namespace mirfak
