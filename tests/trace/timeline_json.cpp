#include "trace/timeline_json.hpp"

#include "base/error.hpp"
#include "simulation/network_use.hpp"
#include "support/example.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

using namespace mirfak;

namespace {

using Json = nlohmann::json;
using Row = std::pair<int, int>;  // process, thread

Json timeline(const Simulation& simulation) {
  const ScratchFolder folder;
  write_timeline_json(folder / "timeline.json", simulation);
  CHECK(folder.files() == std::vector<std::string>{"timeline.json"});
  return Json::parse(read_text_file(folder / "timeline.json"));
}

Row row_of(const Json& event) { return {event["pid"], event["tid"]}; }

// Exactly, as a time in JSON has six decimals of a microsecond.
Picoseconds picoseconds(const Json& microseconds) {
  return static_cast<Picoseconds>(std::llround(microseconds.get<double>() * 1e6));
}

std::map<Row, std::vector<std::pair<Picoseconds, Picoseconds>>> busy_times(const Json& json) {
  std::map<Row, std::vector<std::pair<Picoseconds, Picoseconds>>> out;
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const Picoseconds start = picoseconds(event["ts"]);
    out[row_of(event)].emplace_back(start, start + picoseconds(event["dur"]));
  }
  return out;
}

}  // namespace

TEST_CASE("links that bind are counters, as they are used") {
  const Example plain = example();
  const Json without = timeline(plain.simulation);
  for (const Json& event : without["traceEvents"]) CHECK((event["ph"] != "C" || !event["args"].contains("use")));

  const Example e = example({"cluster.nodes[0].count=4", "strategy.tensor=8", "strategy.pipeline=2",
                             "strategy.overlap_grad_reduce=true", "training.framework=megatron-core"});
  const NetworkUse use = network_use(e.simulation);
  REQUIRE(use.binds());
  std::map<std::string, double> seconds;  // of full use, by name
  std::map<std::string, std::pair<double, double>> last;
  const Json shown = timeline(e.simulation);
  for (const Json& event : shown["traceEvents"]) {
    if (event["ph"] != "C" || !event["args"].contains("use")) continue;
    auto& [time, level] = last[event["name"]];
    const double now = event["ts"].get<double>() * 1e-6;
    CHECK(now >= time);
    seconds[event["name"]] += (now - time) * level;
    time = now;
    level = event["args"]["use"];
  }
  CHECK(seconds.size() == std::min<std::size_t>(8, use.binding.size()));
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const LinkUsage& usage = use.links[use.binding[i]];
    CHECK(seconds.at(use.program.links[usage.link].name) ==
          doctest::Approx(usage.mean_use * to_seconds(e.simulation.timeline.makespan)));
  }
}

TEST_CASE("memory and power of every rank are counters: the peak, and the energy") {
  const Example e = example();
  std::map<int, double> peak_gib;
  std::map<int, double> energy_j;
  std::map<int, std::pair<double, double>> last;
  const Json shown = timeline(e.simulation);
  for (const Json& event : shown["traceEvents"]) {
    if (event["ph"] != "C") continue;
    const int rank = event["pid"];
    if (event["name"] == "memory") peak_gib[rank] = std::max(peak_gib[rank], event["args"]["GiB"].get<double>());
    if (event["name"] != "power") continue;
    auto& [time, watts] = last[rank];
    energy_j[rank] += (event["ts"].get<double>() * 1e-6 - time) * watts;
    time = event["ts"].get<double>() * 1e-6;
    watts = event["args"]["W"];
  }
  const std::vector<ProgramRank>& ranks = e.simulation.program.ranks;
  REQUIRE(peak_gib.size() == ranks.size());
  double all_j = 0;
  for (const ProgramRank& rank : ranks) {
    const StageResult& stage = e.simulation.result.stages[rank.plan];
    CHECK(peak_gib.at(static_cast<int>(rank.rank)) * 1024 * 1024 * 1024 == doctest::Approx(stage.memory.peak.total()));
    all_j += energy_j.at(static_cast<int>(rank.rank)) * rank.multiplicity;
  }
  CHECK(all_j == doctest::Approx(e.simulation.result.energy_j));
}

