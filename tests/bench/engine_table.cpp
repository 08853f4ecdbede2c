#include "engine_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace mirfak {

namespace {

struct Size {
  const char* title;
  const char* argument;
};
constexpr Size kPending[] = {
    {"1,000", "/1000"}, {"10,000", "/10000"}, {"100,000", "/100000"}, {"1,000,000", "/1000000"}};
constexpr Size kMicrobatches[] = {{"512", "/512"}, {"65,536", "/65536"}};

// One line: a title, and a cell for each size, made from the argument in the names of its runs.
template <std::size_t count, class Cell>
void print_row(const char* title, const Size (&sizes)[count], const Cell& cell) {
  fmt::print("{:44}", title);
  for (const Size& size : sizes) fmt::print("{:>11}", cell(std::string(size.argument)));
  fmt::print("\n");
}

template <std::size_t count>
void print_head(const char* title, const Size (&sizes)[count]) {
  fmt::print("\n{:44}", title);
  for (const Size& size : sizes) fmt::print("{:>11}", size.title);
  fmt::print("\n");
}

std::string millions(double per_second) { return per_second > 0 ? fmt::format("{:.1f}", per_second / 1e6) : "-"; }

struct SimGridRun {
  double lazy = 0;         // completions per second; 0: not known
  double full = 0;         // of its other way to keep shares up to date
  double simulated_s = 0;  // 0: not known

  double better() const { return std::max(lazy, full); }
};

#ifdef MIRFAK_SIMGRID
constexpr bool kSimGridRuns = true;

// Completions per second and simulated seconds; zeros: it failed.
std::pair<double, double> simgrid_once(const std::string& arguments) {
  std::FILE* const output = popen(fmt::format("'{}' {} 2>/dev/null", MIRFAK_SIMGRID, arguments).c_str(), "r");
  if (output == nullptr) return {};
  std::pair<double, double> run;
  const int read = std::fscanf(output, "%lf %lf", &run.first, &run.second);
  return pclose(output) == 0 && read == 2 ? run : std::pair<double, double>{};
}

// The best of three runs of mirfak_bench_simgrid; of large ones, which take long, one. The simulated time is that of
// the first `compared` flows of each stream.
SimGridRun run_simgrid(const std::string& kind, std::uint32_t flows, std::uint32_t per_stream, std::uint32_t compared) {
  SimGridRun best;
  for (int run = 0; run < (flows < 1024 ? 3 : 1); ++run) {
    const std::string arguments = fmt::format("{} {} {}", kind, flows, per_stream);
    const auto [lazy, simulated_s] = simgrid_once(arguments + " lazy");
    best.lazy = std::max(best.lazy, lazy);
    best.simulated_s = simulated_s;
    best.full = std::max(best.full, simgrid_once(arguments + " full").first);
  }
  if (compared < per_stream) {
    best.simulated_s = simgrid_once(fmt::format("{} {} {} lazy", kind, flows, compared)).second;
  }
  return best;
}
#else
constexpr bool kSimGridRuns = false;

// Published for flows that are all connected, on another machine.
SimGridRun run_simgrid(const std::string& /*kind*/, std::uint32_t flows, std::uint32_t /*per_stream*/,
                       std::uint32_t /*compared*/) {
  return {flows == 64 ? 50e3 : flows == 256 ? 13.6e3 : flows == 1024 ? 3.1e3 : 1.0e3, 0, 0};
}
#endif

std::string ratio(double of, double to) { return of > 0 && to > 0 ? fmt::format("{:.2f}", of / to) : "-"; }

}  // namespace

bool EngineTable::ReportContext(const Context&) { return true; }

void EngineTable::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
    const std::string name = run.run_name.function_name + (run.run_name.args.empty() ? "" : "/" + run.run_name.args);
    if (const auto items = run.counters.find("items_per_second"); items != run.counters.end()) {
      rates_[name] = std::max(rates_[name], items->second.value);
    }
    if (const auto changes = run.counters.find("changes"); changes != run.counters.end()) {
      changes_[name] = std::max(changes_[name], changes->second.value);
    }
    if (const auto simulated = run.counters.find("simulated_s"); simulated != run.counters.end()) {
      simulated_s_[name] = simulated->second.value;
    }
  }
}

double EngineTable::rate(const std::string& name) const {
  const auto found = rates_.find(name);
  return found == rates_.end() ? 0 : found->second;
}

