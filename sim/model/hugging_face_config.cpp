#include "model/hugging_face_config.hpp"

#include "model/model_reading.hpp"

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

ModelSpec read_llama_block(Config& config, const LlamaDefaults& defaults) {
  ModelSpec model;
  model.family = defaults.family;
  model.layers = config.size({"num_hidden_layers"}, kMaxLayers, defaults.layers);
  model.hidden = config.size({"hidden_size"}, kMaxHidden, defaults.hidden);
  model.ffn = config.size({"intermediate_size"}, kMaxFfn, defaults.ffn);
  model.vocab = config.size({"vocab_size"}, kMaxVocabulary, defaults.vocab);
  model.max_sequence = config.size({"max_position_embeddings"}, kMaxSequence, defaults.max_sequence);
  model.normalization = Normalization::rms_norm;
  model.position = PositionEncoding::rotary;
  model.activation = ActivationFunction::swiglu;
  model.linear_bias = false;
  model.qkv_bias = false;
  model.tied_embeddings = config.flag("tie_word_embeddings", defaults.tied);
  read_heads(model, config.node(),
             {.heads = config.find({"num_attention_heads"}),
              .kv_heads = config.find({"num_key_value_heads"}),
              .head_dim = config.find({"head_dim"}),
              .default_heads = defaults.heads,
              .default_kv_heads = config.is_null("num_key_value_heads") ? 0 : defaults.kv_heads,
              .default_head_dim = defaults.head_dim});
  return model;
}

}  // namespace mirfak
