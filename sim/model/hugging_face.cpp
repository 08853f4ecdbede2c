// A config.json describes a model by the arguments of its Python class, so every family has key names and defaults
// of its own: the hidden size is `n_embd` for GPT-2 and `hidden_size` for Llama, an absent `num_key_value_heads`
// is 8 for Mistral and the number of heads for Llama. One function per family says how its class reads them.
//
// Only families are here whose block ModelSpec describes exactly: pre-norm, attention then MLP or experts, one norm
// each. (GPT-J and GPT-NeoX add attention and MLP to the same residual, Gemma 2 has four norms, Qwen 3 Next has layers
// without softmax attention: reading them as if they were Llama would give silent wrong answers.)
#include "model/hugging_face.hpp"

#include "base/text.hpp"
#include "model/hugging_face_config.hpp"
#include "model/hugging_face_mixtures.hpp"
#include "model/model_reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

void read_gpt2_sizes(Config& config, ModelSpec& model) {
  model.layers = config.size({"n_layer", "num_hidden_layers"}, kMaxLayers);
  model.hidden = config.size({"n_embd", "hidden_size"}, kMaxHidden);
  model.ffn = config.size_or({"n_inner"}, kMaxFfn, 4 * model.hidden);
  model.vocab = config.size({"vocab_size"}, kMaxVocabulary);
  model.max_sequence = config.size({"n_positions", "max_position_embeddings"}, kMaxSequence);
  model.dropout = config.dropout("resid_pdrop", 0.1);
  model.tied_embeddings = config.flag("tie_word_embeddings", true);
  config.expect_flag("add_cross_attention", false, false, "expected a decoder without cross attention");
}

ModelSpec read_gpt2(Config& config) {
  ModelSpec model;
  model.family = "gpt";
  read_gpt2_sizes(config, model);
  model.activation = read_activation(config, {"activation_function"}, "gelu_new", Mlp::plain);
  read_heads(model, config.node(),
             {.heads = config.require({"n_head", "num_attention_heads"}), .kv_heads = {}, .head_dim = {}});
  return model;
}

ModelSpec read_gpt_bigcode(Config& config) {
  ModelSpec model;
  model.family = "gpt";
  read_gpt2_sizes(config, model);
  model.activation = read_activation(config, {"activation_function"}, "gelu_pytorch_tanh", Mlp::plain);
  read_heads(model, config.node(),
             {.heads = config.require({"n_head", "num_attention_heads"}),
              .kv_heads = {},
              .head_dim = {},
              .default_kv_heads = config.flag("multi_query", true) ? 1 : 0});
  return model;
}

ModelSpec read_llama(Config& config) {
  ModelSpec model = read_llama_block(config, {.family = "llama", .as_many_kv_heads = true});
  model.activation = read_activation(config, {"hidden_act"}, "silu", Mlp::gated);
  const bool attention_bias = config.flag("attention_bias", false);
  config.expect_flag("mlp_bias", attention_bias, false, "expected biases in both attention and MLP or in neither");
  model.linear_bias = attention_bias;
  model.qkv_bias = attention_bias;
  return model;
}

ModelSpec read_mistral(Config& config) {
  ModelSpec model = read_llama_block(config, {.family = "mistral"});
  model.activation = read_activation(config, {"hidden_act"}, "silu", Mlp::gated);
  const std::int64_t window = config.count_or_null("sliding_window", kMaxSequence);
  if (window < model.max_sequence) model.window.tokens = window;
  return model;
}

ModelSpec read_qwen2(Config& config) {
  ModelSpec model = read_llama_block(config, {.family = "qwen2"});
  model.activation = read_activation(config, {"hidden_act"}, "silu", Mlp::gated);
  model.qkv_bias = true;
  if (!config.flag("use_sliding_window", false)) {
    for (const char* of_windows : {"sliding_window", "max_window_layers"}) config.ignore(of_windows);
    return model;
  }
  // The layers from max_window_layers on have the window: all or none in the models there are.
  const std::int64_t window = config.count_or_null("sliding_window", kMaxSequence);
  const bool windowed = config.count_or_null("max_window_layers", kMaxLayers) < model.layers;
  if (windowed && window < model.max_sequence) model.window.tokens = window;
  return model;
}

ModelSpec read_gemma(Config& config) {
  ModelSpec model = read_llama_block(config, {.family = "gemma", .tied = true, .states_head_dim = true});
  model.activation = read_activation(config, {"hidden_activation"}, "gelu_pytorch_tanh", Mlp::gated);
  config.ignore("hidden_act");  // the class's first version; it computed the same
  config.expect_flag("attention_bias", false, false, "expected a Gemma model without attention biases");
  return model;
}

