#include "model/hugging_face_config.hpp"

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

std::optional<Node> Config::find(Keys keys) {
  std::optional<Node> first;
  for (const char* key : keys) {
    const std::optional<Node> found = fields_.find_or_null(key);
    if (first && found && found->value().scalar != first->value().scalar) {
      found->fail(fmt::format("'{}' says {}", first->path(), first->described()), "state one of the two names alone");
    }
    if (!first) first = found;
  }
  return first;
}

void Config::finish() {
  for (const Value::Field& field : node().value().fields) {
    if (field.value.kind == Value::Kind::null || decides_no_shape(field.key)) fields_.ignore(field.key);
  }
  fields_.finish();
}

}  // namespace mirfak
