// Steps of plain PyTorch that were measured on an H100 (validate/measured), captured from the script that measured
// them. Nothing was fitted to them here: kernels, host and clocks are priced as the profile of that machine and the
// table of operators say. The smallest steps are bound by a host that is slower than the table's, so that they have a
// lower bound only.
#include "base/csv.hpp"
#include "capture/capture_file.hpp"
#include "capture/capture_result.hpp"
#include "cluster/catalog.hpp"
#include "strategy/framework_catalog.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

using namespace mirfak;

namespace measured_steps_test {

namespace {

const std::string kMeasured = source_root() + "/validate/measured/h100-80gb-hbm3/";

CaptureResult predicted(const std::string& job) {
  static const std::string profiles = source_root() + "/hw_profiles";
  static const OperatorTable table = read_operator_table(profiles + "/pytorch/operators.yaml");
  static const FrameworkCatalog frameworks(profiles);
  static const Cluster cluster = [] {
    NodeAllotment nodes;
    nodes.hardware = Catalog(profiles).node(FileReference(kMeasured + "profile/node.yaml"));
    nodes.count = 1;
    return Cluster({nodes}, default_fabric());
  }();
  const Capture capture = read_capture(kMeasured + "torch/" + job + ".capture");
  static const RangeWidths ranges = read_range_widths(profiles);
  const CapturePricing pricing{cluster, table, frameworks.framework(FileReference(table.framework)), &ranges};
  return capture_result(capture, pricing, captured_program(capture, pricing));
}

struct Measured {
  double seconds = 0;
  double allocated_bytes = 0;
};

Measured measured(const std::string& job) {
  const CsvTable rows = CsvTable::from_file(kMeasured + "torch/steps.csv");
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    if (rows.text(row, rows.require("model")) != job) continue;
    return {rows.number(row, rows.require("s_per_iter_derived"), 0, 100),
            rows.number(row, rows.require("memory_allocated_gib"), 0, 100) * 1024 * 1024 * 1024};
  }
  FAIL("no row of " << job);
  return {};
}

}  // namespace

TEST_CASE("steps measured on an H100, captured without one") {
  struct Step {
    const char* job;
    double least;  // predicted over measured
    double most;
  };
  const Step steps[] = {{"llama-1b-s4k-eager", 1.03, 1.07},  {"llama-3b-s4k-full-eager", 0.97, 1.01},
                        {"llama-small-s1k-eager", 0.8, 1},   {"llama-1b-s4k", 1.02, 1.05},
                        {"llama-1b-s4k-full", 1.02, 1.05},   {"llama-1b-s8k", 1.01, 1.04},
                        {"llama-3b-s4k", 1.01, 1.04},        {"llama-8b-8-s8k", 1.01, 1.05},
                        {"llama-8b-8-s8k-full", 1.02, 1.05}, {"llama-small-s1k", 0.37, 1}};
  for (const Step& step : steps) {
    CAPTURE(step.job);
    const CaptureResult result = predicted(step.job);
    const Measured truth = measured(step.job);
    CHECK(result.iteration_s / truth.seconds >= step.least);
    CHECK(result.iteration_s / truth.seconds <= step.most);
    REQUIRE(result.ranks.size() == 1);
    CHECK(std::abs(result.ranks[0].allocated_bytes / truth.allocated_bytes - 1) < 0.001);
    CHECK(result.fits);
  }
}

TEST_CASE("the range of a captured step holds what was measured, or is not told") {
  int told = 0;
  int inside = 0;
  for (const char* job :
       {"llama-1b-s4k-eager", "llama-3b-s4k-full-eager", "llama-small-s1k-eager", "llama-1b-s4k", "llama-1b-s4k-full",
        "llama-1b-s8k", "llama-3b-s4k", "llama-8b-8-s8k", "llama-8b-8-s8k-full", "llama-small-s1k"}) {
    CAPTURE(job);
    const CaptureResult result = predicted(job);
    // The host of the smallest steps works for more than half of them: one that is 2.67 times as slow would bound them.
    const bool bound = std::string(job).starts_with("llama-small-s1k");
    CHECK((result.range.high_s == 0) == bound);
    CHECK(result.energy.known() == !bound);
    if (bound) {
      CHECK(std::any_of(result.notes.begin(), result.notes.end(), [](const std::string& note) {
        return note.starts_with("no range is told: the host of rank 0");
      }));
      continue;
    }
    ++told;
    // Longer steps draw as much power, and powers err, too: the energy's range is the wider one.
    CHECK(result.energy.high_j / result.energy_j > result.range.high_s / result.iteration_s);
    CHECK(result.energy.low_j / result.energy_j < result.range.low_s / result.iteration_s);
    const double seconds = measured(job).seconds;
    if (result.range.low_s <= seconds && seconds <= result.range.high_s) ++inside;
    CHECK(result.range.high_s / result.iteration_s < 1.25);  // a range that holds everything says nothing
  }
  CHECK(told == 8);
  CHECK(inside == told);
}

}  // namespace measured_steps_test
