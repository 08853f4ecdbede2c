#include "sweep/point_evaluation.hpp"

#include "base/error.hpp"
#include "capture/capture_report.hpp"
#include "capture/capture_simulation.hpp"
#include "report/memory_shortage.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

constexpr std::size_t kSettingsKept = 4;

PointStatus status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::input:
      return PointStatus::input;
    case ErrorKind::infeasible:
      return PointStatus::infeasible;
    case ErrorKind::internal:
      break;
  }
  return PointStatus::internal;
}

std::string reason_of(const Error& error) {
  if (error.hint().empty()) return error.message();
  return fmt::format("{} ({})", error.message(), error.hint());
}

}  // namespace

void fail_as_read(const SweepFile& sweep, const DataFolders& folders, std::uint64_t point, std::string_view reason) {
  const PointSources sources(sweep, folders);
  if (sources.captures) {
    read_captured_scenario(sweep.document_at(point), *sources.captures);
  } else {
    PointReader(sweep, sources.catalog, folders).read(point);
  }
  fail_input({sweep.name(), 0, 0}, fmt::format("point {}: {}", point, reason));
}

PointEvaluation::PointEvaluation(const SweepFile& sweep, const PointSources& sources)
    : sweep_(sweep), sources_(sources) {
  if (!sources.captures) reader_.emplace(sweep, sources.catalog, sources.folders);
}

Evaluator& PointEvaluation::evaluator() {
  const auto known = std::find_if(evaluators_.begin(), evaluators_.end(),
                                  [&](const OfSetting& one) { return one.setting == reader_->setting(); });
  if (known != evaluators_.end()) {
    evaluators_.splice(evaluators_.begin(), evaluators_, known);
    return evaluators_.front().evaluator;
  }
  evaluators_.emplace_front().setting = reader_->setting();
  if (evaluators_.size() > kSettingsKept) evaluators_.pop_back();
  return evaluators_.front().evaluator;
}

void PointEvaluation::simulate_point(std::uint64_t point) {
  const Job& job = reader_->read(point);
  result_.resolved = reader_->resolved();
  const IterationResult& result = evaluator().evaluate(job);
  append_figures(result, result_.figures);
  if (result.fits) return;
  result_.status = PointStatus::out_of_memory;
  result_.reason = memory_shortage_text(result);
}

void PointEvaluation::simulate_capture(std::uint64_t point) {
  const CapturedScenario scenario = read_captured_scenario(sweep_.document_at(point), *sources_.captures);
  resolved_ = scenario.resolved;
  result_.resolved = {resolved_, {}, {}};
  const CaptureResult result = simulate(scenario, *sources_.captures).result;
  append_figures(result, scenario.cluster.facility(), result_.figures);
  if (result.fits) return;
  result_.status = PointStatus::out_of_memory;
  result_.reason = memory_need_text(result);
}

void PointEvaluation::take(const Error& error) {
  const std::string& file = error.where().file;
  const bool of_axis = sweep_.is_in_axis(error.where());
  const bool of_sweep = file == sweep_.name() || file == sweep_.base().name() || file.starts_with("--set ");
  if (error.kind() == ErrorKind::input && of_sweep && !of_axis) throw Error(error);
  result_.figures.clear();
  result_.status = status_of(error.kind());
  result_.reason = reason_of(error);
}

const PointResult& PointEvaluation::at(std::uint64_t point) {
  result_.status = PointStatus::ok;
  result_.reason.clear();
  result_.figures.clear();
  result_.resolved = {};
  try {
    if (sources_.captures) {
      simulate_capture(point);
    } else {
      simulate_point(point);
    }
  } catch (const Error& error) {
    take(error);
  }
  return result_;
}

}  // namespace mirfak
