// Keys that files of any family carry and that decide nothing of what a training iteration computes: neither a shape
// nor an operator. All others are asked for by the reader of their family or refused, so that no misspelt key and no
// variant of a model becomes a default.
#include "model/hugging_face_config.hpp"

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

constexpr std::array kKeys = {
    // Where the file comes from, and how weights are stored; the scenario says in which precision they are trained.
    "_commit_hash",
    "_name_or_path",
    "architectures",
    "auto_map",
    "dtype",
    "model_type",
    "quantization_config",
    "tokenizer_class",
    "torch_dtype",
    "torchscript",
    "transformers_version",
    "use_bfloat16",
    // Generation.
    "bad_words_ids",
    "begin_suppress_tokens",
    "diversity_penalty",
    "do_sample",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty",
    "inference_runner",
    "length_penalty",
    "max_batch_size",
    "max_length",
    "max_sequence_length",
    "min_length",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_scores",
    "pre_allocate_kv_cache",
    "prefix",
    "remove_invalid_values",
    "repetition_penalty",
    "return_dict",
    "return_dict_in_generate",
    "suppress_tokens",
    "task_specific_params",
    "temperature",
    "top_k",
    "top_p",
    "typical_p",
    "use_cache",
    "validate_runner_input",
    // Initial values.
    "embedding_initializer_range",
    "init_std",
    "initializer_factor",
    "initializer_range",
    // Constants of operators that are there anyway: norms, softmax, positions, routers.
    "attention_softmax_in_fp32",
    "aux_loss_alpha",
    "initial_context_length",
    "layer_norm_eps",
    "layer_norm_epsilon",
    "norm_topk_prob",
    "original_max_position_embeddings",
    "offset_alibi",
    "output_router_logits",
    "reorder_and_upcast_attn",
    "rms_norm_eps",
    "rope_interleave",
    "rope_parameters",
    "rope_scaling",
    "rope_theta",
    "routed_scaling_factor",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "scale_attention_softmax_in_fp32",
    "scale_attn_by_inverse_layer_idx",
    "scale_attn_weights",
    "scoring_func",
    "seq_aux",
    // Dropout elsewhere than on the residual branches (models/README.md).
    "activation_dropout",
    "attention_dropout",
    "attn_pdrop",
    "classifier_dropout",
    "embd_pdrop",
    "layerdrop",
    // What the residual of BLOOM's blocks is taken from, and how its kernels are joined.
    "apply_residual_connection_post_layernorm",
    "bias_dropout_fusion",
    "masked_softmax_fusion",
    "n_ctx",
    "pretraining_tp",
    "skip_bias_add",
    "skip_bias_add_qkv",
    "slow_but_exact",
    // Other heads than that of a language model, and how inference divides the model.
    "ep_size",
    "finetuning_task",
    "id2label",
    "label2id",
    "num_labels",
    "problem_type",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
};

}  // namespace

bool decides_no_shape(std::string_view key) {
  if (key.ends_with("_token_id") || key.ends_with("_token_ids")) return true;
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

}  // namespace mirfak
