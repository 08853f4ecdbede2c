// Joins the runs of learners. Between two points of any of them (learner_run.hpp) each learner's work grows evenly, so
// the sum grows evenly, too: a sweep over all points, in the order of time, finds when the sum is that of the training.
// Example: two learners of 100 s of work each, of which one is away for 30 s: both have done 200 s after 115 s, and the
// goodput is 87 %.

#include "training/learners.hpp"

#include "base/error.hpp"
#include "base/units.hpp"
#include "training/learner_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace mirfak {

namespace {

constexpr double kAhead = 1.1;        // learners' runs are simulated so much further at a time
constexpr double kLongest = 1000;     // a training that takes so many times its undisturbed time does not end
constexpr std::int64_t kPlenty = 64;  // times a learner's share of the iterations, which no learner does

constexpr auto kTraining = static_cast<std::size_t>(TimePart::training);
constexpr auto kWaiting = static_cast<std::size_t>(TimePart::waiting);

// Returns the course of one learner: with more iterations than it will do.
TrainingCourse course_of_learner(const TrainingCourse& course) {
  TrainingCourse out = course;
  std::vector<WorkPhase> phases = course.calendar.phases();
  phases.back().iterations += course.calendar.iterations() * kPlenty * course.learners;
  out.calendar = WorkCalendar(std::move(phases), course.calendar.tiers(), course.calendar.evaluation());
  return out;
}

// One learner on the way through its points.
struct Cursor {
  LearnerRun run;
  std::size_t next = 1;  // point at the end of the present stretch
  double stalled_s = 0;  // work that it did not do because it waited for others

  const LearnerPoint& end() const { return run.points()[next]; }
  const LearnerPoint& begin() const { return run.points()[next - 1]; }
  // Work a second in the present stretch; below 0 where a failure takes more than the stretch has done.
  double rate() const {
    const double seconds = end().time_s - begin().time_s;
    return seconds > 0 ? (end().work_s - begin().work_s) / seconds : 0;
  }
};

class Sweep {
 public:
  Sweep(const TrainingCourse& course, const TrainingCourse& of_learner, RandomStream random,
        std::vector<RunSpan>* spans)
      : course_(course), work_s_(course.calendar.work_until(course.calendar.iterations())) {
    for (int learner = 0; learner < course.learners; ++learner) {
      const RandomStream own(random.next(), static_cast<std::uint64_t>(learner));
      cursors_.push_back({LearnerRun(of_learner, own, learner == 0 ? spans : nullptr)});
    }
    training_ = course.learners;
    go_ahead(kAhead * work_s_);
    for (std::size_t i = 0; i < cursors_.size(); ++i) ends_.emplace(cursors_[i].end().time_s, i);
  }

  // Returns the time at which all of the work is done.
  double finish() {
    const double all_s = work_s_ * course_.learners;
    for (;;) {
      const bool paused = now_ < stopped_until_;
      const double end = paused ? std::min(stopped_until_, ends_.top().first) : ends_.top().first;
      const bool stopped = paused || training_ < course_.quorum;
      const double rate = rate_of_all(stopped);
      if (rate > 0 && done_s_ + rate * (end - now_) >= all_s) {
        pass((all_s - done_s_) / rate, rate, stopped);
        return now_;
      }
      pass(end - now_, rate, stopped);
      now_ = end;
      if (ends_.top().first <= now_) turn(ends_.top().second);
    }
  }

  const std::vector<Cursor>& cursors() const { return cursors_; }

 private:
  void go_ahead(double time_s) {
    if (time_s > kLongest * work_s_) {
      fail_infeasible({},
                      fmt::format("this training does not end: after {}, {} of {} learners' work is done",
                                  format_seconds(time_s / kAhead), format_percent(done_s_ / course_.learners / work_s_),
                                  course_.learners),
                      "lower operations.quorum or operations.reconfiguration_s, or make failures rarer");
    }
    horizon_s_ = time_s;
    for (Cursor& cursor : cursors_) cursor.run.run_until(time_s);
  }

  double rate_of_all(bool stopped) const {
    double rate = 0;
    for (const Cursor& cursor : cursors_) {
      const double own = cursor.rate();
      if (!stopped || own < 0) rate += own;
    }
    return rate;
  }

  void pass(double seconds, double rate, bool stopped) {
    done_s_ += rate * seconds;
    now_ += seconds;
    if (!stopped) return;
    for (Cursor& cursor : cursors_) cursor.stalled_s += std::max(0.0, cursor.rate()) * seconds;
  }

