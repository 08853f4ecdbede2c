#include "emitted.hpp"

#include "import/imported_job.hpp"
#include "round_trip.hpp"
#include "schedule/schedule_file.hpp"
#include "strategy/rules.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>

namespace mirfak {

namespace {

std::vector<ImportFile> stored(const ScratchFolder& folder, const std::vector<LaunchFile>& files) {
  std::vector<ImportFile> out;
  for (const LaunchFile& file : files) {
    const std::filesystem::path path = folder.path() / file.name;
    std::ofstream(path) << file.text;
    // A schedule is named by the options, and read with the scenario.
    if (!file.name.ends_with(".csv")) out.push_back({path.string(), file.text});
  }
  return out;
}

}  // namespace

void compare_schedules(Job& before, const Job& after) {
  if (schedule_of(after.strategy.schedule).path.empty()) return;
  const PipelineShape shape = pipeline_shape(before.strategy, microbatches(before.strategy, before.training));
  CHECK(schedule_csv(schedule_of(before.strategy.schedule), shape) ==
        schedule_csv(schedule_of(after.strategy.schedule), shape));
  before.strategy.schedule = after.strategy.schedule;
}

namespace {

ImportedJob read_back(const std::vector<ImportFile>& files, const std::string& nodes) {
  ImportRequest request;
  request.nodes = {node_choice(nodes)};
  return import_job(files, request, ImportContext{import_sources()});
}

void check_machine(const ImportDraft& draft, Launcher launcher) {
  if (launcher == Launcher::none) return;
  CHECK(draft.machine.nodes == 4);
  CHECK(draft.machine.gpus_per_node == 8);
}

void check_understood(const ImportDraft& draft) {
  for (const ImportLine& line : draft.lines()) {
    const bool understood = line.verdict != Verdict::unknown || !line.reason.empty();
    CHECK_MESSAGE(understood, line.text);
  }
}

}  // namespace

Job read_back_job(const std::vector<LaunchFile>& files, const std::string& nodes) {
  const ScratchFolder folder;
  const ImportedJob read = read_back(stored(folder, files), nodes);
  check_understood(read.draft);
  REQUIRE(read.draft.obstacles().empty());
  return parse_scenario(read.scenario, import_sources()).job;
}

std::optional<Scenario> drawn_scenario(const std::string& text) {
  try {
    return parse_scenario(Document::from_text(text, "drawn.yaml"), import_sources());
  } catch (const Error& error) {
    REQUIRE(error.kind() != ErrorKind::internal);
    return std::nullopt;
  }
}

std::optional<std::vector<LaunchFile>> written_files(const Job& job, LaunchTarget target, Launcher launcher) {
  try {
    return launch_files(job, {target, launcher, std::filesystem::path(source_root()) / "hw_profiles"});
  } catch (const Error& error) {
    REQUIRE_MESSAGE(error.kind() == ErrorKind::infeasible, error.message());
    return std::nullopt;
  }
}

void check_read_back(LaunchTarget target, Launcher launcher, int jobs,
                     const std::function<std::string(std::mt19937&)>& draw) {
  std::mt19937 random(23);
  int compared = 0;
  for (int i = 0; i < 40 * jobs && compared < jobs; ++i) {
    const std::optional<Scenario> before = drawn_scenario(draw(random));
    if (!before) continue;
    const auto files = written_files(before->job, target, launcher);
    if (!files) continue;
    CAPTURE(launch_text(*files));
    CAPTURE(before->resolved);
    const ScratchFolder folder;
    const ImportedJob read = read_back(stored(folder, *files), "hgx-h100:4");
    check_understood(read.draft);
    check_machine(read.draft, launcher);
    REQUIRE(read.draft.obstacles().empty());
    const Job after = parse_scenario(read.scenario, import_sources()).job;
    Job expected = before->job;
    compare_schedules(expected, after);
    check_same_strategy(expected, after);
    ++compared;
  }
  CHECK(compared == jobs);
}

}  // namespace mirfak
