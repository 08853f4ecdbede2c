#include "calibration/attention_table.hpp"

#include "calibration/calibration.hpp"

#include <fmt/format.h>

#include <doctest/doctest.h>

#include <algorithm>

using namespace mirfak;

namespace {

const Catalog& catalog() {
  static const Catalog catalog(MIRFAK_SOURCE_DIR "/hw_profiles");
  return catalog;
}

CalibrationTarget target() { return {catalog(), "a100-80g", {}, {}, {}, {}}; }

// What the profile's own constants say of a sweep over heads of 128, times `factor`.
std::string sweep(double factor) {
  const GpuSpec gpu = catalog().gpu("a100-80g");
  const AttentionModel model(gpu, gpu.attention.at("trtllm"));
  std::string out = "batch,seq,heads,kv_heads,head_dim,latency_us\n";
  for (const int batch : {1, 2, 4, 16, 64}) {
    for (const int tokens : {256, 512, 1024, 2048, 3072, 4096, 8192}) {
      for (const int heads : {4, 8, 24, 64, 96}) {
        for (const int kv_heads : {1, heads}) {
          AttentionShape shape{1. * batch, 1. * tokens, 1. * tokens, 1. * heads, 1. * kv_heads, 128, true, 0, 0};
          out += fmt::format("{},{},{},{},128,{}\n", batch, tokens, heads, kv_heads,
                             factor * model.table_seconds(shape) * 1e6);
        }
      }
    }
  }
  return out;
}

double constant(const FittedSection& section, const std::string& name) {
  const auto found = std::find_if(section.constants.begin(), section.constants.end(),
                                  [&](const FittedConstant& constant) { return constant.name == name; });
  REQUIRE(found != section.constants.end());
  return found->value;
}

}  // namespace

TEST_CASE("a sweep made of known constants gives them back") {
  const std::vector<FittedSection> sections = calibrate({CsvTable::from_text(sweep(1), "t.csv")}, target());
  REQUIRE(sections.size() == 1);
  const AttentionTiles tiles = catalog().gpu("a100-80g").attention.at("trtllm").head_dims.at(128);
  CHECK(sections[0].path == std::vector<std::string>{"attention", "trtllm"});
  CHECK(constant(sections[0], "head_dims.128.rows") == tiles.rows.value);
  CHECK(constant(sections[0], "head_dims.128.efficiency") == doctest::Approx(tiles.efficiency.value).epsilon(0.02));
  CHECK(sections[0].scores.back().held_out.median_ape < 0.005);
}

TEST_CASE("scores only: the profile's constants stay, and a table twice as slow finds them half of its times") {
  CalibrationTarget scoring = target();
  scoring.score_only = true;
  const auto scored = [&](double slower) {
    return calibrate({CsvTable::from_text(sweep(slower), "t.csv")}, scoring).front();
  };
  const AttentionTiles tiles = catalog().gpu("a100-80g").attention.at("trtllm").head_dims.at(128);
  CHECK(constant(scored(2), "head_dims.128.efficiency") == tiles.efficiency.value);
  CHECK(scored(1).scores.back().fitted.mape == doctest::Approx(0).epsilon(1e-3));
  CHECK(scored(2).scores.back().fitted.mape == doctest::Approx(0.5).epsilon(0.1));
}

TEST_CASE("a kernel twice as slow has half of the efficiency") {
  const std::vector<FittedSection> sections = calibrate({CsvTable::from_text(sweep(2), "t.csv")}, target());
  const AttentionTiles tiles = catalog().gpu("a100-80g").attention.at("trtllm").head_dims.at(128);
  CHECK(constant(sections[0], "head_dims.128.efficiency") == doctest::Approx(tiles.efficiency.value / 2).epsilon(0.05));
}

TEST_CASE("calls of fewer than 1024 tokens have no part in the fit") {
  const CsvTable table = CsvTable::from_text(
      "batch,seq,heads,kv_heads,head_dim,latency_us\n1,512,8,8,128,30\n2,512,8,8,128,30\n1,2048,8,8,128,132\n",
      "t.csv");
  const std::vector<MeasuredAttention> rows = read_attention_table(table, target());
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].shape.batch == 2);
  CHECK(rows[1].seconds == doctest::Approx(132e-6));
}
