#include "scenario/job_reading.hpp"

#include "base/text.hpp"
#include "program/quantization_of_job.hpp"
#include "program/replica_classes.hpp"
#include "scenario/resolved.hpp"
#include "schedule/schedule.hpp"
#include "strategy/precision_recipe.hpp"
#include "strategy/rules.hpp"
#include "strategy/strategy_names.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

constexpr std::int64_t kMaxRanks = std::int64_t{1} << 20;
constexpr std::int64_t kMaxBatch = std::int64_t{1} << 30;
constexpr std::int64_t kMaxSequence = std::int64_t{1} << 24;
constexpr std::int64_t kMaxPasses = std::int64_t{1} << 24;  // forward passes of one iteration; keeps memory bounded

int integer_or(Mapping& section, std::string_view key, int fallback, int maximum = static_cast<int>(kMaxRanks)) {
  return static_cast<int>(section.integer_or(key, fallback, 1, maximum));
}

std::string choice_or(Mapping& section, std::string_view key, const std::string& fallback,
                      const std::vector<std::string>& names) {
  const std::optional<Node> found = section.find(key);
  return found ? names[found->as_choice(names)] : fallback;
}

// Lists that are made anew by every call, kept.
const std::vector<std::string>& known_frameworks() {
  static const std::vector<std::string> names = framework_names();
  return names;
}

const std::vector<std::string>& known_schedules() {
  static const std::vector<std::string> names = schedule_names();
  return names;
}

const std::vector<std::string>& known_recipes() {
  static const std::vector<std::string> names = precision_recipe_names();
  return names;
}

// Reads training.precision: the name of a recipe, written out.
std::string read_precision(Mapping& section, const std::string& fallback) {
  return find_precision_recipe(choice_or(section, "precision", fallback, known_recipes()))->name;
}

const std::vector<std::string>& adapter_target_names() {
  static const std::vector<std::string> names = {"qkv", "proj", "fc1", "fc2", "attention", "mlp"};
  return names;
}

LowRankAdapters read_adapters(const Node& node) {
  Mapping section(node);
  LowRankAdapters adapters;
  adapters.rank = static_cast<int>(section.require("rank").as_integer(1, 1 << 20));
  adapters.dropout = section.number_or("dropout", 0, 0, 1);
  const std::optional<Node> targets = section.find("targets");
  section.finish();
  if (!targets) {
    adapters.query_key_value = adapters.attention_output = adapters.mlp_up = adapters.mlp_down = true;
    return adapters;
  }
  const std::vector<Node> items = targets->as_items();
  if (items.empty()) targets->fail("expected at least one linear layer to adapt");
  for (const Node& item : items) {
    const std::string name = adapter_target_names()[item.as_choice(adapter_target_names())];
    adapters.query_key_value = adapters.query_key_value || name == "qkv" || name == "attention";
    adapters.attention_output = adapters.attention_output || name == "proj" || name == "attention";
    adapters.mlp_up = adapters.mlp_up || name == "fc1" || name == "mlp";
    adapters.mlp_down = adapters.mlp_down || name == "fc2" || name == "mlp";
  }
  return adapters;
}

// In which gradients are reduced.
const std::vector<std::string>& gradient_precisions() {
  static const std::vector<std::string> names = {"bf16", "fp16", "fp32"};
  return names;
}

Optimizer read_optimizer(Mapping& section) {
  const std::optional<Node> found = section.find("optimizer");
  return found ? static_cast<Optimizer>(found->as_choice(optimizer_names())) : Optimizer::adam;
}

CudaGraphs with_scope(CudaGraphs graphs, std::size_t scope) {
  const std::string& name = cuda_graph_scopes()[scope];
  graphs.attention = graphs.attention || name == "attention" || name == "layer";
  graphs.mlp = graphs.mlp || name == "mlp" || name == "layer";
  graphs.router = graphs.router || name == "router" || name == "layer";
  graphs.iteration = graphs.iteration || name == "full";
  return graphs;
}

