#include "model/hugging_face.hpp"

#include "model/model_loader.hpp"
#include "support/source_root.hpp"
#include "tests/base/failure.hpp"

#include <doctest/doctest.h>

#include <filesystem>

namespace hugging_face_test {

using namespace mirfak;

namespace {

const std::filesystem::path folder = std::filesystem::path(source_root()) / "models";

ModelSpec parse(const std::string& text) { return parse_model(Document::from_text(text, "tiny/config.json"), folder); }

std::string failure_parsing(const std::string& text) {
  return failure_of([&] { parse(text); });
}

// The sizes of Llama's block, without the closing brace.
std::string sizes_of(const std::string& family) {
  return R"({"model_type": ")" + family +
         R"(", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128, "vocab_size": 32000,
    "max_position_embeddings": 2048)";
}

// A small config of any family, without the closing brace.
std::string small(const std::string& family) {
  if (family == "gpt2" || family == "gpt_bigcode") {
    return R"({"model_type": ")" + family + R"(", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024)";
  }
  if (family == "bloom") return R"({"model_type": "bloom", "n_layer": 2, "n_embed": 64, "n_head": 4)";
  if (family == "opt") {
    return R"({"model_type": "opt", "hidden_size": 768, "ffn_dim": 3072, "num_hidden_layers": 12,
      "num_attention_heads": 12, "max_position_embeddings": 2048)";
  }
  std::string text = sizes_of(family);
  text.replace(text.find(R"("vocab_size": 32000,)"), 20, "");
  if (family == "mistral") text += R"(, "sliding_window": null)";
  if (family == "mixtral" || family == "gpt_oss") text += R"(, "num_local_experts": 8, "num_experts_per_tok": 2)";
  if (family == "gpt_oss") text += R"(, "sliding_window": 128)";
  if (family == "qwen3_moe") {
    text += R"(, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 768)";
  }
  if (family == "deepseek_v3" || family == "kimi_k2") {
    text += R"(, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64, "v_head_dim": 128,
      "qk_nope_head_dim": 128, "n_routed_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
      "n_shared_experts": 1, "first_k_dense_replace": 3)";
  }
  return text;
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
  CHECK(parameters(small("gpt2") + R"(, "vocab_size": 50257})") == 124'439'808);
}

TEST_CASE("GPT-BigCode shares one key and value head among all query heads") {
  const ModelSpec model = parse(R"({
    "model_type": "gpt_bigcode", "n_embd": 6144, "n_head": 48, "n_inner": 24576, "n_layer": 40, "n_positions": 8192,
    "vocab_size": 49152, "multi_query": true, "activation_function": "gelu"})");
  CHECK(model.kv_heads == 1);
  CHECK(count_parameters(model).total == 15'517'456'384);  // StarCoder
  CHECK(parse(small("gpt_bigcode") + R"(, "vocab_size": 50257, "multi_query": false})").kv_heads == 12);
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

  std::string llama1 = llama2;
  llama1.replace(llama1.find(R"("num_key_value_heads": 32, )"), 27, "");
  CHECK(parse(llama1).kv_heads == 32);
}

TEST_CASE("Llama with biases has them everywhere or is refused") {
  const ModelSpec model = parse(sizes_of("llama") + R"(, "attention_bias": true, "mlp_bias": true})");
  CHECK(model.linear_bias);
  CHECK(model.qkv_bias);
  CHECK(contains(failure_parsing(sizes_of("llama") + R"(, "attention_bias": true})"), "or in neither"));
  CHECK(contains(failure_parsing(sizes_of("llama") + R"(, "mlp_bias": true})"), "mlp_bias: expected biases in both"));
}

