#include "model/hugging_face.hpp"

#include "model/model_loader.hpp"
#include "tests/base/failure.hpp"

#include <doctest/doctest.h>

#include <filesystem>

using namespace mirfak;

namespace {

const std::filesystem::path folder = std::filesystem::path(MIRFAK_SOURCE_DIR) / "models";

ModelSpec parse(const std::string& text) { return parse_model(Document::from_text(text, "tiny/config.json"), folder); }

std::string failure_parsing(const std::string& text) {
  return failure_of([&] { parse(text); });
}

double parameters(const std::string& text) { return count_parameters(parse(text)).total; }

}  // namespace

TEST_CASE("GPT-2") {
  const std::string config = R"({
    "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
    "bos_token_id": 50256, "embd_pdrop": 0.1, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05,
    "model_type": "gpt2", "n_ctx": 1024, "n_embd": 1024, "n_head": 16, "n_layer": 24, "n_positions": 1024,
    "resid_pdrop": 0.1, "summary_type": "cls_index", "task_specific_params": {"text-generation": {"max_length": 50}},
    "vocab_size": 50257
  })";
  const ModelSpec model = parse(config);
  CHECK(model.name == "tiny");  // the folder's, because every such file is called config.json
  CHECK(model.source == "tiny/config.json");
  CHECK(model.ffn == 4096);
  CHECK(model.dropout == 0.1);
  CHECK(model.position == PositionEncoding::learned);
  CHECK(parameters(config) == 354'823'168);
  CHECK(parameters(R"({"model_type": "gpt2"})") == 124'439'808);  // the class's defaults: the smallest GPT-2
}

TEST_CASE("GPT-BigCode shares one key and value head among all query heads") {
  const ModelSpec model = parse(R"({
    "model_type": "gpt_bigcode", "n_embd": 6144, "n_head": 48, "n_inner": 24576, "n_layer": 40, "n_positions": 8192,
    "vocab_size": 49152, "multi_query": true, "activation_function": "gelu"})");
  CHECK(model.kv_heads == 1);
  CHECK(count_parameters(model).total == 15'517'456'384);  // StarCoder
  CHECK(parse(R"({"model_type": "gpt_bigcode", "multi_query": false})").kv_heads == 12);
}

TEST_CASE("Llama") {
  const std::string llama2 = R"({
    "architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
    "intermediate_size": 11008, "max_position_embeddings": 4096, "model_type": "llama", "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 32, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
    "rope_scaling": null, "tie_word_embeddings": false, "torch_dtype": "float16", "use_cache": true,
    "vocab_size": 32000})";
  CHECK(parameters(llama2) == 6'738'415'616);
  CHECK(parse(llama2).activation == ActivationFunction::swiglu);
  CHECK(parse(llama2).position == PositionEncoding::rotary);

  const std::string llama3 = R"({
    "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "hidden_act": "silu",
    "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 8192, "mlp_bias": false,
    "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
    "rope_theta": 500000.0, "tie_word_embeddings": false, "vocab_size": 128256})";
  CHECK(parameters(llama3) == 8'030'261'248);
  CHECK(parse(llama3).kv_heads == 8);

  CHECK(parameters(R"({"model_type": "llama"})") == 6'738'415'616);  // the class's defaults: Llama 7B
  CHECK(parse(R"({"model_type": "llama", "num_attention_heads": 16})").kv_heads == 16);
}

TEST_CASE("Llama with biases has them everywhere or is refused") {
  const ModelSpec model = parse(R"({"model_type": "llama", "attention_bias": true, "mlp_bias": true})");
  CHECK(model.linear_bias);
  CHECK(model.qkv_bias);
  CHECK(contains(failure_parsing(R"({"model_type": "llama", "attention_bias": true})"), "or in neither"));
  CHECK(contains(failure_parsing(R"({"model_type": "llama", "mlp_bias": true})"),
                 "tiny/config.json:1:37: mlp_bias: expected biases in both"));
}

TEST_CASE("Mistral: grouped queries by default, and a sliding window") {
  const std::string sizes =
      R"("hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 32,
         "vocab_size": 32000, "max_position_embeddings": 32768)";
  const ModelSpec windowed = parse(R"({"model_type": "mistral", "sliding_window": 4096, )" + sizes + "}");
  CHECK(windowed.kv_heads == 8);
  CHECK(count_parameters(windowed).total == 7'241'732'096);
  CHECK(windowed.window.tokens == 4096);
  CHECK(windowed.window.full_every == 0);
  CHECK(parse(R"({"model_type": "mistral", "sliding_window": null, )" + sizes + "}").window.tokens == 0);
  CHECK(parse(R"({"model_type": "mistral", "num_key_value_heads": null, )" + sizes + "}").kv_heads == 32);
  CHECK(parse(R"({"model_type": "mistral", "head_dim": 64, )" + sizes + "}").head_dim == 64);
}

TEST_CASE("Qwen 2 has biases in the query, key and value projections only") {
  const std::string config = R"({
    "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "hidden_act": "silu", "hidden_size": 896,
    "intermediate_size": 4864, "max_position_embeddings": 131072, "max_window_layers": 24, "model_type": "qwen2",
    "num_attention_heads": 14, "num_hidden_layers": 24, "num_key_value_heads": 2, "sliding_window": 131072,
    "tie_word_embeddings": true, "use_sliding_window": false, "vocab_size": 151936})";
  CHECK(parameters(config) == 494'032'768);
  CHECK(parse(config).qkv_bias);
  CHECK_FALSE(parse(config).linear_bias);
}

