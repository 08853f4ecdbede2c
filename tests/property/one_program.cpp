// One program, one answer: drawn scenarios, most of them of mixtures whose host waits for the rows that are routed, in
// every schedule. Neither the level of detail, nor the folding of ranks, nor factors that change nothing make another
// iteration of them.
#include "random_scenarios.hpp"

#include "base/error.hpp"
#include "program/block_memory.hpp"
#include "program/memory.hpp"
#include "simulation/laws.hpp"
#include "simulation/score.hpp"
#include "simulation/spread.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace {

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  std::string scenario() {
    const auto& [model, layers, experts] = one_of<Model>({{"gshard-moe-380m", 16, true},
                                                          {"gshard-moe-1.3b", 16, true},
                                                          {"gpt-oss-20b", 24, true},
                                                          {"moonlight-16b-a3b", 27, true},
                                                          {"llama4-scout", 48, true},
                                                          {"mixtral-8x7b", 32, true},
                                                          {"gpt3-1.3b", 24, false}});
    const int stages = layers == 27 ? one_of<int>({1, 3}) : one_of<int>({1, 2, 4});
    const int tensor = one_of<int>({1, 1, 2});
    const int context = one_of<int>({1, 1, 2});
    const int data = one_of<int>({1, 2, 4});
    const int micro_batch = one_of<int>({1, 1, 2});
    const int gpus = tensor * context * data * stages;
    std::string out = fmt::format("model: {}\ncluster:\n  nodes: {}\n", model, nodes(gpus));
    if (gpus > 8) out += "  fabric: " + fabric() + "\n";
    out += fmt::format("training: {{sequence_length: {}, global_batch: {}, precision: {}, blocking_launches: {}}}\n",
                       one_of<int>({512, 1024, 4096}), data * micro_batch * one_of<int>({2, 4, 8}),
                       one_of<std::string>({"bf16", "bf16", "fp16", "fp8"}), one_of<int>({0, 0, 0, 1}) == 1);
    out +=
        fmt::format("strategy:\n  tensor: {}\n  pipeline: {}\n  context: {}\n  micro_batch: {}\n  zero: {}\n", tensor,
                    stages, context, micro_batch, stages > 1 ? one_of<int>({0, 1}) : one_of<int>({0, 1, 2, 3}));
    out += fmt::format("  recompute: {}\n", one_of<std::string>({"none", "selective", "full"}));
    if (tensor > 1) out += "  sequence_parallel: true\n";
    if (one_of<int>({0, 1}) == 1) out += "  overlap_grad_reduce: true\n";
    if (experts) {
      out += fmt::format("  expert: {}\n  overlap_expert: {}\n", one_of<int>({1, data}), one_of<int>({0, 1}) == 1);
    }
    if (stages > 1) {
      const std::string schedule = one_of<std::string>(
          {"1f1b", "gpipe", "interleaved-1f1b", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v"});
      out += "  schedule: " + schedule + "\n";
      if (schedule == "interleaved-1f1b") out += "  virtual_pipeline: 2\n";
    }
    return out;
  }

 private:
  struct Model {
    std::string name;
    int layers = 0;
    bool experts = false;
  };

  // Draws nodes with so many GPUs: whole ones, or a part of one.
  std::string nodes(int gpus) {
    const std::string type = one_of<std::string>({"hgx-h100", "hgx-b200", "dgx-a100-80g"});
    if (gpus < 8) return fmt::format("[{{type: {}, count: 1, gpus: {}}}]", type, gpus);
    return fmt::format("[{{type: {}, count: {}}}]", type, gpus / 8);
  }

  // Draws a fabric; most have links that may be short.
  std::string fabric() {
    return one_of<std::string>({"full-bisection", "{type: torus-2d, oversubscription: 8}",
                                "{type: torus-3d, oversubscription: 4}",
                                "{type: fat-tree, leaf_ports: 8, oversubscription: 7}",
                                "{type: rail-optimized, leaf_ports: 2, oversubscription: 16}",
                                "{type: dragonfly, leaf_ports: 8, group_routers: 2, oversubscription: 3}"});
  }

  template <typename T>
  T one_of(const std::vector<T>& choices) {
    return choices[random_() % choices.size()];
  }

  std::mt19937 random_;
};

// Drawn scenarios that can run, until `enough` of them have been judged.
template <typename Judge>
void for_each_drawn(unsigned seed, int enough, const Judge& judge) {
  Draw draw(seed);
  int judged = 0;
  for (int draws = 0; judged < enough && draws < 8 * enough; ++draws) {
    const std::string text = draw.scenario();
    const std::optional<Scenario> scenario = scenario_of(text);
    if (!scenario) continue;
    CAPTURE(text);
    try {
      judge(scenario->job);
      ++judged;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
    }
  }
  CHECK(judged == enough);
}

double seconds(const Job& job, const LoweringOptions& options = {}) {
  return simulate(job, options).result.iteration_time_s;
}

double off(double found, double expected) { return std::abs(found / expected - 1); }

Job perturbed_by(Job job, Perturbations perturbations) {
  const auto groups = job.cluster.groups();
  job.cluster = Cluster({groups.begin(), groups.end()}, job.cluster.fabric(), std::move(perturbations));
  return job;
}

Distribution always(double value) { return Distribution(Distribution::Measured{value}); }

}  // namespace