TEST_CASE("Mistral: grouped queries and a sliding window") {
  const std::string sizes =
      R"("hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 32,
         "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 32768)";
  const ModelSpec windowed = parse(R"({"model_type": "mistral", "sliding_window": 4096, )" + sizes + "}");
  CHECK(windowed.kv_heads == 8);
  CHECK(count_parameters(windowed).total == 7'241'732'096);
  CHECK(windowed.window.tokens == 4096);
  CHECK(windowed.window.full_every == 0);
  CHECK(parse(R"({"model_type": "mistral", "sliding_window": null, )" + sizes + "}").window.tokens == 0);
  CHECK(parse(R"({"model_type": "mistral", "head_dim": 64, "sliding_window": null, )" + sizes + "}").head_dim == 64);
  CHECK(contains(failure_parsing(R"({"model_type": "mistral", )" + sizes + "}"), "'sliding_window' is missing"));
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
  CHECK(contains(failure_parsing(sizes_of("gemma") + R"(, "attention_bias": true})"), "without attention biases"));
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
  CHECK(contains(failure_parsing(R"({"model_type": "bloom", "n_layer": 2, "n_embed": 8, "vocab_size": 9})"),
                 "'n_head' is missing"));
}

TEST_CASE("Mixtral 8x7B and GPT-OSS 120B have the parameters that were published") {
  const std::string mixtral = R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000,
    "max_position_embeddings": 32768, "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": null,
    "router_aux_loss_coef": 0.02, "output_router_logits": false})";
  CHECK(parameters(mixtral) / 1e9 == doctest::Approx(46.7).epsilon(0.001));
  const std::string gpt_oss = R"({"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880,
    "num_hidden_layers": 36, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 201088,
    "max_position_embeddings": 131072, "num_local_experts": 128, "num_experts_per_tok": 4, "experts_per_token": 4,
    "sliding_window": 128, "swiglu_limit": 7.0})";
  CHECK(parameters(gpt_oss) / 1e9 == doctest::Approx(116.8).epsilon(0.001));
  CHECK(parse(gpt_oss).activation_limit == 7);
  std::string differs = gpt_oss;
  differs.replace(differs.find(R"("experts_per_token": 4)"), 22, R"("experts_per_token": 2)");
  CHECK(contains(failure_parsing(differs), "'num_experts_per_tok' says '4'"));
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
    "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 163840, "max_position_embeddings": 131072})");
  CHECK(count_parameters(kimi).total == doctest::Approx(1.026e12).epsilon(0.001));
  CHECK(kimi.head_dim == 192);
  CHECK(kimi.mixture.first_dense == 1);
  const std::string deepseek = small("deepseek_v3") + R"(, "vocab_size": 129280)";
  CHECK(parse(deepseek + R"(, "num_nextn_predict_layers": 1})").prediction_layers == 1);
  const auto with = [&](const std::string& stated, const std::string& instead) {
    std::string text = deepseek + "}";
    text.replace(text.find(stated), stated.size(), instead);
    return text;
  };
  CHECK(parse(with(R"("q_lora_rank": 1536)", R"("q_lora_rank": null)")).latent.query_rank == 0);
  CHECK(contains(failure_parsing(with(R"("n_shared_experts": 1,)", "")), "'n_shared_experts' is missing"));
  CHECK(contains(failure_parsing(with(R"("num_experts_per_tok": 8)", R"("num_experts_per_tok": 300)")),
                 "a token cannot visit 300 of 256 experts"));
  const auto grouped = [&](const std::string& keys) { return deepseek + ", " + keys + "}"; };
  CHECK(parse(grouped(R"("n_group": 8, "topk_group": 4)")).mixture.groups == 8);
  CHECK(parse(grouped(R"("n_group": 8, "topk_group": 4)")).mixture.groups_per_token == 4);
  CHECK(parse(grouped(R"("n_group": 8, "topk_group": 4, "topk_method": "greedy")")).mixture.groups == 1);
  CHECK(
      contains(failure_parsing(grouped(R"("n_group": 7, "topk_group": 4)")), "expected a divisor of the 256 experts"));
  CHECK(contains(failure_parsing(grouped(R"("n_group": 64, "topk_group": 1)")), "a token cannot visit 8 of the 4"));
}

TEST_CASE("Qwen's window lies in the layers from max_window_layers on") {
  const auto windows = [](const std::string& family, const std::string& keys) {
    const ModelSpec model = parse(small(family) + R"(, "vocab_size": 5000, "use_sliding_window": true, )" + keys + "}");
    std::int64_t windowed = 0;
    for (std::int64_t layer = 0; layer < model.layers; ++layer) {
      const bool has = kind_of_layer(model, layer).window == 512;
      CHECK((has || windowed == 0));  // they are the last ones
      if (has) ++windowed;
    }
    return windowed;
  };
  CHECK(windows("qwen2", R"("sliding_window": 512, "max_window_layers": 20)") == 12);
  CHECK(windows("qwen3", R"("sliding_window": 512, "max_window_layers": 20)") == 12);
  CHECK(windows("qwen2", R"("sliding_window": 512, "max_window_layers": 32)") == 0);
  CHECK(windows("qwen2", R"("sliding_window": 512, "max_window_layers": 0)") == 32);
  CHECK(windows("qwen2", R"("sliding_window": 4096, "max_window_layers": 20)") == 0);      // longer than any sequence
  CHECK(windows("qwen3_moe", R"("sliding_window": 512, "max_window_layers": 20)") == 32);  // its class has it in all
}

