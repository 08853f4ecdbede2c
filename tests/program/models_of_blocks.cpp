// Models that are files alone, under every kind of parallelism: what is computed and held does not depend on how it is
// divided.

#include "job_fixture.hpp"
#include "model/model_loader.hpp"
#include "simulation/iteration.hpp"
#include "strategy/rules.hpp"
#include "support/frameworks.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace {

const std::filesystem::path folder = std::filesystem::path(source_root()) / "models";

// 16 GPUs, 32 sequences.
Simulation run(const std::string& model, int tensor, int pipeline, int zero) {
  Strategy strategy;
  strategy.tensor = tensor;
  strategy.pipeline = pipeline;
  strategy.data = 16 / tensor / pipeline;
  strategy.zero = zero;
  Job job = small_job(24, 2, strategy, 32);
  job.model = load_model(model, folder, {});
  job.training.sequence_length = job.model.max_sequence;
  return simulate(job);
}

// Trained parameters over all stages, of one tensor rank.
double held(const Simulation& simulation) {
  double out = 0;
  for (const StagePlan& plan : simulation.plans) {
    if (plan.replica_class == 0) out += plan.parameters.elements - plan.parameters.tied_elements / 2;
  }
  return out;
}

// Parameters that every tensor rank holds whole: norms, biases behind sums, what axes that nobody divides have.
double whole(const Simulation& simulation) {
  double out = 0;
  for (const StagePlan& plan : simulation.plans) {
    for (const ChunkPlan& chunk : plan.chunks) {
      for (const BlockRun& run : chunk.runs) {
        const PartitionedBlock& block = simulation.blocks.of(run.block);
        for (const ParameterShard& shard : block.parameters) {
          const bool is_whole = shard.elements == static_cast<double>(block.graph.elements(shard.tensor));
          if (is_whole && !block.graph.tensor(shard.tensor).tied) out += run.count * shard.elements;
        }
      }
    }
  }
  return out;
}

}  // namespace

// Products with data have a weight gradient, and no gradient of the data: two products where others are three.
constexpr double kDataShare = 2.0 / 3;

// The vocabulary is padded to a multiple of 128 for each tensor rank. What no axis divides every tensor rank repeats:
// of Mamba-2 the products that b and c come from and the scores of the scan; of ViT the patches and the classes.
TEST_CASE("models of blocks run divided by tensor, pipeline and data ranks, with their state sharded") {
  struct Case {
    const char* name;
    double hidden;
    double padding;       // rows of the vocabulary, on one tensor rank
    double padding_of_2;  // ... on two
    double repeated;      // FLOP forward of all sequences that a second tensor rank adds
  };
  const std::vector<Case> cases = {
      {"mamba2-130m", 768, 16, 144, 32.0 * 2048 * (24 * (4 * 768 * 128 + 2 * 256 * 128) + 2 * 768 * 128)},
      {"vit-l", 1024, 0, 0, 32.0 * 2 * (196 * 768 * 1024 * kDataShare + 1024 * 1000)},
      {"t5-3b", 1024, 0, 128, 32.0 * 128 * 2 * 1024 * 128}};
  for (const Case& of : cases) {
    CAPTURE(std::string(of.name));
    const Simulation replicas = run(of.name, 1, 1, 0);
    const double parameters = count_parameters(replicas.job.model).total;
    CHECK(replicas.result.iteration_time_s > 0);
    CHECK(held(replicas) == doctest::Approx(parameters + of.padding * of.hidden).epsilon(1e-9));

    const Simulation stages = run(of.name, 1, 4, 0);
    CHECK(stages.result.model_flop == doctest::Approx(replicas.result.model_flop).epsilon(1e-9));
    CHECK(stages.result.bubble_fraction > 0);

    const Simulation tensor = run(of.name, 2, 1, 0);
    CHECK(tensor.result.model_flop == doctest::Approx(replicas.result.model_flop + 3 * of.repeated).epsilon(1e-6));
    const double everywhere = whole(tensor);
    CHECK(2 * (held(tensor) - everywhere) + everywhere ==
          doctest::Approx(parameters + of.padding_of_2 * of.hidden).epsilon(1e-9));

    const Simulation sharded = run(of.name, 1, 1, 3);
    CHECK(sharded.result.model_flop == replicas.result.model_flop);
    CHECK(sharded.result.memory_peak_bytes < replicas.result.memory_peak_bytes);
  }
}

