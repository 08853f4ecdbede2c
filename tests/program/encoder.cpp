// Masked language models: attention to all tokens, norms behind residuals, a head for the predicted tokens only.

#include "job_fixture.hpp"
#include "model/model_loader.hpp"
#include "simulation/iteration.hpp"
#include "support/frameworks.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace mirfak;
using namespace mirfak::test;

namespace {

Job bert(const char* framework, std::int64_t sequence, int tensor = 1) {
  Strategy strategy;
  strategy.tensor = tensor;
  strategy.data = 16 / tensor;
  strategy.micro_batch = 2;
  Job job = small_job(24, 2, strategy, 64);
  job.model = load_model("bert-large", source_root() + "/models", {});
  job.training.sequence_length = sequence;
  job.training.precision = "fp16";
  job.framework = test::framework_named(framework);
  return job;
}

double multiplications(const ShardedBlocks& blocks, const StagePlan& plan, const std::string& name) {
  for (const PartitionedBlock& block : blocks.all) {
    for (const BlockStep& step : block.forward) {
      if (step.kind != BlockStep::Kind::kernel || block.graph.op(step.op).name != name) continue;
      return plan.costs.kernels.price(block, step).flop / 2;
    }
  }
  return 0;
}

}  // namespace

TEST_CASE("BERT-large has the parameters of its published checkpoints, with both heads") {
  ModelSpec model = bert("apex-ddp", 512).model;
  model.vocab = 30522;
  CHECK(count_parameters(model).total == 336'226'108);
}

TEST_CASE("the blocks hold what the model counts, and every parameter has a gradient") {
  const auto simulation = simulate(bert("apex-ddp", 512));
  CHECK(simulation.plans[0].parameters.elements == count_parameters(simulation.job.model).total);
  for (const PartitionedBlock& block : simulation.blocks.all) {
    std::set<TensorId> with_gradient;
    for (const Tensor& tensor : block.graph.tensors) {
      if (tensor.role == TensorRole::parameter_gradient) with_gradient.insert(tensor.of);
    }
    for (const ParameterShard& shard : block.parameters) {
      CHECK_MESSAGE(with_gradient.contains(shard.tensor), block.graph.tensor(shard.tensor).name);
    }
  }
}

TEST_CASE("the head works on the predicted tokens where the framework picks them out: 20 of 128, 80 of 512") {
  for (const auto& [sequence, predicted] : {std::pair{128, 20}, {512, 80}}) {
    const Job picking = bert("apex-ddp", sequence);
    const ShardedBlocks blocks = shard_blocks(picking);
    const std::vector<StagePlan> plans = plan_stages(picking, blocks);
    CHECK(multiplications(blocks, plans[0], "logits.out.table") == 2.0 * predicted * 1024 * 30528);
    CHECK(multiplications(blocks, plans[0], "logits.transform.add.transform_weight") == 2.0 * predicted * 1024 * 1024);
    CHECK(multiplications(blocks, plans[0], "pooler.add.pooler_weight") == 2.0 * 1024 * 1024);
  }
  const Job all = bert("megatron-lm-2021", 512);
  const ShardedBlocks blocks = shard_blocks(all);
  const std::vector<StagePlan> plans = plan_stages(all, blocks);
  CHECK(multiplications(blocks, plans[0], "logits.transform.add.transform_weight") == 2.0 * 512 * 1024 * 1024);
}

TEST_CASE("an encoder's attention is not halved by a causal mask") {
  Job job = bert("megatron-core", 512);
  const double both = simulate(job).result.activity_s[static_cast<std::size_t>(Activity::attention)];
  job.model.causal = true;
  CHECK(simulate(job).result.activity_s[static_cast<std::size_t>(Activity::attention)] < both);
}

TEST_CASE("tensor ranks divide an encoder's layers and vocabulary; its small head is replicated") {
  const auto one = simulate(bert("megatron-lm-2021", 512));
  const auto four = simulate(bert("megatron-lm-2021", 512, 4));
  CHECK(four.result.model_flop > one.result.model_flop);
  CHECK(four.result.model_flop < 1.01 * one.result.model_flop);
}
