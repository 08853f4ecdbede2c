// Memory of a running block of the small GPT: hidden h = 1024, sequence s = 512, vocabulary V = 8192, 16 bits.

#include "program/block_memory.hpp"

#include "job_fixture.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr double kHidden = 1024, kTokens = 512, kVocabulary = 8192;
constexpr double kStream = 2 * kTokens * kHidden;  // bytes of the residual stream

Job job_with(const Strategy& strategy, const char* framework = "megatron-lm-2021") {
  Job job = small_job(8, 2, strategy, 16);
  job.training.framework = framework;
  job.framework = test::framework_named(framework);
  return job;
}

Strategy replicas(Recompute recompute = Recompute::none) {
  Strategy strategy;
  strategy.data = 16;
  strategy.recompute = recompute;
  return strategy;
}

BlockMemory memory_of(const Job& job, const PartitionedBlock& block) {
  return block_memory(block, mesh_of(job.strategy), job.framework);
}

BlockMemory head_memory(const char* framework) {
  const Job job = job_with(replicas(), framework);
  return memory_of(job, shard_blocks(job).head());
}

BlockMemory layer_memory(Recompute recompute) {
  const Job job = job_with(replicas(recompute));
  return memory_of(job, shard_blocks(job).layer());
}

}  // namespace

// The widest step of a head's backward pass is the product of the weight's gradient: it is made whole before it is
// added to the buffer, from the logits' gradient and the norm's result, beside the norm's input and its result's
// gradient.
constexpr double kWeightGradient = 2 * kVocabulary * kHidden;

TEST_CASE("a loss of several kernels keeps the softmax in fp32 and needs the logits beside it, and copies of them") {
  const BlockMemory head = head_memory("megatron-lm-2021");
  const double logits = kTokens * kVocabulary;
  CHECK(head.kept == doctest::Approx(4 * logits + 2 * kStream).epsilon(0.01));  // and the norm's input and result
  CHECK(head.forward == doctest::Approx((2 + 4 + 4) * logits + 2 * kStream).epsilon(0.01));  // 4: the logits in fp32
  CHECK(head.backward == doctest::Approx(kWeightGradient + 2 * logits + 3 * kStream).epsilon(0.01));
}

TEST_CASE("a fused loss writes the gradient over the logits: nothing is made beside them") {
  const BlockMemory head = head_memory("pytorch-fsdp-compiled");
  const double logits = kTokens * kVocabulary;
  CHECK(head.kept == doctest::Approx(2 * logits + 2 * kStream).epsilon(0.01));
  CHECK(head.forward == doctest::Approx(head.kept).epsilon(0.01));
  CHECK(head.backward == doctest::Approx(kWeightGradient + 2 * logits + 3 * kStream).epsilon(0.01));
}

TEST_CASE("passes hold what is kept and more; full recomputation holds what it makes again in backward only") {
  const BlockMemory none = layer_memory(Recompute::none);
  const BlockMemory full = layer_memory(Recompute::full);
  CHECK(none.forward >= none.kept);
  CHECK(none.backward > none.kept);
  CHECK(full.kept == kStream);
  CHECK(full.backward > none.kept);
  CHECK(full.backward == doctest::Approx(none.backward).epsilon(0.05));
  // No activation needs to stay, but the widest step is the same one.
  CHECK(full.forward < none.forward);
  CHECK(full.forward >= kStream * (2 + 4 + 4));  // input, sum, and an MLP's activation before and behind
}

TEST_CASE("tensor ranks hold their share, but what they gather whole") {
  Strategy strategy = replicas();
  strategy.tensor = 4;
  strategy.data = 4;
  const Job job = job_with(strategy, "megatron-core");
  strategy.sequence_parallel = true;
  const Job divided = job_with(strategy, "megatron-core");
  const BlockMemory whole = memory_of(job, shard_blocks(job).layer());
  const BlockMemory parts = memory_of(divided, shard_blocks(divided).layer());
  CHECK(parts.kept < whole.kept);
  // The gathered residual stream of a product's input is there for as long as the product runs.
  CHECK(parts.backward - parts.kept >= kStream);
}
