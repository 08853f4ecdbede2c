#include "training/expected_finish.hpp"

#include "base/error.hpp"
#include "training/course.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace mirfak {

namespace {

void refuse(const Location& where, const char* what, const char* remedy) {
  fail_infeasible(where, std::string(what) + " is not in the closed form that a search asks for the time to finish",
                  remedy);
}

void check_closed_form(const Job& job, const Operations& operations) {
  if (!operations.ramp.empty()) {
    refuse(operations.ramp.front().where, "operations.batch_ramp", "leave it out of the search");
  }
  if (operations.last) refuse(operations.last->where, "operations.last_iterations", "leave it out of the search");
  if (operations.gpu_hours > 0) {
    refuse(operations.where, "operations.gpu_hours",
           "write training.tokens or operations.iterations: GPU hours are the same for every strategy");
  }
  if (operations.iterations == 0 && job.training.tokens == 0) {
    fail_infeasible(operations.where, "operations: how long the training is stands nowhere",
                    "write training.tokens or operations.iterations");
  }
  if (!operations.failures.log.empty()) {
    refuse(operations.failures_where, "operations.failures.log", "write rates in its stead");
  }
  if (!operations.failures.spread.factors.empty()) {
    refuse(operations.failures_where, "operations.failures.worse_nodes",
           "leave it out: which nodes of a cluster a search uses is open");
  }
}

}  // namespace

ExpectedFinish::ExpectedFinish(const Job& job, const Operations& operations) {
  check_closed_form(job, operations);
  iterations_ = stated_iterations(job, operations);
  const std::vector<CheckpointTier> tiers = checkpoint_tiers(job, operations);
  renewal_ = renewal_case(operations.failures, tiers, tiers.size() - 1, operations.detection_s + operations.restart_s);
  if (operations.storage) interval_s_ = operations.storage->interval_s.value_or(best_interval(renewal_));
  never_ends_ = operations.storage && operations.storage->interval_s &&
                interval_s_ < renewal_.write_s + renewal_.stall_s;  // the next save begins before a state is whole
  const EvaluationPause& evaluation = operations.evaluation;
  if (evaluation.every > 0) {
    const std::int64_t pauses = iterations_ / evaluation.every;
    pauses_s_ = static_cast<double>(pauses) * evaluation.duration_s;
  }
  const Maintenance& maintenance = operations.maintenance;
  if (maintenance.every_s > 0) stretch_ = maintenance.every_s / (maintenance.every_s - maintenance.duration_s);
}

double ExpectedFinish::at(double iteration_s) const {
  if (never_ends_) return std::numeric_limits<double>::infinity();
  const double all = static_cast<double>(iterations_) * iteration_s;  // the last state is saved, whatever the interval
  const double interval = std::min(all, std::max(interval_s_, iteration_s));
  const double rate = renewal_.rate;
  const double lasting = interval + renewal_.stall_s;
  const double cycle =
      rate > 0 ? std::exp(rate * (renewal_.restart_s + renewal_.write_s)) * std::expm1(rate * lasting) / rate : lasting;
  const double saves = interval > 0 ? all / interval : 1;
  const double finish = (saves * cycle + pauses_s_) * stretch_;
  return std::isfinite(finish) ? finish : std::numeric_limits<double>::infinity();
}

Operations on_nodes(Operations operations, const Cluster& whole, const Cluster& used) {
  for (FailureCause& cause : operations.failures.causes) {
    const double all = unit_count(cause.per, whole, cause.nodes);
    if (all > 0) cause.rate_per_s *= unit_count(cause.per, used, cause.nodes) / all;
  }
  return operations;
}

}  // namespace mirfak
