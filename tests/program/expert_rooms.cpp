// Rooms of a fixed size for experts' rows, and pages for what experts keep: bytes and seconds by hand, and what may not
// change.

#include "program/expert_room.hpp"

#include "engine/execute.hpp"
#include "job_fixture.hpp"
#include "program/expert_load.hpp"
#include "program/memory.hpp"
#include "program/optimizer_offload.hpp"
#include "simulation/prediction_range.hpp"
#include "strategy/expert_room_rules.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace expert_rooms_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr double kTokens = 2048;
constexpr double kHidden = 1024;
constexpr double kFfn = 512;
constexpr double kRows = 2 * kTokens;  // of a rank with evenly chosen experts: two for each of its tokens
constexpr int kLayers = 4;

// A GPT of 4 layers (hidden 1024) with 16 experts of width 512, of which a token visits 2, on 8 ranks of an HGX B200.
Job job_with(double capacity, double stash = 0, double stash_host = 0, const char* precision = "mxfp8") {
  Strategy strategy = sized(1, 8, 1);
  strategy.zero = 1;
  strategy.expert = 8;
  strategy.expert_tensor = 1;
  strategy.expert_dispatcher = ExpertDispatcher::hybrid_ep;
  strategy.expert_rank_capacity = capacity;
  strategy.expert_stash = stash;
  strategy.expert_stash_host = stash_host;
  Job job = small_job(kLayers, 1, strategy, 32);
  job.model.mixture = {.experts = 16, .per_token = 2, .ffn = static_cast<std::int64_t>(kFfn)};
  job.training.sequence_length = job.model.max_sequence = static_cast<std::int64_t>(kTokens);
  job.training.precision = precision;
  job.training.framework = "megatron-core";
  job.framework = framework_named("megatron-core");
  job.cluster = cluster_of("hgx-b200", 1);
  return job;
}

Job in_stages(Job job, int stages, int microbatches = 4) {
  job.strategy.pipeline = stages;
  job.training.global_batch = std::int64_t{job.strategy.data} * microbatches;
  job.cluster = cluster_of("hgx-b200", stages);
  return job;
}

Job with_tokens(Job job, std::vector<double> tokens) {
  Perturbations perturbations;
  perturbations.experts = ExpertPopularity{0, std::move(tokens)};
  return perturbed_by(std::move(job), perturbations);
}

StageMemory memory_of(const Job& job, std::size_t stage = 0) {
  const ShardedBlocks blocks = shard_blocks(job);
  std::vector<StagePlan> plans = plan_stages(job, blocks);
  order_passes(job, blocks, plans);
  return account_memory(job, blocks, plans)[stage];
}

BlockMemory layer_of(const Job& job) {
  const ShardedBlocks blocks = shard_blocks(job);
  return memory_of_blocks(job, blocks)[static_cast<std::size_t>(blocks.layer_id(0))];
}

double seconds(const Job& job) { return simulate(job).result.iteration_time_s; }

// Bytes of a row that experts keep. In mxfp8: the row and the activation in 8 bits with a scale for 32 values, what the
// activation reads in 16 bits, and a weight in 32 bits.
constexpr double kKeptOfRow = (kHidden + kFfn) * (1 + 1.0 / 32) + 2 * kFfn + 4;

}  // namespace

TEST_CASE("what experts keep takes memory for all rows that there is room for") {
  const BlockMemory plain = layer_of(job_with(0));
  for (const double capacity : {1.0, 1.5, 4.0}) {
    const BlockMemory roomy = layer_of(job_with(capacity));
    CHECK(roomy.kept - plain.kept == doctest::Approx((capacity - 1) * kRows * kKeptOfRow));
  }
  CHECK(layer_of(job_with(1)).forward == plain.forward);
  CHECK(layer_of(job_with(1.5)).forward > plain.forward + 0.5 * kRows * kKeptOfRow);
  CHECK(layer_of(job_with(1.5)).backward > plain.backward + 0.5 * kRows * kKeptOfRow);
}

