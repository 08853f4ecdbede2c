#include "model/hugging_face_mixtures.hpp"

#include "model/model_reading.hpp"

namespace mirfak {

namespace {

// Reads the window: every layer attends to the last `sliding_window` tokens, unless that key is null or not stated.
void read_window(Config& config, ModelSpec& model) {
  const std::int64_t window = config.size_or({"sliding_window"}, kMaxSequence, model.max_sequence);
  if (window < model.max_sequence) model.window.tokens = window;
}

void refuse_list(Config& config, const char* key, const char* why) {
  const std::optional<Node> found = config.find({key});
  if (found && !config.is_null(key) && !found->as_items().empty()) found->fail(why, Config::unsupported);
}

// states_head_dim: the class has a default for heads' width that does not follow from other sizes.
ModelSpec read_qwen3_block(Config& config, bool states_head_dim) {
  ModelSpec model = read_llama_block(config, {.family = "qwen3", .states_head_dim = states_head_dim});
  model.activation = read_activation(config, {"hidden_act"}, "silu", Mlp::gated);
  model.qk_norm = true;
  config.expect_flag("attention_bias", false, false, "expected a Qwen 3 model without attention biases");
  config.read_flagged_window(model);
  return model;
}

// Reads groups of experts: the best groups_per_token groups hold all experts of a token. Groups that the file states
// have no effect if the router chooses among all experts ("greedy").
void read_expert_groups(Config& config, MixtureOfExperts& mixture) {
  const std::optional<Node> method = config.find({"topk_method"});
  const std::optional<Node> groups = config.find({"n_group"});
  const std::optional<Node> per_token = config.find({"topk_group"});
  if (!groups || !per_token || (method && method->as_string() == "greedy")) return;
  mixture.groups = groups->as_integer(1, mixture.experts);
  mixture.groups_per_token = per_token->as_integer(1, mixture.groups);
  check_groups(mixture, *groups);
}

}  // namespace

ModelSpec read_mixtral(Config& config) {
  ModelSpec model = read_llama_block(config, {.family = "mixtral"});
  model.activation = read_activation(config, {"hidden_act"}, "silu", Mlp::gated);
  model.mixture.experts = config.size({"num_local_experts", "num_experts"}, kMaxExperts);
  model.mixture.per_token = config.size({"num_experts_per_tok"}, kMaxExperts);
  model.mixture.ffn = model.ffn;
  read_window(config, model);
  return model;
}

ModelSpec read_qwen3(Config& config) { return read_qwen3_block(config, true); }

ModelSpec read_qwen3_moe(Config& config) {
  ModelSpec model = read_qwen3_block(config, false);
  model.window.full_first = 0;  // the class with experts has the window in all layers
  model.mixture.experts = config.size({"num_experts", "num_local_experts"}, kMaxExperts);
  model.mixture.per_token = config.size({"num_experts_per_tok"}, kMaxExperts);
  model.mixture.ffn = config.size({"moe_intermediate_size"}, kMaxFfn);
  model.mixture.every = config.size_or({"decoder_sparse_step"}, kMaxLayers, 1);
  refuse_list(config, "mlp_only_layers", "expected no layers without experts but those of decoder_sparse_step");
  return model;
}

ModelSpec read_deepseek_v3(Config& config) {
  ModelSpec model = read_llama_block(config, {.family = "deepseek"});
  model.activation = read_activation(config, {"hidden_act"}, "silu", Mlp::gated);
  config.expect_flag("attention_bias", false, false, "expected a DeepSeek model without attention biases");
  LatentAttention& latent = model.latent;
  latent.key_value_rank = config.size({"kv_lora_rank"}, kMaxHidden);
  latent.query_rank = config.count_or_null("q_lora_rank", kMaxHidden);
  latent.position_dim = config.size({"qk_rope_head_dim"}, kMaxHeadDim);
  latent.value_dim = config.size({"v_head_dim"}, kMaxHeadDim);
  model.head_dim = config.size({"qk_nope_head_dim"}, kMaxHeadDim) + latent.position_dim;
  config.ignore("qk_head_dim");  // sum of the two parts of a head
  model.kv_heads = model.heads;
  MixtureOfExperts& mixture = model.mixture;
  mixture.experts = config.size({"n_routed_experts", "num_local_experts", "num_experts"}, kMaxExperts);
  mixture.per_token = config.size({"num_experts_per_tok"}, kMaxExperts);
  read_expert_groups(config, mixture);
  mixture.ffn = config.size({"moe_intermediate_size"}, kMaxFfn);
  mixture.shared_ffn = config.count_or_null("n_shared_experts", kMaxExperts) * mixture.ffn;
  mixture.first_dense = config.count_or_null("first_k_dense_replace", kMaxLayers);
  mixture.every = config.size_or({"moe_layer_freq"}, kMaxLayers, 1);
  const std::optional<Node> predictions = config.find({"num_nextn_predict_layers"});
  model.prediction_layers = predictions ? predictions->as_integer(0, kMaxLayers) : 0;
  return model;
}

// GptOssExperts.limit of Hugging Face's transformers, where config.json does not state it.
constexpr double kGptOssLimit = 7;

ModelSpec read_gpt_oss(Config& config) {
  ModelSpec model = read_llama_block(config, {.family = "gpt_oss", .states_head_dim = true});
  model.activation = read_activation(config, {"hidden_act"}, "silu", Mlp::gated);
  model.mixture.experts = config.size({"num_local_experts", "num_experts"}, kMaxExperts);
  model.mixture.per_token = config.size({"num_experts_per_tok", "experts_per_token"}, kMaxExperts);
  config.ignore("experts_per_token");  // older name of the same key
  model.mixture.ffn = model.ffn;
  model.activation_limit = config.number("swiglu_limit", kGptOssLimit);
  model.linear_bias = model.qkv_bias = model.sinks = true;
  config.expect_flag("attention_bias", true, true, "expected a GPT-OSS model with attention biases");
  model.window.tokens = config.size({"sliding_window"}, kMaxSequence);
  model.window.full_every = 2;  // each second layer attends to all tokens; layer_types, where stated, must agree
  return model;
}

}  // namespace mirfak
