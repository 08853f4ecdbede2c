#include "scenario/training_section.hpp"

#include "scenario/document_lengths.hpp"
#include "strategy/precision_recipe.hpp"

#include <optional>

namespace mirfak {

namespace {

constexpr std::int64_t kMaxSequence = std::int64_t{1} << 24;

std::string choice_or(Mapping& section, std::string_view key, const std::string& fallback,
                      const std::vector<std::string>& names) {
  const std::optional<Node> found = section.find(key);
  return found ? names[found->as_choice(names)] : fallback;
}

// Reads training.precision: the name of a recipe, written out.
std::string read_precision(Mapping& section, const std::string& fallback) {
  static const std::vector<std::string> names = precision_recipe_names();
  return find_precision_recipe(choice_or(section, "precision", fallback, names))->name;
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

// Precisions in which gradients are reduced.
const std::vector<std::string>& gradient_precisions() {
  static const std::vector<std::string> names = {"bf16", "fp16", "fp32"};
  return names;
}

Optimizer read_optimizer(Mapping& section) {
  const std::optional<Node> found = section.find("optimizer");
  return found ? static_cast<Optimizer>(found->as_choice(optimizer_names())) : Optimizer::adam;
}

std::string read_framework_name(Mapping& section, const FrameworkCatalog& frameworks) {
  const std::optional<Node> found = section.find("framework");
  return found ? frameworks.read_stated(*found) : frameworks.default_name();
}

CudaGraphs with_scope(CudaGraphs graphs, std::size_t scope) {
  const std::string& name = cuda_graph_scopes()[scope];
  graphs.attention = graphs.attention || name == "attention" || name == "layer";
  graphs.mlp = graphs.mlp || name == "mlp" || name == "layer";
  graphs.router = graphs.router || name == "router" || name == "layer";
  graphs.iteration = graphs.iteration || name == "full";
  return graphs;
}

// Reads one scope, or a list of scopes.
CudaGraphs read_cuda_graphs(Mapping& section) {
  const std::optional<Node> found = section.find("cuda_graphs");
  if (!found) return {};
  if (!found->is_sequence()) return with_scope({}, found->as_choice(cuda_graph_scopes()));
  CudaGraphs graphs;
  for (const Node& item : found->as_items()) graphs = with_scope(graphs, item.as_choice(cuda_graph_scopes()));
  return graphs;
}

}  // namespace

const std::vector<std::string>& cuda_graph_scopes() {
  static const std::vector<std::string> names = {"none", "attention", "mlp", "router", "layer", "full"};
  return names;
}

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names = {"adam", "adam-8bit", "adafactor", "lamb", "sgd", "muon", "none"};
  return names;
}

TrainingSpec read_training(const Node& node, const ModelSpec& model, const FrameworkCatalog& frameworks) {
  Mapping section(node);
  TrainingSpec training;
  training.global_batch = section.require("global_batch").as_integer(1, kMaxBatch);
  training.sequence_length = section.integer_or("sequence_length", model.max_sequence, 1, kMaxSequence);
  if (const std::optional<Node> lengths = section.find_or_null("document_lengths")) {
    training.documents = read_document_lengths(*lengths);
  }
  training.precision = read_precision(section, training.precision);
  training.fp8_parameters = section.bool_or("fp8_parameters", false);
  training.fp8_activation_input = section.bool_or("fp8_activation_input", false);
  training.cuda_graphs = read_cuda_graphs(section);
  training.blocking_launches = section.bool_or("blocking_launches", false);
  if (const std::optional<Node> tokens = section.find_or_null("tokens")) training.tokens = tokens->as_number(1, 1e18);
  training.framework = read_framework_name(section, frameworks);
  if (const std::optional<Node> lora = section.find_or_null("lora")) training.adapters = read_adapters(*lora);
  training.gradient_precision = choice_or(section, "gradient_precision", "", gradient_precisions());
  training.optimizer = read_optimizer(section);
  section.finish();
  return training;
}

}  // namespace mirfak
