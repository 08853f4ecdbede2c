// A stretch of a run says its energy and its iterations. While nothing is trained, its power is even. A stretch of
// training is divided at its pauses, saves and evaluations, as run_training() adds up their energy.
#include "training/training_power.hpp"

#include "base/error.hpp"
#include "base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace mirfak {

namespace {

const WorkPhase& longest(const std::vector<WorkPhase>& phases) {
  const auto seconds = [](const WorkPhase& phase) { return static_cast<double>(phase.iterations) * phase.iteration_s; };
  return *std::max_element(phases.begin(), phases.end(),
                           [&](const WorkPhase& a, const WorkPhase& b) { return seconds(a) < seconds(b); });
}

std::size_t index_of(TimePart part) { return static_cast<std::size_t>(part); }

class RunPower {
 public:
  RunPower(const TrainingCourse& course, double end_s, double interval_s) : calendar_(course.calendar), end_s_(end_s) {
    const double intervals = std::max(1.0, std::round(end_s / interval_s));
    check_size(intervals * 2, interval_s);
    out_.machine_w.resize(static_cast<std::size_t>(intervals));
    out_.interval_s = end_s / intervals;
    out_.idle_w = course.costs.idle_w;
    out_.training_w = longest(calendar_.phases()).power_w;
  }

  void add(const RunSpan& span) {
    if (span.part == TimePart::training) return add_training(span);
    add_even(span.part, span.start_s, span.end_s, span.energy_j);
    if (span.part == TimePart::saving) ++out_.saves;
  }

  TrainingPower finish() { return std::move(out_); }

 private:
  void check_size(double numbers, double interval_s) const {
    check_power_numbers(
        numbers,
        fmt::format("the power of a run of {} every {} is", format_seconds(end_s_), format_seconds(interval_s)),
        kCoarserResolution);
  }

  std::vector<double>& series_of(TimePart part) {
    std::vector<double>& series = out_.parts_w[index_of(part)];
    if (series.empty()) {
      check_size(static_cast<double>(out_.intervals() * (out_.drawn_parts() + 2)), out_.interval_s);
      series.resize(out_.intervals());
    }
    return series;
  }

  // Spreads an energy evenly from one time to another.
  void add_even(TimePart part, double start_s, double end_s, double joules) {
    if (joules == 0) return;
    std::vector<double>& series = series_of(part);
    out_.energy_j += joules;
    if (part == TimePart::saving) out_.saving_energy_j += joules;
    const auto put = [&](std::size_t interval, double energy_j) {
      series[interval] += energy_j / out_.interval_s;
      out_.machine_w[interval] += energy_j / out_.interval_s;
    };
    const std::size_t first = interval_of(start_s);
    const std::size_t last = interval_of(end_s);
    const double seconds = end_s - start_s;
    double left = joules;
    for (std::size_t i = first; i < last; ++i) {
      const double from = std::max(start_s, static_cast<double>(i) * out_.interval_s);
      const double inside = joules * (static_cast<double>(i + 1) * out_.interval_s - from) / seconds;
      put(i, inside);
      left -= inside;
    }
    put(last, left);
  }

  std::size_t interval_of(double time_s) const {
    const double place = std::floor(time_s / out_.interval_s);
    return std::min(out_.intervals() - 1, static_cast<std::size_t>(std::max(0.0, place)));
  }

  double pauses_until(std::int64_t iteration) const {
    return calendar_.saving_until(iteration) + calendar_.evaluation_until(iteration);
  }

  // Returns the first iteration after `from`, at most `to`, with a pause after it; `to` if there is none.
  std::int64_t next_pause(std::int64_t from, std::int64_t to) const {
    const double before = pauses_until(from);
    const auto paused = [&](std::int64_t iteration) { return pauses_until(iteration) > before; };
    std::int64_t step = 1;
    while (from + step < to && !paused(from + step)) step *= 2;
    std::int64_t low = from + step / 2;  // not paused, or `from`
    std::int64_t high = std::min(to, from + step);
    while (low + 1 < high) {
      const std::int64_t middle = low + (high - low) / 2;
      (paused(middle) ? high : low) = middle;
    }
    return high;
  }

  // Returns the end of the phase that the iteration after `from` is in, at most `to`.
  std::int64_t end_of_phase(std::int64_t from, std::int64_t to) const {
    std::int64_t end = 0;
    for (const WorkPhase& phase : calendar_.phases()) {
      end += phase.iterations;
      if (end > from) break;
    }
    return std::min(end, to);
  }

  void add_training(const RunSpan& span) {
    const double last_w = calendar_.phase_at(std::min(span.iteration, calendar_.iterations() - 1)).power_w;
    double now = span.start_s;
    const auto pass = [&](TimePart part, double seconds, double joules) {
      if (seconds <= 0) return;
      add_even(part, now, now + seconds, joules);
      now += seconds;
    };
    for (std::int64_t at = span.first_iteration; at < span.iteration;) {
      const std::int64_t next = end_of_phase(at, next_pause(at, span.iteration));
      const auto passed = [&](double (WorkCalendar::*sum)(std::int64_t) const) {
        return (calendar_.*sum)(next) - (calendar_.*sum)(at);
      };
      const double work_s = passed(&WorkCalendar::work_until);
      const double longer_s = (span.slowdown - 1) * work_s;
      pass(TimePart::training, work_s + longer_s, passed(&WorkCalendar::energy_until) + longer_s * out_.idle_w);
      const double saving_s = passed(&WorkCalendar::saving_until);
      pass(TimePart::saving, saving_s, saving_s * out_.idle_w);
      if (saving_s > 0) ++out_.saves;
      const double evaluation_s = passed(&WorkCalendar::evaluation_until);
      pass(TimePart::evaluation, evaluation_s, evaluation_s * last_w);
      at = next;
    }
  }

  const WorkCalendar& calendar_;
  double end_s_;
  TrainingPower out_;
};

}  // namespace

std::size_t TrainingPower::drawn_parts() const {
  return static_cast<std::size_t>(
      std::count_if(parts_w.begin(), parts_w.end(), [](const std::vector<double>& series) { return !series.empty(); }));
}

std::vector<std::string> notes_on_idle_hosts(const Cluster& cluster) {
  std::vector<std::string> unknown;
  for (const NodeGroup& group : cluster.groups()) {
    const NodeSpec& spec = group.hardware.spec;
    if (spec.host_idle_power_w || std::find(unknown.begin(), unknown.end(), spec.name) != unknown.end()) continue;
    unknown.push_back(spec.name);
  }
  if (unknown.empty()) return {};
  return {
      fmt::format("what hosts of {} draw without work is not known (host_idle_power_w of a node's file): they count "
                  "with what they draw with work",
                  fmt::join(unknown, ", "))};
}

TrainingPower power_of_run(const TrainingCourse& course, std::span<const RunSpan> spans, double interval_s) {
  if (course.learners > 1) {
    fail_infeasible({}, "the power of several learners over time is not known", "leave out training.local_steps");
  }
  RunPower power(course, spans.empty() ? 0 : spans.back().end_s, interval_s);
  for (const RunSpan& span : spans) power.add(span);
  return power.finish();
}

}  // namespace mirfak
