#include "model/hugging_face_config.hpp"

#include "base/text.hpp"
#include "model/model_reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace mirfak {

ActivationFunction read_activation(Config& config, Keys keys, const char* fallback, Mlp mlp) {
  const std::vector<std::string> gelu = {"gelu",        "gelu_new",          "gelu_fast",
                                         "gelu_python", "gelu_pytorch_tanh", "quick_gelu"};
  std::vector<std::string> names =
      mlp == Mlp::plain ? std::vector<std::string>{"relu"} : std::vector<std::string>{"silu", "swish"};
  const std::size_t others = names.size();
  names.insert(names.end(), gelu.begin(), gelu.end());
  const std::optional<Node> found = config.find(keys);
  const std::size_t choice =
      found ? found->as_choice(names)
            : static_cast<std::size_t>(std::find(names.begin(), names.end(), fallback) - names.begin());
  if (mlp == Mlp::plain) return choice < others ? ActivationFunction::relu : ActivationFunction::gelu;
  return choice < others ? ActivationFunction::swiglu : ActivationFunction::geglu;
}

ModelSpec read_llama_block(Config& config, const LlamaClass& of) {
  ModelSpec model;
  model.family = of.family;
  model.layers = config.size({"num_hidden_layers"}, kMaxLayers);
  model.hidden = config.size({"hidden_size"}, kMaxHidden);
  model.ffn = config.size({"intermediate_size"}, kMaxFfn);
  model.vocab = config.size({"vocab_size"}, kMaxVocabulary);
  model.max_sequence = config.size({"max_position_embeddings"}, kMaxSequence);
  model.normalization = Normalization::rms_norm;
  model.position = PositionEncoding::rotary;
  model.activation = ActivationFunction::swiglu;
  model.linear_bias = false;
  model.qkv_bias = false;
  model.tied_embeddings = config.flag("tie_word_embeddings", of.tied);
  if (!of.as_many_kv_heads && !config.is_null("num_key_value_heads")) config.require({"num_key_value_heads"});
  if (of.states_head_dim) config.require({"head_dim"});
  read_heads(model, config.node(),
             {.heads = config.require({"num_attention_heads"}),
              .kv_heads = config.find({"num_key_value_heads"}),
              .head_dim = config.find({"head_dim"})});
  return model;
}

std::optional<Node> Config::find(const std::vector<std::string>& keys) {
  std::optional<Node> first;
  for (const std::string& key : keys) {
    asked_.emplace(key);
    const std::optional<Node> found = fields_.find_or_null(key);
    if (first && found && found->value().scalar != first->value().scalar) {
      found->fail(fmt::format("'{}' says {}", first->path(), first->described()), "state one of the two names alone");
    }
    if (!first) first = found;
  }
  return first;
}

void Config::read_flagged_window(ModelSpec& model) {
  const bool windowed = flag("use_sliding_window", false);
  if (!windowed) {
    for (const char* of_windows : {"sliding_window", "max_window_layers"}) ignore(of_windows);
    return;
  }
  const std::int64_t window = count_or_null("sliding_window", kMaxSequence);
  const std::int64_t first = find({"layer_types"}) && !find({"max_window_layers"})
                                 ? 0
                                 : std::min(count_or_null("max_window_layers", kMaxLayers), model.layers);
  if (window == 0 || window >= model.max_sequence || first == model.layers) return;
  model.window.tokens = window;
  model.window.full_first = first;
}

namespace {

// Returns the length of the word of a key, between underscores, at a letter.
std::size_t word_length(const std::string& key, std::size_t at) {
  const std::size_t before = at == 0 ? std::string::npos : key.rfind('_', at - 1);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return std::min(key.find('_', at), key.size()) - begin;
}

// Returns the first of `names` that differs from `key` in one place and by two letters at most, in a word of more than
// three letters: "mlp" is another word than "moe", not a misspelling. "": none.
std::string misspelt(const std::string& key, const std::vector<std::string>& names) {
  constexpr std::size_t kLetters = 2;
  constexpr std::size_t kShortWord = 3;
  for (const std::string& name : names) {
    const std::size_t shorter = std::min(key.size(), name.size());
    const std::size_t longer = std::max(key.size(), name.size());
    const auto differs = std::mismatch(key.begin(), key.end(), name.begin(), name.end());
    const auto alike = static_cast<std::size_t>(differs.first - key.begin());
    const auto behind = std::mismatch(key.rbegin(), key.rend(), name.rbegin(), name.rend());
    const auto alike_behind = std::min(static_cast<std::size_t>(behind.first - key.rbegin()), shorter - alike);
    if (std::min(word_length(key, alike), word_length(name, alike)) <= kShortWord) continue;
    if (longer - alike - alike_behind <= kLetters && shorter > 2 * kLetters) return name;
  }
  return {};
}

}  // namespace

void Config::finish(ModelSpec& model) {
  std::vector<std::string> unstated;
  for (const std::string& name : asked_) {
    if (node().value().find(name) == nullptr) unstated.push_back(name);
  }
  constexpr std::size_t kNamed = 400;  // letters of a note
  std::string idle;
  for (const Value::Field& field : node().value().fields) {
    const bool known = asked_.contains(field.key) || field.value.kind == Value::Kind::null;
    if (known || decides_no_shape(field.key)) {
      fields_.ignore(field.key);
      continue;
    }
    if (!misspelt(field.key, unstated).empty()) continue;
    fields_.ignore(field.key);
    if (idle.size() > kNamed) continue;
    idle += fmt::format("{}{} (line {})", idle.empty() ? "" : ", ", excerpt(field.key, 60), field.value.key_where.line);
  }
  fields_.finish();
  if (idle.empty()) return;
  const bool own_code = node().value().find("auto_map") != nullptr;
  model.notes.push_back(fmt::format(
      "{}: keys that Transformers' class of the family '{}' does not read, and that change nothing here: {}{}",
      node().where().file, model.family, excerpt(idle, kNamed),
      own_code ? "; the model's own code (auto_map), which is not looked at, may read them" : ""));
}

}  // namespace mirfak
