#include "trace/trace_comparison.hpp"

#include "base/error.hpp"
#include "support/example.hpp"
#include "support/scratch_folder.hpp"
#include "trace/trace_comparison_report.hpp"
#include "trace/trace_hdf5.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

using namespace mirfak;

namespace {

// The simulated times, all `factor` times as long, as if they had been measured.
TraceFile measured_trace(Example& e, Picoseconds factor,
                         const Measurement& measurement = {"a machine", "cpu", 3, 1.0, 2.0, 0, {}}) {
  Timeline timeline = e.simulation.timeline;
  for (auto* times : {&timeline.start, &timeline.end}) {
    for (Picoseconds& time : *times) time *= factor;
  }
  timeline.makespan *= factor;
  set_timeline(e.simulation, std::move(timeline));
  const ScratchFolder folder;
  write_trace(folder / "measured.h5", e.scenario, e.simulation, measurement);
  return read_trace(folder / "measured.h5");
}

TraceFile predicted_trace(const Example& e) {
  const ScratchFolder folder;
  write_trace(folder / "predicted.h5", e.scenario, e.simulation);
  return read_trace(folder / "predicted.h5");
}

double total(const std::vector<ComparedTime>& times, double ComparedTime::*part) {
  double out = 0;
  for (const ComparedTime& time : times) out += time.*part;
  return out;
}

}  // namespace

TEST_CASE("an iteration twice as long is predicted 50 % too short, task by task") {
  Example e = example({}, {true, true});
  const TraceFile predicted = predicted_trace(e);
  const TraceFile measured = measured_trace(e, 2);
  const TraceComparison c = compare_traces(predicted, measured);
  CHECK(c.tasks == e.simulation.program.size());
  CHECK(c.iteration.error() == doctest::Approx(-0.5));
  CHECK(c.kernels.median_ape == doctest::Approx(0.5));
  CHECK(c.kernels.p90_ape == doctest::Approx(0.5));
  for (const ComparedTime& kind : c.kinds) CHECK(kind.measured_s == doctest::Approx(2 * kind.predicted_s));
  for (const ComparedRank& rank : c.ranks) {
    CHECK(rank.kernels.predicted_s + rank.waiting.predicted_s == doctest::Approx(c.iteration.predicted));
    CHECK(rank.kernels.measured_s + rank.waiting.measured_s == doctest::Approx(c.iteration.measured));
  }
}

TEST_CASE("the critical paths take the iterations, and their difference is explained to the last bit") {
  Example e = example({}, {true, true});
  const TraceFile predicted = predicted_trace(e);
  const TraceComparison c = compare_traces(predicted, measured_trace(e, 3));
  CHECK(c.predicted_path.waiting_s == doctest::Approx(0));
  CHECK(total(c.causes, &ComparedTime::predicted_s) == doctest::Approx(c.iteration.predicted));
  CHECK(total(c.causes, &ComparedTime::measured_s) == doctest::Approx(c.iteration.measured));
  CHECK(c.predicted_path.tasks == c.measured_path.tasks);
}

TEST_CASE("a measured trace holds nothing that was not measured") {
  Example e = example({}, {true, true});
  const double before = e.simulation.result.iteration_time_s;
  const TraceFile trace = measured_trace(e, 2);
  CHECK(trace.measured);
  CHECK(trace.iteration_time_s == doctest::Approx(2 * before));
  double sum = 0;
  for (const double part : e.simulation.result.activity_s) sum += part;
  CHECK(sum == doctest::Approx(2 * before).epsilon(1e-6));
}