ModelSpec read_opt(Config& config) {
  ModelSpec model;
  model.family = "opt";
  model.layers = config.size({"num_hidden_layers"}, kMaxLayers);
  model.hidden = config.size({"hidden_size"}, kMaxHidden);
  model.ffn = config.size({"ffn_dim"}, kMaxFfn);
  model.vocab = config.size({"vocab_size"}, kMaxVocabulary);
  model.max_sequence = config.size({"max_position_embeddings"}, kMaxSequence);
  model.activation = read_activation(config, {"activation_function"}, "relu", Mlp::plain);
  model.dropout = config.dropout("dropout", 0.1);
  model.linear_bias = config.flag("enable_bias", true);
  model.qkv_bias = model.linear_bias;
  model.tied_embeddings = config.flag("tie_word_embeddings", true);
  read_heads(model, config.node(), {.heads = config.require({"num_attention_heads"}), .kv_heads = {}, .head_dim = {}});

  config.expect_flag("do_layer_norm_before", true, true, "expected layer norms before attention and MLP, not after");
  config.expect_flag("layer_norm_elementwise_affine", true, true, "expected layer norms with weights");
  config.expect_flag("_remove_final_layer_norm", false, false, "expected a final layer norm");
  const std::optional<Node> projection = config.find({"word_embed_proj_dim"});
  if (projection && projection->as_integer(1, kMaxHidden) != model.hidden) {
    projection->fail(fmt::format("expected the hidden size {}, found {}", model.hidden, projection->described()),
                     Config::unsupported);
  }
  return model;
}

ModelSpec read_bloom(Config& config) {
  ModelSpec model;
  model.family = "bloom";
  model.layers = config.size({"n_layer", "num_hidden_layers"}, kMaxLayers);
  model.hidden = config.size({"n_embed", "hidden_size"}, kMaxHidden);
  model.ffn = 4 * model.hidden;
  model.vocab = config.size({"vocab_size"}, kMaxVocabulary);
  model.max_sequence = config.size_or({"seq_length"}, kMaxSequence, 2048);
  model.position = PositionEncoding::alibi;
  model.embedding_norm = true;
  model.dropout = config.dropout("hidden_dropout", 0);
  model.tied_embeddings = config.flag("tie_word_embeddings", true);
  read_heads(model, config.node(),
             {.heads = config.require({"n_head", "num_attention_heads"}), .kv_heads = {}, .head_dim = {}});
  return model;
}

struct Family {
  const char* model_type;
  const char* architecture;
  ModelSpec (*read)(Config&);
};

constexpr std::array<Family, 14> kFamilies = {{
    {"bloom", "BloomForCausalLM", read_bloom},
    {"deepseek_v3", "DeepseekV3ForCausalLM", read_deepseek_v3},
    {"gemma", "GemmaForCausalLM", read_gemma},
    {"gpt2", "GPT2LMHeadModel", read_gpt2},
    {"gpt_bigcode", "GPTBigCodeForCausalLM", read_gpt_bigcode},
    {"gpt_oss", "GptOssForCausalLM", read_gpt_oss},
    {"kimi_k2", "KimiK2ForCausalLM", read_deepseek_v3},
    {"llama", "LlamaForCausalLM", read_llama},
    {"mistral", "MistralForCausalLM", read_mistral},
    {"mixtral", "MixtralForCausalLM", read_mixtral},
    {"opt", "OPTForCausalLM", read_opt},
    {"qwen2", "Qwen2ForCausalLM", read_qwen2},
    {"qwen3", "Qwen3ForCausalLM", read_qwen3},
    {"qwen3_moe", "Qwen3MoeForCausalLM", read_qwen3_moe},
}};

const Family& find_family(Config& config) {
  const std::optional<Node> model_type = config.find({"model_type"});
  const std::optional<Node> architectures = config.find({"architectures"});
  const Node& stated = model_type ? *model_type : architectures ? *architectures : config.node();
  std::string word;
  if (model_type) {
    word = model_type->as_string();
  } else if (architectures) {
    const std::vector<Node> items = architectures->as_items();
    if (!items.empty()) word = items.front().as_string();
  }
  for (const Family& family : kFamilies) {
    if (word == (model_type ? family.model_type : family.architecture)) return family;
  }
  stated.fail(fmt::format("models of the family '{}' cannot be read from a Hugging Face config, only {}", excerpt(word),
                          join_or(hugging_face_families())),
              "if its blocks are those of a dense decoder, describe it in mirfak's own format: models/README.md");
}

// Newer files say of each layer what it attends to.
void check_layer_types(Config& config, const ModelSpec& model) {
  const std::optional<Node> found = config.find({"layer_types"});
  if (!found) return;
  const std::vector<Node> types = found->as_items();
  if (static_cast<std::int64_t>(types.size()) != model.layers) {
    found->fail(fmt::format("expected the type of each of the {} layers, found {}", model.layers, types.size()));
  }
  const std::vector<std::string> names = {"full_attention", "sliding_attention"};
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const Node& type = types[static_cast<std::size_t>(layer)];
    const bool windowed = kind_of_layer(model, layer).window > 0;
    if ((type.as_choice(names) == 1) == windowed) continue;
    type.fail(fmt::format("layer {} is '{}', but the other keys of the family make it '{}'", layer,
                          names[windowed ? 0 : 1], names[windowed ? 1 : 0]),
              Config::unsupported);
  }
}

}  // namespace

bool is_hugging_face_config(const Document& document) {
  const Value& root = document.root();
  return root.find("model_type") != nullptr || root.find("architectures") != nullptr;
}

ModelSpec parse_hugging_face(const Document& document) {
  Config config(document);
  ModelSpec model = find_family(config).read(config);
  check_layer_types(config, model);
  config.finish();
  model.name = name_from_path(document.name());
  model.source = document.name();
  check_parts(model, config.node());
  return model;
}

std::vector<std::string> hugging_face_families() {
  std::vector<std::string> names;
  for (const Family& family : kFamilies) names.emplace_back(family.model_type);
  return names;
}

}  // namespace mirfak
