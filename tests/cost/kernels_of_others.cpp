// Kernels timed by people whose tables chose no constant of the GPU.

#include "cluster/catalog.hpp"
#include "cost/attention_model.hpp"
#include "cost/gemm_model.hpp"
#include "cost/kernel_model.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace kernels_of_others_test {

using namespace mirfak;

namespace {

Catalog profiles() { return Catalog(source_root() + "/hw_profiles"); }

double median(std::vector<double> errors) {
  std::sort(errors.begin(), errors.end());
  return errors[errors.size() / 2];
}

}  // namespace

TEST_CASE("forward attention of AITER on an MI355X, timed by HipKittens' authors, is as the table of its own says") {
  // HazyResearch/HipKittens@f09e9685 analysis/attn/fwd: bf16, 16 sequences, heads of 128, TFLOP/s of half of the scores
  // where causal.
  struct Series {
    double heads;
    double kv_heads;
    bool causal;
    std::array<double, 5> tflops;  // of 1024, 2048, ... 16384 tokens
  };
  const std::vector<Series> measured = {
      {16, 16, true, {554.6, 876.3, 1069.0, 1173.2, 1247.4}},
      {16, 16, false, {828.0, 1085.2, 1210.7, 1259.4, 1282.6}},
      {64, 8, true, {715.1, 941.1, 1100.9, 1204.7, 1246.1}},
      {64, 8, false, {1032.5, 1152.4, 1231.2, 1281.3, 1291.3}},
  };
  const Catalog catalog = profiles();
  const GpuSpec& gpu = catalog.gpu("mi355x");
  const AttentionModel model(gpu, gpu.attention.at("aiter"));
  std::vector<double> errors;
  for (const Series& series : measured) {
    double tokens = 1024;
    for (const double tflops : series.tflops) {
      const AttentionShape shape{16, tokens, tokens, series.heads, series.kv_heads, 128, series.causal, 0, 0};
      const double flop = 4 * 16 * tokens * tokens * series.heads * 128 / (series.causal ? 2 : 1);
      errors.push_back(std::abs(model.forward(shape).seconds / (flop / tflops / 1e12) - 1));
      tokens *= 2;
    }
  }
  CHECK(median(errors) < 0.1);
  CHECK(*std::max_element(errors.begin(), errors.end()) < 0.2);
}

TEST_CASE("square products on an MI325X, with the MI355X's shares of the peak, are as PyTorch timed them") {
  // HazyResearch/HipKittens@f09e9685 analysis/bf16_gemm/mi325x: bf16, n x n x n, TFLOP/s of PyTorch's own choice.
  const std::vector<std::pair<double, double>> measured = {{2048, 325.0}, {4096, 752.5}, {8192, 785.3}, {16384, 749.8}};
  const Catalog catalog = profiles();
  const GpuSpec& gpu = catalog.gpu("mi325x");
  const GemmModel model(gpu, Precision::bf16, gpu.gemm.at(Precision::bf16).constants);
  for (const std::pair<double, double>& row : measured) {
    const double n = row.first;
    const double tflops = row.second;
    const double predicted = model.table_time({.m = n, .n = n, .k = n}).seconds;
    INFO(n, ": ", 2 * n * n * n / predicted / 1e12, " TFLOP/s, measured ", tflops);
    CHECK(2 * n * n * n / predicted / 1e12 == doctest::Approx(tflops).epsilon(0.15));
  }
}

TEST_CASE("an RTX 4090, whose sums in fp32 run at half the rate of an L40S, comes nearer to its peak") {
  // Best of many shapes: 178.5 (mag-/gpu_benchmark@13f96a42) and 179.2 TFLOP/s (xzwgit/gpu-flops-bench@14a1e5e2); the
  // best shapes of GPUs with tables exceed these by 12 to 18 %.
  const Catalog catalog = profiles();
  const GpuSpec& gpu = catalog.gpu("rtx-4090");
  const double seconds = GemmModel(gpu, Precision::bf16).table_time({.m = 8192, .n = 8192, .k = 8192}).seconds;
  CHECK(2 * 8192.0 * 8192 * 8192 / seconds == doctest::Approx(179e12 / 1.15).epsilon(0.05));
}

TEST_CASE("DeepSeek-V3's products on an MI325X sustain what AMD measured for half a minute each") {
  // ROCm/rocm-blogs, "Typical Attained FLOPs" (October 2026): ten shapes, the mean that their FLOPs weight.
  const std::vector<std::pair<double, double>> weights = {
      {2112, 7168}, {3072, 1536}, {7168, 2048}, {4608, 7168}, {7168, 256}};
  const std::vector<std::pair<Precision, double>> measured = {{Precision::bf16, 616e12}, {Precision::fp8, 1143e12}};
  const Catalog catalog = profiles();
  const GpuSpec& gpu = catalog.gpu("mi325x");
  for (const auto& [precision, rate] : measured) {
    const GemmModel model(gpu, precision);
    double flop = 0;
    double seconds = 0;
    for (const double rows : {32.0, 32768.0}) {
      for (const auto& [n, k] : weights) {
        flop += 2 * rows * n * k;
        seconds += model.table_time({.m = rows, .n = n, .k = k}).seconds / gpu.sustained_share.value;
      }
    }
    const double predicted = flop / seconds;
    CHECK(predicted == doctest::Approx(rate).epsilon(0.15));
  }
}

TEST_CASE("PyTorch's memory-bound kernels on an MI355X take what they took on smaller tensors than chose their rate") {
  // HazyResearch/HipKittens@f09e9685 analysis/rotary and analysis/layernorm: milliseconds of six kernels that move 24
  // bytes a value together, and of one compiled kernel that normalizes and moves 10.
  struct Row {
    double values;
    double rotary_ms;
    double norm_ms;
  };
  const Catalog catalog = profiles();
  const KernelModel kernels(catalog.gpu("mi355x"), Precision::bf16);
  for (const Row& row : {Row{33.55e6, 0.2819, 0.1411}, Row{67.11e6, 0.5410, 0.2326}}) {
    CHECK(6 * kernels.price_memory_bound(4 * row.values).seconds == doctest::Approx(row.rotary_ms / 1e3).epsilon(0.2));
    CHECK(kernels.price_memory_bound(10 * row.values, OperatorKind::normalization).seconds ==
          doctest::Approx(row.norm_ms / 1e3).epsilon(0.3));
  }
}

}  // namespace kernels_of_others_test
