#include "training/run.hpp"

#include "base/cancellation.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "training/learner_run.hpp"
#include "training/learners.hpp"
#include "training/node_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace mirfak {

const std::vector<std::string>& time_part_names() {
  static const std::vector<std::string> names = {"training",  "rework",  "slowed",  "saving",  "evaluation",
                                                 "detection", "waiting", "restart", "reading", "maintenance"};
  return names;
}

double total(const TimeParts& parts) { return std::accumulate(parts.begin(), parts.end(), 0.0); }

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-12;
constexpr std::int64_t kHopeless = 1'000'000;  // failures in a row between which nothing is saved

}  // namespace

// One training, or one learner of it, on its way.
class TrainingRun {
 public:
  TrainingRun(const TrainingCourse& course, RandomStream random, std::vector<RunSpan>* spans)
      : course_(course),
        calendar_(course.calendar),
        random_(random),
        pool_(course.failures.spread.draw(static_cast<std::size_t>(course.nodes + course.spares), random_),
              course.nodes),
        held_(calendar_.tiers().size(), 0),
        spans_(spans) {
    result_.causes.resize(course.failures.causes.size());
    maintained_s_ = course.maintenance.every_s > 0 ? course.maintenance.every_s : kNever;
    draw_failure();
  }

  double now_s() const { return now_; }
  double work_s() const { return calendar_.work_until(position_); }
  const RunResult& sums() const { return result_; }
  // Trains until an event ends it. True if that is the end of the training.
  bool train_on() { return train(); }
  void restart() { come_back(); }

  RunResult finish() {
    while (!train()) come_back();
    // The sum of all stretches would round; every iteration lasts exactly once.
    result_.parts[static_cast<std::size_t>(TimePart::training)] = calendar_.work_until(calendar_.iterations());
    result_.finish_s = total(result_.parts);
    return result_;
  }

 private:
  double& part(TimePart of) { return result_.parts[static_cast<std::size_t>(of)]; }
  const FailureCause& cause() const { return course_.failures.causes[static_cast<std::size_t>(cause_)]; }

  // Lets `seconds` pass, in which the machine uses `joules`. `working_s`: seconds of them in which it trains.
  void pass(double seconds, double joules, double working_s) {
    if (seconds <= 0) return;
    const RunningCosts& costs = course_.costs;
    result_.around_j += working_s * costs.around_working_w + (seconds - working_s) * costs.around_idle_w;
    const double facility = costs.pue * joules + costs.cooling_w * seconds;
    const double end = now_ + seconds;
    const double grams = costs.carbon.grams_per_watt(end) - costs.carbon.grams_per_watt(now_);
    result_.energy_j += joules;
    result_.facility_energy_j += facility;
    result_.co2_kg += facility / seconds * grams / 1000;
    result_.cost_usd += costs.usd_per_node_s * (course_.nodes + course_.spares) * seconds;
    now_ = end;
  }

  void note(double start, TimePart of) { note(start, of, position_, 1); }
  void note(double start, TimePart of, std::int64_t first_iteration, double slowdown) {
    if (spans_ == nullptr || now_ <= start) return;
    spans_->push_back(
        {start, now_, of, cause_, position_, first_iteration, slowdown, result_.energy_j - noted_energy_j_});
    noted_energy_j_ = result_.energy_j;
  }

  void spend(TimePart of, double seconds) {
    const double start = now_;
    part(of) += seconds;
    if (cause_ >= 0 && of != TimePart::saving) result_.causes[static_cast<std::size_t>(cause_)].lost_s += seconds;
    pass(seconds, seconds * course_.costs.idle_w, 0);
    note(start, of);
  }

  void draw_failure() {
    const Failures& failures = course_.failures;
    if (!failures.log.empty()) {
      while (logged_ < failures.log.size() && failures.log[logged_].time_s < now_) ++logged_;
      failure_s_ = logged_ < failures.log.size() ? failures.log[logged_].time_s : kNever;
      return;
    }
    weight_ = pool_.weight();
    rate_ = 0;
    for (const FailureCause& one : failures.causes) rate_ += rate_of(one);
    failure_s_ = rate_ > 0 ? now_ + random_.exponential(rate_) : kNever;
  }
  double rate_of(const FailureCause& one) const { return one.rate_per_s * (one.nodes > 0 ? weight_ : 1); }