TEST_CASE("Gemma: heads wider than the hidden size, gated gelu, tied embeddings") {
  const std::string config = R"({
    "architectures": ["GemmaForCausalLM"], "head_dim": 256, "hidden_act": "gelu", "hidden_size": 2048,
    "intermediate_size": 16384, "max_position_embeddings": 8192, "model_type": "gemma", "num_attention_heads": 8,
    "num_hidden_layers": 18, "num_key_value_heads": 1, "vocab_size": 256000})";
  CHECK(parameters(config) == 2'506'172'416);
  CHECK(parse(config).activation == ActivationFunction::geglu);
  CHECK(contains(failure_parsing(R"({"model_type": "gemma", "attention_bias": true})"), "without attention biases"));
}

TEST_CASE("OPT, and its variants that are not this block") {
  const std::string sizes = R"("model_type": "opt", "activation_function": "relu", "dropout": 0.1, "hidden_size": 768,
    "ffn_dim": 3072, "num_hidden_layers": 12, "num_attention_heads": 12, "max_position_embeddings": 2048,
    "vocab_size": 50272)";
  CHECK(parameters("{" + sizes + R"(, "word_embed_proj_dim": 768})") == 125'239'296 - 2 * 768);
  CHECK(parse("{" + sizes + "}").activation == ActivationFunction::relu);
  CHECK(contains(failure_parsing("{" + sizes + R"(, "word_embed_proj_dim": 512})"), "expected the hidden size 768"));
  CHECK(contains(failure_parsing("{" + sizes + R"(, "do_layer_norm_before": false})"), "layer norms before"));
  CHECK(contains(failure_parsing("{" + sizes + R"(, "_remove_final_layer_norm": true})"), "final layer norm"));
  CHECK(contains(failure_parsing("{" + sizes + R"(, "layer_norm_elementwise_affine": false})"), "with weights"));
  CHECK_FALSE(parse("{" + sizes + R"(, "enable_bias": false})").qkv_bias);
}

TEST_CASE("BLOOM, by the names of both of its configs") {
  const std::string old_names = R"({"architectures": ["BloomForCausalLM"], "model_type": "bloom", "n_embed": 1024,
    "n_layer": 24, "num_attention_heads": 16, "seq_length": 2048, "vocab_size": 250880, "hidden_dropout": 0.0})";
  const std::string new_names = R"({"architectures": ["BloomForCausalLM"], "model_type": "bloom", "hidden_size": 1024,
    "n_layer": 24, "n_head": 16, "vocab_size": 250880})";
  CHECK(parameters(old_names) == 559'214'592);
  CHECK(parameters(new_names) == 559'214'592);
  CHECK(parse(old_names).position == PositionEncoding::alibi);
  CHECK(parse(old_names).embedding_norm);
  CHECK(contains(failure_parsing(R"({"model_type": "bloom", "n_layer": 24, "n_head": 16})"), "'n_embed' is missing"));
  CHECK(contains(failure_parsing(R"({"model_type": "bloom", "n_layer": 2, "n_embed": 8})"), "'n_head' is missing"));
}

TEST_CASE("families with experts: the class's defaults are the published models") {
  const auto billions = [](const char* family) {
    return parameters(std::string(R"({"model_type": ")") + family + "\"}") / 1e9;
  };
  CHECK(billions("mixtral") == doctest::Approx(46.7).epsilon(0.001));
  CHECK(billions("deepseek_v3") == doctest::Approx(671.0).epsilon(0.001));
  CHECK(billions("gpt_oss") == doctest::Approx(116.8).epsilon(0.001));
}

TEST_CASE("Qwen 3 with experts") {
  const std::string sizes =
      R"("model_type": "qwen3_moe", "decoder_sparse_step": 1, "head_dim": 128, "hidden_size": 2048,
    "intermediate_size": 6144, "max_position_embeddings": 40960, "moe_intermediate_size": 768,
    "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48,
    "num_key_value_heads": 4, "sliding_window": null, "tie_word_embeddings": false, "vocab_size": 151936)";
  const ModelSpec model = parse("{" + sizes + R"(, "mlp_only_layers": []})");
  CHECK(count_parameters(model).total == doctest::Approx(30.53e9).epsilon(0.001));
  CHECK(model.qk_norm);
  CHECK(model.mixture.per_token == 8);
  CHECK(contains(failure_parsing("{" + sizes + R"(, "mlp_only_layers": [3]})"), "mlp_only_layers"));
}

