// Fine-tuning with low-rank adapters: what is frozen costs no weight gradient, no gradient memory, no optimizer.

#include "graph/dequantization.hpp"
#include "job_fixture.hpp"
#include "program/sharded_state.hpp"
#include "simulation/iteration.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

namespace adapters_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr int kRank = 16;
constexpr double kLayers = 8, kHidden = 1024, kFfn = 4096;

Job adapted(const LowRankAdapters& adapters, int tensor = 1) {
  Strategy strategy;
  strategy.tensor = tensor;
  strategy.data = 16 / tensor;
  strategy.zero = 1;
  strategy.sequence_parallel = tensor > 1;
  Job job = small_job(static_cast<int>(kLayers), 2, strategy, 32);
  job.model.linear_bias = job.model.qkv_bias = false;
  job.framework = test::framework_named("megatron-core");
  job.training.adapters = adapters;
  return job;
}

// Elements of the block's largest parameter.
double largest_parameter(const PartitionedBlock& block) {
  double out = 0;
  for (const ParameterShard& shard : block.parameters) out = std::max(out, shard.elements);
  return out;
}

LowRankAdapters all_layers() { return {kRank, 0, true, true, true, true}; }

}  // namespace

TEST_CASE("only adapters are trained: r (in + out) elements beside each linear layer") {
  const auto trained = [](const LowRankAdapters& adapters) {
    const auto simulation = simulate(adapted(adapters));
    return simulation.plans[0].parameters.elements;
  };
  const double qkv = kRank * (kHidden + 3 * kHidden);
  const double output = kRank * 2 * kHidden;
  const double mlp = kRank * (kHidden + kFfn);
  CHECK(trained({kRank, 0, true, true, false, false}) == kLayers * (qkv + output));
  CHECK(trained({kRank, 0, false, false, true, false}) == kLayers * mlp);
  CHECK(trained(all_layers()) == kLayers * (qkv + output + 2 * mlp));
}

TEST_CASE("frozen parameters are held at the model's precision and nothing more") {
  const auto whole = simulate(adapted({}));
  const auto simulation = simulate(adapted(all_layers()));
  const StageParameters& held = simulation.plans[0].parameters;
  CHECK(held.frozen_elements == whole.plans[0].parameters.elements);
  const MemoryUse& use = simulation.result.stages[0].memory.peak;
  CHECK(use.parameters == 2 * (held.elements + held.frozen_elements));
  CHECK(sharded_state(simulation.job, simulation.plans[0]).gradients == 4 * held.elements);
  CHECK(use.optimizer == 12 * held.elements / 16);
  CHECK(use.activations < whole.result.stages[0].memory.peak.activations);
}

TEST_CASE("no operator makes a gradient of a frozen parameter, and the embedding has no backward pass") {
  const ShardedBlocks blocks = shard_blocks(adapted(all_layers(), 4));
  for (const PartitionedBlock& block : blocks.all) {
    for (const Tensor& tensor : block.graph.tensors) {
      if (tensor.role == TensorRole::parameter_gradient) CHECK_FALSE(block.graph.tensor(tensor.of).frozen);
    }
  }
  CHECK(blocks.embedding().backward.empty());
  CHECK(blocks.embedding().kept_bytes == 0);
}

// PEFT's modules_to_save: a trained copy stands in front of the frozen module.
TEST_CASE("words and head trained whole beside adapters have gradients and states, and the frozen ones stay") {
  const auto of = [](const WholeParts& whole) {
    LowRankAdapters adapters = all_layers();
    adapters.whole = whole;
    Job job = adapted(adapters);
    job.model.tied_embeddings = false;
    return job;
  };
  const auto words = [](bool embedding, bool head) { return WholeParts{embedding, head, false, false}; };
  const auto none = simulate(of({}));
  const StageParameters& before = none.plans[0].parameters;
  const double table = largest_parameter(none.blocks.embedding());
  for (const auto& [whole, tables] :
       {std::pair(words(true, false), 1), {words(false, true), 1}, {words(true, true), 2}}) {
    const auto simulation = simulate(of(whole));
    const StageParameters& held = simulation.plans[0].parameters;
    CHECK(held.elements == before.elements + tables * table);
    CHECK(held.frozen_elements == before.frozen_elements);
    const MemoryUse& use = simulation.result.stages[0].memory.peak;
    CHECK(use.parameters == 2 * (held.elements + held.frozen_elements));
    CHECK(sharded_state(simulation.job, simulation.plans[0]).gradients == 4 * held.elements);
    CHECK(use.optimizer == 12 * held.elements / 16);
    CHECK(simulation.result.iteration_time_s > none.result.iteration_time_s);
    CHECK(shard_blocks(of(whole)).embedding().backward.empty() == !whole.embedding);
    // One product of a gradient more, of all tokens by all words.
    const double tokens = 32.0 * static_cast<double>(simulation.job.training.sequence_length);
    const double more = simulation.result.model_flop - none.result.model_flop;
    CHECK(more == doctest::Approx(whole.head ? 2 * tokens * table : 0).epsilon(1e-9));
  }
}

