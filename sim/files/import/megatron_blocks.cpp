// Models of Megatron-LM other than GPT and BERT, as models of blocks: state-space hybrids by their pattern of layers
// (M: Mamba-2, *: attention, -: MLP, E: experts; | ends a pipeline stage, / begins modules of multi-token prediction)
// and T5.

#include "import/megatron_reading.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

Value mapping() {
  Value out;
  out.kind = Value::Kind::mapping;
  return out;
}

void put(Value& mapping, const std::string& key, Value value) { mapping.fields.push_back({key, std::move(value)}); }

void put(Value& mapping, const std::string& key, std::int64_t number) {
  put(mapping, key, scalar_value(std::to_string(number), {}));
}

Value block_item(const std::string& use, std::int64_t count = 1) {
  Value out = mapping();
  put(out, "use", scalar_value(use, {}));
  if (count > 1) put(out, "count", count);
  return out;
}

Value model_of(MegatronReading& reading, const std::string& name, Value sizes, std::vector<Value> blocks) {
  Value model = mapping();
  put(model, "name", scalar_value(name, {}));
  put(model, "max_sequence", std::max<std::int64_t>(reading.sequence, 1));
  put(model, "sizes", std::move(sizes));
  Value list;
  list.kind = Value::Kind::sequence;
  list.items = std::move(blocks);
  put(model, "blocks", std::move(list));
  return model;
}

// Returns one layer of a pattern; nullopt: a letter that mirfak has no block for.
std::optional<Value> hybrid_layer(MegatronReading& reading, char letter) {
  MegatronOptions& options = reading.options;
  if (letter == 'M') {
    Value out = block_item("mamba2");
    const std::int64_t head_dim = options.count({"mamba-head-dim"}).value_or(64);
    put(out, "groups", options.count({"mamba-num-groups"}).value_or(8));
    put(out, "head_dim", head_dim);
    put(out, "heads",
        options.count({"mamba-num-heads"}).value_or(2 * reading.hidden / std::max<std::int64_t>(1, head_dim)));
    return out;
  }
  if (letter == '*') {
    Value out = block_item("nemotron_h.attention");
    put(out, "heads", reading.heads);
    put(out, "kv_heads", reading.kv_heads);
    put(out, "head_dim", reading.head_dim);
    return out;
  }
  if (letter == '-') {
    Value out = block_item("nemotron_h.mlp");
    put(out, "ffn", reading.ffn);
    return out;
  }
  if (letter == 'E' && reading.experts > 0) return block_item("nemotron_h");
  return std::nullopt;
}

Value hybrid_sizes(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  Value sizes = mapping();
  put(sizes, "hidden", reading.hidden);
  put(sizes, "state", options.count({"mamba-state-dim"}).value_or(128));
  put(sizes, "vocab", reading.vocab);
  if (options.flag({"untie-embeddings-and-output-weights"}) == nullptr) put(sizes, "tied", 1);
  if (reading.experts > 0) {
    put(sizes, "experts", reading.experts);
    put(sizes, "per_token", options.count({"moe-router-topk", "topk"}).value_or(2));
    put(sizes, "expert_ffn", options.count({"moe-ffn-hidden-size"}).value_or(reading.ffn));
    put(sizes, "shared_ffn", options.count({"moe-shared-expert-intermediate-size"}).value_or(0));
  }
  return sizes;
}

// Compares the parts of a model with mirfak's blocks, which have RMS norms, squared ReLU and no biases, as Nemotron-H
// does.
void compare_parts(MegatronReading& reading, const Setting& pattern) {
  MegatronOptions& options = reading.options;
  const std::string norm = options.word({"normalization"}).value_or("LayerNorm");
  if (options.flag({"squared-relu"}) != nullptr && norm == "RMSNorm" &&
      options.flag({"disable-bias-linear"}) != nullptr)
    return;
  reading.draft.use(pattern,
                    "its blocks are those of Nemotron-H: RMS norms, squared ReLU, no biases, whatever the options say");
}

}  // namespace

