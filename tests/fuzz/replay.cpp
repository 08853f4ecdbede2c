// Any bytes, cut at lines of "%" into a trace, dependencies, groups and durations, are replayed, or are an input error
// that says where. What replays does so to the same bits by both executors, and never takes longer at twice the speed.

#include "replay/replay.hpp"
#include "base/error.hpp"
#include "engine/execute.hpp"
#include "replay/derived_graph.hpp"
#include "replay/straggler_analysis.hpp"
#include "require.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace {

using namespace mirfak;

constexpr std::string_view kCut = "\n%\n";
using Parts = std::array<std::string_view, 4>;

Parts parts_of(std::string_view text) {
  Parts out;
  for (std::string_view& part : out) {
    const std::size_t cut = text.find(kCut);
    part = text.substr(0, cut);
    text = cut == std::string_view::npos ? std::string_view() : text.substr(cut + kCut.size());
  }
  return out;
}

void check(const Replay& replay) {
  const Program program = replay.program(0, {});
  program.validate();
  const Timeline timeline = execute(program, Executor::sweep);
  require(timeline.hash() == execute(program, Executor::events).hash());
  const double base = replay.mean_time_s({});
  require(replay.mean_time_s({{}, {}, {{OperationSet{}, 2}}}) <= base + 1e-9);
  const StragglerAnalysis found = analyse_stragglers(replay, std::nullopt);
  require(found.mean_replayed_s == base && found.steps.size() == replay.steps());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const Parts parts = parts_of({reinterpret_cast<const char*>(bytes), size});
  try {
    MeasuredTrace trace = read_measured_trace(CsvTable::from_text(parts[0], "trace.csv"));
    StepGraph graph = parts[1].empty() ? derive_step_graph(trace)
                                       : read_step_graph(CsvTable::from_text(parts[1], "dependencies.csv"),
                                                         CsvTable::from_text(parts[2], "groups.csv"));
    std::optional<std::vector<IdealDuration>> ideal;
    if (!parts[3].empty()) ideal = read_ideal_durations(CsvTable::from_text(parts[3], "ideal.csv"));
    check(Replay(std::move(trace), std::move(graph), std::move(ideal)));
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::input && error.where().known(), error.what());
  }
  return 0;
}