TEST_CASE("traces of different programs are refused with what differs") {
  Example e = example({}, {true, true});
  const TraceFile predicted = predicted_trace(e);
  const TraceFile measured = measured_trace(e, 2);
  CHECK_THROWS_WITH_AS(compare_traces(measured, predicted), doctest::Contains("was not measured"), Error);
  TraceFile other = predicted;
  const auto strategy = other.scenario.find("  recompute:");
  REQUIRE(strategy != std::string::npos);
  other.scenario.insert(strategy, "  offload_layers: 7\n");
  CHECK_THROWS_WITH_AS(compare_traces(other, measured), doctest::Contains("strategy.offload_layers: 7 (predicted)"),
                       Error);
  other = predicted;
  other.bytes[5] += 1;
  CHECK_THROWS_WITH_AS(compare_traces(other, measured), doctest::Contains("task 5"), Error);
  const Example folded = example({}, {});
  CHECK_THROWS_WITH_AS(compare_traces(predicted_trace(folded), measured), doctest::Contains("--detail operators"),
                       Error);
}

TEST_CASE("text, JSON and CSV say the same") {
  Example e = example({}, {true, true});
  const TraceFile predicted = predicted_trace(e);
  const TraceFile measured = measured_trace(e, 2);
  const TraceComparison c = compare_traces(predicted, measured);
  CHECK(comparison_text(c, 3).find("error -50.0 %") != std::string::npos);
  const auto json = comparison_json(c);
  CHECK(json["iteration"]["error"].get<double>() == doctest::Approx(-0.5));
  CHECK(json["ranks"].size() == c.ranks.size());
  const std::string csv = comparison_csv(predicted, measured);
  CHECK(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')) == c.tasks + 1);
}

TEST_CASE("how much a measurement varies is read back and said beside the error") {
  Example e = example({}, {true, true});
  const TraceFile predicted = predicted_trace(e);
  const double time = predicted.iteration_time_s;
  const auto compared = [&](double shortest, double longest, int iterations, std::optional<double> stolen) {
    Example again = example({}, {true, true});
    const Measurement measurement{"a machine", "cpu", iterations, shortest, longest, 0, stolen};
    return compare_traces(predicted, measured_trace(again, 1, measurement));
  };
  const TraceComparison within = compared(0.9 * time, 1.5 * time, 9, 0.034);
  CHECK(within.range.iterations == 9);
  CHECK(within.range.shortest_s == 0.9 * time);
  CHECK(within.range.longest_s == 1.5 * time);
  CHECK(within.range.stolen_share == 0.034);
  const std::string text = comparison_text(within, 3);
  CHECK_MESSAGE(text.find("over 9 iterations): error +0.0 %, within the measured range") != std::string::npos, text);
  CHECK_MESSAGE(text.find("a hypervisor took 3.4 % of the processors' time") != std::string::npos, text);
  CHECK(comparison_json(within)["measurement"]["within_range"] == true);
  CHECK(comparison_json(within)["measurement"]["stolen_share"] == 0.034);

  const TraceComparison outside = compared(1.01 * time, 1.5 * time, 9, 0.009);
  CHECK(comparison_text(outside, 3).find("error +0.0 %, outside of the measured range") != std::string::npos);
  CHECK(comparison_text(outside, 3).find("hypervisor") == std::string::npos);
  CHECK(comparison_json(outside)["measurement"]["within_range"] == false);

  const TraceComparison once = compared(time, time, 1, std::nullopt);
  CHECK(comparison_text(once, 3).find("(1 iteration): error +0.0 %\n") != std::string::npos);
  CHECK(comparison_json(once)["measurement"]["stolen_share"].is_null());
}

TEST_CASE("the error of clocks is said where it blurs communication, and not elsewhere") {
  Example e = example({}, {true, true});
  const TraceFile predicted = predicted_trace(e);
  TraceFile measured = measured_trace(e, 1);
  const double communication = compare_traces(predicted, measured).communication_s;
  REQUIRE(communication > 0);
  measured.range.clock_error_s = 0.05 * communication;
  CHECK(comparison_text(compare_traces(predicted, measured), 3).find("clocks") == std::string::npos);
  measured.range.clock_error_s = 0.25 * communication;
  CHECK(comparison_text(compare_traces(predicted, measured), 3).find(", 25 % of the median communication") !=
        std::string::npos);
}

TEST_CASE("a file that is no trace is refused") {
  const ScratchFolder folder;
  CHECK_THROWS_WITH_AS(read_trace(folder / "none.h5"), doctest::Contains("no such file"), Error);
}