void read_megatron_hybrid(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  const Setting& setting = *options.said({"hybrid-layer-pattern", "hybrid-override-pattern"});
  const std::string whole = word_of(setting.value);
  const std::string pattern = whole.substr(0, whole.find('/'));
  std::vector<Value> blocks = {scalar_value("embedding", {})};
  std::vector<int> split(1);
  for (const char letter : pattern) {
    if (letter == '|') {
      split.push_back(0);
      continue;
    }
    const std::optional<Value> layer = hybrid_layer(reading, letter);
    if (!layer) {
      reading.draft.obstruct(setting.where, fmt::format("{}: no block for layers '{}'", setting.name, letter));
      return reading.draft.doubt(setting, fmt::format("no block for layers '{}'", letter));
    }
    blocks.push_back(*layer);
    ++split.back();
  }
  blocks.push_back(scalar_value("head", {}));
  if (pattern.size() < whole.size()) {
    reading.draft.obstruct(
        setting.where,
        fmt::format("{}: modules of multi-token prediction of a hybrid model, which mirfak leaves out", setting.name));
  }
  options.use_each(
      {"mamba-state-dim", "mamba-head-dim", "mamba-num-heads", "mamba-num-groups", "is-hybrid-model", "spec"},
      "the blocks of the model");
  reading.layers = static_cast<std::int64_t>(blocks.size()) - 2;
  compare_parts(reading, setting);
  reading.draft.take(setting, "model", model_of(reading, "hybrid", hybrid_sizes(reading), std::move(blocks)),
                     "a model of blocks");
  const auto parts = static_cast<std::int64_t>(split.size());
  if (parts == 1) return;
  reading.draft.take(setting, "strategy.layer_split", list_value(split, setting.where));
  reading.draft.take(setting, "strategy.virtual_pipeline",
                     std::to_string(std::max<std::int64_t>(1, parts / reading.pipeline)));
}

void read_megatron_encoder_decoder(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  const MegatronOptions::Names lengths = {"decoder-seq-length"};
  const std::int64_t encoder = options.count({"encoder-num-layers", "num-layers"}).value_or(reading.layers);
  const std::int64_t decoder = options.count({"decoder-num-layers", "num-layers"}).value_or(encoder);
  const std::int64_t written = options.count(lengths).value_or(reading.sequence);
  Value sizes = mapping();
  for (const auto& [name, size] :
       {std::pair{"hidden", reading.hidden},
        {"heads", reading.heads},
        {"head_dim", reading.head_dim},
        {"ffn", reading.ffn},
        {"vocab", reading.vocab},
        {"positions",
         std::max<std::int64_t>(reading.sequence, options.count({"max-position-embeddings"}).value_or(1))}}) {
    put(sizes, name, size);
  }
  put(sizes, "rate", scalar_value(fmt::format("{}", options.number({"hidden-dropout"}).value_or(0.1)), {}));
  std::vector<Value> blocks = {scalar_value("encoder_decoder.embedding", {}),
                               block_item("encoder_decoder.encoder", encoder),
                               block_item("encoder_decoder.first_decoder")};
  if (decoder > 1) blocks.push_back(block_item("encoder_decoder.decoder", decoder - 1));
  blocks.push_back(block_item("encoder_decoder.head"));
  for (std::size_t i = 2; i < blocks.size(); ++i) {
    if (i + 1 < blocks.size()) put(blocks[i], "source", scalar_value("sequence", {}));
    put(blocks[i], "sequence", written);
  }
  reading.draft.assume("model", model_of(reading, "t5", std::move(sizes), std::move(blocks)),
                       "T5 as Megatron-LM has it: a model of blocks");
  options.use_each(lengths, "tokens of the decoder");
  options.use_each({"encoder-num-layers", "decoder-num-layers", "num-layers"}, "layers of the model");
}

}  // namespace mirfak