// One scope, or a list of them.
CudaGraphs read_cuda_graphs(Mapping& section) {
  const std::optional<Node> found = section.find("cuda_graphs");
  if (!found) return {};
  if (!found->is_sequence()) return with_scope({}, found->as_choice(cuda_graph_scopes()));
  CudaGraphs graphs;
  for (const Node& item : found->as_items()) graphs = with_scope(graphs, item.as_choice(cuda_graph_scopes()));
  return graphs;
}

Recompute read_recompute(Mapping& section) {
  const std::optional<Node> found = section.find("recompute");
  return found ? static_cast<Recompute>(found->as_choice(recompute_names())) : Recompute::none;
}

// Megatron Core's --recompute-modules; the attention core where the list is left out.
ModuleSet read_recompute_modules(Mapping& section) {
  const std::optional<Node> found = section.find("recompute_modules");
  if (!found) return Strategy{}.recompute_modules;
  ModuleSet modules;
  for (const Node& item : found->as_items()) modules.set(item.as_choice(module_names()));
  return modules;
}

ContextCommunication read_context_communication(Mapping& section) {
  const std::optional<Node> found = section.find("context_communication");
  return found ? static_cast<ContextCommunication>(found->as_choice(context_communication_names()))
               : ContextCommunication::p2p;
}

ExpertDispatcher read_expert_dispatcher(Mapping& section) {
  const std::optional<Node> found = section.find("expert_dispatcher");
  return found ? static_cast<ExpertDispatcher>(found->as_choice(expert_dispatcher_names()))
               : ExpertDispatcher::all_to_all;
}

ScheduleKind read_schedule(Mapping& section, ScheduleKind fallback) {
  const std::optional<Node> found = section.find("schedule");
  return found ? schedules()[found->as_choice(known_schedules())].kind : fallback;
}

std::vector<int> read_layer_split(Mapping& section) {
  std::vector<int> layers;
  const std::optional<Node> found = section.find("layer_split");
  if (!found) return layers;
  for (const Node& item : found->as_items()) layers.push_back(static_cast<int>(item.as_integer(0, 10'000)));
  return layers;
}

std::vector<int> read_replica_microbatches(Mapping& section) {
  std::vector<int> counts;
  const std::optional<Node> found = section.find("replica_microbatches");
  if (!found) return counts;
  for (const Node& item : found->as_items()) counts.push_back(static_cast<int>(item.as_integer(1, kMaxBatch)));
  if (counts.empty()) found->fail("expected the microbatches of each data-parallel replica");
  return counts;
}

// A rule that is broken is reported at the key that breaks it, even if that key has its default.
void check_rules(const Document& document, const Job& job) {
  const auto broken = first_violation({job.model, job.training, job.strategy, job.cluster.gpus()});
  if (!broken) return;
  const Node place = locate(document, broken->key);
  const bool there = place.path() == broken->key;
  place.fail_infeasible(there ? broken->message : broken->key + ": " + broken->message, broken->hint);
}

void check_sizes(const Document& document, const Job& job) {
  const std::int64_t microbatch_count = microbatches(job.strategy, job.training);
  const std::int64_t chunks = std::int64_t{job.strategy.pipeline} * job.strategy.virtual_pipeline;
  if (microbatch_count > kMaxPasses / chunks) {
    locate(document, "training.global_batch")
        .fail_infeasible(
            fmt::format("{} microbatches through {} chunks are more than 2^24 passes", microbatch_count, chunks),
            "lower training.global_batch or raise strategy.micro_batch");
  }
}

// The classes of replicas; what keeps some from running is the placement of ranks on nodes.
std::vector<ReplicaClass> read_replica_classes(const Document& document, const Job& job) {
  try {
    return replica_classes(job);
  } catch (const Error& error) {
    locate(document, "cluster.nodes").fail_infeasible(error.message(), error.hint());
  }
}

void check_hardware(const Document& document, const Job& job) {
  const std::vector<ReplicaClass> classes = read_replica_classes(document, job);
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    for (const ReplicaClass& alike : classes) {
      const GpuSpec& gpu = job.hardware_of(stage, alike.first()).hardware.gpu;
      if (can_train(gpu, job)) continue;
      locate(document, "training.precision")
          .fail_infeasible(gpu.title + " cannot compute in " + job.training.precision,
                           "choose another precision or GPU");
    }
  }
}

}  // namespace

const std::vector<std::string>& cuda_graph_scopes() {
  static const std::vector<std::string> names = {"none", "attention", "mlp", "router", "layer", "full"};
  return names;
}

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names = {"adam", "lamb", "sgd", "none"};
  return names;
}

