#include "calibration/memory_table.hpp"

#include "base/error.hpp"
#include "calibration/calibration.hpp"
#include "calibration/profile_text.hpp"
#include "cost/kernel_model.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <map>

using namespace mirfak;

namespace {

const Catalog& catalog() {
  static const Catalog catalog(source_root() + "/hw_profiles");
  return catalog;
}

CalibrationTarget target() { return {catalog(), "a100-80g", {}, Precision::fp32, {}, {}, false}; }

// A table of the times that KernelModel gives an A100 with other figures.
std::string table_of(double efficiency, double softmax, double launch_s, double softmax_latency_s = 0) {
  GpuSpec gpu = catalog().gpu("a100-80g");
  gpu.memory_bandwidth_efficiency.value = efficiency;
  gpu.memory_kernels.softmax.value = softmax;
  gpu.memory_kernels.cached_speedup.value = 1;
  gpu.memory_kernels.softmax_latency_s.value = softmax_latency_s;
  gpu.kernel_launch_s.value = launch_s;
  const KernelModel model(gpu, Precision::fp32);
  std::string out = fmt::format("kernel,bytes,time_us\nlaunch,0,{}\n", launch_s * 1e6);
  for (double bytes = 1e4; bytes < 2e9; bytes *= 1.7) {
    for (const auto& [name, kind] : std::map<std::string, OperatorKind>{{"elementwise", OperatorKind::elementwise},
                                                                        {"softmax", OperatorKind::softmax}}) {
      out +=
          fmt::format("{},{:.0f},{}\n", name, bytes, 1e6 * model.price_memory_bound(std::round(bytes), kind).seconds);
    }
  }
  return out;
}

double constant(const FittedSection& section, const std::string& name) {
  for (const FittedConstant& each : section.constants) {
    if (each.name == name) return each.value;
  }
  FAIL("no constant " << name);
  return 0;
}

}  // namespace

TEST_CASE("figures of memory are found again in a table made with them") {
  const auto sections = calibrate({CsvTable::from_text(table_of(0.55, 0.4, 3e-6), "memory.csv")}, target());
  REQUIRE(sections.size() == 2);
  CHECK(sections[0].path.empty());
  CHECK(constant(sections[0], "memory_bandwidth_efficiency") == doctest::Approx(0.55).epsilon(0.01));
  CHECK(constant(sections[0], "kernel_launch_s") == doctest::Approx(3e-6));
  CHECK(sections[1].path == std::vector<std::string>{"memory_kernels"});
  CHECK(constant(sections[1], "softmax") == doctest::Approx(0.4).epsilon(0.01));
  CHECK(constant(sections[1], "cached_speedup") == doctest::Approx(1).epsilon(0.02));
  // Gathers are not in the table: the profile's figure stays.
  CHECK(constant(sections[1], "gather") == catalog().gpu("a100-80g").memory_kernels.gather.value);
  CHECK(sections[0].scores.front().held_out.p90_ape < 0.01);
}

TEST_CASE("what small kernels of a kind take beside an empty one's launch is found again, and read back") {
  const auto sections = calibrate({CsvTable::from_text(table_of(0.55, 0.4, 2e-6, 3e-6), "memory.csv")}, target());
  REQUIRE(sections.size() == 2);
  CHECK(constant(sections[1], "softmax_latency_s") == doctest::Approx(3e-6).epsilon(0.02));
  CHECK(constant(sections[1], "softmax") == doctest::Approx(0.4).epsilon(0.02));
  CHECK(sections[0].scores.front().held_out.p90_ape < 0.02);
  const std::string profile = with_sections("memory_kernels:\n  softmax: [1, old]\n", sections);
  CHECK(profile.find("  softmax_latency_s: [3") != std::string::npos);
  // Kernels of kinds that the table lacks have none.
  CHECK(profile.find("gather_latency_s") == std::string::npos);
}

TEST_CASE("periods of launches that are no figure of a profile change nothing") {
  const std::string table = table_of(0.55, 0.4, 3e-6);
  const auto plain = calibrate({CsvTable::from_text(table, "memory.csv")}, target());
  const auto more =
      calibrate({CsvTable::from_text(table + "launch_host,0,4.5\nlaunch_graph,0,1.2\n", "memory.csv")}, target());
  REQUIRE(plain.size() == more.size());
  for (std::size_t i = 0; i < plain.size(); ++i) {
    for (const FittedConstant& each : plain[i].constants) CHECK(constant(more[i], each.name) == each.value);
  }
}

TEST_CASE("a kernel of an unknown name is refused with those that are known") {
  CHECK_THROWS_WITH_AS(calibrate({CsvTable::from_text("kernel,bytes,time_us\nmagic,1,1\n", "t.csv")}, target()),
                       doctest::Contains("normalization"), Error);
}