TEST_CASE("forms of Transformers 5 are the same models") {
  const std::string four =
      small("qwen3_moe") + R"(, "vocab_size": 5000, "rope_theta": 1e6, "torch_dtype": "bfloat16"})";
  std::string five =
      small("qwen3_moe") +
      R"(, "vocab_size": 5000, "rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}, "dtype": "bfloat16"})";
  five.replace(five.find("num_experts\""), 11, "num_local_experts");
  CHECK(parameters(five) == parameters(four));
  const std::string nested = R"({"model_type": "wrapper", "architectures": ["Wrapper"], "text_config": )" + four + "}";
  CHECK(parameters(nested) == parameters(four));
  const std::string seeing = R"({"model_type": "wrapper", "vision_config": {"depth": 2}, "text_config": )" + four + "}";
  CHECK(contains(failure_parsing(seeing), "vision_config: the parts in front of the language model"));
  std::string null_width = small("llama") + R"(, "vocab_size": 5000})";
  null_width.replace(null_width.find("128"), 3, "null");
  CHECK(parse(null_width).head_dim == 128);
}

TEST_CASE("classes without a language head: reward models, classifiers, models of embeddings") {
  const auto headed = [](const std::string& name, const std::string& keys = "") {
    return parse(small("llama") + R"(, "vocab_size": 5000, "architectures": [")" + name + R"("])" + keys + "}");
  };
  const double whole = count_parameters(headed("LlamaForCausalLM")).total;
  const double table = 5000.0 * 4096;
  const auto beyond = [&](const ModelSpec& model) { return count_parameters(model).total - (whole - table); };
  CHECK(beyond(headed("LlamaForSequenceClassification", R"(, "id2label": {"0": "LABEL_0"})")) == 4096);
  CHECK(beyond(headed("LlamaForSequenceClassification", R"(, "num_labels": 5)")) == 5 * 4096);
  CHECK(beyond(headed("LlamaForSequenceClassification")) == 2 * 4096);  // of the class
  CHECK(beyond(headed("LlamaForTokenClassification", R"(, "num_labels": 3)")) == 3 * 4097);
  CHECK(beyond(headed("LlamaForQuestionAnswering")) == 2 * 4097);
  CHECK(beyond(headed("LlamaModel")) == 0);
  CHECK(contains(headed("LlamaModel").notes.front(), "has no language head"));
  CHECK(contains(failure_parsing(small("llama") + R"(, "vocab_size": 5000, "architectures": ["LlamaForRewardModel"]})"),
                 "the head of the class 'LlamaForRewardModel' is not known"));
}

TEST_CASE("sinks of GPT-OSS and modules of multi-token prediction count") {
  const std::string gpt_oss = small("gpt_oss") + R"(, "vocab_size": 5000})";
  ModelSpec without = parse(gpt_oss);
  without.sinks = false;
  CHECK(parameters(gpt_oss) - count_parameters(without).total == 32 * 32);  // one of each head and layer
  // A layer of experts, two norms and a projection of 2h x h (arXiv 2412.19437, 2.2), beside the total.
  const ModelSpec deepseek = parse(small("deepseek_v3") + R"(, "vocab_size": 5000, "num_nextn_predict_layers": 2})");
  ModelSpec plain = deepseek;
  plain.prediction_layers = 0;
  ModelSpec longer = plain;
  longer.layers += 1;
  const ParameterCount count = count_parameters(deepseek);
  const double layer = count_parameters(longer).total - count_parameters(plain).total;
  CHECK(count.total == count_parameters(plain).total);
  CHECK(count.prediction == 2 * (layer + 2 * 4096.0 * 4096 + 2 * 4096));
}

TEST_CASE("the family is known by its architecture when there is no model_type") {
  std::string text = sizes_of("llama") + "}";
  text.replace(text.find(R"("model_type": "llama")"), 21, R"("architectures": ["LlamaForCausalLM"])");
  CHECK(parse(text).hidden == 4096);
}

TEST_CASE("other families are refused with the place of those that are read, or with the nearest") {
  const std::string failure = failure_parsing(R"({"model_type": "rwkv", "hidden_size": 4096})");
  CHECK(contains(failure, "tiny/config.json:1:16: model_type: models of the family 'rwkv' cannot be read"));
  CHECK(contains(failure, "models/README.md"));
  CHECK(contains(failure_parsing(R"({"model_type": "qwen3_nxt"})"), "did you mean 'qwen3_next'?"));
  CHECK(contains(failure_parsing(R"({"architectures": ["RwkvForCausalLM"]})"), "'RwkvForCausalLM'"));
  CHECK(contains(failure_parsing(R"({"architectures": []})"), "family ''"));
  CHECK(contains(failure_parsing(R"({"model_type": null})"), "family ''"));
  CHECK(contains(failure_parsing(R"({"model_type": [1]})"), "expected a word"));
  CHECK(contains(failure_parsing(R"({"architectures": "LlamaForCausalLM"})"), "expected a list"));
}