TEST_CASE("the fullest rank has the same room as all others") {
  std::vector<double> tokens(16, 1);
  tokens[3] = 2;
  const Job uneven = with_tokens(job_with(1.5), tokens);
  CHECK(expert_load(uneven) > 1.1);
  CHECK(layer_of(uneven).kept == doctest::Approx(layer_of(job_with(1.5)).kept));
  CHECK(layer_of(with_tokens(job_with(0), tokens)).kept < layer_of(uneven).kept);
}

TEST_CASE("pages hold evenly chosen rows of all passes in flight, and the buffers are those of one layer") {
  for (const int stages : {1, 2, 4}) {
    const double in_flight = stages;
    const double layers = static_cast<double>(kLayers) / stages;
    const double rows = in_flight * layers * kRows * kKeptOfRow;
    const StageMemory kept = memory_of(in_stages(job_with(1.5), stages));
    const StageMemory paged = memory_of(in_stages(job_with(1.5, 1.1), stages));
    const double others = kept.peak.activations - 1.5 * rows;
    CHECK(paged.peak.activations == doctest::Approx(others + 1.1 * rows));
    CHECK(paged.peak.workspace - kept.peak.workspace == doctest::Approx(1.5 * kRows * kKeptOfRow));
    CHECK(paged.host == kept.host);
    const StageMemory on_both = memory_of(in_stages(job_with(1.5, 0.5, 0.7), stages));
    CHECK(on_both.peak.activations == doctest::Approx(others + 0.5 * rows));
    CHECK(on_both.host - kept.host == doctest::Approx(0.7 * rows));
  }
}

TEST_CASE("with many layers in flight, pages take less memory than the rooms themselves") {
  const Job four = in_stages(job_with(2), 4);
  const Job paged = in_stages(job_with(2, 1.1), 4);
  const Job unlimited = in_stages(job_with(0), 4);
  CHECK(memory_of(paged).peak.total() < memory_of(four).peak.total());
  CHECK(memory_of(unlimited).peak.total() < memory_of(paged).peak.total());
}

TEST_CASE("copies of a layer read and write the rows that came, at the rate of the device's memory") {
  const Lowered lowered(job_with(1.5, 1.1));
  const PartitionedBlock& layer = lowered.blocks.layer();
  const StashedRows rows = stashed_rows(lowered.job, layer, lowered.blocks.mesh);
  CHECK(rows.copied() == doctest::Approx(kRows * kKeptOfRow));
  CHECK(rows.room == doctest::Approx(1.5 * rows.copied()));
  CHECK(rows.balanced == doctest::Approx(rows.copied()));
  const StageCosts& costs = lowered.plans.front().costs;
  const StashCopies copies = stash_copies(lowered.job, rows, costs);
  double expected = 0;
  for (const double bytes : rows.filled) expected += costs.kernels.price_memory_bound(2 * bytes).seconds;
  CHECK(copies.device_s == doctest::Approx(expected));
  CHECK(copies.bytes == doctest::Approx(2 * kRows * kKeptOfRow));
  CHECK(copies.host_s == 0);
  const Job spilled = job_with(1.5, 0.75, 0.5);
  CHECK(spilled_share(spilled) == 0.25);
  CHECK(stash_copies(spilled, rows, costs).host_s ==
        doctest::Approx(host_copy_seconds(0.25 * rows.copied(), costs.hardware->hardware)));
  CHECK(stash_copies(spilled, rows, costs).bytes == doctest::Approx(0.75 * copies.bytes));
}

