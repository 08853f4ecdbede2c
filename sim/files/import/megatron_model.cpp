#include "base/text.hpp"
#include "import/layer_pattern.hpp"
#include "import/megatron_reading.hpp"
#include "import/number_words.hpp"
#include "model/model_reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

bool gated(MegatronReading& reading) { return reading.options.flag({"swiglu", "geglu", "quick-geglu"}) != nullptr; }

// Reads a size that a model cannot be without.
std::int64_t required_size(MegatronReading& reading, std::string_view name) {
  if (reading.options.said(reading.options.entry(name).names()) == nullptr) {
    reading.draft.obstruct(reading.run.where,
                           fmt::format("{} is not said: it stands in a checkpoint or in Python", name));
  }
  return reading.count(name);
}

void read_sizes(MegatronReading& reading) {
  const bool by_pattern = reading.program == MegatronProgram::hybrid;
  reading.layers = by_pattern ? reading.count("num-layers") : required_size(reading, "num-layers");
  reading.hidden = required_size(reading, "hidden-size");
  reading.heads = required_size(reading, "num-attention-heads");
}

void read_ffn(MegatronReading& reading) {
  const std::int64_t four = 4 * reading.hidden;
  const bool gate = gated(reading);
  const std::int64_t two_thirds = four * 2 / 3 / 64 * 64;
  if (reading.hidden == 0) return;
  reading.ffn =
      reading.count("ffn-hidden-size", gate ? two_thirds : four,
                    gate ? "two thirds of four times the hidden size, in whole 64s, as the activation is gated"
                         : "four times the hidden size");
}

void read_key_value_heads(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  reading.kv_heads = reading.heads;
  if (options.count({"num-key-value-heads"})) {
    reading.kv_heads = reading.count("num-key-value-heads");
    return;
  }
  if (options.flag({"group-query-attention"}) != nullptr) {
    reading.options.read("group-query-attention");
    reading.kv_heads = reading.count("num-query-groups");
  } else if (const Setting* groups = options.said({"num-query-groups"})) {
    reading.draft.leave(*groups, "without --group-query-attention every head has keys and values of its own");
  }
}

void read_latent_attention(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  reading.options.read_part("latent");
  const std::int64_t position = reading.number_under("model.latent_attention.position_dim");
  const std::int64_t content = options.count({"qk-head-dim"}).value_or(128);
  reading.head_dim = content + position;
  const std::string sum = fmt::format("{} of content and {} of position", content, position);
  options.put(options.said({"qk-head-dim"}), "model.head_dim", std::to_string(reading.head_dim), sum, sum);
  reading.kv_heads = reading.heads;
  options.leave_each({"kv-channels", "group-query-attention", "num-query-groups"},
                     "latent attention has sizes of its own");
  if (const Setting* norms = options.flag({"qk-layernorm"}))
    reading.draft.use(*norms, "latent attention has these norms");
}