TEST_CASE("DeepSeek V3 and Kimi K2: latent attention, dense layers, shared experts, prediction") {
  const ModelSpec kimi = parse(R"({"model_type": "kimi_k2", "first_k_dense_replace": 1, "hidden_size": 7168,
    "intermediate_size": 18432, "kv_lora_rank": 512, "moe_intermediate_size": 2048, "n_routed_experts": 384,
    "n_shared_experts": 1, "num_attention_heads": 64, "num_experts_per_tok": 8, "num_hidden_layers": 61,
    "num_key_value_heads": 64, "num_nextn_predict_layers": 0, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 163840})");
  CHECK(count_parameters(kimi).total == doctest::Approx(1.026e12).epsilon(0.001));
  CHECK(kimi.head_dim == 192);
  CHECK(kimi.mixture.first_dense == 1);
  CHECK(parse(R"({"model_type": "deepseek_v3", "num_nextn_predict_layers": 1})").prediction_layers == 1);
  CHECK(parse(R"({"model_type": "deepseek_v3", "q_lora_rank": null})").latent.query_rank == 0);
  CHECK(contains(failure_parsing(R"({"model_type": "deepseek_v3", "num_experts_per_tok": 300})"),
                 "a token cannot visit 300 of 256 experts"));
}

TEST_CASE("the family is known by its architecture when there is no model_type") {
  CHECK(parse(R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 2048, "num_attention_heads": 16})").hidden ==
        2048);
}

TEST_CASE("other families are refused with the ones that are read") {
  const std::string failure = failure_parsing(R"({"model_type": "falcon", "hidden_size": 4096})");
  CHECK(contains(failure, "tiny/config.json:1:16: model_type: models of the family 'falcon' cannot be read"));
  CHECK(contains(failure, "only bloom, deepseek_v3, gemma, gpt2, gpt_bigcode, gpt_oss, kimi_k2, llama"));
  CHECK(contains(failure, "models/README.md"));
  CHECK(contains(failure_parsing(R"({"architectures": ["FalconForCausalLM"]})"), "'FalconForCausalLM'"));
  CHECK(contains(failure_parsing(R"({"architectures": []})"), "family ''"));
  CHECK(contains(failure_parsing(R"({"model_type": null})"), "family ''"));
  CHECK(contains(failure_parsing(R"({"model_type": [1]})"), "expected a word"));
  CHECK(contains(failure_parsing(R"({"architectures": "LlamaForCausalLM"})"), "expected a list"));
}

TEST_CASE("known keys are checked in every family, unknown ones are not looked at") {
  for (const std::string& family : hugging_face_families()) {
    CAPTURE(family);
    const std::string sizes = family == "bloom" ? R"(, "n_layer": 2, "n_embed": 64, "n_head": 4)" : "";
    const std::string begin = R"({"model_type": ")" + family + "\"" + sizes;
    CHECK(parse(begin + R"(, "no_such_key": {"a": [1, null]}})").vocab > 1000);
    for (const std::string value : {"0", "-1", "1.5", "1e30", "\"100\"", "[1]", "true"}) {
      CAPTURE(value);
      CHECK(contains(failure_parsing(begin + R"(, "vocab_size": )" + value + "}"),
                     "vocab_size: expected a whole number"));
    }
    CHECK(contains(failure_parsing(begin + R"(, "tie_word_embeddings": "yes"})"), "expected true or false"));
  }
}

TEST_CASE("impossible shapes are refused where they stand") {
  CHECK(contains(failure_parsing(R"({"model_type": "gpt2", "n_head": 11})"),
                 "tiny/config.json:1:34: n_head: expected a divisor of the hidden size 768, found 11 heads"));
  CHECK(contains(failure_parsing(R"({"model_type": "llama", "num_key_value_heads": 5})"),
                 "num_key_value_heads: expected a divisor of the 32 attention heads"));
  CHECK(contains(failure_parsing(R"({"model_type": "gpt2", "activation_function": "tanh"})"), "expected relu, gelu"));
  CHECK(contains(failure_parsing(R"({"model_type": "llama", "hidden_act": "relu"})"), "expected silu, swish, gelu"));
  CHECK(contains(failure_parsing(R"({"model_type": "gpt2", "add_cross_attention": true})"), "cross attention"));
  CHECK(contains(failure_parsing(R"({"model_type": "gpt2", "resid_pdrop": 2})"), "expected a number from 0 to 1"));
}
