#include "small_spaces.hpp"

#include "base/document.hpp"
#include "cluster/catalog.hpp"
#include "network/fabric_file.hpp"
#include "support/frameworks.hpp"
#include "support/source_root.hpp"
#include "support/transformers.hpp"

namespace mirfak::test {

namespace {

constexpr double kGB = 1e9;
const ScheduleId kPlain = schedule_named("1f1b");
const ScheduleId kInterleaved = schedule_named("interleaved-1f1b");

SmallSpace tied_dense() {
  SmallSpace out{
      "tied dense model on one node: layouts, chunks, recomputation",
      small_job(small_model(8, 1024, true), small_cluster("dgx-a100-80g", 1, 3.2 * kGB), "megatron-core", 16),
      smallest_space()};
  out.space.tensor = {1, 2, 4};
  out.space.pipeline = {1, 2, 4};
  out.space.virtual_pipeline = {1, 2};
  out.space.schedule = {kPlain, kInterleaved};
  out.space.micro_batch = {1, 2};
  out.space.recompute = {Recompute::none, Recompute::full};
  out.space.recompute_method = {RecomputeMethod::block, RecomputeMethod::uniform};
  out.space.recompute_layers = {0, 1, 2, 3};
  out.space.zero = {0, 1};
  return out;
}

// A space on nodes that their owner's runs correct: kernels are faster than priced, all else is slower.
SmallSpace corrected() {
  SmallSpace out = tied_dense();
  out.name = "tied dense model on a corrected node";
  std::vector<NodeAllotment> nodes;
  for (const NodeGroup& group : out.job.cluster.groups()) {
    Correction& correction = nodes.emplace_back(group).hardware.spec.correction.emplace();
    correction.factors = {0.85, 1.6, 1.3};
  }
  out.job.cluster = Cluster(std::move(nodes), out.job.cluster.fabric());
  return out;
}

// A space on nodes that a topology file describes: the cost of a group of GPUs depends on which they are.
SmallSpace bridged() {
  SmallSpace out = tied_dense();
  out.name = "tied dense model on pairs of GPUs with bridges";
  const Document document =
      Document::from_text("nodes: [{type: a100-pcie-4, count: 2, scale_up: nvlink3, topology: \"" + source_root() +
                              "/scenarios/nodes/a100-pcie-bridges.xml\"}]\n",
                          "cluster.yaml");
  const Cluster read = with_network_files(read_cluster(Node(document), Catalog(source_root() + "/hw_profiles")));
  std::vector<NodeAllotment> nodes(read.groups().begin(), read.groups().end());
  nodes.front().hardware.gpu.memory_bytes.value = 3.2 * kGB;
  out.job.cluster = Cluster(std::move(nodes), read.fabric());
  return out;
}

// Halves of backward passes, other placements, pairs, and an order that depends on times; little memory.
SmallSpace zero_bubble() {
  SmallSpace out{
      "tied dense model on one node: zero-bubble and two-way schedules",
      small_job(small_model(8, 1024, true), small_cluster("dgx-a100-80g", 1, 3.2 * kGB), "megatron-core", 32),
      smallest_space()};
  out.space.tensor = {1, 2};
  out.space.pipeline = {1, 2, 4};
  out.space.virtual_pipeline = {1, 2};
  out.space.schedule.clear();
  for (const char* name : {"1f1b", "interleaved-1f1b", "zb-h1", "zb-h2", "zb-v", "zb-auto", "dualpipe", "dualpipe-v"}) {
    out.space.schedule.push_back(schedule_named(name));
  }
  out.space.micro_batch = {1, 2};
  out.space.recompute = {Recompute::none, Recompute::full};
  out.space.recompute_layers = {0, 1};
  out.space.zero = {0, 1};
  out.space.overlap_grad_reduce = {false, true};
  return out;
}

// Groups of layers alone, single ones among them, of stages with unequal layers and little memory.
SmallSpace grouped() {
  SmallSpace out{
      "groups of recomputed layers on one node",
      small_job(small_model(10, 1024, false), small_cluster("dgx-a100-80g", 1, 2.9 * kGB), "megatron-core", 64),
      smallest_space()};
  out.space.tensor = {1, 2, 4};
  out.space.pipeline = {1, 2, 4};
  out.space.uneven_layers = 2;
  out.space.micro_batch = {2, 4, 8};
  out.space.recompute = {Recompute::full};
  out.space.recompute_method = {RecomputeMethod::uniform};
  out.space.recompute_layers = {1, 2, 3, 5};
  out.space.zero = {0, 1};
  return out;
}

// 13 layers are in no even chunks, 2 fewer at each end leave chunks without layers.
SmallSpace uneven_end_chunks() {
  SmallSpace out{
      "tied dense model on one node: ends of an interleaved pipeline with fewer layers, or none",
      small_job(small_model(13, 768, true), small_cluster("dgx-a100-80g", 1, 2.75 * kGB), "megatron-core", 16),
      smallest_space()};
  out.space.tensor = {1, 2};
  out.space.pipeline = {2, 4, 8};
  out.space.virtual_pipeline = {1, 2, 3, 4};
  out.space.schedule = {kPlain, kInterleaved};
  out.space.uneven_layers = 1;
  out.space.uneven_end_chunks = 2;
  out.space.recompute = {Recompute::none, Recompute::full};
  out.space.recompute_method = {RecomputeMethod::block, RecomputeMethod::uniform};
  out.space.recompute_layers = {0, 1, 2};
  out.space.zero = {0, 1};
  return out;
}

SmallSpace uneven_ends() {
  SmallSpace out{"untied dense model on two nodes: uneven ends, sharded state, overlaps",
                 small_job(small_model(10, 768, false), small_cluster("hgx-h100", 2, 2.6 * kGB), "megatron-core", 32),
                 smallest_space()};
  out.space.tensor = {2};
  out.space.pipeline = {2, 4};
  out.space.virtual_pipeline = {1, 2};
  out.space.schedule = {kPlain, kInterleaved};
  out.space.uneven_layers = 2;
  out.space.sequence_parallel = {true, false};
  out.space.overlap_tensor = {false, true};
  out.space.zero = {0, 1};
  out.space.overlap_grad_reduce = {false, true};
  out.space.overlap_param_gather = {false, true};
  return out;
}

SmallSpace parts_of_microbatches() {
  SmallSpace out{"dense model on two nodes: microbatches whole or in two parts, collectives with few channels",
                 small_job(small_model(8, 1024, false), small_cluster("hgx-h100", 2, 3 * kGB), "kareus", 32),
                 smallest_space()};
  out.space.tensor = {1, 2, 4};
  out.space.context = {1, 2};
  out.space.pipeline = {1, 2};
  out.space.virtual_pipeline = {1, 2};
  out.space.schedule = {kPlain, kInterleaved};
  out.space.micro_batch = {1, 2, 4};
  out.space.sequence_parallel = {true, false};
  out.space.recompute = {Recompute::none, Recompute::full};
  out.space.recompute_layers = {0, 1};
  out.space.zero = {0, 1};
  out.space.overlap_grad_reduce = {false, true};
  out.space.nanobatches = {1, 2};
  out.space.communication_sms = {0, 2};
  return out;
}

SmallSpace long_context() {
  SmallSpace out{"grouped queries on four nodes: context parallelism, sequence parallelism, GPipe",
                 small_job(small_model(4, 1024, false), small_cluster("hgx-h100", 4, 2.8 * kGB), "megatron-core", 32),
                 smallest_space()};
  out.job.model.kv_heads = 4;
  out.space.tensor = {1, 2, 8};
  out.space.context = {1, 2, 4};
  out.space.pipeline = {1, 2};
  out.space.schedule = {kPlain, schedule_named("gpipe")};
  out.space.sequence_parallel = {true, false};
  out.space.recompute = {Recompute::none, Recompute::selective};
  out.space.zero = {0, 1};
  return out;
}

// All of the optimizer on hosts that have room for half of it, a quarter, or nothing.
SmallSpace offloaded() {
  SmallSpace out{
      "the optimizer on the host, whose memory is short too",
      small_job(small_model(8, 1024, false), small_cluster("dgx-a100-80g", 2, 2.9 * kGB), "megatron-core", 32),
      smallest_space()};
  NodeAllotment nodes = out.job.cluster.groups().front();
  nodes.hardware.spec.host_memory_bytes.value = 4 * kGB;
  out.job.cluster = Cluster({nodes}, out.job.cluster.fabric());
  out.space.tensor = {1, 2, 4};
  out.space.pipeline = {1, 2, 4};
  out.space.uneven_layers = 1;
  out.space.zero = {0, 1};
  out.space.overlap_grad_reduce = {false, true};
  out.space.overlap_param_gather = {false, true};
  out.space.offload_optimizer = {0, 0.25, 1};
  return out;
}

SmallSpace mixture() {
  SmallSpace out{
      "mixture of experts on two nodes: expert and expert-tensor parallelism",
      small_job(small_model(4, 1024, false, 8), small_cluster("hgx-h100", 2, 2.9 * kGB), "megatron-core", 32),
      smallest_space()};
  out.space.tensor = {1, 2};
  out.space.pipeline = {1, 2};
  out.space.virtual_pipeline = {1, 2};
  out.space.schedule = {kPlain, kInterleaved};
  out.space.expert = {1, 2, 4, 8};
  out.space.expert_tensor = {0, 1};
  out.space.sequence_parallel = {true};
  out.space.recompute = {Recompute::none, Recompute::full};
  out.space.zero = {0, 1};
  return out;
}

SmallSpace mixture_with_dense_layers() {
  SmallSpace out{
      "a dense first layer, experts behind it, multi-token prediction",
      small_job(small_model(7, 768, false, 8), small_cluster("dgx-a100-80g", 2, 3.1 * kGB), "megatron-core", 32),
      smallest_space()};
  out.job.model.mixture.first_dense = 1;
  out.job.model.mixture.shared_ffn = 768;
  out.job.model.prediction_layers = 1;
  out.space.tensor = {1, 2};
  out.space.pipeline = {1, 2, 4};
  out.space.uneven_layers = 1;
  out.space.expert = {1, 4, 8};
  out.space.sequence_parallel = {true};
  out.space.recompute = {Recompute::none, Recompute::selective, Recompute::full};
  out.space.recompute_layers = {0, 1};
  out.space.zero = {0, 1};
  return out;
}

SmallSpace of_2021() {
  SmallSpace out{
      "Megatron-LM of 2021 on V100: host that waits, scattered transfers",
      small_job(small_model(8, 1024, true), small_cluster("jean-zay-v100-16g", 4, 2.9 * kGB), "megatron-lm-2021", 16),
      smallest_space()};
  out.job.training.precision = "fp16";
  out.space.tensor = {1, 2, 4};
  out.space.pipeline = {1, 2, 4, 8};
  out.space.virtual_pipeline = {1, 2};
  out.space.schedule = {kPlain, kInterleaved};
  out.space.recompute = {Recompute::none, Recompute::full};
  out.space.zero = {0, 1};
  out.space.overlap_grad_reduce = {false, true};
  return out;
}

// Sharded gradients and parameters run without pipeline stages, or as their framework has it beside them.
SmallSpace sharded(const std::string& framework, double memory_bytes) {
  SmallSpace out{"ZeRO 0 to 3 of " + framework,
                 small_job(small_model(6, 1024, false), small_cluster("dgx-a100-80g", 2, memory_bytes), framework, 64),
                 smallest_space()};
  out.space.tensor = {1, 2};
  out.space.pipeline = {1, 2};
  out.space.micro_batch = {1, 2, 4};
  out.space.recompute = {Recompute::none, Recompute::full};
  out.space.recompute_layers = {0, 2};
  out.space.zero = {0, 1, 2, 3};
  out.space.overlap_grad_reduce = {false, true};
  if (out.job.framework.offload.max_zero > 0) out.space.offload_optimizer = {0, 1};
  return out;
}

// Prices decide nothing between GPUs of one cluster, but budgets need one.
PriceSpec some_price() {
  PriceSpec price;
  price.usd_per_gpu_hour.value = 2.5;
  return price;
}

}  // namespace

SmallSpace two_node_types() {
  const Cluster slow = small_cluster("dgx-a100-80g", 2, 3.2 * kGB);
  const Cluster fast = small_cluster("hgx-h100", 2, 2.8 * kGB);
  const Cluster both({slow.groups().front(), fast.groups().front()}, slow.fabric());
  SmallSpace out{"two types of nodes", small_job(small_model(8, 1024, false), both, "megatron-core", 32),
                 smallest_space()};
  out.space.tensor = {1, 2};
  out.space.pipeline = {1, 2, 4};
  out.space.uneven_layers = 2;
  out.space.recompute = {Recompute::none, Recompute::full};
  out.space.zero = {0, 1};
  return out;
}

ModelSpec small_model(int layers, int hidden, bool tied_embeddings, int experts) {
  ModelSpec model = with_blocks({});
  model.name = "small";
  model.layers = layers;
  model.hidden = hidden;
  model.heads = model.kv_heads = 16;
  model.head_dim = hidden / 16;
  model.ffn = 4 * hidden;
  model.vocab = 16384;
  model.max_sequence = 1024;
  model.tied_embeddings = tied_embeddings;
  if (experts == 0) return model;
  model.linear_bias = model.qkv_bias = false;
  model.mixture = {.experts = experts, .per_token = 2, .ffn = hidden, .shared_ffn = 0, .first_dense = 0, .every = 1};
  return model;
}

Cluster small_cluster(const std::string& node, int nodes, double memory_bytes) {
  static const Catalog catalog(source_root() + "/hw_profiles");
  NodeHardware hardware = catalog.node(node);
  if (memory_bytes > 0) hardware.gpu.memory_bytes.value = memory_bytes;
  return Cluster({{std::move(hardware), nodes, some_price()}}, default_fabric());
}

Job small_job(ModelSpec model, Cluster cluster, const std::string& framework, std::int64_t global_batch) {
  TrainingSpec training;
  training.global_batch = global_batch;
  training.sequence_length = model.max_sequence;
  training.framework = framework;
  Job job{std::move(model), std::move(cluster), training, {}, test::framework_named(framework)};
  job.ranges.memory.device = {0.03, 0.05, 0.02 * kGB, 0.05 * kGB};
  return job;
}

StrategySpace smallest_space() {
  StrategySpace space;
  space.tensor = space.context = space.expert = space.pipeline = space.virtual_pipeline = space.micro_batch = {1};
  space.expert_tensor = {0};
  space.schedule = {kPlain};
  space.sequence_parallel = space.overlap_tensor = {false};
  space.recompute = {Recompute::none};
  space.recompute_method = {RecomputeMethod::block};
  space.recompute_layers = {0};
  space.zero = {0};
  space.overlap_grad_reduce = space.overlap_param_gather = {false};
  space.offload_optimizer = {0};
  return space;
}

std::vector<SmallSpace> small_spaces() {
  return {tied_dense(),
          corrected(),
          bridged(),
          zero_bubble(),
          uneven_ends(),
          parts_of_microbatches(),
          long_context(),
          offloaded(),
          grouped(),
          uneven_end_chunks(),
          mixture(),
          mixture_with_dense_layers(),
          of_2021(),
          sharded("deepspeed", 3.3 * kGB),
          sharded("pytorch-fsdp", 3 * kGB),
          sharded("megatron-fsdp", 3.1 * kGB)};
}

}  // namespace mirfak::test