  // Lets a failure strike: draws its cause, takes its nodes away, and draws the next failure.
  void strike() {
    steps_.step();
    const Failures& failures = course_.failures;
    std::size_t which = 0;
    if (!failures.log.empty()) {
      which = failures.log[logged_++].cause;
    } else {
      double share = random_.uniform() * rate_;
      while (which + 1 < failures.causes.size() && share >= rate_of(failures.causes[which])) {
        share -= rate_of(failures.causes[which++]);
      }
    }
    cause_ = static_cast<int>(which);
    ++result_.causes[which].count;
    const FailureCause& struck = cause();
    if (struck.nodes > 0 && struck.repair_s > 0) {
      const int taken = pool_.take(pool_.place_at(random_.uniform()), struck.nodes, now_ + struck.repair_s);
      if (struck.unpaid) result_.cost_usd -= course_.costs.usd_per_node_s * taken * struck.repair_s;
    }
    draw_failure();
  }

  double save_s() const { return calendar_.tiers().back().stall_s + calendar_.tiers().back().write_s; }

  bool train() {
    steps_.step();
    const double slowdown = slowdown_now();
    const double end_s = now_ + calendar_.elapsed(position_, calendar_.iterations(), slowdown);
    const double last_write_s = calendar_.tiers().back().write_s;
    const double stop_s = std::max(now_, std::min(maintained_s_, nodes_join_s(slowdown)));
    if (end_s + last_write_s <= std::min(failure_s_, stop_s)) {
      keep(calendar_.iterations(), slowdown);
      cause_ = -1;
      spend(TimePart::saving, last_write_s);
      return true;
    }
    if (stop_s < failure_s_ && stop_as_planned(stop_s, slowdown)) return false;
    fail_while_training(slowdown);
    return false;
  }

  // Repaired nodes join at the end of the iteration that runs when all of them are ready. If they joined earlier, the
  // training would stop for nothing, and stop again.
  double nodes_join_s(double slowdown) const {
    if (pool_.missing() == 0) return kNever;
    const double ready_s = std::max(now_, pool_.ready_s(now_, 0));
    const std::int64_t finished = calendar_.finished_within(position_, ready_s - now_, slowdown);
    const double seconds = calendar_.elapsed(position_, finished, slowdown);
    if (now_ + seconds >= ready_s) return now_ + seconds;
    const std::int64_t next = finished + 1;
    return next < calendar_.iterations() ? now_ + calendar_.elapsed(position_, next, slowdown) : kNever;
  }

  // Returns the slowdown with the present replicas: fewer replicas do the same batch.
  double slowdown_now() const {
    if (pool_.missing() == 0) return 1;
    const int replicas = course_.nodes / course_.nodes_per_replica;
    return static_cast<double>(replicas) / whole_replicas();
  }
  int whole_replicas() const { return (course_.nodes - pool_.missing()) / course_.nodes_per_replica; }

  // Trains up to the end of `iteration`, which lasts.
  void keep(std::int64_t iteration, double slowdown) {
    const double start = now_;
    const double work = calendar_.work_until(iteration) - calendar_.work_until(position_);
    const double longer = (slowdown - 1) * work;
    const double saving = calendar_.saving_until(iteration) - calendar_.saving_until(position_);
    const double evaluation = calendar_.evaluation_until(iteration) - calendar_.evaluation_until(position_);
    const double energy = calendar_.energy_until(iteration) - calendar_.energy_until(position_);
    part(TimePart::slowed) += longer;
    part(TimePart::saving) += saving;
    part(TimePart::evaluation) += evaluation;
    const std::int64_t first = std::exchange(position_, iteration);
    pass(work + longer + saving + evaluation,
         energy + (longer + saving) * course_.costs.idle_w + evaluation * power_w(), work + evaluation);
    note(start, TimePart::training, first, slowdown);
  }
  double power_w() const { return calendar_.phase_at(std::min(position_, calendar_.iterations() - 1)).power_w; }

