// The effects of precision recipes on a whole job: bytes of parameters, of gathers, and work once an iteration. Linear
// layers of the small model (hidden h = 1024) have 12 h^2 parameters a layer.

#include "job_fixture.hpp"
#include "program/job_layers.hpp"
#include "program/optimizer_step.hpp"
#include "program/quantization_of_job.hpp"
#include "program/sharded_state.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

namespace precision_recipes_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr double kLinear = 12.0 * 1024 * 1024;
constexpr int kLayers = 8;

Job job_in(const std::string& precision, const std::string& node, bool fp8_parameters = false) {
  Strategy strategy;
  strategy.data = 8;
  Job job = small_job(kLayers, 1, strategy, 16);
  job.cluster = cluster_of(node, 1);
  job.framework = test::framework_named("megatron-core");
  job.training.precision = precision;
  job.training.fp8_parameters = fp8_parameters;
  return job;
}

struct Planned {
  explicit Planned(Job of) : job(std::move(of)), blocks(shard_blocks(job)), stages(plan_stages(job, blocks)) {}
  Job job;
  ShardedBlocks blocks;
  std::vector<StagePlan> stages;

  const StagePlan& stage() const { return stages.front(); }
  double parameter_bytes() const { return sharded_state(job, stage()).parameters; }
};

}  // namespace

TEST_CASE("memory of parameters: 16 bits and narrow copies beside them, or the narrow format alone") {
  const double wide = Planned(job_in("bf16", "hgx-h100")).parameter_bytes();
  const double linear = kLayers * kLinear;
  // Hopper needs every weight a second time, transposed; Blackwell does not.
  CHECK(Planned(job_in("fp8-current", "hgx-h100")).parameter_bytes() == doctest::Approx(wide + 2 * linear));
  CHECK(Planned(job_in("fp8-current", "hgx-b200")).parameter_bytes() == doctest::Approx(wide + linear));
  CHECK(Planned(job_in("fp8-current", "hgx-h100", true)).parameter_bytes() == doctest::Approx(wide));
  CHECK(Planned(job_in("fp8-current", "hgx-b200", true)).parameter_bytes() == doctest::Approx(wide - linear));
  // One byte and its share of a scale, twice: along rows and along columns.
  CHECK(Planned(job_in("mxfp8", "hgx-b200", true)).parameter_bytes() == doctest::Approx(wide + linear * 2 / 32));
}

TEST_CASE("frozen narrow parameters: a Hopper GPU transposes them for each product, and keeps no second copy") {
  Job job = job_in("fp8-current", "hgx-h100", true);
  job.training.adapters = {16, 0, true, true, false, false};
  const Planned adapted(job);
  const Planned whole(job_in("bf16", "hgx-h100"));
  CHECK(adapted.stage().parameters.copy_bytes == 0);
  const double frozen_wide = whole.parameter_bytes() - kLayers * kLinear;  // a byte less of each linear weight
  CHECK(adapted.parameter_bytes() ==
        doctest::Approx(frozen_wide + 2 * adapted.stage().parameters.elements).epsilon(1e-6));
}

TEST_CASE("gathers move narrow parameters narrow, unless both copies are made from 16 bits") {
  const auto width = [](const Job& job) { return Planned(job).stage().parameters.gathered_bytes_per_element; };
  CHECK(width(job_in("fp8-current", "hgx-b200")) == 2);
  CHECK(width(job_in("mxfp8", "hgx-b200", true)) == 2);
  const Planned narrow(job_in("fp8-current", "hgx-b200", true));
  const double elements = narrow.stage().parameters.elements;
  CHECK(narrow.stage().parameters.gathered_bytes_per_element ==
        doctest::Approx((2 * elements - kLayers * kLinear) / elements));
}

TEST_CASE("wide weight gradients: a third of the narrow FLOP is in 16 bits again, and nothing is cast along tokens") {
  const Planned narrow(job_in("fp8-rowwise", "hgx-h100"));
  const Planned wide(job_in("fp8-rowwise-gw-hp", "hgx-h100"));
  const auto layer = [](const Planned& of) -> const PartitionedBlock& { return of.blocks.of(1); };
  const auto count = [](const PartitionedBlock& block, const std::string& word, bool low) {
    int found = 0;
    for (const Operator& op : block.graph.operators) {
      const bool named = op.name.find(word) != std::string::npos && op.name.find("weight") == std::string::npos;
      found += (word.empty() ? op.kind == OperatorKind::einsum && op.low_precision : named) == low ? 1 : 0;
    }
    return found;
  };
  // Four linear layers, each with a forward product and two of gradients.
  CHECK(count(layer(narrow), "", true) == 12);
  CHECK(count(layer(wide), "", true) == 8);
  CHECK(count(layer(narrow), "quantize_columns_of_", true) > 0);
  CHECK(count(layer(wide), "quantize_columns_of_", true) == 0);
}

