// Towers for images: as much work as there are images, nothing backward through what is frozen, stages of their own.

#include "engine/execute.hpp"
#include "graph/images.hpp"
#include "job_fixture.hpp"
#include "model/model_loader.hpp"
#include "simulation/iteration.hpp"
#include "simulation/spread.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace towers_test {

namespace {

// Qwen3-VL-4B: a tower of 24 layers, the layer that joins its vectors and words, 36 layers of the decoder.
const ModelSpec& model() {
  static const ModelSpec of = load_model("qwen3-vl-4b", std::filesystem::path(source_root()) / "models", {});
  return of;
}
constexpr double kPatches = 2304;
constexpr double kWidth = 1024;
constexpr double kInner = 4096;
constexpr int kTower = 24;

Job job(SequenceImages images = {}, const Strategy& strategy = sized(1, 8, 1)) {
  Job out = small_job(8, 1, strategy, 16);
  out.model = model();
  out.training.sequence_length = 4096;
  out.training.images = std::move(images);
  return out;
}

Job frozen(FrozenParts parts, Job of = job()) {
  of.training.frozen = parts;
  return of;
}

bool of_tower_layer(const OperatorGraph& graph) { return leaves_images(graph) && !graph.inputs.empty(); }
bool of_join(const OperatorGraph& graph) { return tokens_of_image(graph) > 0; }
bool of_decoder_layer(const OperatorGraph& graph) {
  return !graph.inputs.empty() && !graph.outputs.empty() && !leaves_images(graph) && !of_join(graph);
}

const PartitionedBlock& block(const Simulation& simulation, bool (*wanted)(const OperatorGraph&)) {
  const std::vector<PartitionedBlock>& all = simulation.blocks.all;
  return *std::find_if(all.begin(), all.end(), [&](const PartitionedBlock& of) { return wanted(of.graph); });
}

double forward_flop(const Simulation& simulation, const PartitionedBlock& of) {
  double out = 0;
  for (const BlockStep& step : of.forward) {
    if (step.kind == BlockStep::Kind::kernel) out += simulation.plans.front().costs.kernels.price(of, step).flop;
  }
  return out;
}

// FLOPs of a forward pass of one image through a layer of the tower: four projections, two products of the MLP, scores
// and context.
double flop_of_layer() {
  return 2 * kPatches * (4 * kWidth * kWidth + 2 * kWidth * kInner) + 4 * kPatches * kPatches * kWidth;
}

int count(const PartitionedBlock& of, Phase phase, OperatorKind kind) {
  return static_cast<int>(std::count_if(of.backward.begin(), of.backward.end(), [&](const BlockStep& step) {
    return step.kind == BlockStep::Kind::kernel && step.phase == phase && of.graph.op(step.op).kind == kind;
  }));
}

double parameters(const Simulation& simulation) {
  double out = 0;
  for (const StagePlan& plan : simulation.plans) out += plan.parameters.elements + plan.parameters.frozen_elements;
  return out;
}

// A tower on four GPUs by itself, and the decoder on the other four.
Job on_own_gpus(StageShape tower, StageShape decoder) {
  Strategy strategy;
  strategy.stages = {tower, decoder};
  strategy.pipeline = 2;
  const StageShape& widest = tower.data > decoder.data ? tower : decoder;
  strategy.tensor = widest.tensor;
  strategy.data = widest.data;
  strategy.layer_split = {kTower, 37};
  return job({}, strategy);
}

}  // namespace

TEST_CASE("towers: kernels have as many rows as there are images, and FLOPs and kept bytes follow") {
  const double kept_of_one = block(simulate(job()), of_tower_layer).kept_bytes;
  for (const double images : {1.0, 2.0, 0.5, 3.25}) {
    const Simulation simulation = simulate(job({images, {}}));
    const PartitionedBlock& layer = block(simulation, of_tower_layer);
    CHECK(forward_flop(simulation, layer) == doctest::Approx(images * flop_of_layer()).epsilon(1e-12));
    CHECK(layer.kept_bytes == doctest::Approx(images * kept_of_one).epsilon(1e-12));
  }
}

