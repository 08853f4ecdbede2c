#include "validation/run_model.hpp"

#include "base/yaml.hpp"
#include "model/model_loader.hpp"
#include "validation/run_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace mirfak {

namespace {

// What models of a family have in common: sources are their papers and public configurations.
struct Family {
  std::string_view word;  // in the model's name
  std::string_view yaml;
};

constexpr std::int64_t kHalfAnExample = 90;  // tokens, of SQuAD

constexpr std::string_view kGpt = "family: gpt\nactivation: gelu\nnormalization: layer_norm\nposition: learned\n";
constexpr std::string_view kLlama =
    "family: llama\nactivation: swiglu\nnormalization: rms_norm\nposition: rotary\nlinear_bias: false\n"
    "tied_embeddings: false\n";

constexpr std::array kFamilies = {
    Family{"llama", kLlama},
    Family{"internlm", kLlama},
    Family{"qwen", kLlama},
    Family{"mistral", kLlama},
    Family{"mixtral", kLlama},
    Family{"mpt",
           "family: mpt\nactivation: gelu\nnormalization: layer_norm\nposition: learned\ntied_embeddings: true\n"},
    Family{"bloom", "family: bloom\nactivation: gelu\nnormalization: layer_norm\nposition: alibi\n"},
    Family{"opt", "family: opt\nactivation: relu\nnormalization: layer_norm\nposition: learned\ndropout: 0.1\n"},
    Family{"nemotron",
           "family: nemotron\nactivation: squared_relu\nnormalization: layer_norm\nposition: rotary\n"
           "linear_bias: false\ntied_embeddings: false\n"},
    Family{"bert",
           "family: bert\nattention: bidirectional\nnorms: after\nembedding_norm: true\nmasked_share: 0.15625\n"
           "sentence_pairs: true\ndropout: 0.1\n"},
    Family{"gpt", kGpt},
};

const Family* family_of(const MeasuredRun& run) {
  const RunWords name(run.model);
  const auto found =
      std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family& family) { return name.has(family.word); });
  return found == kFamilies.end() ? nullptr : found;
}

void put(Value& mapping, std::string_view key, const std::string& text) {
  Value scalar;
  scalar.kind = Value::Kind::scalar;
  scalar.scalar = text;
  for (Value::Field& field : mapping.fields) {
    if (field.key != key) continue;
    field.value = std::move(scalar);
    return;
  }
  mapping.fields.push_back({std::string(key), std::move(scalar)});
}

void put(Value& mapping, std::string_view key, const std::optional<std::int64_t>& number) {
  if (number) put(mapping, key, std::to_string(*number));
}

void put_inside(Value& mapping, std::string_view section, std::string_view key, std::int64_t number) {
  for (Value::Field& field : mapping.fields) {
    if (field.key == section) put(field.value, key, std::to_string(number));
  }
}

std::optional<std::int64_t> head_dim_of(const MeasuredRun& run) {
  std::int64_t number = 0;
  const char* end = run.head_dim.data() + run.head_dim.size();
  const auto [rest, error] = std::from_chars(run.head_dim.data(), end, number);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return number;
}

std::int64_t needed(const MeasuredRun& run, const std::optional<std::int64_t>& number, std::string_view what) {
  if (!number) fail_infeasible(run.where, fmt::format("the row does not state {}", what));
  return *number;
}

// NVIDIA's fine-tuning recipes train on SQuAD, whose examples of some 180 tokens are packed into sequences and attend
// to themselves only: a token sees half an example in the mean.
bool packs_examples(const MeasuredRun& run) {
  return (run.kind == "lora" || run.kind == "sft") && RunWords(run.source).has_any({"nvidia/nemo", "megatron-bridge"});
}

void put_window(Value& model, std::int64_t tokens) {
  Value window;
  window.kind = Value::Kind::mapping;
  put(window, "tokens", tokens);
  model.fields.push_back({"sliding_window", std::move(window)});
}

