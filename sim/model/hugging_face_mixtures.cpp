#include "model/hugging_face_mixtures.hpp"

#include "model/model_reading.hpp"

namespace mirfak {

namespace {

// Every layer attends to the last `sliding_window` tokens, unless that is null or not asked for.
void read_window(Config& config, ModelSpec& model) {
  if (config.is_null("sliding_window")) return;
  const std::int64_t window = config.size({"sliding_window"}, kMaxSequence, model.max_sequence);
  if (window < model.max_sequence) model.window.tokens = window;
}

void refuse_list(Config& config, const char* key, const char* why) {
  const std::optional<Node> found = config.find({key});
  if (found && !config.is_null(key) && !found->as_items().empty()) found->fail(why, Config::unsupported);
}

ModelSpec read_qwen3_block(Config& config, const LlamaDefaults& defaults) {
  ModelSpec model = read_llama_block(config, defaults);
  model.activation = read_activation(config, {"hidden_act"}, "silu", Mlp::gated);
  model.qk_norm = true;
  config.expect_flag("attention_bias", false, false, "expected a Qwen 3 model without attention biases");
  config.expect_flag("use_sliding_window", false, false, "expected a Qwen 3 model without a sliding window");
  return model;
}

}  // namespace

ModelSpec read_mixtral(Config& config) {
  ModelSpec model = read_llama_block(config, {"mixtral", 32, 4096, 32, 8, 0, 14336, 32000, 131072, false});
  model.activation = read_activation(config, {"hidden_act"}, "silu", Mlp::gated);
  model.mixture.experts = config.size({"num_local_experts"}, kMaxExperts, 8);
  model.mixture.per_token = config.size({"num_experts_per_tok"}, kMaxExperts, 2);
  model.mixture.ffn = model.ffn;
  read_window(config, model);
  return model;
}

ModelSpec read_qwen3(Config& config) {
  return read_qwen3_block(config, {"qwen3", 32, 4096, 32, 32, 128, 22016, 151936, 32768, false});
}

ModelSpec read_qwen3_moe(Config& config) {
  ModelSpec model = read_qwen3_block(config, {"qwen3", 24, 2048, 32, 4, 128, 6144, 151936, 32768, false});
  model.mixture.experts = config.size({"num_experts"}, kMaxExperts, 128);
  model.mixture.per_token = config.size({"num_experts_per_tok"}, kMaxExperts, 8);
  model.mixture.ffn = config.size({"moe_intermediate_size"}, kMaxFfn, 768);
  model.mixture.every = config.size({"decoder_sparse_step"}, kMaxLayers, 1);
  refuse_list(config, "mlp_only_layers", "expected no layers without experts but those of decoder_sparse_step");
  return model;
}

ModelSpec read_deepseek_v3(Config& config) {
  ModelSpec model = read_llama_block(config, {"deepseek", 61, 7168, 128, 128, 192, 18432, 129280, 4096, false});
  model.activation = read_activation(config, {"hidden_act"}, "silu", Mlp::gated);
  config.expect_flag("attention_bias", false, false, "expected a DeepSeek model without attention biases");
  LatentAttention& latent = model.latent;
  latent.key_value_rank = config.size({"kv_lora_rank"}, kMaxHidden, 512);
  latent.query_rank = config.is_null("q_lora_rank") ? 0 : config.size({"q_lora_rank"}, kMaxHidden, 1536);
  latent.position_dim = config.size({"qk_rope_head_dim"}, kMaxHeadDim, 64);
  latent.value_dim = config.size({"v_head_dim"}, kMaxHeadDim, 128);
  model.head_dim = config.size({"qk_nope_head_dim"}, kMaxHeadDim, 128) + latent.position_dim;
  model.kv_heads = model.heads;
  MixtureOfExperts& mixture = model.mixture;
  mixture.experts = config.size({"n_routed_experts"}, kMaxExperts, 256);
  mixture.per_token = config.size({"num_experts_per_tok"}, kMaxExperts, 8);
  mixture.ffn = config.size({"moe_intermediate_size"}, kMaxFfn, 2048);
  const std::optional<Node> shared = config.find({"n_shared_experts"});
  mixture.shared_ffn = (shared ? shared->as_integer(0, kMaxExperts) : 1) * mixture.ffn;
  const std::optional<Node> dense = config.find({"first_k_dense_replace"});
  mixture.first_dense = dense ? dense->as_integer(0, kMaxLayers) : 3;
  mixture.every = config.size({"moe_layer_freq"}, kMaxLayers, 1);
  const std::optional<Node> predictions = config.find({"num_nextn_predict_layers"});
  model.prediction_layers = predictions ? predictions->as_integer(0, kMaxLayers) : 0;
  return model;
}

ModelSpec read_gpt_oss(Config& config) {
  ModelSpec model = read_llama_block(config, {"gpt_oss", 36, 2880, 64, 8, 64, 2880, 201088, 131072, false});
  model.activation = read_activation(config, {"hidden_act"}, "silu", Mlp::gated);
  model.mixture.experts = config.size({"num_local_experts"}, kMaxExperts, 128);
  model.mixture.per_token = config.size({"num_experts_per_tok", "experts_per_token"}, kMaxExperts, 4);
  model.mixture.ffn = model.ffn;
  model.linear_bias = model.qkv_bias = true;
  config.expect_flag("attention_bias", true, true, "expected a GPT-OSS model with attention biases");
  model.window.tokens = config.size({"sliding_window"}, kMaxSequence, 128);
  model.window.full_every = 2;  // layer_types of the published models alternate
  return model;
}

}  // namespace mirfak