TEST_CASE("towers: more images take longer and keep more, and the decoder's layers stay as they are") {
  IterationResult before = simulate(job({0, {}})).result;
  const double of_decoder = forward_flop(simulate(job({0, {}})), block(simulate(job({0, {}})), of_decoder_layer));
  for (const double images : {0.25, 1.0, 1.5, 4.0}) {
    const Simulation simulation = simulate(job({images, {}}));
    const IterationResult& after = simulation.result;
    CHECK(after.iteration_time_s > before.iteration_time_s);
    CHECK(after.model_flop > before.model_flop);
    CHECK(after.memory_peak_bytes > before.memory_peak_bytes);
    CHECK(forward_flop(simulation, block(simulation, of_decoder_layer)) == of_decoder);
    before = after;
  }
}

// LLaVA's adapters: in the decoder, behind a frozen tower and a projector that is trained.
TEST_CASE("towers: a projector or a tower trained whole beside adapters in the decoder") {
  const auto trained = [](FrozenParts parts, int rank, WholeParts whole) {
    Job of = frozen(parts);
    of.training.adapters = {rank, 0, true, true, true, true};
    of.training.adapters.whole = whole;
    const Simulation simulation = simulate(of);
    CHECK(simulation.plans.front().parameters.frozen_elements > 0);
    return simulation.plans.front().parameters.elements;
  };
  const double adapters = trained({true, true, false}, 8, {});
  const double projector = trained({true, false, true}, 0, {});
  const double tower = trained({false, true, true}, 0, {});
  CHECK(trained({true, false, false}, 8, {false, false, true, false}) == adapters + projector);
  CHECK(trained({false, true, false}, 8, {false, false, false, true}) == adapters + tower);
  CHECK(trained({false, false, false}, 8, {false, false, true, true}) == adapters + projector + tower);
}

TEST_CASE("towers: without images nothing runs in the tower, and words are looked up all the same") {
  const Simulation simulation = simulate(job({0, {}}));
  CHECK(block(simulation, of_tower_layer).forward.empty());
  CHECK(block(simulation, of_tower_layer).backward.empty());
  CHECK(block(simulation, of_tower_layer).kept_bytes == 0);
  const PartitionedBlock& join = block(simulation, of_join);
  CHECK(!join.forward.empty());
  for (const BlockStep& step : join.forward) CHECK(join.graph.op(step.op).kind != OperatorKind::einsum);
  CHECK(parameters(simulation) == parameters(simulate(job())));
}

TEST_CASE("towers: one that is frozen has no backward pass, keeps nothing, and has parameters alone") {
  const Simulation trained = simulate(job());
  const Simulation held = simulate(frozen({true, false, false}));
  const PartitionedBlock& layer = block(held, of_tower_layer);
  CHECK(layer.backward.empty());
  CHECK(layer.recompute.empty());
  CHECK(layer.kept_bytes == 0);
  CHECK(layer.forward.size() == block(trained, of_tower_layer).forward.size());
  CHECK(parameters(held) == parameters(trained));
  // Patches with biases and places, and layers; norms have two vectors each.
  const double of_layer = 4 * kWidth * kWidth + 2 * kWidth * kInner + 9 * kWidth + kInner;
  const double of_tower = 1536 * kWidth + kWidth + kPatches * kWidth + kTower * of_layer;
  CHECK(held.plans.front().parameters.frozen_elements == of_tower);
  const StageResult& before = trained.result.stages.front();
  const StageResult& after = held.result.stages.front();
  CHECK(after.memory.peak.parameters == before.memory.peak.parameters);
  CHECK(before.memory.peak.gradients - after.memory.peak.gradients ==
        doctest::Approx(before.memory.peak.gradients * of_tower / parameters(trained)).epsilon(1e-9));
  CHECK(before.memory.peak.optimizer - after.memory.peak.optimizer ==
        doctest::Approx(before.memory.peak.optimizer * of_tower / parameters(trained)).epsilon(1e-9));
  CHECK(after.memory.peak.activations < before.memory.peak.activations);
  // Two of three parts of the tower's work are gone, for each of two microbatches of eight replicas.
  CHECK(trained.result.model_flop - held.result.model_flop > 16 * 2 * kTower * flop_of_layer());
}