TEST_CASE("kernels beside copies share the memory evenly") {
  const Lowered lowered(job_with(1.5, 1.1));
  const PartitionedBlock& layer = lowered.blocks.layer();
  std::vector<const BlockStep*> steps;
  for (const BlockStep& step : layer.forward) steps.push_back(&step);
  Body body;  // every kernel takes 1 s, and moves what is set below, of a memory of 1 byte a second
  for (std::size_t i = 0; i < steps.size(); ++i) {
    body.steps.emplace_back();
    body.steps.back().device = to_picoseconds(1);
  }
  const auto lost = [&](double moved, double copies_s, double host_s = 0) {
    for (BodyStep& step : body.steps) step.bytes = moved;
    return lost_to_stash_s(layer, body, steps, {.device_s = copies_s, .host_s = host_s}, 1);
  };
  CHECK(lost(0, 2) == 0);
  CHECK(lost(0.5, 2) == doctest::Approx(0));     // half of the memory's rate is left, for as long as it takes
  CHECK(lost(1, 2) == doctest::Approx(2));       // nothing is left: all that is copied takes longer
  CHECK(lost(0.75, 1.5) == doctest::Approx(1));  // two kernels at two thirds of their pace, 0.5 s longer each
  // The next experts wait for the rest: so many kernels stand between experts and experts.
  const double window = 1e3 - lost(0, 1e3);
  CHECK(window == doctest::Approx(std::round(window)));
  CHECK(window > 5);
  CHECK(lost(0, 1, window) == doctest::Approx(1));  // copies to the host come after those on the device
  CHECK(lost(1, 0, window) == 0);                   // and take nothing of its memory that counts
  CHECK(lost_to_stash_s(layer, Body{}, {}, {.device_s = 3, .host_s = 4}, 1) == 7);  // with nothing beside
}

TEST_CASE("no host waits for counts of rows, and one call issues the products of all experts") {
  Job plain = job_with(0);
  Job roomy = job_with(1);
  const ShardedBlocks blocks = shard_blocks(plain);
  const auto waits = [&](const Job& job) {
    int count = 0;
    for (const Operator& op : blocks.layer().graph.operators) {
      count += op.phase == Phase::forward && host_waits_before(job, op) ? 1 : 0;
    }
    return count;
  };
  CHECK(waits(plain) == 1);
  CHECK(waits(roomy) == 0);
  CHECK(seconds(roomy) < seconds(plain));
  // In one graph nothing waited before either, so that a room as large as the rows changes nothing.
  plain.training.cuda_graphs.iteration = roomy.training.cuda_graphs.iteration = true;
  CHECK(seconds(roomy) == seconds(plain));
}

TEST_CASE("activations that no joined kernel computes run over all rows that there is room for") {
  const auto activation_s = [](const Job& job) {
    const Lowered lowered(job);
    const PartitionedBlock& layer = lowered.blocks.layer();
    const Body& body = lowered.plans.front().bodies_of(lowered.blocks.layer_id(0)).forward;
    double out = 0;
    for (std::size_t i = 0; i < layer.forward.size(); ++i) {
      if (layer.forward[i].kind != BlockStep::Kind::kernel) continue;
      const Operator& op = layer.graph.op(layer.forward[i].op);
      const std::optional<Tag> tag = layer.graph.find_tag("moe_act");
      if (tag && op.tags.contains(*tag)) out += to_seconds(body.steps[i].device);
    }
    return out;
  };
  const auto graphs = [](Job job) {
    job.training.cuda_graphs.iteration = true;
    return job;
  };
  const double once = activation_s(graphs(job_with(1, 0, 0, "bf16")));
  const double four = activation_s(graphs(job_with(4, 0, 0, "bf16")));
  CHECK(once == activation_s(graphs(job_with(0, 0, 0, "bf16"))));
  CHECK(four > 1.5 * once);
  CHECK(four < 4.5 * once);
  CHECK(activation_s(graphs(job_with(4))) == activation_s(graphs(job_with(0))));
}

TEST_CASE("a larger room never takes less memory or time, nor do pages less time") {
  for (const char* const precision : {"bf16", "mxfp8"}) {
    double memory = 0;
    double time = 0;
    for (const double capacity : {1.0, 1.25, 2.0, 4.0, 8.0}) {
      const Job job = job_with(capacity, 0, 0, precision);
      CHECK(memory_of(job).peak.total() >= memory);
      CHECK(seconds(job) >= time);
      memory = memory_of(job).peak.total();
      time = seconds(job);
    }
  }
  CHECK(seconds(job_with(2, 1.1)) >= seconds(job_with(2)));
  CHECK(seconds(job_with(2, 0.5, 0.7)) >= seconds(job_with(2, 1.1)));
  const auto on_slow_link = [](Job job) {
    std::vector<NodeAllotment> nodes;
    for (const NodeGroup& group : job.cluster.groups()) {
      nodes.push_back(group);
      nodes.back().hardware.host_link.bandwidth.value /= 1000;
    }
    job.cluster = Cluster(nodes, job.cluster.fabric());
    return job;
  };
  CHECK(seconds(on_slow_link(job_with(2, 0.5, 0.7))) > 2 * seconds(job_with(2, 1.1)));
  CHECK(seconds(on_slow_link(job_with(2, 1.1))) == seconds(job_with(2, 1.1)));
}