TEST_CASE("parameters are quantized once an iteration, with ZeRO 3 in every pass") {
  const auto update_bytes = [](const Job& job) { return update_body(Planned(job).stage()).bytes; };
  CHECK(update_bytes(job_in("bf16", "hgx-h100")) == 0);
  // Delayed scaling: 2 bytes read, one copy and its transpose written.
  CHECK(update_bytes(job_in("fp8-delayed", "hgx-h100")) == doctest::Approx(kLayers * kLinear * (2 + 1 + 1)));
  // Current scaling reads once more for the largest value.
  CHECK(update_bytes(job_in("fp8-current", "hgx-h100")) == doctest::Approx(kLayers * kLinear * (2 + 2 + 1 + 1)));
  // Kept narrow: only transposed; on Blackwell nothing is left to do.
  CHECK(update_bytes(job_in("fp8-delayed", "hgx-h100", true)) == doctest::Approx(kLayers * kLinear * (1 + 1)));
  CHECK(update_bytes(job_in("fp8-delayed", "hgx-b200", true)) == 0);
  Job sharded = job_in("fp8-delayed", "hgx-h100");
  sharded.strategy.zero = 3;
  CHECK(update_bytes(sharded) == 0);
}

TEST_CASE("all layers of an fp4 model run in its format, embedding and head in 16 bits") {
  const Job job = job_in("nvfp4", "hgx-b200");
  REQUIRE(job_layers(job).size() == 1);
  CHECK(job_layer(job, 0).narrow);
  CHECK(job_layer(job, kLayers - 1).narrow);
  const Planned planned(job);
  REQUIRE(planned.stage().chunks.front().runs.size() == 3);
  CHECK(planned.stage().chunks.front().runs[1].count == kLayers);
}

TEST_CASE("formats run where the tensor cores have them") {
  const auto runs = [](const char* precision, const char* node) {
    const Job job = job_in(precision, node);
    return !format_obstacle(job.cluster.groups().front().hardware.gpu, job);
  };
  CHECK_FALSE(runs("fp8-current", "dgx-a100-80g"));
  CHECK(runs("fp8-block", "hgx-h100"));
  CHECK_FALSE(runs("mxfp8", "hgx-h100"));
  CHECK_FALSE(runs("nvfp4", "hgx-h100"));
  CHECK(runs("nvfp4", "hgx-b200"));
  CHECK(runs("mxfp8", "mi355x-8"));
  CHECK(runs("mxfp4", "mi355x-8"));
  CHECK_FALSE(runs("mxfp4", "mi300x-8"));
  CHECK_FALSE(runs("nvfp4", "mi355x-8"));
  CHECK(runs("mxfp4", "hgx-b200"));
  CHECK(runs("fp8-rowwise", "mi300x-8"));
  CHECK_FALSE(runs("fp8-rowwise", "dgx-a100-80g"));
}

TEST_CASE("attention in 8 bits: the kernels of the same makers, where a GPU has figures of them") {
  const auto obstacle = [](const char* precision, const char* node) {
    Job job = job_in(precision, node);
    job.training.fp8_attention = true;
    const auto found = format_obstacle(job.cluster.groups().front().hardware.gpu, job);
    return found ? found->key + ": " + found->message : "";
  };
  CHECK(obstacle("fp8", "gb200-nvl72").empty());
  CHECK(obstacle("mxfp8", "gb200-nvl72").empty());
  CHECK(obstacle("bf16", "gb200-nvl72") ==
        "training.fp8_attention: attention computes in 8 bits beside linear layers in fp8, mxfp8 or nvfp4, not beside "
        "bf16");
  CHECK(obstacle("fp8", "hgx-h100").find("has no figures of attention in 8 bits (cudnn-fp8") != std::string::npos);

  Job job = job_in("mxfp8", "gb200-nvl72");
  job.training.fp8_attention = true;
  job.framework.fusion.attention = {};
  const auto without = format_obstacle(job.cluster.groups().front().hardware.gpu, job);
  REQUIRE(without.has_value());
  CHECK(without->message == "framework " + job.framework.name + " has no fused attention, which computes in 8 bits");

  job.training.fp8_attention = false;
  job.framework.fusion.attention = {"cudnn@blackwell", "flash-2"};
  CHECK(job.attention_kernels() == job.framework.fusion.attention);
  job.training.fp8_attention = true;
  CHECK(job.attention_kernels() == std::vector<std::string>{"cudnn-mxfp8@blackwell", "flash-2-mxfp8"});
  job.training.precision = "nvfp4";
  CHECK(job.attention_kernels() == std::vector<std::string>{"cudnn-fp8@blackwell", "flash-2-fp8"});
}

}  // namespace precision_recipes_test