TEST_CASE("folded or with all ranks, by passes or by operators: the same iteration") {
  for_each_drawn(35, 200, [](const Job& job) {
    const IterationResult folded = simulate(job).result;
    const IterationResult unfolded = simulate(job, {true, false}).result;
    CHECK(off(unfolded.iteration_time_s, folded.iteration_time_s) <= 1e-9);
    CHECK(off(unfolded.energy_j, folded.energy_j) <= 1e-9);
    CHECK(std::abs(unfolded.bubble_fraction - folded.bubble_fraction) <= 1e-9);
    CHECK(off(seconds(job, {false, true}), folded.iteration_time_s) <= 1e-6);
  });
}

// Each was another iteration for some way of writing it when such passes were folded as among others like them.
TEST_CASE("mixtures whose host waits, in schedules of every kind: the same to the picosecond") {
  const auto scenario = [](const char* model, const char* nodes, const char* training, const char* strategy) {
    return fmt::format("model: {}\ncluster: {{nodes: [{}]}}\ntraining: {}\nstrategy: {}\n", model, nodes, training,
                       strategy);
  };
  for (const std::string& text : {
           scenario("gshard-moe-70b", "{type: dgx-a100-80g, count: 16}",
                    "{global_batch: 512, sequence_length: 512, precision: bf16}",
                    "{pipeline: 16, context: 2, micro_batch: 2, schedule: zb-h1, zero: 1, recompute: selective}"),
           scenario("gshard-moe-70b", "{type: hgx-b200, count: 1}", "{global_batch: 32, precision: bf16}",
                    "{pipeline: 8, schedule: dualpipe}"),
           scenario("gpt-oss-20b", "{type: hgx-h100, count: 1}",
                    "{global_batch: 16, sequence_length: 2048, precision: bf16}",
                    "{pipeline: 4, schedule: dualpipe-v, zero: 1}"),
           scenario(
               "gpt-oss-20b", "{type: hgx-h100, count: 1}", "{global_batch: 8, sequence_length: 2048, precision: bf16}",
               "{tensor: 2, pipeline: 2, virtual_pipeline: 4, overlap_grad_reduce: true, sequence_parallel: true}"),
           scenario("gshard-moe-1.3b", "{type: hgx-b200, count: 1}",
                    "{global_batch: 128, sequence_length: 1024, precision: bf16}",
                    "{pipeline: 2, micro_batch: 4, schedule: zb-auto, zero: 1, expert: 4, overlap_grad_reduce: true}"),
           scenario("moonlight-16b-a3b", "{type: hgx-h100, count: 1}",
                    "{global_batch: 8, sequence_length: 4096, precision: fp8}",
                    "{tensor: 2, overlap_grad_reduce: true, sequence_parallel: true}"),
       }) {
    CAPTURE(text);
    const std::optional<Scenario> found = scenario_of(text);
    REQUIRE(found);
    const Picoseconds folded = simulate(found->job).timeline.makespan;
    CHECK(simulate(found->job, {true, false}).timeline.makespan == folded);
    CHECK(simulate(found->job, {false, true}).timeline.makespan == folded);
    CHECK(simulate(found->job, {true, true}).timeline.makespan == folded);
  }
}

TEST_CASE("a factor next to 1 divides replicas, whose places stay those of the first") {
  // Three replicas of eight stages on three nodes: where stages meet, each crosses nodes between others.
  const std::optional<Scenario> found = scenario_of(
      "model: gshard-moe-1.3b\ncluster: {nodes: [{type: hgx-b200, count: 3}]}\n"
      "training: {global_batch: 12, sequence_length: 1024, precision: bf16}\n"
      "strategy: {pipeline: 8, schedule: zb-v, zero: 1}\n");
  REQUIRE(found);
  Perturbations tiny;
  tiny.ranks = {{0, {.compute = 1.0000001}}};
  CHECK(off(seconds(perturbed_by(found->job, tiny)), seconds(found->job)) <= 2e-7);
}

// GPUs at their power limit, whose clock depends on what passes wait for.
TEST_CASE("a strategy scores as it is simulated, whatever schedules its blocks are priced for") {
  const std::optional<Scenario> found = scenario_of(
      "model: deepseek-v2-lite\ncluster: {nodes: [{type: dgx-1-v100-32g, count: 2}]}\n"
      "training: {global_batch: 16, sequence_length: 512, precision: fp16}\n"
      "strategy: {expert: 8, expert_tensor: 1, pipeline: 2, virtual_pipeline: 14, schedule: interleaved-1f1b,\n"
      "  layer_split: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0],\n"
      "  recompute: selective, recompute_modules: [core_attn], zero: 1, overlap_grad_reduce: true}\n");
  REQUIRE(found);
  const Picoseconds simulated = simulate(found->job).timeline.makespan;
  for (const char* asks_more : {"interleaved-1f1b", "zb-v", "dualpipe-v"}) {
    CAPTURE(asks_more);
    Job all = found->job;
    all.strategy.schedule = schedule_named(asks_more);
    const ShardedBlocks blocks = shard_blocks(all);
    BodyCache bodies(BodyCache::Keep::folds);
    const auto score = score_iteration(found->job, blocks, bodies, {}, {{}, memory_of_blocks(all, blocks)});
    REQUIRE(score);
    CHECK(score->time == simulated);
  }
}

