#include "report/difference_report.hpp"
#include "report/result_json.hpp"

#include <nlohmann/json.hpp>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

Json known_or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json figures_json(const std::vector<ComparedFigure>& figures) {
  Json out = Json::object();
  for (const ComparedFigure& figure : figures) {
    Json& entry = out[figure.key];
    entry["a"] = known_or_null(figure.a);
    entry["b"] = known_or_null(figure.b);
    entry["difference"] = figure.a && figure.b ? Json(figure.difference()) : Json();
  }
  return out;
}

Json compared_stage_json(const std::optional<StageSeconds>& stage) {
  if (!stage) return {};
  return {{"compute_s", stage->compute},
          {"communication_s", stage->communication},
          {"host_s", stage->host},
          {"bubble_s", stage->bubble}};
}

Json kernel_json(const std::optional<KernelSeconds>& kernel) {
  if (!kernel) return {};
  return {{"times", kernel->times}, {"seconds", kernel->seconds}};
}

Json kernels_json(const std::vector<ComparedKernel>& kernels) {
  Json out = Json::array();
  for (const ComparedKernel& kernel : kernels) {
    out.push_back({{"name", kernel.name},
                   {"kind", name_of(kernel.kind)},
                   {"a", kernel_json(kernel.a)},
                   {"b", kernel_json(kernel.b)},
                   {"difference_s", kernel.difference()}});
  }
  return out;
}

Json key_json(const KeyDifference& key) {
  Json out = {{"key", key.key}};
  out["a"] = key.a ? Json(*key.a) : Json();
  out["b"] = key.b ? Json(*key.b) : Json();
  return out;
}

Json run_json(const ComparedRun& run) { return {{"scenario", run.name}, {"fits", run.simulation->result.fits}}; }

}  // namespace

std::string verdict_key(RangeVerdict verdict) {
  switch (verdict) {
    case RangeVerdict::equal:
      return "equal";
    case RangeVerdict::unknown:
      return "unknown";
    case RangeVerdict::overlap:
      return "overlap";
    case RangeVerdict::separated:
      break;
  }
  return "separated";
}

nlohmann::ordered_json difference_json(const ComparedRun& a, const ComparedRun& b, const ResultDifference& difference) {
  Json out = Json::object();
  out["a"] = run_json(a);
  out["b"] = run_json(b);
  out["ranges"] = verdict_key(difference.verdict);
  Json& keys = out["keys"] = Json::array();
  for (const KeyDifference& key : difference.keys) keys.push_back(key_json(key));
  out["figures"] = figures_json(difference.figures);
  out["activities"] = figures_json(difference.activities);
  Json& stages = out["stages"] = Json::array();
  for (const ComparedStage& stage : difference.stages) {
    stages.push_back(
        {{"stage", stage.stage}, {"a", compared_stage_json(stage.a)}, {"b", compared_stage_json(stage.b)}});
  }
  out["kernels"] = kernels_json(difference.kernels);
  out["communication"] = kernels_json(difference.communication);
  out["memory"] = figures_json(difference.memory);
  out["notes"] = difference.notes;
  return out;
}

}  // namespace mirfak