// 4 bits a weight, 8 for each 64 weights, 32 for each 256 of these: 0.516 bytes. QLoRA (arXiv 2305.14314, section 3)
// counts 0.5 + 0.127/8.
TEST_CASE("a base in 4 bits: its bytes, and a kernel in front of each product that reads it") {
  LowRankAdapters four = all_layers();
  four.base = FrozenBase::nf4_double;
  constexpr double bytes = 0.5 + 1.0 / 64 + 4.0 / (64 * 256);
  CHECK(bytes == doctest::Approx(0.5 + 0.127 / 8).epsilon(1e-4));
  const double linear = kLayers * (4 * kHidden * kHidden + 2 * kHidden * kFfn);
  const auto wide = simulate(adapted(all_layers()));
  const auto narrow = simulate(adapted(four));
  const auto held = [](const auto& of) { return of.result.stages[0].memory.peak.parameters; };
  CHECK(held(wide) - held(narrow) == doctest::Approx(linear * (2 - bytes)).epsilon(1e-12));
  CHECK(narrow.result.model_flop == wide.result.model_flop);
  CHECK(narrow.result.iteration_time_s > wide.result.iteration_time_s);

  const ShardedBlocks blocks = shard_blocks(adapted(four));
  const OperatorGraph& graph = blocks.layer().graph;
  std::map<Phase, double> widened;
  for (const Operator& op : graph.operators) {
    if (!op.name.starts_with("widen_")) continue;
    CHECK(op.launches == 2);
    CHECK(graph.tensor(op.outputs[0].tensor).bytes_per_element == 2);
    CHECK(graph.tensor(op.inputs[0].tensor).bytes_per_element == bytes);
    widened[op.phase] += static_cast<double>(graph.elements(op.inputs[0].tensor));
  }
  CHECK(widened[Phase::forward] == linear / kLayers);
  CHECK(widened[Phase::activation_gradient] == linear / kLayers);
  CHECK(widened.size() == 2);
}

TEST_CASE("bases of one constant for 64 weights, and of 8 bits") {
  CHECK(frozen_weights(FrozenBase::nf4).bytes == 0.5625);
  CHECK(frozen_weights(FrozenBase::int8).bytes == 1);
  CHECK(frozen_weights(FrozenBase::as_trained).bytes == 0);
}

// ZeRO-3: every replica keeps an eighth of the frozen weights, and gathers them in 4 bits.
TEST_CASE("replicas divide a base in 4 bits by its bytes") {
  LowRankAdapters four = all_layers();
  four.base = FrozenBase::nf4;
  const auto frozen = [](const LowRankAdapters& adapters) {
    Job job = adapted(adapters);
    job.framework = test::framework_named("huggingface-fsdp");
    job.strategy.zero = 3;
    return simulate(job).plans[0].parameters.frozen_elements;
  };
  const double linear = kLayers * (4 * kHidden * kHidden + 2 * kHidden * kFfn);
  CHECK(frozen(all_layers()) - frozen(four) == doctest::Approx(linear * (1 - 0.5625 / 2)).epsilon(1e-12));
}

