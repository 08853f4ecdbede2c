// Two passes beside each other.

#include "program/paired_bodies.hpp"

#include "cluster/catalog.hpp"
#include "model/model_loader.hpp"
#include "program/stage_plan.hpp"
#include "support/frameworks.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace mirfak;

namespace {

BodyStep step(const char* name, StreamKind stream, Picoseconds device, std::vector<int> after) {
  BodyStep out;
  out.name = name;
  out.stream = stream;
  out.device = device;
  out.after = std::move(after);
  return out;
}

Picoseconds on(const Body& body, bool compute) {
  Picoseconds sum = 0;
  for (const BodyStep& each : body.steps) sum += (each.stream == StreamKind::compute) == compute ? each.device : 0;
  return sum;
}

}  // namespace

TEST_CASE("what one of a pair sends hides behind the kernels of the other") {
  // A: kernel 2, communication 6 of it, kernel 2. B: kernel 1, communication 3 of it, kernel 5.
  const Body a{{step("a1", StreamKind::compute, 2, {}), step("ac", StreamKind::expert, 6, {0}),
                step("a2", StreamKind::compute, 2, {1})}};
  const Body b{{step("b1", StreamKind::compute, 1, {}), step("bc", StreamKind::expert, 3, {0}),
                step("b2", StreamKind::compute, 5, {1})}};
  const PairedBody paired = pair_bodies(a, b);
  // b1 0-1 reaches its communication first (bc 1-4), a1 1-3, ac 4-10 behind bc, b2 4-9, a2 10-12.
  CHECK(fold(paired.body).device == 12);
  CHECK(fold(a).device == 10);
  CHECK(fold(b).device == 9);
  std::string order;
  for (const BodyStep& each : paired.body.steps) order += each.name + " ";
  CHECK(order == "b1 bc a1 ac b2 a2 ");
  CHECK(paired.origins.front().backward);
  CHECK(paired.origins.front().step == 0);
}

TEST_CASE("a kernel beside a collective that holds multiprocessors takes longer") {
  Body a{{step("ac", StreamKind::expert, 1'000'000, {})}};
  a.steps.front().held_share = 0.25;
  const Body b{{step("b", StreamKind::compute, 3'000'000, {})}};
  // A quarter of the device is missing for 1 of the time: a quarter of 1 is made up for at the end.
  CHECK(fold(pair_bodies(a, b).body).device == 3'250'000);
}

TEST_CASE("four layers of DeepSeek-V3 each way on 64 H800: communication hides") {
  const std::string& root = source_root();
  ModelSpec model = load_model("deepseek-v3", root + "/models", {"test", 0, 0});
  model.layers = 8;
  model.mixture.first_dense = 0;
  model.prediction_layers = 0;
  TrainingSpec training;
  training.global_batch = 64 * 4;
  training.sequence_length = 4096;
  training.precision = "fp8-block";
  training.framework = "megatron-core";
  training.cuda_graphs.iteration = true;
  Strategy strategy;
  strategy.schedule = schedule_named("dualpipe-v");
  strategy.virtual_pipeline = 2;
  strategy.data = strategy.expert = 64;
  strategy.expert_tensor = 1;
  strategy.expert_dispatcher = ExpertDispatcher::deep_ep;
  const Cluster cluster({{Catalog(root + "/hw_profiles").node("hgx-h800"), 8, std::nullopt}}, default_fabric());
  const Job job{model, cluster, training, strategy, test::framework_named("megatron-core")};
  const ShardedBlocks blocks = shard_blocks(job);
  const std::vector<StagePlan> plans = plan_stages(job, blocks);
  const BlockBodies& layer = plans.front().bodies_of(blocks.layer_id(0));
  const Body pair = pair_bodies(layer.forward, layer.backward).body;
  const Picoseconds span = fold(pair).device;
  const Picoseconds communication = on(pair, false);
  const Picoseconds apart = layer.folded_forward.device + layer.folded_backward.device;
  MESSAGE("four layers: " << 4e3 * to_seconds(span) << " ms (profile: 129.0), apart " << 4e3 * to_seconds(apart)
                          << " ms, communication " << 4e3 * to_seconds(communication) << " ms, kernels "
                          << 4e3 * to_seconds(on(pair, true)) << " ms");
  CHECK(span >= on(pair, true));
  CHECK(span <= apart);
  // The profile (deepseek-ai/profile-data, train): 129.0 ms, kernels of some 124; exchanges of some 80 without those
  // that wait for counts, of which 4.2 show. 0.88 while kernels after a collective that had ended lost time to it.
  CHECK(4 * to_seconds(span) > 0.87 * 0.129);
  CHECK(4 * to_seconds(span) < 1.05 * 0.129);
  CHECK(4 * to_seconds(communication) > 0.9 * 0.080);
  CHECK(4 * to_seconds(communication) < 1.1 * 0.080);
  CHECK(to_seconds(span - on(pair, true)) <= 0.25 * to_seconds(communication));
}
