#include "cost/attention_model.hpp"

#include "base/csv.hpp"
#include "base/error.hpp"
#include "cluster/catalog.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

namespace attention_model_test {

using namespace mirfak;

namespace {

Figure figure(double value) { return {value, "test"}; }

Catalog profiles() { return Catalog(source_root() + "/hw_profiles"); }

// 10 multiprocessors of 10 TFLOP/s; heads of 64 at efficiency 0.5 (backward 0.25) in tiles of 64 rows, no tail.
GpuSpec gpu() {
  GpuSpec spec;
  spec.name = spec.title = "test GPU";
  spec.multiprocessors = 10;
  spec.peak_flops = {{Precision::fp32, figure(10e12)}, {Precision::bf16, figure(100e12)}};
  spec.memory_bandwidth = figure(1e15);
  spec.memory_bandwidth_efficiency = figure(1);
  spec.kernel_launch_s = figure(2e-6);
  spec.sustained_share = figure(1);
  AttentionTiles tiles;
  tiles.rows = figure(64);
  tiles.efficiency = figure(0.5);
  tiles.backward_efficiency = figure(0.25);
  tiles.ramp_s = figure(0);
  tiles.tail = figure(0);
  AttentionFit fit;
  fit.head_dims = {{64, tiles}};
  fit.io_passes = figure(0);
  fit.backward_passes = figure(0);
  spec.attention = {{"flash-2", fit}};
  return spec;
}

AttentionShape shape(double heads, double tokens, bool causal) {
  return {1, tokens, tokens, heads, heads, 64, causal, 0, 0};
}

// 64 queries and 64 keys of heads of 64: 4 x 64^3 FLOP at 5 TFLOP/s.
constexpr double kBlock = 4 * 64.0 * 64 * 64 / 5e12;

AttentionCost forward(const GpuSpec& spec, const AttentionShape& call) {
  return AttentionModel(spec, spec.attention.at("flash-2")).forward(call);
}

}  // namespace

TEST_CASE("kernels in 8 bits take their share of the 8-bit peak, and move one byte an element") {
  GpuSpec spec = gpu();
  spec.peak_flops.emplace(Precision::fp8, figure(400e12));
  spec.attention.at("flash-2").in_8_bits = true;
  CHECK(forward(spec, shape(80, 64, false)).compute_s == doctest::Approx(8 * kBlock / 4));
  spec.attention.at("flash-2").io_passes = figure(1);
  const double wide = forward(gpu(), shape(80, 64, false)).memory_s;
  CHECK(wide == 0);
  // Queries and results of 64 tokens in 80 heads of 64.
  spec.memory_bandwidth = figure(1e12);
  CHECK(forward(spec, shape(80, 64, false)).memory_s == doctest::Approx(2 * 80 * 64 * 64 / 1e12));
}

TEST_CASE("tiles: one fits a multiprocessor, an eleventh waits for a tenth of all") {
  const GpuSpec spec = gpu();
  CHECK(forward(spec, shape(1, 64, false)).compute_s == doctest::Approx(kBlock));
  CHECK(forward(spec, shape(10, 64, false)).compute_s == doctest::Approx(kBlock));
  CHECK(forward(spec, shape(11, 64, false)).compute_s == doctest::Approx(1.1 * kBlock));
  CHECK(forward(spec, shape(1, 64, false)).seconds == doctest::Approx(2e-6 + kBlock));
}

TEST_CASE("a causal mask leaves out blocks without a visible key") {
  const GpuSpec spec = gpu();
  // 256 tokens: tiles of 1, 2, 3 and 4 blocks, 10 of 16; 100 heads are 1000 blocks for 10 multiprocessors.
  CHECK(forward(spec, shape(100, 256, false)).compute_s == doctest::Approx(160 * kBlock));
  CHECK(forward(spec, shape(100, 256, true)).compute_s == doctest::Approx(100 * kBlock));
  // One head is as slow as its longest tile, masked or not.
  CHECK(forward(spec, shape(1, 256, true)).compute_s == forward(spec, shape(1, 256, false)).compute_s);
  // Half of the work, and no more than a diagonal over it, for many tokens.
  const double masked = forward(spec, shape(100, 65536, true)).compute_s;
  const double all = forward(spec, shape(100, 65536, false)).compute_s;
  CHECK(masked == doctest::Approx(all * (1 + 1.0 / 1024) / 2).epsilon(1e-9));
}

TEST_CASE("documents that share a sequence see their own tokens only, in one kernel") {
  const GpuSpec spec = gpu();
  AttentionShape call = shape(100, 256, true);
  const double whole = forward(spec, call).compute_s;
  call.documents = {{256, 1}};
  CHECK(forward(spec, call).compute_s == whole);
  CHECK(share_of_pairs(call) == 1);
  // Four documents of 64 tokens: four blocks of keys instead of ten.
  call.documents = {{64, 1}};
  CHECK(forward(spec, call).compute_s == doctest::Approx(100 * 4 * kBlock / 10));
  CHECK(share_of_pairs(call) == 0.25);
  // Half of the tokens in documents of 64 (two), half in one of 128 (3 blocks).
  call.documents = {{64, 0.5}, {128, 0.5}};
  CHECK(forward(spec, call).compute_s == doctest::Approx(100 * 5 * kBlock / 10));
  CHECK(share_of_pairs(call) == 0.375);
  // As many calls of single documents, but for their launches and their traffic, which is that of the tokens.
  AttentionShape single = shape(100, 64, true);
  single.batch = 4;
  call.documents = {{64, 1}};
  CHECK(forward(spec, single).seconds == doctest::Approx(forward(spec, call).seconds));
}

TEST_CASE("queries are the last of the keys' tokens") {
  const GpuSpec spec = gpu();
  // Causal attention of 256 tokens, its second half of queries alone: tiles of 3 and 4 blocks; the first half: 1 and 2.
  const AttentionShape late{100, 128, 256, 1, 1, 64, true, 0, 0};
  CHECK(forward(spec, late).compute_s == doctest::Approx(100 * 7 * kBlock / 10));
  CHECK(forward(spec, late).compute_s + forward(spec, shape(100, 128, true)).compute_s ==
        doctest::Approx(forward(spec, shape(100, 256, true)).compute_s));
}

TEST_CASE("a window leaves out the blocks before it") {
  const GpuSpec spec = gpu();
  AttentionShape call = shape(100, 256, true);
  const double all = forward(spec, call).compute_s;
  call.window = 256;
  CHECK(forward(spec, call).compute_s == all);
  // Each query sees its own token and 64 before it: its tile's block and the one before, but in the first tile.
  call.window = 65;
  CHECK(forward(spec, call).compute_s == doctest::Approx(100 * 7 * kBlock / 10));
  call.window = 1;
  CHECK(forward(spec, call).compute_s == doctest::Approx(100 * 4 * kBlock / 10));
}

TEST_CASE("backward: 2.5 times the FLOP at its own efficiency, three kernels, and passes of its own") {
  GpuSpec spec = gpu();
  const AttentionModel model(spec, spec.attention.at("flash-2"));
  const AttentionShape call = shape(100, 4096, true);
  const AttentionCost there = model.forward(call);
  const AttentionCost back = model.backward(call);
  CHECK(back.executed_flop == doctest::Approx(2.5 * there.executed_flop));
  CHECK(back.compute_s == doctest::Approx(5 * there.compute_s));
  CHECK(back.overhead_s == doctest::Approx(3 * there.overhead_s));
  spec.attention.at("flash-2").backward_passes = figure(7);
  CHECK(model.backward(call).memory_s == doctest::Approx(7 * 2.0 * 4096 * 100 * 64 / 1e15));
}

TEST_CASE("shared keys cost the same products and less traffic") {
  GpuSpec spec = gpu();
  spec.memory_bandwidth = figure(1e9);
  AttentionShape call = shape(8, 1024, true);
  const AttentionCost own = forward(spec, call);
  call.kv_heads = 1;
  const AttentionCost shared = forward(spec, call);
  CHECK(shared.compute_s == own.compute_s);
  // Q, K, V and O of 8 heads; then Q and O of 8, K and V of one.
  const double head_bytes = 2.0 * 1024 * 64;
  CHECK(own.seconds == doctest::Approx(2e-6 + 32 * head_bytes / 1e9));
  CHECK(shared.seconds == doctest::Approx(2e-6 + 18 * head_bytes / 1e9));
}

TEST_CASE("narrower values: one of two products forward, two of five backward") {
  const GpuSpec spec = gpu();
  const AttentionModel model(spec, spec.attention.at("flash-2"));
  AttentionShape call = shape(100, 4096, true);
  const double forward_flop = model.forward(call).executed_flop;
  const double backward_flop = model.backward(call).executed_flop;
  call.value_dim = 32;
  CHECK(model.forward(call).executed_flop == doctest::Approx(forward_flop * (1 + 0.5) / 2));
  CHECK(model.backward(call).executed_flop == doctest::Approx(backward_flop * (3 + 2 * 0.5) / 5));
}

TEST_CASE("between measured head dimensions the time of a product lies between theirs") {
  GpuSpec spec = gpu();
  AttentionFit& fit = spec.attention.at("flash-2");
  fit.head_dims[128] = fit.head_dims.at(64);
  fit.head_dims.at(128).efficiency = figure(0.8);
  const AttentionModel model(spec, fit);
  const auto efficiency = [&](double head_dim) {
    AttentionTiles between_two;
    return model.tiles(head_dim, between_two).efficiency.value;
  };
  CHECK(efficiency(64) == 0.5);
  CHECK(efficiency(128) == 0.8);
  CHECK(efficiency(32) == 0.5);
  CHECK(efficiency(256) == 0.8);
  double before = 0.5;
  for (const double head_dim : {80.0, 96.0, 112.0, 128.0}) {
    CHECK(efficiency(head_dim) > before);
    before = efficiency(head_dim);
  }
}

TEST_CASE("the power limit slows what the tables show and what matrix products show, whichever is slower") {
  GpuSpec spec = gpu();
  AttentionTiles& tiles = spec.attention.at("flash-2").head_dims.at(64);
  const AttentionModel model(spec, spec.attention.at("flash-2"));
  spec.sustained_share = figure(0.9);
  CHECK(model.settled_clock(64) == 0.9);
  tiles.throttle = figure(0.25);
  CHECK(model.settled_clock(64) == doctest::Approx(0.8));
}

TEST_CASE("a framework gets the kernels it prefers, of those the GPU has") {
  GpuSpec spec = gpu();
  spec.attention["cudnn"] = spec.attention.at("flash-2");
  const std::vector<std::string> newest = {"flash-3", "flash-2"};
  CHECK(attention_fit(spec, newest) == &spec.attention.at("flash-2"));
  const std::vector<std::string> none = {"flash-1"};
  CHECK(attention_fit(spec, none) != nullptr);
  spec.attention.clear();
  CHECK(attention_fit(spec, newest) == nullptr);
}

TEST_CASE("a preference can hold on one architecture only, and what stands in for kernels without figures has a name") {
  GpuSpec spec = gpu();
  spec.architecture = "blackwell";
  spec.attention["trtllm"] = spec.attention.at("flash-2");
  const std::vector<std::string> by_architecture = {"cudnn@blackwell", "flash-2"};
  CHECK(attention_choice(spec, by_architecture).fit == &spec.attention.at("flash-2"));  // it has no cuDNN's
  spec.attention["cudnn"] = spec.attention.at("flash-2");
  spec.attention["cudnn"].like = "trtllm";
  const AttentionChoice newest = attention_choice(spec, by_architecture);
  CHECK(newest.fit == &spec.attention.at("cudnn"));
  CHECK(newest.wanted == "cudnn");
  CHECK(newest.figures_of == "trtllm");
  spec.architecture = "hopper";
  CHECK(attention_choice(spec, by_architecture).wanted == "flash-2");
  CHECK(attention_choice(spec, by_architecture).figures_of.empty());
  const AttentionChoice missing = attention_choice(spec, std::vector<std::string>{"flash-3", "flash-1"});
  CHECK(missing.wanted == "flash-3");
  CHECK(missing.figures_of == "cudnn");
  CHECK(missing.fit == &spec.attention.at("cudnn"));
}

// Dao-AILab/flash-attention#1589: 16384 tokens in all, 32 heads of 64; meta-pytorch/tritonbench#171: 8 x 16 heads of
// 128.
TEST_CASE("FlashAttention-2 on a B200 is as slow as it was measured") {
  const GpuSpec spec = profiles().gpu("b200");
  const AttentionModel model(spec, spec.attention.at("flash-2"));
  const auto tflops = [&](double batch, double tokens, double heads, double head_dim, bool backward) {
    const AttentionShape call = {batch, tokens, tokens, heads, heads, head_dim, false, 0, 0};
    const double flop = (backward ? 10 : 4) * batch * heads * tokens * tokens * head_dim;
    return flop / (backward ? model.backward(call) : model.forward(call)).seconds / 1e12;
  };
  CHECK(tflops(16, 1024, 32, 64, false) == doctest::Approx(359.3).epsilon(0.05));
  CHECK(tflops(1, 16384, 32, 64, false) == doctest::Approx(379.4).epsilon(0.05));
  CHECK(tflops(16, 1024, 32, 64, true) == doctest::Approx(280.6).epsilon(0.05));
  CHECK(tflops(1, 16384, 32, 64, true) == doctest::Approx(334).epsilon(0.05));
  CHECK(tflops(8, 1024, 16, 128, false) == doctest::Approx(315.1).epsilon(0.05));
  CHECK(tflops(8, 8192, 16, 128, false) == doctest::Approx(361.6).epsilon(0.05));
}

TEST_CASE("on every GPU with kernels: more keys, heads or tokens take no less time, a mask no more") {
  const Catalog catalog = profiles();
  for (const char* name : {"a100-80g", "h100", "h200", "b200", "gb200", "l40s", "rtx-pro-6000", "a40"}) {
    CAPTURE(name);
    const GpuSpec spec = catalog.gpu(name);
    for (const auto& entry : spec.attention) {
      CAPTURE(entry.first);
      const AttentionModel model(spec, entry.second);
      for (const double head_dim : {64.0, 80.0, 128.0}) {
        double before = 0;
        for (double tokens = 128; tokens <= 65536; tokens *= 2) {
          AttentionShape call{1, tokens, tokens, 32, 8, head_dim, true, 0, 0};
          const double seconds = model.forward(call).seconds;
          CHECK(seconds > before);
          CHECK(model.backward(call).seconds > seconds);
          call.causal = false;
          CHECK(model.forward(call).seconds >= seconds);
          call.causal = true;
          call.heads = 64;
          CHECK(model.forward(call).seconds >= seconds);
          before = seconds;
        }
      }
    }
  }
}

// The tables are not part of the project: without them beside the source tree this case only says so. Their rows with
// at least 1024 tokens; the profiles' errors are of the third of them that was held out.
TEST_CASE("the fits describe the measured tables as well as the profiles say") {
  struct Pair {
    const char* gpu;
    const char* table;
  };
  for (const Pair& pair :
       {Pair{"a100-80g", "a100_sxm"}, Pair{"h100", "h100_sxm"}, Pair{"h200", "h200_sxm"}, Pair{"b200", "b200_sxm"},
        Pair{"gb200", "gb200"}, Pair{"l40s", "l40s"}, Pair{"rtx-pro-6000", "rtx_pro_6000_server"}}) {
    CAPTURE(pair.gpu);
    const std::filesystem::path path = source_root() + "/../shared/hardware/kernels/ctxattn_" + pair.table + ".csv";
    if (!std::filesystem::exists(path)) {
      MESSAGE("skipped: no ../shared/hardware/kernels/ctxattn_", pair.table, ".csv");
      continue;
    }
    const GpuSpec spec = profiles().gpu(pair.gpu);
    const AttentionFit& fit = spec.attention.at("trtllm");
    const AttentionModel model(spec, fit);
    const CsvTable table = CsvTable::from_file(path);
    const auto column = [&](std::size_t row, const char* name) {
      return table.number(row, table.require(name), 0, 1e12);
    };
    std::vector<double> errors;
    std::vector<double> long_errors;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      AttentionShape call;
      call.batch = column(row, "batch");
      call.queries = call.keys = column(row, "seq");
      call.heads = column(row, "heads");
      call.kv_heads = column(row, "kv_heads");
      call.head_dim = column(row, "head_dim");
      call.causal = true;
      if (call.batch * call.queries < 1024 || call.head_dim > 256) continue;
      errors.push_back(std::abs(model.table_seconds(call) / (column(row, "latency_us") * 1e-6) - 1));
      if (call.queries >= 1024) long_errors.push_back(errors.back());
    }
    CHECK(static_cast<int>(errors.size()) == fit.quality.measurements);
    std::sort(errors.begin(), errors.end());
    std::sort(long_errors.begin(), long_errors.end());
    CHECK(errors[errors.size() / 2] == doctest::Approx(fit.quality.median_error).epsilon(0.1));
    CHECK(errors[errors.size() * 9 / 10] == doctest::Approx(fit.quality.p90_error).epsilon(0.1));
    CHECK(long_errors[long_errors.size() / 2] < 0.03);
    CHECK(long_errors[long_errors.size() * 9 / 10] < 0.08);
  }
}