TEST_CASE("FLOPs: two products of a frozen weight where a trained one has three") {
  const double tokens = 32.0 * 512;
  const double layer_weights = 4 * kHidden * kHidden + 2 * kHidden * kFfn;
  const double frozen = kLayers * layer_weights + 8192 * kHidden;
  const double low_rank = kLayers * kRank * (4 * kHidden + 2 * kHidden + 2 * (kHidden + kFfn));
  const double attention = kLayers * 2 * 512 * kHidden;  // scores and context, multiplications per token
  const double expected = 2 * tokens * (2 * frozen + 3 * low_rank + 3 * attention);
  for (const int tensor : {1, 4}) {
    CHECK(simulate(adapted(all_layers(), tensor)).result.model_flop == doctest::Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("tensor ranks: adapters add exchanges of rank r only") {
  const auto bytes = [](const LowRankAdapters& adapters) {
    const ShardedBlocks blocks = shard_blocks(adapted(adapters, 4));
    double most = 0;
    double sum = 0;
    for (const BlockStep& step : blocks.layer().forward) {
      if (step.kind != BlockStep::Kind::collective) continue;
      sum += step.bytes;
      const OperatorGraph& graph = blocks.layer().graph;
      const std::string& last = graph.info(graph.tensor(step.tensor).axes.back()).name;
      if (last.ends_with("rank")) most = std::max(most, step.bytes);
    }
    return std::pair(sum, most);
  };
  const auto [alone, none] = bytes({});
  const auto [beside, largest] = bytes(all_layers());
  CHECK(none == 0);
  CHECK(largest == 2.0 * 512 * kRank);
  CHECK(beside == alone + 4 * largest);
}

TEST_CASE("sequence parallelism: an adapter beside qkv gathers all tokens and scatters their gradient, NeMo's way") {
  LowRankAdapters adapters;
  adapters.rank = kRank;
  adapters.dropout = 0.1;  // else what qkv itself gathers serves both
  adapters.query_key_value = true;
  const auto block = [](const LowRankAdapters& beside) {
    Job job = adapted(beside, 4);
    job.strategy.sequence_parallel = true;
    return shard_blocks(job).layer();
  };
  const auto moved = [](const std::vector<BlockStep>& steps) {
    std::map<CollectiveKind, double> bytes;
    for (const BlockStep& step : steps) {
      if (step.kind == BlockStep::Kind::collective) bytes[step.collective] += step.bytes;
    }
    return bytes;
  };
  const PartitionedBlock alone = block({});
  const PartitionedBlock beside = block(adapters);
  const double hidden = static_cast<double>(beside.graph.extent(beside.graph.axis("hidden")));
  const double tokens = static_cast<double>(beside.graph.extent(beside.graph.axis("sequence")));
  const double whole = 2 * tokens * hidden;
  const double low = 2 * tokens * kRank;
  auto before = moved(alone.forward);
  auto after = moved(beside.forward);
  CHECK(after[CollectiveKind::all_gather] - before[CollectiveKind::all_gather] == doctest::Approx(whole + low));
  before = moved(alone.backward);
  after = moved(beside.backward);
  CHECK(after[CollectiveKind::reduce_scatter] - before[CollectiveKind::reduce_scatter] == doctest::Approx(whole + low));
}

namespace {

// PEFT's DoRA under DeepSpeed, which makes adapters 16 bits, or without it, beside which they are fp32.
Job decomposed(bool is, double dropout, const char* framework = "huggingface-deepspeed") {
  LowRankAdapters adapters = all_layers();
  adapters.dropout = dropout;
  adapters.decomposed = is;
  Job job = adapted(adapters);
  job.strategy.zero = framework == std::string("huggingface") ? 0 : 2;
  job.framework = test::framework_named(framework);
  return job;
}

double flop_of(const Job& job) {
  const Lowered lowered(job);
  const PartitionedBlock& layer = lowered.blocks.all[1];
  double flop = 0;
  for (const std::vector<BlockStep>* steps : {&layer.forward, &layer.backward}) {
    for (const BlockStep& step : *steps) {
      if (step.kind != BlockStep::Kind::kernel) continue;
      flop += lowered.plans.front().costs.kernels.price(layer, step).flop;
    }
  }
  return flop;
}

}  // namespace

TEST_CASE("DoRA trains a magnitude for each column of a weight, too") {
  const auto trained = [](bool is) { return simulate(decomposed(is, 0)).plans[0].parameters.elements; };
  CHECK(trained(true) - trained(false) == kLayers * (3 * kHidden + kHidden + kFfn + kHidden));
}

// A unit matrix of in x in through both products of the adapter: 2 in in r + 2 in r out, forward only. Queries, keys
// and values have weights of their own.
TEST_CASE("DoRA multiplies a unit matrix by the adapter's weights in each forward pass") {
  double expected = 0;
  const std::pair<double, double> weights[] = {{kHidden, kHidden}, {kHidden, kHidden}, {kHidden, kHidden},
                                               {kHidden, kHidden}, {kHidden, kFfn},    {kFfn, kHidden}};
  for (const auto& [in, out] : weights) expected += 2 * kRank * in * (in + out);
  CHECK(flop_of(decomposed(true, 0)) - flop_of(decomposed(false, 0)) == doctest::Approx(expected));
}

// Dropout changes x, so x W is computed again, and its gradient: two products more, of all tokens.
TEST_CASE("DoRA with dropout multiplies by each weight twice") {
  const Job job = decomposed(true, 0.1);
  const double tokens = static_cast<double>(job.training.sequence_length) * job.strategy.micro_batch;
  const double weights = kHidden * 3 * kHidden + kHidden * kHidden + 2 * kHidden * kFfn;
  const double more =
      (flop_of(job) - flop_of(decomposed(false, 0.1))) - (flop_of(decomposed(true, 0)) - flop_of(decomposed(false, 0)));
  CHECK(more == doctest::Approx(2 * 2 * tokens * weights));
}

TEST_CASE("DoRA takes longer and keeps more than LoRA, and longest with adapters in fp32") {
  for (const char* framework : {"huggingface-deepspeed", "huggingface"}) {
    const Simulation with = simulate(decomposed(true, 0.05, framework));
    const Simulation without = simulate(decomposed(false, 0.05, framework));
    CHECK(with.result.iteration_time_s > 1.1 * without.result.iteration_time_s);
    CHECK(with.result.stages[0].memory.peak.activations > without.result.stages[0].memory.peak.activations);
  }
}

}  // namespace adapters_test