TEST_CASE("in every family a key is checked, known to decide nothing, noted, or refused as misspelt") {
  for (const std::string& family : hugging_face_families()) {
    CAPTURE(family);
    const std::string begin = small(family) + R"(, "vocab_size": )";
    CHECK(parse(begin + R"(5000, "rope_theta": 10000.0, "eos_token_id": [1, 2], "own_extension": null})").vocab ==
          5000);
    const std::string plain = begin + "5000";
    CHECK(parse(plain + "}").notes.empty());
    CHECK(parse(plain + R"(, "use_mrope": false, "is_llama_config": true, "attention_probs_dropout_prob": 0.1})")
              .notes.empty());
    const ModelSpec noted =
        parse(plain + R"(, "no_such_key": {"a": [1, null]}, "shared_expert_intermediate_size": 1})");
    REQUIRE(noted.notes.size() == 1);
    CHECK(contains(noted.notes.front(), "change nothing here: no_such_key (line "));
    CHECK(contains(noted.notes.front(), ", shared_expert_intermediate_size (line "));
    CHECK(count_parameters(noted).total == count_parameters(parse(plain + "}")).total);
    CHECK(contains(failure_parsing(plain + R"(, "tie_word_embedings": true})"), "did you mean 'tie_word_embeddings'?"));
    for (const std::string value : {"0", "-1", "1.5", "1e30", "\"100\"", "[1]", "true"}) {
      CAPTURE(value);
      CHECK(contains(failure_parsing(begin + value + "}"), "vocab_size: expected a whole number"));
    }
    CHECK(contains(failure_parsing(small(family) + "}"), "'vocab_size' is missing"));
    CHECK(contains(failure_parsing(small(family) + R"(, "vocab_sise": 5000})"), "is 'vocab_sise' meant to be"));
    CHECK(contains(failure_parsing(begin + R"(5000, "tie_word_embeddings": "yes"})"), "expected true or false"));
  }
}

TEST_CASE("layer_types say which layers have the window, whatever other keys say") {
  const auto parsed = [](const std::string& types) {
    std::string text = small("gpt_oss");
    text.replace(text.find(R"("num_hidden_layers": 32)"), 23, R"("num_hidden_layers": 2)");
    return text + R"(, "vocab_size": 5000, "layer_types": )" + types + "}";
  };
  CHECK(parse(parsed(R"(["sliding_attention", "full_attention"])")).window.full_every == 2);
  CHECK(parse(parsed(R"(["full_attention", "sliding_attention"])")).window.full_first == 1);
  CHECK(parse(parsed(R"(["full_attention", "full_attention"])")).window.tokens == 0);
  CHECK(contains(failure_parsing(parsed(R"(["sliding_attention"])")), "each of the 2 layers, found 1"));
  CHECK(
      contains(failure_parsing(parsed(R"(["sliding_attention", "linear_attention"])")), "expected full_attention or"));
}

TEST_CASE("impossible shapes are refused where they stand") {
  CHECK(contains(
      failure_parsing(R"({"model_type": "gpt2", "n_head": 11, "n_embd": 768, "n_layer": 12, "n_positions": 1024,
                   "vocab_size": 50257})"),
      "tiny/config.json:1:34: n_head: expected a divisor of the hidden size 768, found 11 heads"));
  std::string llama = sizes_of("llama");
  CHECK(contains(failure_parsing(llama + R"(, "hidden_act": "relu"})"), "expected silu, swish, gelu"));
  llama.replace(llama.find(R"("num_key_value_heads": 32)"), 25, R"("num_key_value_heads": 5)");
  CHECK(contains(failure_parsing(llama + "}"), "num_key_value_heads: expected a divisor of the 32 attention heads"));
  const std::string gpt2 = small("gpt2") + R"(, "vocab_size": 50257)";
  CHECK(contains(failure_parsing(gpt2 + R"(, "activation_function": "tanh"})"), "expected relu, gelu"));
  CHECK(contains(failure_parsing(gpt2 + R"(, "add_cross_attention": true})"), "cross attention"));
  CHECK(contains(failure_parsing(gpt2 + R"(, "resid_pdrop": 2})"), "expected a number from 0 to 1"));
}

}  // namespace hugging_face_test
