#include "interpreter/proof_fixture.hpp"

#include "block/file.hpp"
#include "support/source_root.hpp"

#include <filesystem>

namespace mirfak::test {

namespace {

block::Sizes with(block::Sizes sizes, const block::Sizes& more) {
  for (const auto& [name, value] : more) sizes[name] = value;
  return sizes;
}

std::vector<SmallBlock> all_small_blocks() {
  const block::Sizes layer = {{"batch", 4}, {"sequence", 8}, {"hidden", 8}, {"heads", 4}, {"ffn", 8}};
  const block::Sizes narrow = with(layer, {{"head_dim", 2}});
  const block::Sizes tokens = {{"batch", 4}, {"sequence", 8}, {"hidden", 8}, {"vocab", 16}};
  const block::Sizes stack = with(layer, {{"kv_heads", 4}, {"head_dim", 2}});
  const block::Sizes llama = with(stack, {{"rms", 1}, {"gated", 1}, {"silu", 1}, {"rotary", 1}});
  const block::Sizes experts = {{"experts", 4}, {"per_token", 2}, {"expert_ffn", 4}};
  return {
      {"gpt", "gpt", with(layer, {{"rate", 0.25}})},
      {"gpt with grouped keys", "gpt", with(layer, {{"kv_heads", 2}})},
      {"llama", "llama", layer},
      {"vit", "vit", with(layer, {{"rate", 0.25}})},
      {"vit patches",
       "vit.patches",
       {{"batch", 4}, {"sequence", 5}, {"hidden", 8}, {"image", 4}, {"patch", 2}, {"channels", 3}, {"rate", 0.25}}},
      {"vit classifier", "vit.classifier", {{"batch", 4}, {"sequence", 8}, {"hidden", 8}, {"classes", 8}}},
      {"embedding", "embedding", tokens},
      {"embedding with positions", "embedding", with(tokens, {{"positions", 8}})},
      {"head", "head", tokens},
      {"tied head", "head", with(tokens, {{"tied", 1}})},
      {"mamba2",
       "mamba2",
       {{"batch", 4}, {"sequence", 8}, {"hidden", 4}, {"state", 2}, {"head_dim", 2}, {"groups", 1}}},
      {"mamba2 with groups",
       "mamba2",
       {{"batch", 4}, {"sequence", 8}, {"hidden", 4}, {"state", 2}, {"head_dim", 2}, {"groups", 2}}},
      {"mamba2 attention",
       "mamba2.attention",
       {{"batch", 4}, {"sequence", 8}, {"hidden", 4}, {"heads", 4}, {"head_dim", 2}}},
      {"mixture",
       "mixture",
       {{"batch", 4}, {"sequence", 8}, {"hidden", 4}, {"ffn", 4}, {"experts", 4}, {"per_token", 2}}},
      {"t5 encoder", "t5.encoder", with(narrow, {{"buckets", 6}, {"rate", 0.25}})},
      {"first t5 encoder", "t5.encoder", with(narrow, {{"buckets", 6}, {"first", 1}})},
      {"t5 decoder", "t5.decoder", with(narrow, {{"buckets", 6}, {"source", 4}, {"rate", 0.25}})},
      {"first t5 decoder", "t5.first_decoder", with(narrow, {{"buckets", 6}, {"source", 4}, {"vocab", 16}})},
      {"t5 embedding", "t5.embedding", with(tokens, {{"rate", 0.25}})},
      {"t5 head", "t5.head", tokens},
      {"encoder of two stacks", "encoder_decoder.encoder", with(narrow, {{"rate", 0.25}})},
      {"decoder of two stacks", "encoder_decoder.decoder", with(narrow, {{"source", 4}, {"rate", 0.25}})},
      {"first decoder of two stacks", "encoder_decoder.first_decoder",
       with(narrow, {{"source", 4}, {"vocab", 16}, {"positions", 8}})},
      {"embedding of two stacks", "encoder_decoder.embedding", with(tokens, {{"positions", 8}, {"rate", 0.25}})},
      {"head of two stacks", "encoder_decoder.head", tokens},
      {"layer", "transformer", with(stack, {{"rms", 1}})},
      {"layer as GPT has", "transformer", with(stack, {{"bias", 1}, {"qkv_bias", 1}, {"rate", 0.25}})},
      {"layer as BERT has", "transformer",
       with(stack, {{"bias", 1}, {"qkv_bias", 1}, {"post_norm", 1}, {"causal", 0}})},
      {"layer as Llama has", "transformer", with(llama, {{"kv_heads", 2}})},
      {"layer with norms of queries and keys", "transformer", with(llama, {{"qk_norm", 1}, {"window", 4}})},
      {"layer with squared activations", "transformer", with(stack, {{"squared_relu", 1}})},
      {"layer with clamped gates", "transformer", with(stack, {{"gated", 1}, {"clamp", 1}, {"bias", 1}})},
      {"layer with latent attention", "transformer",
       with(llama, {{"key_value_rank", 4}, {"query_rank", 4}, {"position_dim", 2}, {"value_dim", 2}, {"head_dim", 4}})},
      {"layer with experts", "transformer", with(llama, experts)},
      {"layer with experts and biases", "transformer",
       with(llama, with(experts, {{"bias", 1}, {"shared_ffn", 4}, {"clamp", 1}}))},
      {"layer with plain experts", "transformer", with(stack, with(experts, {{"relu", 1}, {"rate", 0.25}}))},
      {"transformer embedding", "transformer.embedding",
       with(tokens, {{"positions", 8}, {"sentence_pairs", 1}, {"embedding_norm", 1}, {"rate", 0.25}})},
      {"transformer head", "transformer.head", with(tokens, {{"rms", 1}})},
      {"transformer tied head", "transformer.head", with(tokens, {{"tied", 1}})},
      {"head of a masked model", "transformer.head",
       with(tokens, {{"masked_head", 1}, {"masked", 4}, {"sentence_pairs", 1}, {"post_norm", 1}})},
      {"bottleneck", "wide_resnet", {{"batch", 4}, {"sequence", 1}, {"side", 4}, {"inner", 2}, {"outer", 4}}},
      {"widening bottleneck",
       "wide_resnet.widening",
       {{"batch", 4}, {"sequence", 1}, {"before", 2}, {"side", 2}, {"inner", 2}, {"outer", 4}}},
      {"stem", "wide_resnet.stem", {{"batch", 4}, {"sequence", 1}, {"image", 8}, {"channels", 1}, {"base", 2}}},
      {"classifier",
       "wide_resnet.classifier",
       {{"batch", 4}, {"sequence", 1}, {"side", 4}, {"outer", 4}, {"classes", 4}}},
      {"prediction of the next token", "transformer.prediction", with(llama, {{"vocab", 16}})},
  };
}

}  // namespace

const std::vector<SmallBlock>& small_blocks() {
  static const std::vector<SmallBlock> blocks = all_small_blocks();
  return blocks;
}

OperatorGraph forward_graph(const SmallBlock& of, bool fused_attention) {
  static block::Library library(std::filesystem::path(source_root()) / "models" / "blocks");
  const block::DefinitionPointer definition = library.find(of.block, {});
  block::CompileOptions options;
  options.fused_attention = fused_attention;
  return block::compile(*definition, block::complete_sizes(*definition, of.sizes, {}), options);
}

const FusionRules& proof_fusion() {
  static const FusionRules rules = [] {
    FusionRules out;
    out.chains = {{{"scale?", "mask?", "softmax"}},
                  {{"bias?", "silu", "multiply"}},
                  {{"bias?", "gelu", "multiply"}},
                  {{"bias?", "gelu"}},
                  {{"bias?", "relu"}},
                  {{"bias?", "squared_relu"}},
                  {{"bias?", "dropout?", "add"}}};
    out.epilogues = {"bias"};
    out.packed_tags = {"qkv", "fc1", "expert_fc1"};
    out.group_tags = {"mla_rotary"};
    return out;
  }();
  return rules;
}

}  // namespace mirfak::test