TEST_CASE("every task that takes time has an event; events of a row do not overlap") {
  for (const LoweringOptions& options :
       {LoweringOptions{}, LoweringOptions{true, false}, LoweringOptions{false, true}}) {
    const Example e = example({}, options);
    const Simulation& s = e.simulation;
    auto rows = busy_times(timeline(s));
    std::size_t events = 0;
    for (auto& [row, times] : rows) {
      std::sort(times.begin(), times.end());
      for (std::size_t i = 0; i + 1 < times.size(); ++i) CHECK(times[i].second <= times[i + 1].first);
      events += times.size();
    }
    std::size_t tasks = 0;
    for (TaskId task = 0; task < s.program.size(); ++task) tasks += s.timeline.end[task] > s.timeline.start[task];
    CHECK(events == tasks);
  }
}

TEST_CASE("every row has a name and a place; names say what ran") {
  const Example e = example();
  const Json json = timeline(e.simulation);
  std::map<Row, std::string> threads;
  std::map<int, std::string> processes;
  std::set<std::string> tasks;
  for (const Json& event : json["traceEvents"]) {
    if (event["name"] == "thread_name") threads[row_of(event)] = event["args"]["name"];
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
    if (event["ph"] == "X") tasks.insert(event["name"].get<std::string>());
  }
  for (const auto& [row, times] : busy_times(json)) {
    CHECK(threads.contains(row));
    CHECK(processes.contains(row.first));
  }
  CHECK(processes[0] == "stage 0 (ranks 0-3, alike)");
  CHECK(processes[12] == "stage 3 (ranks 12-15, alike)");
  CHECK(tasks.contains("F mb 3 chunk 1"));
  CHECK(tasks.contains("B mb 7 chunk 0"));
}

TEST_CASE("each transfer has one flow, from inside its send to inside its receive") {
  const Example e = example({}, {.unfolded = true});
  const Simulation& s = e.simulation;
  const Json json = timeline(s);
  const auto rows = busy_times(json);
  const auto inside = [&](const Json& event) {
    const Picoseconds time = picoseconds(event["ts"]);
    const auto& times = rows.at(row_of(event));
    return std::any_of(times.begin(), times.end(),
                       [&](const auto& busy) { return busy.first <= time && time < busy.second; });
  };
  std::map<std::uint64_t, std::pair<Json, Json>> flows;
  for (const Json& event : json["traceEvents"]) {
    if (event["ph"] == "s") flows[event["id"]].first = event;
    if (event["ph"] == "f") flows[event["id"]].second = event;
  }
  std::size_t sends = 0;
  for (TaskId task = 0; task < s.program.size(); ++task) {
    const StreamKind kind = s.program.streams[s.program.stream[task]].kind;
    sends += kind == StreamKind::send_forward || kind == StreamKind::send_backward;
  }
  CHECK(flows.size() == sends);
  for (const auto& [id, flow] : flows) {
    REQUIRE(flow.first.is_object());
    REQUIRE(flow.second.is_object());
    CHECK(inside(flow.first));
    CHECK(inside(flow.second));
    CHECK(flow.first["ts"] <= flow.second["ts"]);
    CHECK(flow.first["pid"] != flow.second["pid"]);
  }
}

TEST_CASE("a timeline that cannot be written is an error and leaves nothing") {
  const Example e = example();
  const ScratchFolder folder;
  CHECK_THROWS_AS(write_timeline_json(folder.path() / "absent" / "timeline.json", e.simulation), Error);
  CHECK_THROWS_AS(write_timeline_json(folder.path(), e.simulation), Error);
  CHECK_THROWS_AS(write_timeline_json("/proc/timeline.json", e.simulation), Error);
  CHECK(folder.files().empty());
}