  // Handles the failure of a running training: work that is not saved is lost.
  void fail_while_training(double slowdown) {
    const double seconds = std::max(0.0, failure_s_ - now_);
    const std::int64_t from = position_;
    std::int64_t newest = from;
    for (std::size_t tier = 0; tier < held_.size(); ++tier) {
      const std::int64_t saved = calendar_.saved_within(tier, from, seconds, slowdown);
      if (saved > from) held_[tier] = saved;
      newest = std::max(newest, held_[tier]);
    }
    double lost = seconds - calendar_.elapsed(from, newest, slowdown);
    keep(newest, slowdown);
    const double begun = now_;
    pass(lost, lost * power_w(), lost);
    strike();
    note(begun, TimePart::rework);
    if (cause().notice_s > 0 && cause().notice_s >= save_s()) lost -= saved_on_notice(from, seconds, lost, slowdown);
    part(TimePart::rework) += lost;
    result_.causes[static_cast<std::size_t>(cause_)].lost_s += lost;
    fall_back(newest > from);
  }

  // Saves the iterations that are finished, if a notice leaves time for it. Returns the time since the last save that
  // is not lost.
  double saved_on_notice(std::int64_t from, double seconds, double lost, double slowdown) {
    const std::int64_t reached = calendar_.finished_within(from, seconds - save_s(), slowdown);
    if (reached <= position_) return 0;
    const double work = calendar_.work_until(reached) - calendar_.work_until(position_);
    const double evaluation = calendar_.evaluation_until(reached) - calendar_.evaluation_until(position_);
    const double kept = std::min(lost, calendar_.elapsed(position_, reached, slowdown) + save_s());
    part(TimePart::slowed) += (slowdown - 1) * work;
    part(TimePart::evaluation) += evaluation;
    part(TimePart::saving) += kept - slowdown * work - evaluation;
    position_ = reached;
    std::fill(held_.begin(), held_.end(), reached);
    return kept;
  }

  // Falls back to the newest state that outlives the failure.
  void fall_back(bool progressed) {
    std::int64_t newest = held_.back();
    for (std::size_t tier = 0; tier < held_.size(); ++tier) {
      const CheckpointTier& one = calendar_.tiers()[tier];
      const bool lives = !one.in_memory || cause().nodes <= one.survives;
      if (!lives) held_[tier] = 0;
      if (lives) newest = std::max(newest, held_[tier]);
    }
    if (newest < position_) lose(newest);
    hopeless_ = progressed ? 0 : hopeless_ + 1;
    if (hopeless_ > kHopeless) fail_hopeless();
  }

  // Moves iterations after `iteration` to rework: they were thought to last, and have to be done again.
  void lose(std::int64_t iteration) {
    const double work = calendar_.work_until(position_) - calendar_.work_until(iteration);
    part(TimePart::rework) += work;
    result_.causes[static_cast<std::size_t>(cause_)].lost_s += work;
    position_ = iteration;
  }

  [[noreturn]] void fail_hopeless() const {
    fail_infeasible(
        {},
        fmt::format("this training does not end: {} failures in a row come before anything more is saved, one every "
                    "{} on average",
                    kHopeless, format_seconds(1 / course_.failures.rate_per_s())),
        "save more often, restart faster, or make nodes fail less often");
  }

  [[noreturn]] static void fail_without_progress() {
    fail_infeasible(
        {},
        fmt::format("this training does not end: it is stopped {} times in a row before an iteration ends", kHopeless),
        "make maintenance or repairs rarer than iterations end");
  }

  // Ends the training without loss at `stop_s`. False: a failure comes first.
  bool stop_as_planned(double stop_s, double slowdown) {
    // Sums round: an iteration that ends at the stop is finished.
    const double within = stop_s - now_ + kRounding * stop_s;
    const std::int64_t reached = calendar_.finished_within(position_, within, slowdown);
    const double seconds = calendar_.elapsed(position_, reached, slowdown);
    const double saving = reached == held_.back() ? 0 : save_s();
    if (failure_s_ < now_ + seconds + saving) return false;
    stops_ = reached > position_ ? 0 : stops_ + 1;
    if (stops_ > kHopeless) fail_without_progress();
    keep(reached, slowdown);
    std::fill(held_.begin(), held_.end(), reached);
    cause_ = -1;
    spend(TimePart::saving, saving);
    if (maintained_s_ <= stop_s) {
      spend(TimePart::maintenance, course_.maintenance.duration_s);
      while (maintained_s_ <= now_) maintained_s_ += course_.maintenance.every_s;
    }
    noticed_ = true;
    pool_.refill(now_);
    draw_failure();
    return true;
  }

