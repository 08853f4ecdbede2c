// A config.json describes a model by the arguments of its Python class, so every family has key names and defaults of
// its own: the hidden size is `n_embd` for GPT-2 and `hidden_size` for Llama, an absent `num_key_value_heads` is 8 for
// Mistral and the number of heads for Llama. One function per family reads the keys as its class does.
//
// Only families are here whose block ModelSpec describes exactly: pre-norm, attention then MLP or experts, one norm
// each. (GPT-J and GPT-NeoX add attention and MLP to the same residual, Gemma 2 has four norms, Qwen 3 Next has layers
// without softmax attention: reading these families as Llama would give silent wrong answers.)
#include "model/hugging_face.hpp"

#include "base/text.hpp"
#include "model/family_config.hpp"
#include "model/hugging_face_config.hpp"
#include "model/hugging_face_head.hpp"
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
  config.read_flagged_window(model);
  return model;
}

ModelSpec read_gemma(Config& config) {
  ModelSpec model = read_llama_block(config, {.family = "gemma", .tied = true, .states_head_dim = true});
  model.activation = read_activation(config, {"hidden_activation"}, "gelu_pytorch_tanh", Mlp::gated);
  config.ignore("hidden_act");  // key of the class's first version, which computed the same
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

struct ClassOfModels {
  const char* model_type;
  const char* architecture;
  ModelSpec (*read)(Config&);
};

constexpr std::array<ClassOfModels, 14> kFamilies = {{
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

const ClassOfModels& find_class(Config& config, const Families& described) {
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
  for (const ClassOfModels& family : kFamilies) {
    if (word == (model_type ? family.model_type : family.architecture)) return family;
  }
  std::vector<std::string> known = hugging_face_families();
  const std::vector<std::string> types = described.model_types();
  known.insert(known.end(), types.begin(), types.end());
  stated.fail(
      fmt::format("models of the family '{}' cannot be read from a Hugging Face config", excerpt(word)),
      did_you_mean(word, known, "models/README.md lists the families that can, and says how another one is described"));
}

// Reads the attention type of each layer, which newer files state: the window then applies to these layers, whatever
// other keys state.
void read_layer_types(Config& config, ModelSpec& model) {
  const std::optional<Node> found = config.find({"layer_types"});
  if (!found) return;
  const std::vector<Node> types = found->as_items();
  if (static_cast<std::int64_t>(types.size()) != model.layers) {
    found->fail(fmt::format("expected the type of each of the {} layers, found {}", model.layers, types.size()));
  }
  const std::vector<std::string> names = {"full_attention", "sliding_attention"};
  std::vector<bool> windowed;
  windowed.reserve(types.size());
  for (const Node& type : types) windowed.push_back(type.as_choice(names) == 1);
  const auto first = std::find(windowed.begin(), windowed.end(), true);
  if (first == windowed.end()) {
    model.window = {};
    return;
  }
  const std::optional<Node> stated = config.find({"sliding_window"});
  if (!stated) {
    types[static_cast<std::size_t>(first - windowed.begin())].fail("which tokens such a layer attends to is not said",
                                                                   "state sliding_window");
  }
  const std::int64_t tokens = stated->as_integer(1, kMaxSequence);
  const std::optional<SlidingWindow> window = sliding_window_of(windowed, tokens);
  if (!window) {
    found->fail("expected all tokens in the leading layers or in each n-th one, the window in all others",
                Config::unsupported);
  }
  model.window = tokens < model.max_sequence ? *window : SlidingWindow{};
}

// Reads the head: the name of the class states which one follows the last layer.
void read_head(Config& config, const ClassOfModels& family, ModelSpec& model) {
  model.head = head_of_class(config, config, {family.architecture}, model.notes).head;
  if (model.head.kind != HeadKind::language) model.prediction_layers = 0;  // prediction layers predict tokens
}

// Keys of the parts before a language model that is part of a larger model.
constexpr std::array kTowers = {"vision_config", "audio_config", "speech_config", "vision_tower", "mm_vision_tower"};

// Returns the section of the language model: models of images and sound have one. Without towers it is the model.
Node language_model(const Document& document) {
  const Node root(document);
  for (const char* key : kTowers) {
    const Value* tower = document.root().find(key);
    const bool there = tower != nullptr && tower->kind != Value::Kind::null &&
                       !(tower->kind == Value::Kind::mapping && tower->fields.empty()) &&
                       !tower->scalar.starts_with("false");
    if (!there) continue;
    root.child(*tower, key)
        .fail("the parts in front of the language model (encoders, projectors) are not described here",
              "give the language model (text_config, where there is one) as a file of its own");
  }
  const Value* text = document.root().find("text_config");
  return text != nullptr && text->kind == Value::Kind::mapping ? root.child(*text, "text_config") : root;
}

}  // namespace

bool is_hugging_face_config(const Document& document) {
  const Value& root = document.root();
  return root.find("model_type") != nullptr || root.find("architectures") != nullptr;
}

namespace {

// The family that a file describes, and the type among its types; no family: nullptr.
struct TypeOfFamily {
  const Family* family = nullptr;
  std::string type;
};

TypeOfFamily family_of(const Document& document, const std::filesystem::path& models_folder) {
  const Families& families = Families::of(models_folder / "families");
  const Value* const type = document.root().find("model_type");
  if (type != nullptr && type->kind == Value::Kind::scalar) return {families.find(type->scalar), type->scalar};
  const Value* const classes = document.root().find("architectures");
  if (classes == nullptr || classes->items.empty()) return {};
  for (const auto& family : families.all()) {
    for (const auto& [name, described] : family->types) {
      if (described.class_name == classes->items.front().scalar) return {family.get(), name};
    }
  }
  return {};
}

}  // namespace

ModelSpec parse_hugging_face(const Document& document, const std::filesystem::path& models_folder) {
  const TypeOfFamily described = family_of(document, models_folder);
  if (described.family != nullptr) {
    return read_family_config(document, *described.family, described.type, models_folder);
  }
  Config config(language_model(document));
  const ClassOfModels& family = find_class(config, Families::of(models_folder / "families"));
  ModelSpec model = family.read(config);
  read_layer_types(config, model);
  read_head(config, family, model);
  config.finish(model);
  model.name = name_from_path(document.name());
  model.source = document.name();
  check_parts(model, config.node());
  return model;
}

std::vector<std::string> hugging_face_families() {
  std::vector<std::string> names;
  for (const ClassOfModels& family : kFamilies) names.emplace_back(family.model_type);
  return names;
}

}  // namespace mirfak
