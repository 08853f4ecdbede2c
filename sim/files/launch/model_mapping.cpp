#include "launch/model_mapping.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/values.hpp"
#include "base/yaml.hpp"
#include "launch/job_values.hpp"
#include "model/model_loader.hpp"

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

// Keys that a mapping states under the names that model_value() knows them by.
constexpr std::string_view kPlainKeys[] = {
    "layers",         "hidden",     "heads",         "kv_heads", "head_dim",         "ffn",      "vocab",
    "max_sequence",   "activation", "normalization", "position", "linear_bias",      "qkv_bias", "tied_embeddings",
    "embedding_norm", "qk_norm",    "sinks",         "dropout",  "prediction_layers"};
constexpr std::string_view kExpertKeys[] = {"count", "per_token", "ffn", "shared_ffn", "first_dense", "every"};
constexpr std::string_view kGroupKeys[] = {"groups", "groups_per_token"};
constexpr std::string_view kLatentKeys[] = {"key_value_rank", "query_rank", "position_dim", "value_dim"};

void add(Value& mapping, const ModelSpec& model, std::span<const std::string_view> keys,
         const std::string& section = "") {
  for (const std::string_view key : keys) {
    mapping.fields.push_back(
        {std::string(key), word_value(model_value(model, fmt::format("model.{}{}", section, key)))});
  }
}

Value window_of(const SlidingWindow& window) {
  return mapping_value({{"tokens", scalar_value(window.tokens)},
                        {"full_every", scalar_value(window.full_every)},
                        {"full_first", scalar_value(window.full_first)}});
}

Value mapping_of(const ModelSpec& model) {
  Value out = mapping_value({{"name", quoted_value(model.name)}, {"source", quoted_value(model.source)}});
  add(out, model, kPlainKeys);
  if (!model.causal) out.fields.push_back({"attention", word_value("bidirectional")});
  if (model.post_norm) out.fields.push_back({"norms", word_value("after")});
  if (model.activation_limit > 0) add(out, model, std::vector<std::string_view>{"activation_limit"});
  if (model.mixture.experts > 0) {
    Value experts = mapping_value();
    add(experts, model, kExpertKeys, "experts.");
    if (model.mixture.groups > 1) add(experts, model, kGroupKeys, "experts.");
    out.fields.push_back({"experts", std::move(experts)});
  }
  if (model.latent.key_value_rank > 0) {
    Value latent = mapping_value();
    add(latent, model, kLatentKeys, "latent_attention.");
    out.fields.push_back({"latent_attention", std::move(latent)});
  }
  if (model.window.tokens > 0) out.fields.push_back({"sliding_window", window_of(model.window)});
  return out;
}

// True if a mapping's model is the same in all that a mapping can say, and has as many parameters.
bool same_model(const ModelSpec& a, const ModelSpec& b) {
  const ParameterCount one = count_parameters(a);
  const ParameterCount other = count_parameters(b);
  return emit_flow_yaml(mapping_of(a)) == emit_flow_yaml(mapping_of(b)) && one.total == other.total &&
         one.active == other.active && one.prediction == other.prediction && a.head.kind == b.head.kind &&
         a.masked_share == b.masked_share && a.sentence_pairs == b.sentence_pairs;
}

}  // namespace

Value model_mapping(const ModelSpec& model, const std::filesystem::path& models_folder, const Location& where) {
  const std::string hint = "name the file in a scenario, model: ./config.json, and simulate it with mirfak simulate";
  if (!model.blocks.empty()) fail_input(where, "this model has blocks of its own and is no short mapping", hint);
  Value mapping = mapping_of(model);
  const Document document = Document::from_text("model: " + emit_flow_yaml(mapping), where.file);
  const Node node = Node(document).child(*document.root().find("model"), "model");
  if (!same_model(model, parse_model(node, models_folder))) {
    fail_input(where, "a mapping in a scenario cannot describe all of this model", hint);
  }
  return mapping;
}

}  // namespace mirfak
