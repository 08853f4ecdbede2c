#include "model/transformer.hpp"

#include "base/remembered.hpp"

#include <string>
#include <utility>

namespace mirfak {

namespace {

// Reads the blocks of one folder; they point into files that the library holds.
std::shared_ptr<const TransformerBlocks> read_blocks(const std::filesystem::path& folder, const Location& asked_at) {
  block::Library library(folder);
  const auto find = [&](const char* name) { return library.find(std::string("transformer.") + name, asked_at); };
  TransformerBlocks blocks;
  blocks.embedding = find("embedding");
  blocks.layer = find("layer");
  blocks.prediction = find("prediction");
  blocks.head = find("head");
  return std::make_shared<const TransformerBlocks>(std::move(blocks));
}

}  // namespace

std::shared_ptr<const TransformerBlocks> transformer_blocks(const std::filesystem::path& folder,
                                                            const Location& asked_at) {
  static Remembered<std::shared_ptr<const TransformerBlocks>> known;  // validation and sweeps read many models
  return known.get(folder.lexically_normal().string(), [&] { return read_blocks(folder, asked_at); });
}

block::Sizes transformer_sizes(const ModelSpec& model, const BlockOptions& options, const LayerKind& kind) {
  const MixtureOfExperts& mixture = model.mixture;
  const LatentAttention& latent = model.latent;
  const auto size = [](std::int64_t count) { return static_cast<double>(count); };
  const auto flag = [](bool set) { return set ? 1.0 : 0.0; };
  const auto activates = [&](ActivationFunction function) { return flag(model.activation == function); };
  return {
      {"batch", size(options.batch)},
      {"sequence", size(options.sequence)},
      {"hidden", size(model.hidden)},
      {"vocab", size(options.vocabulary)},
      {"heads", size(model.heads)},
      {"kv_heads", size(options.kv_heads)},
      {"head_dim", size(model.head_dim)},
      {"query_rank", size(latent.query_rank)},
      {"key_value_rank", size(latent.key_value_rank)},
      {"position_dim", size(latent.position_dim)},
      {"value_dim", size(latent.value_dim)},
      {"window", size(kind.window)},
      {"sinks", flag(model.sinks)},
      {"ffn", size(model.ffn)},
      {"experts", kind.experts ? size(mixture.experts) : 0},
      {"per_token", size(mixture.per_token)},
      {"expert_ffn", size(mixture.ffn)},
      {"shared_ffn", size(mixture.shared_ffn)},
      {"masked", size(options.masked)},
      {"rate", model.dropout},
      {"rms", flag(model.normalization == Normalization::rms_norm)},
      {"bias", flag(model.linear_bias)},
      {"qkv_bias", flag(model.qkv_bias)},
      {"qk_norm", flag(model.qk_norm)},
      {"post_norm", flag(model.post_norm)},
      {"embedding_norm", flag(model.embedding_norm)},
      {"causal", flag(model.causal)},
      {"rotary", flag(model.position == PositionEncoding::rotary)},
      {"positions", model.position == PositionEncoding::learned ? size(model.max_sequence) : 0},
      {"gated", flag(model.gated())},
      {"clamp", flag(model.activation_limit > 0)},
      {"silu", activates(ActivationFunction::swiglu)},
      {"relu", activates(ActivationFunction::relu)},
      {"squared_relu", activates(ActivationFunction::squared_relu)},
      {"tied", flag(model.tied_embeddings)},
      {"masked_head", flag(model.masked_share > 0)},
      {"sentence_pairs", flag(model.sentence_pairs)},
      {"labels", size(model.head.labels)},
      {"label_bias", flag(model.head.bias)},
      {"labels_of_tokens", flag(model.head.kind == HeadKind::labels_of_tokens)},
      {"pooled", flag(model.head.kind == HeadKind::pooled)},
  };
}

}  // namespace mirfak
