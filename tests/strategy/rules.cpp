#include "strategy/rules.hpp"

#include "strategy/state_rules.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <array>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

struct Setting {
  ModelSpec model;
  TrainingSpec training;
  Framework framework = test::framework_named("megatron-core");
  Strategy strategy;
  int gpus = 64;

  RuleInput input() const { return {model, training, framework, strategy, gpus}; }
  std::string broken() const {
    const auto violation = first_violation(input());
    return violation ? violation->key : "";
  }
};

// 24 layers, 16 heads; tp 4, pp 4, dp 4 on 64 GPUs, 16 microbatches.
Setting valid() {
  Setting s;
  s.model.layers = 24;
  s.model.heads = s.model.kv_heads = 16;
  s.model.hidden = 2048;
  s.model.head_dim = 128;
  s.model.ffn = 8192;
  s.model.vocab = 50000;
  s.model.max_sequence = 1 << 20;
  s.training.global_batch = 64;
  s.training.sequence_length = 1024;
  s.strategy.tensor = s.strategy.pipeline = s.strategy.data = 4;
  return s;
}

}  // namespace

TEST_CASE("a valid strategy breaks no rule") { CHECK(valid().broken().empty()); }

TEST_CASE("each broken rule names the key to change") {
  Setting s = valid();
  SUBCASE("GPUs") {
    s.gpus = 60;
    CHECK(s.broken() == "strategy.tensor");
  }
  SUBCASE("more layers than there are") {
    s.strategy.recompute = Recompute::full;
    s.strategy.recompute_layers = 6;
    s.strategy.offload_layers = 0;
    CHECK(s.broken().empty());
    s.strategy.recompute_layers = 7;  // of chunks of 6
    CHECK(s.broken() == "strategy.recompute_layers");
    s.strategy.recompute_layers = 0;
    s.strategy.pipeline = 1;
    s.strategy.data = 16;
    s.strategy.offload_layers = 24;
    CHECK(s.broken().empty());
    s.strategy.offload_layers = 25;
    CHECK(s.broken() == "strategy.offload_layers");
  }
  SUBCASE("more tokens than learned positions") {
    s.model.max_sequence = 1024;
    CHECK(s.broken().empty());
    s.model.max_sequence = 512;
    CHECK(s.broken() == "training.sequence_length");
    s.model.position = PositionEncoding::rotary;
    CHECK(s.broken().empty());
  }
  SUBCASE("adapters wider than the model") {
    s.training.adapters.rank = 2048;
    CHECK(s.broken().empty());
    s.training.adapters.rank = 4096;
    CHECK(s.broken() == "training.lora");
  }
  SUBCASE("frozen weights in few bits where the framework has none") {
    s.training.adapters.rank = 16;
    s.training.adapters.base = FrozenBase::nf4;
    CHECK(s.broken() == "training.lora.base");
    s.framework.adapters.narrow_bases = true;
    CHECK(s.broken().empty());
    s.training.precision = "fp8-block";
    CHECK(s.broken() == "training.lora.base");
  }
  SUBCASE("what the framework does not implement") {
    s.framework.parallelism.pipeline = false;
    CHECK(s.broken() == "strategy.pipeline");
    s.strategy.pipeline = 1;
    s.strategy.data = 16;
    CHECK(s.broken().empty());
    s.framework.parallelism.tensor = false;
    CHECK(s.broken() == "strategy.tensor");
  }
  SUBCASE("replicas' microbatches") {
    s.strategy.replica_microbatches = {16, 16, 16, 16};
    CHECK(s.broken().empty());
    s.strategy.replica_microbatches = {24, 24, 8, 8};
    CHECK(s.broken().empty());
    CHECK(microbatches(s.strategy, s.training) == 24);
    CHECK(microbatches(s.strategy, s.training, 3) == 8);
    s.training.global_batch = 63;
    CHECK(s.broken() == "strategy.replica_microbatches");
    s.strategy.replica_microbatches = {24, 24, 8, 7};
    CHECK(s.broken().empty());
    s.framework = test::framework_named("pytorch-fsdp");
    s.strategy.pipeline = 1;
    s.strategy.tensor = 1;
    s.gpus = 4;
    for (const int zero : {0, 1, 2, 3}) {  // FSDP has no stage 1
      s.strategy.zero = zero;
      CHECK(s.broken() == (zero == 0 ? "" : zero == 1 ? "strategy.zero" : "strategy.replica_microbatches"));
    }
  }
  SUBCASE("whole groups of each replica's microbatches") {
    s.strategy.schedule = schedule_named("interleaved-1f1b");
    s.strategy.virtual_pipeline = 2;
    s.strategy.replica_microbatches = {20, 20, 12, 12};
    CHECK(s.broken().empty());
    s.strategy.replica_microbatches = {22, 18, 12, 12};
    CHECK(s.broken() == "strategy.replica_microbatches");
  }
  SUBCASE("context ranks count") {
    s.strategy.context = 2;
    CHECK(s.broken() == "strategy.data");
    s.strategy.data = 2;
    CHECK(s.broken().empty());
  }
  SUBCASE("two pieces of the sequence for each context rank") {
    s.strategy.data = 1;
    s.strategy.context = 4;
    s.training.sequence_length = 1028;
    CHECK(s.broken() == "strategy.context");
  }
  SUBCASE("all-to-all divides heads") {
    s.strategy.data = 1;
    s.strategy.context = 4;
    s.strategy.context_communication = ContextCommunication::all_to_all;
    CHECK(s.broken().empty());
    s.model.kv_heads = 8;
    CHECK(s.broken() == "strategy.context_communication");
  }
  SUBCASE("ranks left over") {
    s.strategy.data = 2;
    CHECK(s.broken() == "strategy.data");
  }
  SUBCASE("more tp than heads") {
    s.strategy = {};
    s.strategy.tensor = 32;
    s.strategy.data = 2;
    CHECK(s.broken() == "strategy.tensor");
  }
  SUBCASE("key/value heads: 6 over 4") {
    s.model.kv_heads = 6;
    CHECK(s.broken() == "strategy.tensor");
  }
  SUBCASE("key/value heads replicated: 2 to 4") {
    s.model.kv_heads = 2;
    CHECK(s.broken().empty());
  }
  SUBCASE("... where the framework replicates them") {
    s.model.kv_heads = 2;
    s.framework.parallelism.replicates_heads = false;
    CHECK(s.broken() == "strategy.tensor");
    s.model.kv_heads = 4;
    CHECK(s.broken().empty());
  }
  SUBCASE("microbatches in two parts") {
    s.strategy.nanobatches = 2;
    CHECK(s.broken() == "strategy.nanobatches");  // the framework runs them whole
    s.framework.parallelism.nanobatches = true;
    s.strategy.micro_batch = 2;
    CHECK(s.broken().empty());
    s.strategy.micro_batch = 1;
    CHECK(s.broken() == "strategy.nanobatches");
    s.strategy.micro_batch = 2;
    s.strategy.schedule = schedule_named("zb-h1");
    CHECK(s.broken() == "strategy.nanobatches");
    s.strategy.schedule = kDefaultSchedule;
    s.strategy.sequence_parallel = s.strategy.overlap_tensor = true;
    CHECK(s.broken() == "strategy.nanobatches");
    s.strategy.overlap_tensor = false;
    CHECK(s.broken().empty());
  }
  SUBCASE("all stages of a replica next to each other") {
    s.strategy.rank_order = RankOrder::data_last;
    s.framework.parallelism.data_last = false;
    CHECK(s.broken() == "strategy.rank_order");
    s.framework.parallelism.data_last = true;
    CHECK(s.broken().empty());
  }
  SUBCASE("MLP") {
    s.model.ffn = 8190;
    CHECK(s.broken() == "strategy.tensor");
  }
  SUBCASE("tokens over tensor ranks") {
    s.training.sequence_length = 1022;
    CHECK(s.broken().empty());
    s.strategy.sequence_parallel = true;
    CHECK(s.broken() == "strategy.sequence_parallel");
  }
  SUBCASE("layers") {
    s.model.layers = 26;
    CHECK(s.broken() == "strategy.pipeline");
    s.strategy.layer_split = {7, 7, 6, 6};
    CHECK(s.broken().empty());
    s.strategy.layer_split = {7, 7, 6, 7};
    CHECK(s.broken() == "strategy.layer_split");
    s.strategy.layer_split = {13, 13};
    CHECK(s.broken() == "strategy.layer_split");
  }
  SUBCASE("chunks without interleaving") {
    s.strategy.virtual_pipeline = 2;
    CHECK(s.broken() == "strategy.virtual_pipeline");
    s.strategy.schedule = schedule_named("interleaved-1f1b");
    CHECK(s.broken().empty());
  }
  SUBCASE("interleaving without stages") {
    s.strategy.pipeline = 1;
    s.strategy.data = 16;
    s.strategy.schedule = schedule_named("interleaved-1f1b");
    CHECK(s.broken() == "strategy.schedule");
  }
  SUBCASE("batch") {
    s.training.global_batch = 66;
    CHECK(s.broken() == "training.global_batch");
  }
  SUBCASE("groups of microbatches") {
    s.strategy.schedule = schedule_named("interleaved-1f1b");
    s.strategy.virtual_pipeline = 2;
    s.training.global_batch = 72;  // 18 microbatches, not a multiple of 4
    CHECK(s.broken() == "strategy.schedule");
    s.strategy.microbatch_group = 6;
    CHECK(s.broken().empty());
    s.strategy.microbatch_group = 3;
    CHECK(s.broken() == "strategy.microbatch_group");
  }
  SUBCASE("ZeRO stages of the framework") {
    s.strategy.zero = 1;
    CHECK(s.broken().empty());
    s.strategy.zero = 3;
    CHECK(s.broken() == "strategy.zero");
    s.framework = test::framework_named("pytorch-fsdp");
    CHECK(s.broken().empty());
    s.framework = test::framework_named("deepspeed");  // not beside pipeline stages
    CHECK(s.broken() == "strategy.zero");
  }
  SUBCASE("sharding groups") {
    s.strategy.zero_group = s.strategy.data;
    CHECK(s.broken() == "strategy.zero_group");
    s.strategy.zero = 1;
    CHECK(s.broken().empty());
    s.strategy.zero_group = s.strategy.data + 1;
    CHECK(s.broken() == "strategy.zero_group");
  }
  SUBCASE("groups of recomputed layers") {
    s.strategy.recompute_method = RecomputeMethod::uniform;
    CHECK(s.broken() == "strategy.recompute_method");  // nothing is recomputed
    s.strategy.recompute = Recompute::full;
    CHECK(s.broken() == "strategy.recompute_method");  // of how many layers
    s.strategy.recompute_layers = 3;
    CHECK(s.broken().empty());
    s.framework = test::framework_named("torchtitan");
    CHECK(s.broken() == "strategy.recompute_method");
    s.framework = test::framework_named("megatron-core");
    s.strategy.recompute = Recompute::selective;
    CHECK(s.broken() == "strategy.recompute_method");
    s.strategy.recompute = Recompute::full;
    s.model.prediction_layers = 1;
    CHECK(s.broken() == "strategy.recompute_method");
  }
  SUBCASE("an optimizer on the host") {
    s.strategy.offload_optimizer = 0.5;
    CHECK(s.broken() == "strategy.offload_optimizer");  // without ZeRO
    s.strategy.zero = 1;
    CHECK(s.broken().empty());
    s.training.optimizer = Optimizer::lamb;
    CHECK(s.broken() == "strategy.offload_optimizer");
    s.training.optimizer = Optimizer::adam;
    s.framework = test::framework_named("deepspeed");  // a share with ZeRO 3 alone
    CHECK(s.broken() == "strategy.offload_optimizer");
    s.strategy.offload_optimizer = 1;
    CHECK(s.broken().empty());
    s.framework = test::framework_named("pytorch-fsdp");
    CHECK(s.broken() == "strategy.offload_optimizer");
  }
  SUBCASE("Muon's whole matrices") {
    s.training.optimizer = Optimizer::muon;
    s.strategy.zero = 1;
    CHECK(s.broken().empty());
    s.strategy.zero = 2;
    CHECK(s.broken() == "strategy.zero");
  }
  SUBCASE("overlapped gathers of parameters") {
    s.strategy.overlap_param_gather = true;
    CHECK(s.broken() == "strategy.overlap_param_gather");
    s.strategy.zero = 1;
    CHECK(s.broken().empty());
  }
}

