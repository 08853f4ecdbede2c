#include "calibration/machine_profile.hpp"

#include "base/error.hpp"
#include "calibration/profile_text.hpp"
#include "calibration/send_fit.hpp"
#include "cluster/catalog.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace mirfak;

namespace {

const char* const kMachine =
    "key,value\nprocessor,\"A processor, the second\"\nprocesses,4\ncores,2\nmemory_bytes,16000000000\n"
    "cache_bytes,4000000\nclock_hz,2000000000\nsystem,Linux\n";

std::vector<CsvTable> tables() {
  std::vector<CsvTable> out;
  // 2 x 64^3 x 2 FLOP in 100 us: 10.5 GFLOP/s.
  out.push_back(CsvTable::from_text("b,m,n,k,latency_us\n2,64,64,64,100\n1,64,64,64,100\n", "gemm.csv"));
  out.push_back(
      CsvTable::from_text("kernel,bytes,time_us\nelementwise,8000000,1000\nsoftmax,8000000,9000\n", "memory.csv"));
  std::string sends = "collective,n_gpus,n_nodes,bytes,time_us\n";
  for (const double bytes : {1e3, 1e4, 1e5, 1e6, 1e7, 1e8}) {
    sends += fmt::format("sendrecv,2,1,{:.0f},{}\n", bytes, 20 + bytes / 4000);  // 20 us and 4 GB/s
  }
  out.push_back(CsvTable::from_text(sends, "collectives.csv"));
  return out;
}

void write(const std::filesystem::path& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

TEST_CASE("a machine becomes a node type that the catalog reads") {
  const MachineProfiles profiles = machine_profiles(CsvTable::from_text(kMachine, "machine.csv"), tables(), "here");
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("mirfak-profiles-{}", ::getpid());
  std::filesystem::create_directories(folder);
  write(folder / "here-core.yaml", profiles.core);
  write(folder / "here-link.yaml", profiles.link);
  write(folder / "here.yaml", profiles.node);

  const Catalog catalog(source_root() + "/hw_profiles");
  const NodeHardware node = catalog.node((folder / "here.yaml").string());
  CHECK(node.spec.gpus == 4);
  CHECK(node.spec.title == "A processor, the second");
  CHECK(node.gpu.peak_flops.at(Precision::fp32).value ==
        doctest::Approx(2 * 2 * 64.0 * 64 * 64 / 100e-6).epsilon(1e-3));
  CHECK(node.gpu.memory_bandwidth.value == doctest::Approx(8e9));
  CHECK(node.gpu.memory_bytes.value == doctest::Approx(4e9));

  CalibrationTarget target{catalog, {}, (folder / "here-link.yaml").string(), {}, {}, {}, false};
  const auto own = tables();
  const auto fitted = fit_sends(std::span(own).subspan(2), target);
  REQUIRE(fitted.size() == 1);
  write(folder / "here-link.yaml", with_sections(profiles.link, fitted));
  const LinkSpec link = catalog.link((folder / "here-link.yaml").string());
  std::filesystem::remove_all(folder);
  CHECK(fitted.front().constants[0].value == doctest::Approx(20e-6).epsilon(0.02));
  const double bytes_per_s = node.scale_up.bandwidth.value * fitted.front().constants[1].value;
  CHECK(bytes_per_s == doctest::Approx(4e9).epsilon(0.02));
}

TEST_CASE("a description without a processor, or tables without products, are refused") {
  const auto all = tables();
  CHECK_THROWS_WITH_AS(machine_profiles(CsvTable::from_text("key,value\ncores,2\n", "machine.csv"), all, "here"),
                       doctest::Contains("'processor' is missing"), Error);
  CHECK_THROWS_WITH_AS(
      machine_profiles(CsvTable::from_text(kMachine, "machine.csv"), std::span(all).subspan(1), "here"),
      doctest::Contains("gemm.csv"), Error);
}