// A model cut to a few layers, to fit one node: without its modules of multi-token prediction and, of the dense layers
// in front of its mixtures, with one at most. So say the memory and the seconds of such runs (SimuMax's DeepSeek).
void cut_short(Value& model) {
  for (Value::Field& field : model.fields) {
    if (field.key == "prediction_layers") field.value.scalar = "0";
    if (field.key == "experts" && field.value.kind == Value::Kind::mapping) {
      for (Value::Field& inner : field.value.fields) {
        if (inner.key == "first_dense") inner.value.scalar = "1";
      }
    }
  }
}

bool same(const std::optional<std::int64_t>& stated, std::int64_t value) { return !stated || *stated == value; }

std::string as_section(Value model) {
  Value whole;
  whole.kind = Value::Kind::mapping;
  whole.fields.push_back({"model", std::move(model)});
  return emit_yaml(whole) + "\n";
}

}  // namespace

ModelLibrary::ModelLibrary(const std::filesystem::path& folder) {
  for (const std::string& name : model_names(folder)) {
    const Document document = Document::from_file(folder / (name + ".yaml"));
    entries_.push_back({name_words(name), parse_model(document), document.root()});
  }
}

// Shape decides, and of several models of one shape the name.
const ModelLibrary::Entry* ModelLibrary::find(const MeasuredRun& run) const {
  const std::vector<std::string> words = name_words(run.model);
  const Family* family = family_of(run);
  const Entry* best = nullptr;
  std::pair<bool, std::size_t> best_fit;
  for (const Entry& entry : entries_) {
    const ModelSpec& spec = entry.spec;
    const bool mixture = run.experts.has_value();
    const bool shape = same(run.hidden, spec.hidden) && same(run.heads, spec.heads) &&
                       (mixture || (same(run.ffn, spec.ffn) && same(run.kv_heads, spec.kv_heads)));
    const auto common =
        static_cast<std::size_t>(std::count_if(words.begin(), words.end(), [&](const std::string& word) {
          return std::find(entry.words.begin(), entry.words.end(), word) != entry.words.end();
        }));
    const bool named = run.hidden ? common > 0 : common == entry.words.size();  // without sizes the name alone tells
    if (!shape || !named) continue;
    const bool other_family =
        family != nullptr && std::none_of(entry.words.begin(), entry.words.end(),
                                          [&](const std::string& word) { return word == family->word; });
    if (other_family) continue;
    const std::pair fit{same(run.layers, spec.layers), common};
    if (best != nullptr && fit <= best_fit) continue;
    best = &entry;
    best_fit = fit;
  }
  return best;
}

std::string ModelLibrary::model_yaml_of(const MeasuredRun& run) const {
  const std::int64_t sequence = needed(run, run.sequence_length, "the sequence length");
  const Entry* entry = find(run);
  if (entry == nullptr && run.experts) {
    fail_infeasible(run.where, fmt::format("no model in the library has the shape of '{}'", run.model),
                    "add it to models/");
  }
  Value model;
  if (entry != nullptr) {
    model = entry->value;
  } else {
    const Family* family = family_of(run);
    const bool gated = run.ffn && run.hidden && *run.ffn != 4 * *run.hidden;
    model = parse_yaml(std::string(family != nullptr ? family->yaml : gated ? kLlama : kGpt), "model family");
    needed(run, run.layers, "the number of layers");
    needed(run, run.hidden, "the hidden size");
    needed(run, run.heads, "the number of heads");
    put(model, "vocab", std::string("50257"));  // GPT-2's, where the row does not say
  }
  put(model, "name", run.model);
  put(model, "source", run.source);
  put(model, "layers", run.layers);
  put(model, "vocab", run.vocab);
  if (!run.experts) {
    put(model, "hidden", run.hidden);
    put(model, "heads", run.heads);
    put(model, "kv_heads", run.kv_heads);
    put(model, "head_dim", head_dim_of(run));
    put(model, "ffn", run.ffn);
  }
  if (run.experts) {
    put(model, "prediction_layers", run.prediction_layers);
    if (run.dense_layers) put_inside(model, "experts", "first_dense", *run.dense_layers);
  }
  put(model, "max_sequence", std::to_string(sequence));
  if (packs_examples(run)) put_window(model, kHalfAnExample);
  if (entry != nullptr && run.layers && 4 * *run.layers < entry->spec.layers) cut_short(model);
  return as_section(std::move(model));
}

}  // namespace mirfak