void EngineTable::print_queues() const {
  print_head("Event queue, million events/s; pending:", kPending);
  const auto better_bare = [&](const std::string& n) {
    return std::max(rate("bare_heap" + n), rate("bare_radix_heap" + n));
  };
  const auto row = [&](const char* title, const std::string& name) {
    print_row(title, kPending, [&](const std::string& n) { return millions(rate(name + n)); });
  };
  row("bare hold, 4-ary heap", "bare_heap");
  row("bare hold, radix heap", "bare_radix_heap");
  row("event engine, start to timeline", "event_engine");
  print_row("event engine / better bare hold", kPending,
            [&](const std::string& n) { return ratio(rate("event_engine" + n), better_bare(n)); });
}

void EngineTable::print_pipeline() const {
  print_head("1F1B, 16 stages, million tasks/s; microbatches:", kMicrobatches);
  const auto row = [&](const char* title, const std::string& name) {
    print_row(title, kMicrobatches, [&](const std::string& n) { return millions(rate(name + n)); });
  };
  row("bare sweep (one fixed dependency per task)", "bare_sweep");
  row("sweep, makespan and ends", "sweep_makespan");
  row("sweep, whole timeline", "sweep_timeline");
  print_row("sweep of a timeline / bare sweep", kMicrobatches,
            [&](const std::string& n) { return ratio(rate("sweep_timeline" + n), rate("bare_sweep" + n)); });
  row("event engine, whole timeline", "event_engine_1f1b");
  row("hash of a timeline", "timeline_hash");
  print_row("recording a timeline, ns per task", kMicrobatches, [&](const std::string& n) {
    const double without = rate("sweep_makespan" + n);
    const double with = rate("sweep_timeline" + n);
    return with > 0 && without > 0 ? fmt::format("{:.1f}", 1e9 / with - 1e9 / without) : "-";
  });
}

// Prints rates beside SimGrid's solver, which has the same flows over the same links; or, without it, beside its
// published rates for flows that are all connected. "ratio": to the better of SimGrid's two ways. "apart": by how much
// the simulated times of both differ, over the first flows of each stream: what is rounded otherwise grows tenfold over
// seven of them or so (tests/engine/connected_flows.cpp).
void EngineTable::print_beside_simgrid(const char* title, const std::string& benchmark, const std::string& kind) const {
  constexpr const char* row = "{:44}{:>11}{:>11}{:>14}{:>14}{:>8}{:>8}\n";
  fmt::print("\n");
  fmt::print(row, title, "kflows/s", "kchanges/s", "SimGrid, lazy", "full", "ratio", "apart");
  const auto number = [](double value, double unit) { return value > 0 ? fmt::format("{:.1f}", value / unit) : "-"; };
  for (const std::uint32_t flows : {64U, 256U, 1024U, 4096U}) {
    const std::string name = fmt::format("{}/{}", benchmark, flows);
    if (rate(name) == 0) continue;
    const SimGridRun simgrid =
        kind.empty() ? SimGridRun{} : run_simgrid(kind, flows, per_stream_(flows), compared_(flows));
    const auto own_s = simulated_s_.find(name);
    const bool compares = simgrid.simulated_s > 0 && own_s != simulated_s_.end();
    fmt::print(row, fmt::format("{} at a time", flows), number(rate(name), 1e3), number(changes_.at(name), 1e3),
               number(simgrid.lazy, 1e3), number(simgrid.full, 1e3),
               simgrid.better() > 0 ? number(rate(name), simgrid.better()) : "-",
               compares ? fmt::format("{:.1g}", std::abs(simgrid.simulated_s / own_s->second - 1)) : "-");
  }
}

void EngineTable::print_flows() const {
  const std::string whose = kSimGridRuns ? "" : ", SimGrid as published";
  print_beside_simgrid(("All connected" + whose).c_str(), "connected_flows", "connected");
  print_beside_simgrid("Fat tree of 1,024 hosts, hashed", "hashed_flows", kSimGridRuns ? "fat-tree" : "");
  print_beside_simgrid("Fat tree of 1,024 hosts, spread", "spread_flows", "");
  print_beside_simgrid("In groups of 4", "separate_flows", "");
}

void EngineTable::Finalize() {
  print_queues();
  print_pipeline();
  print_flows();
  std::fflush(stdout);
}

}  // namespace mirfak