TEST_CASE("rules have distinct names and a sentence each") {
  std::set<std::string_view> names;
  for (const Rule& rule : strategy_rules()) {
    CHECK(names.insert(rule.name).second);
    CHECK(rule.sentence.back() == '.');
  }
}

TEST_CASE("chunks take the layers in the order of the model: chunk 0 of every stage, then chunk 1") {
  Setting s = valid();
  s.strategy.virtual_pipeline = 2;
  s.strategy.schedule = schedule_named("interleaved-1f1b");
  s.strategy.layer_split = {1, 2, 3, 4, 5, 4, 3, 2};
  using Chunks = std::vector<std::vector<LayerRange>>;
  CHECK(layers_of_chunks(s.strategy, s.model) ==
        Chunks{{{0, 1}, {10, 5}}, {{1, 2}, {15, 4}}, {{3, 3}, {19, 3}}, {{6, 4}, {22, 2}}});
  CHECK(microbatches(s.strategy, s.training) == 16);
}

// A rule looks at the habits, whatever the framework is called: one that nobody has a name for is no more able.
TEST_CASE("a framework of any name is held to its habits") {
  Setting s = valid();
  s.framework.name = "ours";
  s.framework.sharding.max_zero = 0;
  s.strategy.zero = 1;
  CHECK(s.broken() == "strategy.zero");
  CHECK(first_violation(s.input())->message == "ours has ZeRO up to stage 0 with pipeline stages, not 1");
  s.framework.sharding.max_zero = 1;
  CHECK(s.broken().empty());
  s.framework.offload.max_zero = 0;
  s.strategy.offload_optimizer = 1;
  CHECK(s.broken() == "strategy.offload_optimizer");
  s.strategy.offload_optimizer = 0;
  s.framework.recompute.groups = false;
  s.strategy.recompute = Recompute::full;
  s.strategy.recompute_layers = 2;
  s.strategy.recompute_method = RecomputeMethod::uniform;
  CHECK(s.broken() == "strategy.recompute_method");
}

