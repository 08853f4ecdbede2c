#include "engine_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>

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

void EngineTable::print_flows() const {
  fmt::print("\n{:44}{:>11}{:>11}\n", "Flows sharing links", "kflows/s", "kchanges/s");
  const auto row = [&](const std::string& title, const std::string& name) {
    const auto changes = changes_.find(name);
    fmt::print("{:44}{:>11.1f}{:>11.0f}\n", title, rate(name) / 1e3,
               changes == changes_.end() ? 0.0 : changes->second / 1e3);
  };
  for (const int flows : {64, 256, 1024, 4096}) {
    row(fmt::format("{} at a time, all connected", flows), fmt::format("connected_flows/{}", flows));
  }
  for (const int flows : {64, 1024}) {
    row(fmt::format("{} at a time, in groups of 4", flows), fmt::format("separate_flows/{}", flows));
  }
}

void EngineTable::Finalize() {
  print_queues();
  print_pipeline();
  print_flows();
  std::fflush(stdout);
}

}  // namespace mirfak
