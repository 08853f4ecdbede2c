#include "calibration/attention_table.hpp"

#include "base/error.hpp"
#include "calibration/calibration.hpp"
#include "calibration/profile_text.hpp"
#include "support/source_root.hpp"

#include <fmt/format.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace attention_table_test {

using namespace mirfak;

namespace {

const Catalog& catalog() {
  static const Catalog catalog(source_root() + "/hw_profiles");
  return catalog;
}

CalibrationTarget target() { return {catalog(), "a100-80g", {}, {}, {}, {}}; }

// A table of a sweep over heads of 128: times by the profile's own constants, multiplied by `factor`.
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

namespace {

// Calls of heads of 128 in times by h100's constants of cuDNN's kernels, as mirfak-measure times a few jobs: at
// half, once and twice their length and with once and twice their sequences.
struct Calls {
  const GpuSpec gpu = catalog().gpu("h100");
  AttentionFit fit = gpu.attention.at("cudnn");
  AttentionTiles& tiles() { return fit.head_dims.at(128); }

  std::string table(bool backward, double noise = 0) const {
    const AttentionModel model(gpu, fit);
    std::string out = "pass,batch,seq,heads,kv_heads,head_dim,causal,window,latency_us\n";
    int row = 0;
    for (const int heads : {16, 32, 40}) {
      for (const int batch : {1, 2, 4}) {
        for (const int tokens : {1024, 2048, 4096}) {
          for (const bool causal : {true, false}) {
            const AttentionShape call{1. * batch, 1. * tokens, 1. * tokens, 1. * heads, heads / 4., 128, causal, 0, 0};
            const double seconds = (backward ? model.backward(call) : model.forward(call)).seconds;
            const double factor = 1 + noise * ((row++ * 7) % 11 - 5) / 5;
            out += fmt::format("{},{},{},{},{},128,{},0,{}\n", backward ? "backward" : "forward", batch, tokens, heads,
                               heads / 4, causal ? 1 : 0, factor * seconds * 1e6);
          }
        }
      }
    }
    return out;
  }
};

CalibrationTarget of_cudnn() {
  CalibrationTarget out{catalog(), "h100", {}, {}, {}, {}};
  out.attention = "cudnn";
  return out;
}

FittedSection fit_calls(const std::vector<std::string>& texts, const CalibrationTarget& target) {
  std::vector<CsvTable> tables;
  for (const std::string& text : texts) tables.push_back(CsvTable::from_text(text, "t.csv"));
  return calibrate(std::move(tables), target).front();
}

}  // namespace

TEST_CASE("kernels timed by themselves give back the constants that they were made of, forward and backward") {
  Calls calls;
  calls.tiles().efficiency.value = 0.55;
  calls.tiles().backward_efficiency.value = 0.41;
  calls.tiles().tail.value = 1.6;
  calls.fit.io_passes.value = 0.9;
  calls.fit.backward_passes.value = 9;
  const FittedSection exact = fit_calls({calls.table(false), calls.table(true)}, of_cudnn());
  CHECK(exact.path == std::vector<std::string>{"attention", "cudnn"});
  CHECK(constant(exact, "head_dims.128.efficiency") == doctest::Approx(0.55).epsilon(0.01));
  CHECK(constant(exact, "head_dims.128.backward_efficiency") == doctest::Approx(0.41).epsilon(0.01));
  CHECK(constant(exact, "head_dims.128.tail") == doctest::Approx(1.6).epsilon(0.05));
  CHECK(constant(exact, "io_passes") == doctest::Approx(0.9).epsilon(0.1));
  CHECK(constant(exact, "backward_passes") == doctest::Approx(9).epsilon(0.1));
  CHECK(exact.scores.back().held_out.p90_ape < 0.005);

  const FittedSection noisy = fit_calls({calls.table(false, 0.03), calls.table(true, 0.03)}, of_cudnn());
  CHECK(constant(noisy, "head_dims.128.efficiency") == doctest::Approx(0.55).epsilon(0.06));
  CHECK(constant(noisy, "head_dims.128.backward_efficiency") == doctest::Approx(0.41).epsilon(0.06));
  CHECK(noisy.scores.back().held_out.p90_ape < 0.05);
}

TEST_CASE("a handful of calls tells the efficiency, and says what it does not tell") {
  Calls calls;
  calls.tiles().efficiency.value = 0.5;
  std::string text = calls.table(false);
  std::size_t end = 0;
  for (int line = 0; line < 9; ++line) end = text.find('\n', end) + 1;
  text.resize(end);
  const FittedSection section = fit_calls({text}, of_cudnn());
  const AttentionTiles before = catalog().gpu("h100").attention.at("cudnn").head_dims.at(128);
  CHECK(constant(section, "head_dims.128.efficiency") == doctest::Approx(0.5).epsilon(0.01));
  // Without backward calls, backward kernels stay as much slower as they were.
  CHECK(constant(section, "head_dims.128.backward_efficiency") ==
        doctest::Approx(0.5 * before.backward_efficiency.value / before.efficiency.value).epsilon(0.01));
  CHECK(constant(section, "head_dims.128.tail") == before.tail.value);
  CHECK(section.source.find("as before: the ratio of backward_efficiency, tail, ramp_s, io_passes, backward_passes") !=
        std::string::npos);
}

TEST_CASE("a table of mirfak-measure without a column for the pass says it by its file's name") {
  const std::string text = "batch,seq,heads,kv_heads,head_dim,causal,window,latency_us\n2,2048,8,8,128,0,0,132\n";
  const CsvTable backward = CsvTable::from_text(text, "measured/attention_backward.csv");
  CHECK(read_attention_table(backward, of_cudnn()).front().backward);
  CHECK_FALSE(read_attention_table(backward, of_cudnn()).front().shape.causal);
  CHECK_FALSE(read_attention_table(CsvTable::from_text(text, "measured/attention.csv"), of_cudnn()).front().backward);
}

TEST_CASE("faults of tables of attention name what is missing") {
  const Calls calls;
  CHECK_THROWS_WITH_AS(fit_calls({calls.table(true)}, of_cudnn()),
                       doctest::Contains("no forward calls of heads of 128"), Error);
  CalibrationTarget of_server = target();
  of_server.gpu = "h100";
  CHECK_THROWS_WITH_AS(fit_calls({calls.table(true)}, of_server), doctest::Contains("have no backward calls"), Error);
  CHECK_THROWS_WITH_AS(
      fit_calls({"pass,batch,seq,heads,kv_heads,head_dim,latency_us\nsideways,1,2048,8,8,128,9\n"}, of_cudnn()),
      doctest::Contains("'sideways' is no pass"), Error);
  CalibrationTarget scoring = of_cudnn();
  scoring.gpu = "a100-80g";
  scoring.score_only = true;
  CHECK_THROWS_WITH_AS(fit_calls({calls.table(false)}, scoring), doctest::Contains("times as fast as a100-80g"), Error);
  scoring.own_peaks = true;
  CHECK_THROWS_WITH_AS(fit_calls({calls.table(false)}, scoring), doctest::Contains("no constants of attention.cudnn"),
                       Error);
}

TEST_CASE("a profile takes the fitted section, keeps sizes of heads that were not measured, and reads back") {
  Calls calls;
  calls.tiles().efficiency.value = 0.55;
  const FittedSection section = fit_calls({calls.table(false), calls.table(true)}, of_cudnn());
  std::ifstream in(source_root() + "/hw_profiles/gpus/h100.yaml");
  const std::string before((std::istreambuf_iterator<char>(in)), {});
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "mirfak_attention_profile.yaml";
  std::ofstream(path) << with_sections(before, {section});
  const GpuSpec gpu = catalog().gpu(path.string());
  std::filesystem::remove(path);
  const AttentionFit& fit = gpu.attention.at("cudnn");
  CHECK(fit.head_dims.at(128).efficiency.value == doctest::Approx(0.55).epsilon(0.01));
  CHECK(fit.head_dims.at(128).efficiency.source == section.source);
  CHECK(fit.quality.measurements == 108);
  CHECK_FALSE(fit.table.has_value());
  const AttentionFit& old = calls.gpu.attention.at("cudnn");
  for (const int head_dim : {64, 256}) {
    CHECK(fit.head_dims.at(head_dim).efficiency.value == old.head_dims.at(head_dim).efficiency.value);
    CHECK(fit.head_dims.at(head_dim).efficiency.source == old.head_dims.at(head_dim).efficiency.source);
  }
  CHECK(gpu.attention.at("trtllm").quality.measurements == calls.gpu.attention.at("trtllm").quality.measurements);
}

TEST_CASE("a profile reads back however badly its tables are met") {
  const Calls calls;
  CalibrationTarget noisy = of_cudnn();
  noisy.own_peaks = true;  // the noise makes times shorter than the GPU's peak allows, too
  const FittedSection section = fit_calls({calls.table(false, 0.96), calls.table(true, 0.96)}, noisy);
  REQUIRE(section.scores.back().fitted.p90_ape > 2);
  std::ifstream in(source_root() + "/hw_profiles/gpus/h100.yaml");
  const std::string before((std::istreambuf_iterator<char>(in)), {});
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "mirfak_noisy_profile.yaml";
  std::ofstream(path) << with_sections(before, {section});
  CHECK(catalog().gpu(path.string()).attention.at("cudnn").quality.p90_error > 2);
  std::filesystem::remove(path);
}

TEST_CASE("the measured sweep of an H100: kernels by themselves describe what is long enough to hide the copies") {
  const std::filesystem::path path = source_root() + "/../shared/hardware/kernels/ctxattn_h100_sxm.csv";
  if (!std::filesystem::exists(path)) {
    MESSAGE("no measured tables beside the source tree: skipped");
    return;
  }
  CalibrationTarget target = of_cudnn();
  target.filters = {{"seq", "8192"}, {"head_dim", "128"}, {"window", "0"}};
  const FittedSection section = calibrate({CsvTable::from_file(path)}, target).front();
  const double trtllm = catalog().gpu("h100").attention.at("trtllm").head_dims.at(128).efficiency.value;
  CHECK(constant(section, "head_dims.128.efficiency") == doctest::Approx(trtllm).epsilon(0.15));
  CHECK(section.scores.back().held_out.count > 20);
  CHECK(section.scores.back().held_out.median_ape < 0.05);
}

}  // namespace attention_table_test