// One sequence of 2048 tokens is 3 times 2 * 2048 * (64 layers + logits) FLOP: tests/model/models_of_blocks.cpp.
TEST_CASE("an iteration of Mamba-2 2.7B computes what is derived by hand") {
  const double h = 2560;
  const double layer = h * (4 * h + 256 + 80) + 2 * h * h + 256 * 128 + 2 * h * 256 + 2 * 128 * 2 * h;
  const double padded = 50304;  // the vocabulary, to a multiple of 128
  const Simulation simulation = run("mamba2-2.7b", 1, 4, 0);
  CHECK(simulation.result.model_flop == doctest::Approx(32 * 3 * 2 * 2048 * (64 * layer + h * padded)).epsilon(1e-9));
}

namespace {

// The bytes that each stage sends: activations to the next, gradients back. Stages have one chunk.
struct Sent {
  double on = 0;
  double back = 0;
};
std::vector<Sent> sent_by_stage(const Simulation& simulation) {
  std::vector<Sent> out(static_cast<std::size_t>(simulation.job.strategy.pipeline));
  for (const TaskClass& described : simulation.program.classes) {
    if (described.kind != TaskKind::transfer || !described.name.starts_with("send")) continue;
    Sent& of = out[static_cast<std::size_t>(described.stage)];
    (described.name == "send activations" ? of.on : of.back) = described.bytes;
  }
  return out;
}

// The bytes of the streams that enter a block and have a gradient, over all replicas.
double entering_bytes(const PartitionedBlock& block) {
  const std::vector<Tensor>& tensors = block.graph.tensors;
  double out = 0;
  for (const TensorId id : block.graph.inputs) {
    const bool stream = std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) {
      return tensor.role == TensorRole::gradient && tensor.of == id;
    });
    if (stream) out += static_cast<double>(block.graph.elements(id)) * block.graph.tensor(id).bytes_per_element;
  }
  return out;
}

}  // namespace

// The encoder's stream is 512 tokens of 1024. The decoder's are its own 128 and what all its layers read of the
// encoder.
TEST_CASE("stages of T5 exchange what there is where they part: in the encoder one stream, in the decoder both") {
  const Simulation simulation = run("t5-3b", 1, 4, 0);
  const double token = simulation.job.strategy.micro_batch * 2.0 * 1024;
  const std::vector<Sent> sent = sent_by_stage(simulation);
  for (const std::size_t stage : {0, 1}) {
    CHECK(sent[stage].on == 512 * token);
    CHECK(sent[stage + 1].back == 512 * token);
  }
  CHECK(sent[2].on == (128 + 512) * token);
  CHECK(sent[3].back == (128 + 512) * token);
  // Buffers are those of a stage's own ends.
  const double encoder = 4 * 512 * token;
  const double decoder = 4 * (128 + 512) * token;
  const std::vector<double> buffers = {encoder, encoder, (encoder + decoder) / 2, decoder};
  for (std::size_t stage = 0; stage < buffers.size(); ++stage) {
    CHECK(simulation.result.stages[stage].memory.peak.communication == buffers[stage]);
  }
}

// Each group of blocks halves the sides of the image and doubles its channels.
TEST_CASE("stages of Wide-ResNet exchange less and less") {
  const Simulation simulation = run("wide-resnet-250m", 1, 4, 0);
  const std::vector<Sent> sent = sent_by_stage(simulation);
  CHECK(sent[0].on > 0);
  CHECK(sent[2].on < sent[0].on);
  for (std::size_t stage = 0; stage < 3; ++stage) CHECK(sent[stage].on == sent[stage + 1].back);
}

TEST_CASE("what leaves a layer, or the embedding, is what enters the next") {
  for (const char* name : {"t5-3b", "vit-l", "mamba2-130m", "mamba2attn-2.7b", "wide-resnet-250m", "gpt2-124m"}) {
    CAPTURE(std::string(name));
    const Simulation simulation = run(name, 1, 1, 0);
    double left = simulation.blocks.stream_bytes(ShardedBlocks::kEmbedding);
    for (const LayerBlocks& layer : layer_blocks(simulation.job, simulation.blocks)) {
      CHECK(entering_bytes(simulation.blocks.of(layer.kept)) == left * simulation.job.strategy.data);
      left = simulation.blocks.stream_bytes(layer.kept);
    }
  }
}

TEST_CASE("the hybrid has two kinds of layers, each in its places") {
  const Simulation simulation = run("mamba2attn-2.7b", 1, 4, 1);
  CHECK(simulation.blocks.all.size() == 4);
  int attention = 0;
  for (const StagePlan& plan : simulation.plans) {
    for (const ChunkPlan& chunk : plan.chunks) {
      for (const BlockRun& run : chunk.runs) attention += run.block == 2 ? run.count : 0;
    }
  }
  CHECK(attention == 6);
}

