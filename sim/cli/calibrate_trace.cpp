#include "cli/calibrate_trace.hpp"

#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "cli/data_folders.hpp"
#include "cli/json_output.hpp"
#include "recording/recording_files.hpp"
#include "report/recorded_run_report.hpp"
#include "report/recording_report.hpp"
#include "scenario/scenario.hpp"
#include "validation/recorded_run.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

struct FittedTrace {
  RecordedFit fit;
  std::optional<RecordedHost> host;
};

void check(const TraceToCalibrate& given) {
  if (!given.scenario.empty() || (given.out.empty() && given.framework.empty())) return;
  fail_input({}, fmt::format("{} needs --scenario", given.out.empty() ? "--framework" : "--out"),
             "name the scenario that was recorded: its prediction is compared with the steps");
}

// The host's times first: what is left of the step's length is then the machine's.
FittedTrace fitted(const TraceToCalibrate& given, const std::vector<Recording>& recordings) {
  const DataFolders folders = data_folders(given.data);
  FittedTrace out;
  Scenario scenario = load_scenario(given.scenario, {}, folders);
  out.host = recorded_host(recordings);
  std::string name = scenario.job.framework.name;
  std::optional<StagedFile> framework;
  if (!given.framework.empty()) {
    if (!out.host) {
      fail_input({recordings.front().file, 0, 0},
                 "launches of forward and backward passes are not told apart: --framework has nothing to say",
                 "record operators (PyTorch's profiler, or emit_nvtx), or leave out --framework");
    }
    framework.emplace(given.framework);
    framework->write(recorded_framework_yaml(scenario, *out.host));
    const std::string path = std::filesystem::absolute(framework->path()).string();
    const std::vector<std::string> override_{"training.framework=\"" + path + "\""};
    scenario = load_scenario(given.scenario, override_, folders);
    name = std::filesystem::path(given.framework).stem().string();
  }
  out.fit = fit_recorded_run(scenario, recordings, name);
  std::optional<StagedFile> node;
  if (!given.out.empty()) {
    node.emplace(given.out);
    node->write(recorded_node_yaml(out.fit));
  }
  if (framework) framework->commit();
  if (node) node->commit();
  return out;
}

}  // namespace

CommandOutput calibrate_by_trace(const TraceToCalibrate& given, OutputFormat format) {
  check(given);
  const KernelClasses classes = KernelClasses::from_file(data_folders(given.data).hardware / "kernel_classes.yaml");
  const std::vector<Recording> recordings = read_recordings(given.trace, classes);
  std::optional<FittedTrace> fit;
  if (!given.scenario.empty()) fit = fitted(given, recordings);
  std::string text;
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Recording& recording : recordings) {
    const RecordingSummary summary = summarize(recording);
    const ReplayScore replay = replay_steps(recording);
    if (format == OutputFormat::text) {
      text += (text.empty() ? "" : "\n") + recording_text(recording, summary, replay);
    } else {
      all.push_back(recording_json(recording, summary, replay));
    }
  }
  if (format == OutputFormat::text) return {text + (fit ? "\n" + recorded_run_text(fit->fit, fit->host) : ""), {}};
  nlohmann::ordered_json out{{"recordings", std::move(all)}};
  if (fit) out["fit"] = recorded_run_json(fit->fit, fit->host);
  return {printed_json(std::move(out)), {}};
}

}  // namespace mirfak