TEST_CASE("the range ends where no kernel runs beside copies") {
  const Job job = job_with(1.5, 1.1);
  const IterationResult result = simulate(job).result;
  const double share = unhidden_stash_share(job, result.iteration_time_s);
  const Lowered lowered(job);
  const StashedRows rows = stashed_rows(job, lowered.blocks.layer(), lowered.blocks.mesh);
  const double alone = stash_copies(job, rows, lowered.plans.front().costs).alone_s();
  const double all = 4.0 * 2 * kLayers * alone;  // microbatches, passes, layers
  CHECK(share > 0);
  CHECK(share <= all / result.iteration_time_s);
  CHECK(unhidden_stash_share(job_with(1.5), result.iteration_time_s) == 0);
}

TEST_CASE("all ranks and folded ranks take the same time, whole passes and kernels alike") {
  for (const int stages : {1, 2}) {
    const Lowered lowered(in_stages(job_with(1.5, 1.1), stages));
    LoweringOptions ranks;
    ranks.unfolded = true;
    LoweringOptions operators;
    operators.operators = true;
    const auto time = [&](const LoweringOptions& options) {
      std::vector<StagePlan> plans = lowered.plans;
      order_passes(lowered.job, lowered.blocks, plans);
      return execute(lower(lowered.job, lowered.blocks, plans, options)).makespan;
    };
    const auto folded = time({});
    CHECK(time(ranks) == folded);
    CHECK(time(operators) == folded);
  }
}

TEST_CASE("what cannot have rooms or pages is refused at its key") {
  const auto refused = [](const Job& job) {
    const auto found = experts_have_room({job.model, job.training, job.framework, job.strategy, 8});
    return found ? found->key : std::string();
  };
  const auto changed = [&](auto change, double stash = 0) {
    Job job = job_with(1.5, stash);
    change(job);
    return refused(job);
  };
  const std::string room = "strategy.expert_rank_capacity";
  const std::string pages = "strategy.expert_stash";
  CHECK(refused(job_with(0)).empty());
  CHECK(refused(job_with(1.5)).empty());
  CHECK(refused(job_with(1.5, 1.1)).empty());
  CHECK(refused(job_with(8)).empty());
  CHECK(refused(job_with(8.5)) == room);  // all tokens of 8 ranks choose both experts of one
  CHECK(refused(job_with(0, 1.1)) == pages);
  CHECK(refused(job_with(1.5, 0, 1)) == "strategy.expert_stash_host");
  CHECK(refused(job_with(1.5, 0.5)) == pages);
  CHECK(refused(job_with(1.5, 0.5, 0.5)).empty());
  CHECK(refused(job_with(1.5, 1.1, 0, "bf16")) == pages);
  CHECK(changed([](Job& job) { job.strategy.expert = 1; }) == room);
  CHECK(changed([](Job& job) { job.strategy.expert_dispatcher = ExpertDispatcher::deep_ep; }) == room);
  CHECK(changed([](Job& job) { job.strategy.expert_tensor = 2; }) == room);
  CHECK(changed([](Job& job) { job.training.expert_capacity_factor = 1.25; }) == room);
  CHECK(changed([](Job& job) { job.model.mixture = {}; }) == room);
  CHECK(changed([](Job& job) { job.framework = framework_named("torchtitan"); }) == room);
  CHECK(changed([](Job& job) { job.strategy.offload_layers = 1; }).empty());
  CHECK(changed([](Job& job) { job.strategy.offload_layers = 1; }, 1.1) == pages);
  CHECK(changed([](Job& job) { job.strategy.recompute = Recompute::full; }, 1.1) == pages);
  CHECK(changed([](Job& job) { job.strategy.offload_modules.set(5); }, 1.1) == pages);
  CHECK(changed([](Job& job) { job.strategy.overlap_expert = true; }, 1.1) == pages);
}

}  // namespace expert_rooms_test