TEST_CASE("transfers between stages: shares as the framework sends them, unless the strategy says otherwise") {
  Strategy strategy;
  strategy.tensor = 8;
  Framework framework = test::framework_named("megatron-lm-2021");
  framework.communication.scatter_gather_pipeline = true;
  CHECK(scatters_transfers(strategy, framework));
  strategy.scatter_gather = ScatterGather::off;
  CHECK_FALSE(scatters_transfers(strategy, framework));
  strategy.scatter_gather = ScatterGather::on;
  framework.communication.scatter_gather_pipeline = false;
  CHECK(scatters_transfers(strategy, framework));
  strategy.sequence_parallel = true;  // each rank has its share only, and keeps it
  CHECK_FALSE(scatters_transfers(strategy, framework));
  strategy.sequence_parallel = false;
  strategy.tensor = 1;
  CHECK_FALSE(scatters_transfers(strategy, framework));
}

namespace {

// Draws a strategy, valid or not, with a state of no account.
Setting drawn(std::mt19937& engine) {
  const auto among = [&](const std::vector<int>& of) { return of[engine() % of.size()]; };
  Setting s = valid();
  const std::vector<std::string> names = test::framework_names();
  s.framework = test::framework_named(names[engine() % names.size()]);
  s.training.optimizer = among({0, 0, 0, 1}) == 1 ? Optimizer::muon : Optimizer::adam;
  Strategy& strategy = s.strategy;
  strategy.tensor = among({1, 2, 4});
  strategy.pipeline = among({1, 1, 2, 4});
  strategy.data = s.gpus / (strategy.tensor * strategy.pipeline);
  if (among({0, 0, 1}) == 1) {
    strategy.replica_microbatches.assign(static_cast<std::size_t>(strategy.data), s.gpus / strategy.data);
    if (among({0, 1}) == 1 && strategy.data > 1) {
      --strategy.replica_microbatches.front();
      ++strategy.replica_microbatches.back();
    }
  }
  if (among({0, 1}) == 1) {
    strategy.recompute = Recompute::full;
    strategy.recompute_layers = among({0, 1, 2});
    if (among({0, 1}) == 1) strategy.recompute_method = RecomputeMethod::uniform;
  }
  strategy.zero_group = among({0, 0, 2});
  strategy.offload_parameters = among({0, 0, 0, 1}) == 1;
  return s;
}

std::string first_broken_beside_state(const RuleInput& input) {
  for (const Rule& rule : strategy_rules()) {
    if (!reads_state(rule) && rule.check(input)) return std::string(rule.name);
  }
  return "";
}

}  // namespace

TEST_CASE("rules that read no state are kept under all states or under none") {
  std::mt19937 engine(39);
  int depends_on_state = 0;
  for (int i = 0; i < 2000; ++i) {
    CAPTURE(i);
    Setting s = drawn(engine);
    const std::string broken = first_broken_beside_state(s.input());
    std::set<bool> outcomes;
    for (int state = 0; state < 48; ++state) {
      s.strategy.zero = state % 4;
      s.strategy.overlap_grad_reduce = state / 4 % 2 == 1;
      s.strategy.overlap_param_gather = state / 8 % 2 == 1;
      s.strategy.offload_optimizer = std::array{0.0, 0.5, 1.0}[static_cast<std::size_t>(state / 16)];
      CAPTURE(state);
      CHECK(first_broken_beside_state(s.input()) == broken);
      CHECK(keeps_rules(s.input(), false) == broken.empty());
      const bool kept = broken.empty() && keeps_rules(s.input(), true);
      CHECK(kept == !first_violation(s.input()));
      outcomes.insert(kept);
    }
    depends_on_state += outcomes.size() == 2 ? 1 : 0;
  }
  CHECK(depends_on_state > 500);
}