  // Takes a learner from the end of one stretch to the next.
  void turn(std::size_t learner) {
    ends_.pop();
    Cursor& cursor = cursors_[learner];
    const bool trained = cursor.end().trained;
    if (cursor.next + 1 >= cursor.run.points().size()) go_ahead(horizon_s_ * kAhead);
    ++cursor.next;
    ends_.emplace(cursor.end().time_s, learner);
    if (cursor.end().trained == trained) return;
    training_ += trained ? -1 : 1;
    stopped_until_ = std::max(stopped_until_, now_ + course_.reconfiguration_s);
  }

  using End = std::pair<double, std::size_t>;  // end of a learner's present stretch, learner

  const TrainingCourse& course_;
  double work_s_ = 0;  // of one learner, if all do the same
  std::vector<Cursor> cursors_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  double horizon_s_ = 0;
  double now_ = 0;
  double done_s_ = 0;  // work of all learners
  double stopped_until_ = 0;
  int training_ = 0;
};

// Returns the sums at a share of the way between two points.
RunResult between(const RunResult& from, const RunResult& to, double share) {
  const auto mean = [share](double a, double b) { return a + (b - a) * share; };
  RunResult out = from;
  for (std::size_t part = 0; part < kTimeParts; ++part) out.parts[part] = mean(from.parts[part], to.parts[part]);
  for (const auto member : {&RunResult::cost_usd, &RunResult::energy_j, &RunResult::around_j,
                            &RunResult::facility_energy_j, &RunResult::co2_kg}) {
    out.*member = mean(from.*member, to.*member);
  }
  for (std::size_t cause = 0; cause < out.causes.size(); ++cause) {
    out.causes[cause].lost_s = mean(from.causes[cause].lost_s, to.causes[cause].lost_s);
  }
  return out;
}

// Takes what a learner drew while it waited for others from what it would have drawn training.
void wait_idle(const TrainingCourse& course, double seconds, RunResult& sums) {
  const RunningCosts& costs = course.costs;
  const double saved_j = (course.calendar.phases().back().power_w - costs.idle_w) * seconds;
  const double before_j = sums.facility_energy_j;
  sums.energy_j -= saved_j;
  sums.around_j -= (costs.around_working_w - costs.around_idle_w) * seconds;
  sums.facility_energy_j -= costs.pue * saved_j;
  if (before_j > 0) sums.co2_kg *= sums.facility_energy_j / before_j;
}

// Returns the sums of a learner's run until `finish_s`.
RunResult sums_of(const TrainingCourse& course, const Cursor& cursor, double finish_s) {
  const double seconds = cursor.end().time_s - cursor.begin().time_s;
  const double share = seconds > 0 ? (finish_s - cursor.begin().time_s) / seconds : 0;
  RunResult out = between(cursor.begin().sums, cursor.end().sums, share);
  wait_idle(course, cursor.stalled_s, out);
  out.parts[kWaiting] += cursor.stalled_s;
  out.parts[kTraining] = 0;
  out.parts[kTraining] = finish_s - total(out.parts);
  return out;
}

void add(RunResult& sum, const RunResult& of, int learners) {
  for (std::size_t part = 0; part < kTimeParts; ++part) sum.parts[part] += of.parts[part] / learners;
  for (const auto member : {&RunResult::cost_usd, &RunResult::energy_j, &RunResult::around_j,
                            &RunResult::facility_energy_j, &RunResult::co2_kg}) {
    sum.*member += of.*member;
  }
  sum.restarts += of.restarts;
  for (std::size_t cause = 0; cause < sum.causes.size(); ++cause) {
    sum.causes[cause].count += of.causes[cause].count;
    sum.causes[cause].lost_s += of.causes[cause].lost_s / learners;
  }
}

// Cuts the stretches of a run at its end.
void cut(std::vector<RunSpan>& spans, double end_s) {
  while (!spans.empty() && spans.back().start_s >= end_s) spans.pop_back();
  if (spans.empty() || spans.back().end_s <= end_s) return;
  RunSpan& last = spans.back();
  const double share = (end_s - last.start_s) / (last.end_s - last.start_s);
  last.iteration = last.first_iteration +
                   static_cast<std::int64_t>(share * static_cast<double>(last.iteration - last.first_iteration));
  last.energy_j *= share;
  last.end_s = end_s;
}

}  // namespace

RunResult run_learners(const TrainingCourse& course, RandomStream random, std::vector<RunSpan>* spans) {
  const TrainingCourse of_learner = course_of_learner(course);
  Sweep sweep(course, of_learner, random, spans);
  RunResult out;
  out.causes.resize(course.failures.causes.size());
  out.finish_s = sweep.finish();
  for (const Cursor& cursor : sweep.cursors()) {
    add(out, sums_of(course, cursor, out.finish_s), course.learners);
  }
  // The work is done exactly once; what is left over is rounding.
  out.parts[kTraining] = course.calendar.work_until(course.calendar.iterations());
  out.finish_s = total(out.parts);
  if (spans != nullptr) cut(*spans, out.finish_s);
  return out;
}

}  // namespace mirfak