TEST_CASE("sums in a fixed order: as many parts of a head's keys as fill the device, and no more") {
  const GpuSpec spec = gpu();
  const AttentionModel model(spec, spec.attention.at("flash-2"));
  const auto ordered = [](AttentionShape call, double calls = 1) {
    call.ordered = true;
    call.calls = calls;
    return call;
  };
  // Five products where forward has two, at half of its efficiency.
  constexpr double backward_block = 2.5 * 2 * kBlock;
  // 3 heads of 8 blocks of 128 keys on 10 multiprocessors: 4 parts of 2 blocks each, 12 thread blocks in two waves.
  const double head = 16 * 16 * backward_block;
  CHECK(model.ordered_parts(shape(3, 1024, false)) == 4);
  CHECK(model.backward(ordered(shape(3, 1024, false))).compute_s == doctest::Approx(2 * head / 4).epsilon(1e-12));
  // Two calls at once, each of half of the queries: 24 thread blocks of half the work in three waves.
  CHECK(model.backward(ordered(shape(3, 1024, false), 2)).compute_s == doctest::Approx(3 * head / 8).epsilon(1e-12));
  // A part for each of 8 blocks: all queries of a causal head see the first, which has 8 of 36 parts of the work.
  const double causal = model.backward(ordered(shape(1, 1024, true))).compute_s;
  CHECK(model.ordered_parts(shape(1, 1024, true)) == 10);
  CHECK(causal == doctest::Approx(136 * backward_block * 8 / 36).epsilon(1e-12));
  // A head for each multiprocessor: one part each, as many sums as without an order.
  CHECK(model.ordered_parts(shape(10, 1024, false)) == 1);
  CHECK(model.backward(ordered(shape(10, 1024, false))).seconds ==
        doctest::Approx(model.backward(shape(10, 1024, false)).seconds).epsilon(1e-12));
  // Each further part clears and reads a sum of 4 bytes.
  GpuSpec slow = spec;
  slow.memory_bandwidth = figure(1e12);
  const AttentionModel moved(slow, slow.attention.at("flash-2"));
  CHECK(moved.backward(ordered(shape(3, 1024, false))).memory_s - moved.backward(shape(3, 1024, false)).memory_s ==
        doctest::Approx(2 * 3 * 4 * 3 * 1024 * 64 / 1e12).epsilon(1e-12));
  CHECK(model.forward(ordered(shape(3, 1024, false))).seconds == model.forward(shape(3, 1024, false)).seconds);
}

}  // namespace attention_model_test
