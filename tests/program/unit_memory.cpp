// Memory of blocks that are gathered and reduced one by one, and gradients that are freed after a step.

#include "program/unit_memory.hpp"

#include "job_fixture.hpp"
#include "program/memory.hpp"
#include "program/sharded_state.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr int kLayers = 8;
constexpr double kHidden = 1024;
constexpr double kLayer = 12 * kHidden * kHidden + 13 * kHidden;  // parameters of small_job()
constexpr double kEmbedding = (8192 + 512) * kHidden;
constexpr double kHead = 2 * kHidden;  // a norm; the projection is the embedding

Job job_of(const std::string& framework, int zero, int microbatches) {
  Strategy strategy;
  strategy.data = 16;
  strategy.zero = zero;
  Job job = small_job(kLayers, 2, strategy, 16L * microbatches);
  job.training.framework = framework;
  job.framework = test::framework_named(framework);
  return job;
}

Lowered sharded(const std::string& framework, int zero, int microbatches) {
  return Lowered(job_of(framework, zero, microbatches));
}

std::vector<UnitMemory> units_of(const Lowered& lowered) {
  return unit_memory(lowered.job, lowered.plans[0].chunks[0], lowered.plans[0].parameters.gathered_bytes_per_element);
}

MemoryUse peak_of(const Lowered& lowered) { return account_memory(lowered.job, lowered.blocks, lowered.plans)[0].peak; }

}  // namespace

TEST_CASE("two blocks are whole at once beside the root, and one block's gradients on their way") {
  const std::vector<UnitMemory> units = units_of(sharded("pytorch-fsdp", 3, 2));
  REQUIRE(units.size() == kLayers + 2);
  constexpr double root = kEmbedding + kHead;
  for (std::size_t layer = 2; layer + 2 < units.size(); ++layer) {
    CHECK(units[layer].forward == doctest::Approx(2 * (root + 2 * kLayer)));
    CHECK(units[layer].backward == doctest::Approx(2 * (root + 2 * kLayer)));
    CHECK(units[layer].reduced == doctest::Approx(2 * kLayer));  // in 16 bits, as they are reduced
    CHECK(units[layer].gradients == 0);                          // two microbatches accumulate in them
  }
  CHECK(units.back().reduced == 0);  // the head's with the embedding's, last
  CHECK(units.front().reduced == doctest::Approx(2 * root));
}

TEST_CASE("a buffer in the precision of the reduction, of the block or of the one that ran before") {
  Job job = job_of("torchtitan", 3, 1);
  job.framework.sharding.root_unit = false;
  const std::vector<UnitMemory> units = units_of(Lowered(job));
  CHECK(units[4].reduced == doctest::Approx((2 + 4) * kLayer));
  CHECK(units.front().reduced == doctest::Approx(2 * kEmbedding + 4 * std::max(kEmbedding, kLayer)));
  CHECK(units[4].forward == doctest::Approx(2 * 2 * kLayer));
  CHECK(units.front().forward == doctest::Approx(2 * (kEmbedding + kLayer)));
}

TEST_CASE("stage 2 keeps what it gathers, and reduces block by block") {
  const std::vector<UnitMemory> units = units_of(sharded("pytorch-fsdp", 2, 2));
  for (const UnitMemory& unit : units) CHECK(unit.forward + unit.backward == 0);
  CHECK(units[3].reduced == doctest::Approx(2 * kLayer));
}

TEST_CASE("gradients come block by block: all of them are there when the pass is over, and none before") {
  for (const char* framework : {"pytorch-fsdp", "torchtitan"}) {
    for (const int zero : {2, 3}) {
      CAPTURE(framework);
      CAPTURE(zero);
      const Lowered lowered = sharded(framework, zero, 1);
      const MemoryUse state = sharded_state(lowered.job, lowered.plans[0]);
      double sum = 0;
      for (const UnitMemory& unit : units_of(lowered)) sum += unit.gradients;
      CHECK(sum == doctest::Approx(state.gradients));
      const auto blocks = memory_of_blocks(lowered.job, lowered.blocks);
      const ChunkMemory chunk = chunk_memory(lowered.job, blocks, lowered.plans[0].chunks[0], 2);
      CHECK(chunk.gradients == doctest::Approx(state.gradients));
      CHECK(chunk.forward.missing == chunk.gradients);
      CHECK(chunk.backward.missing <= chunk.gradients);
      CHECK(chunk.backward.missing > 0);
      // With a second microbatch they are there from the first on, so there is more.
      const Lowered twice = sharded(framework, zero, 2);
      CHECK(peak_of(lowered).total() < peak_of(twice).total());
      CHECK(peak_of(twice).gradients == state.gradients);
    }
  }
}

TEST_CASE("software that keeps its gradients has them all the time") {
  Lowered lowered = sharded("torchtitan", 3, 1);
  const MemoryUse freed = peak_of(lowered);
  lowered.job.framework.memory.frees_gradients = false;
  const MemoryUse kept = peak_of(lowered);
  CHECK(kept.gradients == sharded_state(lowered.job, lowered.plans[0]).gradients);
  CHECK(freed.total() < kept.total());
  CHECK(units_of(sharded("megatron-core", 1, 1)).empty());
  CHECK(units_of(sharded("deepspeed", 3, 1)).empty());  // gathers single parameters
}

TEST_CASE("a lone rank gathers and reduces where its framework says so") {
  Strategy strategy;
  strategy.zero = 3;
  Job job = small_job(kLayers, 1, strategy, 1);
  job.framework = test::framework_named("torchtitan");
  const Lowered alone(job);
  CHECK(gathers_by_blocks(alone.job));
  const MemoryUse state = sharded_state(alone.job, alone.plans[0]);
  CHECK(state.parameters == doctest::Approx(4 * alone.plans[0].parameters.elements));
  job.framework.sharding.alone = false;
  CHECK_FALSE(gathers_by_blocks(job));
  CHECK(Lowered(job).program().size() < alone.program().size());
}
