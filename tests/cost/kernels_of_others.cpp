// Kernels timed by people whose tables chose no constant of the GPU.

#include "cluster/catalog.hpp"
#include "cost/attention_model.hpp"
#include "cost/gemm_model.hpp"
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

}  // namespace kernels_of_others_test