// Returns the number of preceding tokens that a token attends to: the first number of (127, 0); -1: all of them. The
// number of following tokens must be 0 or -1.
std::int64_t window_before(const std::vector<std::string>& words, const Setting& setting) {
  std::vector<std::int64_t> numbers;
  for (std::string word : words) {
    if (word.starts_with('(')) word.erase(0, 1);
    if (word.ends_with(')')) word.pop_back();
    const std::optional<std::int64_t> number = whole_number_of(word);
    if (!number || *number < -1 || *number > 1'000'000'000)
      fail_input(setting.value.where, "--window-size: expected two numbers, such as 127,0, or -1,0 for no window");
    numbers.push_back(*number);
  }
  if (numbers.size() > 2 || (numbers.size() == 2 && numbers.back() > 0))
    fail_input(setting.value.where,
               "--window-size: expected two numbers, of which the second is 0: tokens do not look ahead");
  return numbers.front();
}

// Reads the layers with a window: each n-th layer attends to all tokens, or a list has 1 for the layers with a window
// and 0 for the others.
void read_windowed_layers(MegatronReading& reading, const Setting& setting, std::int64_t tokens) {
  constexpr const char* key = "model.sliding_window.full_every";
  const std::string text = word_of(setting.value);
  const std::optional<std::int64_t> number = whole_number_of(text);
  if (number) return reading.draft.take(setting, key, text);
  std::vector<std::int64_t> list;
  if (setting.value.kind == Value::Kind::scalar) list = python_list(text, setting.value.where);
  for (const Value& item : setting.value.items) {
    const std::optional<std::int64_t> windowed = whole_number_of(item.scalar);
    if (!windowed) fail_input(setting.where, "--window-attn-skip-freq: expected a number, or a list of 0 and 1");
    list.push_back(*windowed);
  }
  const std::vector<bool> windowed(list.begin(), list.end());
  const std::optional<SlidingWindow> window = sliding_window_of(windowed, tokens);
  if (!window || static_cast<std::int64_t>(list.size()) != reading.layers) {
    const std::string why = window ? fmt::format("{} entries for {} layers", list.size(), reading.layers)
                                   : "mirfak has full attention in the leading layers or in each so many-th";
    reading.draft.doubt(setting, why);
    reading.draft.obstruct(setting.where, "--window-attn-skip-freq: " + why);
    return;
  }
  if (window->full_first > 0)
    reading.draft.take(setting, "model.sliding_window.full_first", std::to_string(window->full_first));
  if (window->full_every > 0) reading.draft.take(setting, key, std::to_string(window->full_every));
  if (window->full_first == 0 && window->full_every == 0) reading.draft.use(setting, "a window in all layers");
}

void read_attention(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  if (options.flag({"multi-latent-attention"}) != nullptr) {
    read_latent_attention(reading);
  } else {
    read_key_value_heads(reading);
    const std::int64_t even = reading.heads > 0 ? reading.hidden / reading.heads : 0;
    if (even > 0) reading.head_dim = reading.count("kv-channels", even, "the hidden size over the heads");
    reading.options.read("qk-layernorm");
  }
  reading.options.read("softmax-type");
  const std::vector<std::string> window = options.words({"window-size"});
  if (window.empty()) return;
  const Setting& setting = *options.said({"window-size"});
  const std::int64_t before = window_before(window, setting);
  if (before < 0) return reading.draft.leave(setting, "-1: no window");
  reading.draft.take(setting, "model.sliding_window.tokens", std::to_string(before + 1), "and the token itself");
  const Setting* const layers = options.said({"window-attn-skip-freq"});
  if (layers != nullptr) read_windowed_layers(reading, *layers, before + 1);
}

// Reads dropout: Megatron-LM has one rate for attention and one for the rest; mirfak has one rate.
void read_dropout(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  const double hidden = options.number({"hidden-dropout"}).value_or(0.1);
  const std::string text = reading.options.read("hidden-dropout");
  const Setting* attention = options.said({"attention-dropout"});
  if (attention == nullptr) return;
  const bool same = options.number({"attention-dropout"}).value_or(0.1) == hidden;
  if (same) return reading.draft.use(*attention, "as --hidden-dropout");
  reading.draft.doubt(*attention, fmt::format("mirfak has one dropout: {}, of --hidden-dropout", text));
}

std::vector<std::int64_t> expert_layers(MegatronReading& reading, const Setting* setting) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(std::clamp<std::int64_t>(reading.layers, 0, 100'000)), 1);
  if (setting == nullptr) return out;
  const std::string text = word_of(setting->value);
  if (text.find_first_not_of("0123456789") != std::string::npos) return python_list(text, setting->value.where);
  const std::int64_t every = std::max<std::int64_t>(1, reading.options.count({"moe-layer-freq"}).value_or(1));
  for (std::size_t layer = 0; layer < out.size(); ++layer)
    out[layer] = static_cast<std::int64_t>(layer) % every == 0 ? 1 : 0;
  return out;
}

// Reads the layers with experts: dense layers first, then each n-th layer.
void read_expert_layers(MegatronReading& reading) {
  const Setting* setting = reading.options.said({"moe-layer-freq"});
  if (setting == nullptr) return;
  const std::vector<std::int64_t> layers = expert_layers(reading, setting);
  std::size_t dense = 0;
  while (dense < layers.size() && layers[dense] == 0) ++dense;
  std::size_t every = 1;
  while (dense + every < layers.size() && layers[dense + every] == 0) ++every;
  // If every second layer has experts, the first layer of a pair is dense: its leading zero is not part of first_dense.
  const std::size_t first = every > 1 && dense + 1 >= every ? dense + 1 - every : dense;
  const bool shifted = every > 1 && dense + 1 < every;
  bool fits = dense < layers.size();
  for (std::size_t i = dense; i < layers.size(); ++i) fits = fits && (layers[i] != 0) == ((i - dense) % every == 0);
  if (layers.size() != static_cast<std::size_t>(reading.layers)) {
    reading.draft.obstruct(setting->where,
                           fmt::format("--moe-layer-freq: {} entries for {} layers", layers.size(), reading.layers));
  }
  if (!fits) {
    reading.draft.doubt(*setting, "mirfak has dense layers first, then experts in each so many-th");
    reading.draft.obstruct(setting->where,
                           "--moe-layer-freq: mirfak has dense layers first, then experts in each so many-th");
    return;
  }
  reading.draft.take(*setting, "model.experts.first_dense", std::to_string(shifted ? 0 : first));
  if (every > 1)
    reading.draft.take(*setting, "model.experts.every", std::to_string(every),
                       shifted ? "mirfak has experts in the last of so many, not in the first" : "");
}

void read_experts(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  ImportDraft& draft = reading.draft;
  const std::vector<std::string> counts = options.words({"num-experts"});
  if (counts.empty()) return;
  const Setting& setting = *options.said({"num-experts"});
  if (counts.size() > 1) {
    draft.obstruct(setting.where,
                   "--num-experts: layers with different numbers of experts, which mirfak does not describe: those of "
                   "the first are taken");
  }
  std::int64_t count = 0;
  for (const char digit : counts.front())
    count = digit >= '0' && digit <= '9' && count < 1'000'000 ? count * 10 + (digit - '0') : -1;
  if (count < 0) fail_input(setting.value.where, "--num-experts: expected a number");
  if (count == 0 || (count == 1 && reading.deepspeed)) return draft.leave(setting, "a dense model");
  reading.experts = count;
  draft.take(setting, "model.experts.count", std::to_string(count));
  reading.count("moe-router-topk", reading.deepspeed ? 1 : 2);
  reading.count("moe-ffn-hidden-size", reading.ffn);
  reading.options.read("moe-shared-expert-intermediate-size");
  reading.options.read_part("experts");
  read_expert_layers(reading);
  if (reading.deepspeed) reading.options.read("expert-interval");
}

// Returns the tokens of the vocabulary before padding, and the reason.
std::pair<std::int64_t, std::string> tokens_of(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  const std::string type = options.word({"tokenizer-type"}).value_or("");
  const std::string model =
      options.word({"tokenizer-model"}).value_or("") + " " + options.word({"tokenizer-name-or-path"}).value_or("");
  const Value& vocabularies = reading.facts.section("vocabularies");
  const auto known = [&](std::string_view among, const auto& holds) -> std::pair<std::int64_t, std::string> {
    for (const Value::Field& one : vocabularies.find(among)->fields) {
      const std::string tokens = text_under(one.value, "tokens");
      if (holds(one.key))
        return {whole_number_of(tokens).value_or(0),
                fmt::format("{} tokens of {} ({})", tokens, one.key, text_under(one.value, "source"))};
    }
    return {0, ""};
  };
  const auto is = [](std::string_view kind) { return [kind](const std::string& name) { return name == kind; }; };
  const bool word_pieces = reading.program == MegatronProgram::bert || reading.program == MegatronProgram::t5;
  auto out = known("models", [&](const std::string& name) { return model.find(name) != std::string::npos; });
  if (out.first == 0) out = known("types", is(type));
  if (out.first == 0 && word_pieces) out = known("types", is("BertWordPieceCase"));
  const Setting* named = options.said({"tokenizer-type"});
  if (out.first == 0 && named != nullptr) {
    reading.draft.notes.push_back(
        {named->where, fmt::format("nothing says how many tokens {} has: GPT-2's vocabulary stands in for it, if "
                                   "--vocab-size or --set model.vocab=NUMBER does not say another",
                                   excerpt(type))});
  }
  if (out.first == 0) out = known("types", is("GPT2BPETokenizer"));
  options.use_each({"tokenizer-type", "tokenizer-model", "tokenizer-name-or-path", "vocab-file"},
                   "the size of the vocabulary");
  return out;
}

void read_vocabulary(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  const Setting* padding = options.said({"make-vocab-size-divisible-by"});
  if (const auto padded = options.count({"padded-vocab-size"})) {
    reading.vocab = *padded;
    reading.options.read("padded-vocab-size");
    return options.leave_each(
        {"vocab-size", "vocab-file", "tokenizer-type", "tokenizer-model", "make-vocab-size-divisible-by"},
        "--padded-vocab-size says it");
  }
  const std::int64_t multiple = options.count({"make-vocab-size-divisible-by"}).value_or(128) * reading.tensor;
  if (multiple < 1) fail_input(padding->where, "--make-vocab-size-divisible-by: expected a number from 1");
  const auto padded = [&](std::int64_t tokens) { return (tokens + multiple - 1) / multiple * multiple; };
  if (padding != nullptr)
    reading.draft.use(
        *padding, fmt::format("the vocabulary is a multiple of {} x {}", multiple / reading.tensor, reading.tensor));
  const auto size = options.count({"vocab-size"});
  const bool one_more = options.word({"tokenizer-type"}).value_or("") == "NullTokenizer";
  if (size) {
    reading.vocab = padded(*size + (one_more ? 1 : 0));
    const std::string how =
        fmt::format("{}in whole {}s", one_more ? "one more for the end of a document, " : "", multiple);
    reading.draft.take(*options.said({"vocab-size"}), "model.vocab", std::to_string(reading.vocab), how);
    options.use_each({"tokenizer-type"}, "--vocab-size says how large");
    return options.leave_each({"vocab-file", "tokenizer-model"}, "--vocab-size says how large");
  }
  const auto [tokens, why] = tokens_of(reading);
  reading.vocab = padded(tokens);
  reading.draft.assume("model.vocab", std::to_string(reading.vocab),
                       fmt::format("the tokenizer's files are not here: {}, in whole {}s", why, multiple));
}

void read_lengths(MegatronReading& reading) {
  MegatronOptions& options = reading.options;
  const MegatronOptions::Names names = {"seq-length", "encoder-seq-length"};
  const auto length = options.count(names);
  const auto longest = options.count({"max-position-embeddings"});
  if (length) {
    reading.sequence = reading.count("seq-length");
  } else if (longest) {
    reading.sequence = *longest;
    reading.draft.assume("training.sequence_length", std::to_string(*longest),
                         "--seq-length is not said: as --max-position-embeddings");
  } else {
    reading.draft.obstruct(reading.run.where, "seq-length is not said");
  }
  reading.options.read("max-position-embeddings");
}

void describe_bert(MegatronReading& reading) {
  ImportDraft& draft = reading.draft;
  const std::string reason = "BERT as Megatron-LM has it";
  draft.assume("model.attention", "bidirectional", reason);
  draft.assume("model.sentence_pairs", "true", reason);
  draft.assume("model.masked_share", reading.options.word({"mask-prob"}).value_or("0.15"), reason);
}

}  // namespace

void read_megatron_model(MegatronReading& reading) {
  read_sizes(reading);
  read_ffn(reading);
  read_attention(reading);
  reading.options.read_part("parts");
  read_dropout(reading);
  read_vocabulary(reading);
  read_lengths(reading);
  read_experts(reading);
  if (reading.program == MegatronProgram::bert) describe_bert(reading);
  if (reading.program == MegatronProgram::hybrid) read_megatron_hybrid(reading);
  if (reading.program == MegatronProgram::t5) read_megatron_encoder_decoder(reading);
}

}  // namespace mirfak