TrainingSpec read_training(const Node& node, const ModelSpec& model) {
  Mapping section(node);
  TrainingSpec training;
  training.global_batch = section.require("global_batch").as_integer(1, kMaxBatch);
  training.sequence_length = section.integer_or("sequence_length", model.max_sequence, 1, kMaxSequence);
  training.precision = read_precision(section, training.precision);
  training.fp8_parameters = section.bool_or("fp8_parameters", false);
  training.fp8_activation_input = section.bool_or("fp8_activation_input", false);
  training.cuda_graphs = read_cuda_graphs(section);
  training.blocking_launches = section.bool_or("blocking_launches", false);
  training.tokens = section.number_or("tokens", 0, 1, 1e18);
  training.framework = choice_or(section, "framework", training.framework, known_frameworks());
  if (const std::optional<Node> lora = section.find("lora")) training.adapters = read_adapters(*lora);
  training.gradient_precision = choice_or(section, "gradient_precision", "", gradient_precisions());
  training.optimizer = read_optimizer(section);
  section.finish();
  return training;
}

Strategy read_strategy(const Node& node, int gpus) {
  Mapping section(node);
  Strategy strategy;
  strategy.tensor = integer_or(section, "tensor", 1);
  strategy.pipeline = integer_or(section, "pipeline", 1);
  strategy.virtual_pipeline = integer_or(section, "virtual_pipeline", 1, 10'000);
  strategy.context = integer_or(section, "context", 1);
  strategy.context_communication = read_context_communication(section);
  const std::int64_t model_parallel = std::int64_t{strategy.tensor} * strategy.context * strategy.pipeline;
  strategy.data = integer_or(section, "data", static_cast<int>(std::max<std::int64_t>(1, gpus / model_parallel)));
  strategy.expert = integer_or(section, "expert", 1);
  strategy.expert_tensor = integer_or(section, "expert_tensor", strategy.tensor);
  strategy.expert_dispatcher = read_expert_dispatcher(section);
  strategy.overlap_expert = section.bool_or("overlap_expert", false);
  strategy.micro_batch = integer_or(section, "micro_batch", 1, 1 << 20);
  strategy.microbatch_group = static_cast<int>(section.integer_or("microbatch_group", 0, 1, kMaxBatch));
  const bool chunks = strategy.virtual_pipeline > 1;
  strategy.schedule =
      read_schedule(section, chunks ? ScheduleKind::interleaved : ScheduleKind::one_forward_one_backward);
  strategy.sequence_parallel = section.bool_or("sequence_parallel", false);
  strategy.recompute = read_recompute(section);
  strategy.recompute_modules = read_recompute_modules(section);
  strategy.recompute_layers = static_cast<int>(section.integer_or("recompute_layers", 0, 1, 10'000));
  strategy.offload_layers = static_cast<int>(section.integer_or("offload_layers", 0, 1, 10'000));
  strategy.zero = static_cast<int>(section.integer_or("zero", 0, 0, 3));
  strategy.zero_group = static_cast<int>(section.integer_or("zero_group", 0, 1, kMaxRanks));
  strategy.overlap_tensor = section.bool_or("overlap_tensor", false);
  strategy.overlap_grad_reduce = section.bool_or("overlap_grad_reduce", false);
  strategy.overlap_param_gather = section.bool_or("overlap_param_gather", false);
  strategy.layer_split = read_layer_split(section);
  strategy.replica_microbatches = read_replica_microbatches(section);
  section.finish();
  return strategy;
}

Node locate(const Document& document, std::string_view path) {
  Node node(document);
  while (!path.empty() && node.is_mapping()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const std::string_view key = path.substr(0, dot);
    const Value* value = node.value().find(key);
    if (value == nullptr) break;
    node = node.child(*value, key);
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node;
}

void check_job(const Document& document, const Job& job) {
  check_rules(document, job);
  check_sizes(document, job);
  check_hardware(document, job);
}

}  // namespace mirfak