// Long sequences at the power limit: layers of a pass follow each other, so the host has just waited at the begin of a
// backward pass only, and the GPU waits less than if each layer were followed by its backward pass.
TEST_CASE("mixtures whose host waits keep the power limit") {
  const std::optional<Scenario> found = scenario_of(
      "model: qwen3-30b-a3b\ncluster: {nodes: [{type: hgx-h100, count: 1, gpus: 1}]}\n"
      "training: {global_batch: 8, sequence_length: 32768, precision: bf16}\nstrategy: {micro_batch: 2}\n");
  REQUIRE(found);
  const IterationResult result = simulate(found->job).result;
  CHECK(broken_laws(found->job, result).empty());
  CHECK(result.stages.front().average_power_w > 690);  // of 700
}

TEST_CASE("factors that change nothing, or next to nothing, do so in single iterations and in samples") {
  for_each_drawn(36, 60, [](const Job& job) {
    const double plain = seconds(job);
    Perturbations tiny;
    tiny.ranks = {{0, {.compute = 1.0000001}}};
    CHECK(off(seconds(perturbed_by(job, tiny)), plain) <= 2e-7);
    Perturbations neutral;
    neutral.jitter.compute = always(1);
    const Spread samples = sample_iterations(perturbed_by(job, neutral), {2, 1, true, 1});
    CHECK(off(samples.time.value, plain) <= 1e-9);
    CHECK(off(samples.without_s, plain) <= 1e-9);
  });
}

TEST_CASE("one slow rank, and a slow port now and then, by passes or by operators: the same to the picosecond") {
  const std::vector<TimeFactors> kinds = {{.compute = 2},   {.communication = 1.5},
                                          {.host = 1.5},    {.compute = 1.1, .communication = 1.3, .host = 1.05},
                                          {.compute = 0.8}, {.host = 0.7}};
  std::size_t next = 0;
  for_each_drawn(41, 60, [&](const Job& job) {
    Perturbations slow;
    const int rank = static_cast<int>(7 * next) % job.cluster.gpus();
    slow.ranks = {{rank, kinds[next % kinds.size()]}};
    if (next % 3 == 2) slow.ports = {{(rank + 1) % job.cluster.gpus(), 1.5}};
    ++next;
    const Job perturbed = perturbed_by(job, slow);
    CHECK(simulate(perturbed).timeline.makespan == simulate(perturbed, {false, true}).timeline.makespan);
  });
}

// Passes of unlike ranks are written in steps if the program stays small. In a larger program, a pass ends when it
// would end on a rank with the largest factors of its team.
TEST_CASE("many slow ranks, by passes or by operators: the same, or a little longer") {
  const std::vector<double> factors = {1, 1, 0.9, 1.05, 1.3, 2};
  std::size_t next = 0;
  int equal = 0;
  for_each_drawn(42, 40, [&](const Job& job) {
    Perturbations slow;
    for (int rank = 0; rank < job.cluster.gpus(); rank += 2) {
      const auto draw = [&] { return factors[(next += 5 + next % 3) % factors.size()]; };
      slow.ranks[rank] = {draw(), draw(), draw()};
    }
    const Job perturbed = perturbed_by(job, slow);
    const double operators = seconds(perturbed, {false, true});
    const double passes = seconds(perturbed);
    equal += off(passes, operators) <= 1e-9 ? 1 : 0;
    CHECK(passes >= operators * (1 - 1e-9));
    CHECK(passes <= operators * 1.03);
  });
  CHECK(equal >= 36);
}

// The two are equal but for passes in steps and pairs of passes, which samples stretch as a whole.
TEST_CASE("the same factor stated for all ranks or drawn for the iteration: the same iteration") {
  for (const auto factor : {&TimeFactors::compute, &TimeFactors::communication, &TimeFactors::host}) {
    int equal = 0;
    for_each_drawn(37, 20, [&](const Job& job) {
      Perturbations stated;
      for (int rank = 0; rank < job.cluster.gpus(); ++rank) stated.ranks[rank].*factor = 1.5;
      Perturbations drawn;
      (factor == &TimeFactors::compute         ? drawn.drawn_iterations.compute
       : factor == &TimeFactors::communication ? drawn.drawn_iterations.communication
                                               : drawn.drawn_iterations.host) = always(1.5);
      const Spread samples = sample_iterations(perturbed_by(job, drawn), {2, 1, true, 1});
      const double found = off(samples.time.value, seconds(perturbed_by(job, stated)));
      CHECK(found <= 5e-3);
      equal += found <= 1e-9 ? 1 : 0;
    });
    CHECK(equal >= 18);
  }
}