TEST_CASE("towers: the projector behind a frozen tower has gradients of weights, and none of its input") {
  const PartitionedBlock join = block(simulate(frozen({true, false, false})), of_join);
  const PartitionedBlock trained = block(simulate(job()), of_join);
  CHECK(join.graph.input_gradients == std::vector<TensorId>{-1});
  CHECK(count(join, Phase::weight_gradient, OperatorKind::einsum) ==
        count(trained, Phase::weight_gradient, OperatorKind::einsum));
  // A norm reads the tower's vectors first, and those of three of its middle layers.
  CHECK(count(trained, Phase::activation_gradient, OperatorKind::normalization) == 4);
  CHECK(count(join, Phase::activation_gradient, OperatorKind::normalization) == 0);
  CHECK(count(join, Phase::weight_gradient, OperatorKind::normalization) == 4);
  const PartitionedBlock both = block(simulate(frozen({true, true, false})), of_join);
  CHECK(count(both, Phase::weight_gradient, OperatorKind::einsum) == 0);
}

TEST_CASE("towers: gradients pass through a frozen decoder to what is trained before it") {
  const Simulation simulation = simulate(frozen({true, false, true}));
  const PartitionedBlock& layer = block(simulation, of_decoder_layer);
  CHECK(count(layer, Phase::weight_gradient, OperatorKind::einsum) == 0);
  CHECK(count(layer, Phase::activation_gradient, OperatorKind::einsum) > 0);
  CHECK(count(block(simulation, of_join), Phase::weight_gradient, OperatorKind::einsum) > 0);
  const StageResult& memory = simulation.result.stages.front();
  CHECK(memory.memory.peak.optimizer < 0.05 * simulate(job()).result.stages.front().memory.peak.optimizer);
  CHECK(parameters(simulation) == parameters(simulate(job())));
}

TEST_CASE("towers: a frozen tower is not recomputed either") {
  Job of = frozen({true, false, false});
  of.strategy.recompute = Recompute::full;
  CHECK(block(simulate(of), of_tower_layer).recompute.empty());
  CHECK(!block(simulate(of), of_decoder_layer).recompute.empty());
}

TEST_CASE("towers: on GPUs of its own, with sizes of its own, it holds its parameters and the decoder the rest") {
  const Simulation simulation = simulate(on_own_gpus({1, 4, 1}, {1, 4, 1}));
  CHECK(parameters(simulation) == count_parameters(model()).total);
  const double of_tower = simulation.plans.front().parameters.elements;
  CHECK(of_tower == parameters(simulate(frozen({true, false, false}))) - simulation.plans.back().parameters.elements);
  // The tower holds its own words, once, and no gradients of them are reduced between stages.
  CHECK(simulation.plans.front().parameters.tied_elements == 0);
  CHECK(simulation.plans.back().parameters.tied_elements == 0);
  CHECK(simulation.result.stages.front().memory.peak.parameters <
        simulation.result.stages.back().memory.peak.parameters / 5);
}

TEST_CASE(
    "towers: stages of their own, frozen or not, take the same time folded, unfolded, by passes and by operators") {
  for (const FrozenParts parts : {FrozenParts{}, FrozenParts{true, false, false}}) {
    for (const Job& of : {on_own_gpus({1, 4, 1}, {4, 1, 1}), on_own_gpus({1, 4, 1}, {2, 2, 1})}) {
      const Lowered lowered(frozen(parts, of));
      const Program folded = lowered.program();
      const Picoseconds expected = execute(folded).makespan;
      for (const LoweringOptions& options : {LoweringOptions{true, false}, {false, true}, {true, true}}) {
        const Program program = lowered.program(options);
        program.validate();
        CHECK(execute(program).makespan == expected);
      }
      const bool back = std::any_of(folded.classes.begin(), folded.classes.end(),
                                    [](const TaskClass& described) { return described.name == "send gradients"; });
      CHECK(back == !parts.tower);
    }
  }
}

TEST_CASE("towers: what is sent to the decoder is the images' vectors, however long sequences are") {
  for (const double images : {1.0, 2.0}) {
    Job of = on_own_gpus({1, 4, 1}, {1, 4, 1});
    of.training.images.mean = images;
    const Lowered lowered(of);
    const ChunkPlan& tower = lowered.plans.front().chunks.front();
    CHECK(lowered.blocks.at(0).stream_bytes(tower.leaving) == images * kPatches * kWidth * 2);
  }
}

}  // namespace towers_test
