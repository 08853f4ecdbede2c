// The profiles against the tables they were made from. The tables are not part of the project: without them beside
// the source tree these cases only say so.
#include "fixtures.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

using namespace mirfak;

namespace {

using Row = std::map<std::string, std::string>;

// Fields in quotes may hold commas.
std::vector<std::string> split_line(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

std::map<std::string, Row> read_table(const std::string& name, const std::string& key) {
  std::ifstream in(source_root() + "/../shared/hardware/" + name);
  std::map<std::string, Row> rows;
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> columns = split_line(line);
  while (std::getline(in, line)) {
    const std::vector<std::string> fields = split_line(line);
    Row row;
    for (std::size_t i = 0; i < columns.size() && i < fields.size(); ++i) row[columns[i]] = fields[i];
    rows[row[key]] = row;
  }
  if (rows.empty()) MESSAGE("skipped: no ../shared/hardware/", name);
  return rows;
}

const std::map<std::string, std::string> kNames = {{"v100-16g", "V100-SXM2-16"},
                                                   {"v100-32g", "V100-SXM2-32"},
                                                   {"v100-pcie-32g", "V100-PCIe-32"},
                                                   {"a100-40g", "A100-SXM4-40"},
                                                   {"a100-80g", "A100-SXM4-80"},
                                                   {"a100-pcie-40g", "A100-PCIe-40"},
                                                   {"a100-pcie-80g", "A100-PCIe-80"},
                                                   {"a800-80g", "A800-SXM4-80"},
                                                   {"a40", "A40"},
                                                   {"l40s", "L40S"},
                                                   {"h100", "H100-SXM5"},
                                                   {"h100-pcie", "H100-PCIe"},
                                                   {"h100-nvl", "H100-NVL"},
                                                   {"h800", "H800-SXM5"},
                                                   {"h20", "H20"},
                                                   {"h200", "H200-SXM"},
                                                   {"gh200", "GH200-96"},
                                                   {"b200", "B200-SXM"},
                                                   {"gb200", "GB200"},
                                                   {"b300", "B300-SXM"},
                                                   {"gb300", "GB300"},
                                                   {"t4", "T4"},
                                                   {"a10g", "A10G"},
                                                   {"l4", "L4"},
                                                   {"rtx-3090", "RTX-3090"},
                                                   {"rtx-pro-6000", "RTX-PRO-6000-SE"}};

}  // namespace

TEST_CASE("GPU figures are those of the table") {
  const std::map<std::string, Row> table = read_table("gpus.csv", "name");
  if (table.empty()) return;
  for (const std::string& name : catalog().names(ProfileKind::gpu)) {
    const auto known = kNames.find(name);
    if (known == kNames.end()) continue;  // the table does not have it
    CAPTURE(name);
    const GpuSpec gpu = catalog().gpu(name);
    const Row& row = table.at(known->second);
    const auto number = [&](const std::string& column) { return std::stod(row.at(column)); };
    for (std::size_t i = 0; i < kPrecisions; ++i) {
      const auto precision = static_cast<Precision>(i);
      const std::string column = name_of(precision) + "_tflops";
      CHECK(gpu.peak_flops.contains(precision) == !row.at(column).empty());
      if (!row.at(column).empty()) CHECK(gpu.peak_flops.at(precision).value == doctest::Approx(number(column) * 1e12));
    }
    CHECK(gpu.multiprocessors == static_cast<int>(number("sm_count")));
    CHECK(gpu.memory_bandwidth.value == doctest::Approx(number("mem_bw_gbps") * 1e9));
    CHECK(gpu.tdp_w.value == doctest::Approx(number("tdp_w")));
    CHECK(gpu.clock_max_hz.value == doctest::Approx(number("clk_max_mhz") * 1e6));
    // Sold as GB, which means GiB on some parts; what is there lies between, or just below for what ECC takes.
    CHECK(gpu.memory_bytes.value >= 0.99 * number("mem_gb") * 1e9);
    CHECK(gpu.memory_bytes.value <= number("mem_gb") * 1073741824.0);
  }
}

TEST_CASE("median prices are those of the table") {
  const std::map<std::string, Row> table = read_table("price_medians.csv", "gpu");
  if (table.empty()) return;
  for (const std::string& name : catalog().names(ProfileKind::gpu)) {
    const auto known = kNames.find(name);
    const auto row = known == kNames.end() ? table.end() : table.find(known->second);
    if (row == table.end()) continue;
    CAPTURE(name);
    CHECK(catalog().price("on-demand", name)->usd_per_gpu_hour.value ==
          doctest::Approx(std::stod(row->second.at("median_ondemand"))));
    const std::string& spot = row->second.at("median_spot");
    CHECK(catalog().price("spot", name).has_value() == !spot.empty());
  }
}