// A layer that a paper's text states and the model of its published sizes are the same operators in the same kernels.
TEST_CASE("Llama and Mixtral written as blocks are predicted as the models are, in every framework") {
  const auto written = [](const std::string& layer) {
    const std::string sizes =
        "sizes: {hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocab: 32000, experts: 8, per_token: 2}\n";
    const bool mixture = layer.find("mixture") != std::string::npos;
    std::string text = "source: a test\nmax_sequence: 4096\n" + sizes + "blocks: [embedding, " + layer + ", head]\n";
    if (!mixture) text.replace(text.find(", experts: 8, per_token: 2"), 26, "");
    return parse_model(Document::from_text(text, "written.yaml"), folder);
  };
  const ModelSpec mixtral = load_model("mixtral-8x7b", folder, {});
  const ModelSpec llama = [&] {
    ModelSpec dense = mixtral;
    dense.mixture = {};
    return dense;
  }();
  const ModelSpec llama_blocks = written("{use: llama, count: 32}");
  const ModelSpec mixtral_blocks = written("{use: llama, mlp: mixture, count: 32}");
  for (const std::string& framework : framework_names()) {
    for (const auto& [stated, blocks] : {std::pair(&llama, &llama_blocks), std::pair(&mixtral, &mixtral_blocks)}) {
      CAPTURE(framework);
      const auto experts = stated->mixture.experts;
      CAPTURE(experts);
      Strategy strategy;
      strategy.data = 8;
      strategy.expert = stated->mixture.experts > 0 ? 4 : 1;
      const auto simulated = [&](const ModelSpec& model) {
        Job job = small_job(32, 1, strategy, 8);
        job.framework = framework_named(framework);
        job.model = model;
        job.training.sequence_length = 4096;
        return simulate(job).result;
      };
      const IterationResult one = simulated(*stated);
      const IterationResult other = simulated(*blocks);
      CHECK(one.iteration_time_s == other.iteration_time_s);
      CHECK(one.memory_peak_bytes == other.memory_peak_bytes);
    }
  }
}

namespace {

// The collectives of a job's passes that go over other replicas than those which exchange experts' rows.
std::vector<std::string> between_replicas(const Job& job, MeshAxisSet axes) {
  std::vector<std::string> out;
  const ShardedBlocks blocks = shard_blocks(job);
  for (const PartitionedBlock& block : blocks.all) {
    for (const auto* pass : {&block.forward, &block.recompute, &block.backward}) {
      for (const BlockStep& step : *pass) {
        if (step.kind == BlockStep::Kind::collective && step.over.intersects(axes))
          out.push_back(block.graph.tensor(step.tensor).name);
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("replicas sum gradients at the end of an iteration, and none of another tensor within a pass") {
  std::size_t models = 0;
  std::size_t divided = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".yaml") continue;
    const std::string model = file.path().stem().string();
    CAPTURE(model);
    ++models;
    for (const int tensor : {1, 2}) {
      Strategy strategy = sized(tensor, 16 / tensor, 1);
      strategy.sequence_parallel = tensor > 1;
      Job job = small_job(24, 2, strategy, 32);
      job.model = load_model(model, folder, {});
      job.training.sequence_length = std::min<std::int64_t>(job.model.max_sequence, 512);
      if (first_violation({job.model, job.training, job.framework, job.strategy, job.cluster.gpus()})) continue;
      ++divided;
      CHECK(between_replicas(job, {MeshAxis::data}) == std::vector<std::string>());
    }
  }
  CHECK(models > 50);
  CHECK(divided > 1.5 * static_cast<double>(models));
}

// Biases of places come from a table that every sequence reads: their gradients are sums over replicas' batches and, of
// learned positions, over the parts that context ranks have of a batch.
TEST_CASE("context ranks sum the gradients of looked up positions at the end of an iteration") {
  for (const char* model : {"gpt2-124m", "t5-3b"}) {
    CAPTURE(model);
    Strategy strategy = sized(1, 2, 1);
    strategy.context = 2;
    Job job = small_job(24, 1, strategy, 32);
    job.model = load_model(model, folder, {});
    job.training.sequence_length = 512;
    const std::vector<std::string> exchanged = between_replicas(job, {MeshAxis::context});
    CHECK(std::find(exchanged.begin(), exchanged.end(), "d_placed.gather") == exchanged.end());
    CHECK(std::find(exchanged.begin(), exchanged.end(), "d_z") == exchanged.end());
  }
}
