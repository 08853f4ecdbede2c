#include "validation/calibrated_trace.hpp"

#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "recording/recording_files.hpp"
#include "scenario/scenario.hpp"

#include <fmt/format.h>

#include <deque>
#include <string>

namespace mirfak {

namespace {

void check_given(const TraceToCalibrate& given) {
  if (given.scenario || (given.out.empty() && given.framework.empty())) return;
  fail_input({}, fmt::format("{} needs --scenario", given.out.empty() ? "--framework" : "--out"),
             "name the scenario that was recorded: its prediction is compared with the steps");
}

// Fits the host's times first: the rest of the step's length then belongs to the machine.
void fit_trace(const TraceToCalibrate& given, const DataFolders& folders, CalibratedTrace& out) {
  Scenario scenario = parse_scenario(*given.scenario, folders);
  out.host = recorded_host(out.recordings);
  std::string name = scenario.job.framework.name;
  std::deque<StagedFile> files;
  if (!given.framework.empty()) {
    if (!out.host) {
      fail_input({out.recordings.front().file, 0, 0},
                 "launches of forward and backward passes are not told apart: --framework has nothing to say",
                 "record operators (PyTorch's profiler, or emit_nvtx), or leave out --framework");
    }
    const StagedFile& framework = files.emplace_back(given.framework);
    framework.write(recorded_framework_yaml(scenario, *out.host));
    Document document = *given.scenario;
    document.override_value("training.framework=\"" + std::filesystem::absolute(framework.path()).string() + "\"");
    scenario = parse_scenario(document, folders);
    name = given.framework.stem().string();
  }
  out.fit = fit_recorded_run(scenario, out.recordings, name);
  if (!given.out.empty()) files.emplace_back(given.out).write(recorded_node_yaml(*out.fit));
  commit_all(files);
}

}  // namespace

CalibratedTrace calibrate_by_trace(const TraceToCalibrate& given, const DataFolders& folders) {
  check_given(given);
  const KernelClasses classes = KernelClasses::from_file(folders.hardware / "kernel_classes.yaml");
  CalibratedTrace out;
  out.recordings = read_recordings(given.trace, classes);
  if (given.scenario) fit_trace(given, folders, out);
  for (const Recording& recording : out.recordings) {
    out.summaries.push_back(summarize(recording));
    out.replays.push_back(replay_steps(recording));
  }
  return out;
}

}  // namespace mirfak