  // Restarts the training after an event has ended it. A failure on the way starts the restart anew.
  void come_back() {
    for (;;) {
      const bool detected = noticed_ || (cause_ >= 0 && cause().notice_s > 0);
      noticed_ = false;
      if (!detected && !undisturbed(TimePart::detection, course_.detection_s)) continue;
      wait_for_nodes();
      if (!undisturbed(TimePart::restart, course_.restart_s)) continue;
      if (!undisturbed(TimePart::reading, read_s())) continue;
      ++result_.restarts;
      return;
    }
  }

  double read_s() const {
    double seconds = calendar_.tiers().back().read_s;
    for (std::size_t tier = 0; tier < held_.size(); ++tier) {
      if (held_[tier] == position_) seconds = std::min(seconds, calendar_.tiers()[tier].read_s);
    }
    return seconds;
  }

  bool undisturbed(TimePart of, double seconds) {
    if (failure_s_ >= now_ + seconds) {
      spend(of, seconds);
      return true;
    }
    spend(of, std::max(0.0, failure_s_ - now_));
    strike();
    fall_back(false);
    return false;
  }

  // Waits for missing nodes, also for nodes that fail meanwhile; other failures have nothing to end.
  void wait_for_nodes() {
    if (pool_.missing() == 0) return;
    const int one_replica = course_.nodes - course_.nodes_per_replica;
    const int without = course_.nodes_per_replica > 0 ? one_replica : 0;
    const int before = pool_.missing();
    pool_.refill(now_);
    for (;;) {
      const double ready = pool_.ready_s(now_, without);
      if (ready <= now_) break;
      const bool struck = failure_s_ < ready;
      spend(TimePart::waiting, std::max(0.0, std::min(failure_s_, ready) - now_));
      if (struck) {
        strike();
        fall_back(false);
      }
      pool_.refill(now_);
    }
    if (pool_.missing() != before) draw_failure();
  }

  const TrainingCourse& course_;
  const WorkCalendar& calendar_;
  RandomStream random_;
  NodePool pool_;
  std::vector<std::int64_t> held_;  // the newest state in each tier; the last tier is on storage
  std::vector<RunSpan>* spans_;
  RunResult result_;
  double now_ = 0;
  double noted_energy_j_ = 0;  // energy of the spans so far
  std::int64_t position_ = 0;  // iterations that are finished and not lost
  double failure_s_ = kNever;  // time of the next failure
  double maintained_s_ = kNever;
  double weight_ = 1;
  double rate_ = 0;
  int cause_ = -1;
  bool noticed_ = false;
  std::size_t logged_ = 0;
  std::int64_t hopeless_ = 0;
  std::int64_t stops_ = 0;  // planned stops in a row, without an iteration between them
  CancellationSteps steps_;
};

struct LearnerRun::State {
  TrainingRun run;
  std::vector<LearnerPoint> points = {{}};
  bool away = false;
  bool finished = false;

  void add_point(bool trained) { points.push_back({run.now_s(), trained, run.work_s(), run.sums()}); }
};

LearnerRun::LearnerRun(const TrainingCourse& course, RandomStream random, std::vector<RunSpan>* spans)
    : state_(new State{TrainingRun(course, random, spans)}) {
  state_->points.front().sums = state_->run.sums();
}
LearnerRun::LearnerRun(LearnerRun&& other) noexcept = default;
LearnerRun& LearnerRun::operator=(LearnerRun&& other) noexcept = default;
LearnerRun::~LearnerRun() = default;

const std::vector<LearnerPoint>& LearnerRun::points() const { return state_->points; }

void LearnerRun::run_until(double time_s) {
  while (!state_->finished && state_->run.now_s() < time_s) {
    if (state_->away) {
      state_->run.restart();
    } else {
      state_->finished = state_->run.train_on();
    }
    state_->add_point(!state_->away);
    state_->away = !state_->away;
  }
}

RunResult run_training(const TrainingCourse& course, RandomStream random, std::vector<RunSpan>* spans) {
  if (course.learners > 1) return run_learners(course, random, spans);
  return TrainingRun(course, random, spans).finish();
}

}  // namespace mirfak
