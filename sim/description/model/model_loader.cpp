#include "model/model_loader.hpp"

#include "base/file_reference.hpp"
#include "base/named_files.hpp"
#include "base/remembered.hpp"
#include "base/suggestion.hpp"
#include "base/text.hpp"
#include "model/hugging_face.hpp"
#include "model/model_blocks.hpp"
#include "model/model_reading.hpp"
#include "model/transformer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <system_error>

namespace mirfak {

namespace {

// Choices of a file that a model spec states as flags.
enum class Attention { causal, bidirectional };
enum class Norms { before, after };

const std::vector<std::string> kHeadKinds = {"language", "labels_of_sequences", "labels_of_tokens", "pooled"};

template <typename Choice>
Choice choice_or(Mapping& in, std::string_view key, const std::vector<std::string>& names, Choice fallback) {
  const std::optional<Node> found = in.find(key);
  return found ? static_cast<Choice>(found->as_choice(names)) : fallback;
}

MixtureOfExperts read_mixture(const Node& section) {
  Mapping in(section);
  MixtureOfExperts mixture;
  mixture.experts = in.require("count").as_integer(1, kMaxExperts);
  mixture.per_token = in.require("per_token").as_integer(1, kMaxExperts);
  if (const std::optional<Node> groups = in.find("groups")) {
    mixture.groups = groups->as_integer(1, mixture.experts);
    mixture.groups_per_token = in.require("groups_per_token").as_integer(1, mixture.groups);
    check_groups(mixture, *groups);
  }
  mixture.ffn = in.require("ffn").as_integer(1, kMaxFfn);
  mixture.shared_ffn = in.integer_or("shared_ffn", 0, 0, kMaxFfn);
  mixture.first_dense = in.integer_or("first_dense", 0, 0, kMaxLayers);
  mixture.every = in.integer_or("every", 1, 1, kMaxLayers);
  in.finish();
  return mixture;
}

LatentAttention read_latent_attention(const Node& section) {
  Mapping in(section);
  LatentAttention latent;
  latent.key_value_rank = in.require("key_value_rank").as_integer(1, kMaxHidden);
  latent.query_rank = in.integer_or("query_rank", 0, 0, kMaxHidden);
  latent.position_dim = in.require("position_dim").as_integer(1, kMaxHeadDim);
  latent.value_dim = in.require("value_dim").as_integer(1, kMaxHeadDim);
  in.finish();
  return latent;
}

SlidingWindow read_window(const Node& section) {
  Mapping in(section);
  SlidingWindow window;
  window.tokens = in.require("tokens").as_integer(1, kMaxSequence);
  window.full_every = in.integer_or("full_every", 0, 0, kMaxLayers);
  window.full_first = in.integer_or("full_first", 0, 0, kMaxLayers);
  in.finish();
  return window;
}

Head read_head(const Node& section) {
  Mapping in(section);
  Head head;
  head.kind = static_cast<HeadKind>(in.require("kind").as_choice(kHeadKinds));
  if (head.kind == HeadKind::labels_of_sequences || head.kind == HeadKind::labels_of_tokens) {
    head.labels = in.require("labels").as_integer(1, kMaxVocabulary);
    head.bias = in.bool_or("bias", false);
  }
  in.finish();
  return head;
}

// Reads the inner size of plain MLPs, which may be left out if a model has none.
std::int64_t read_ffn(Mapping& in, const ModelSpec& model) {
  const std::vector<LayerKind> kinds = layer_kinds(model);
  const bool plain = std::any_of(kinds.begin(), kinds.end(), [](const LayerKind& kind) { return !kind.experts; });
  if (!plain) return in.integer_or("ffn", model.mixture.ffn, 1, kMaxFfn);
  return model.gated() ? in.require("ffn").as_integer(1, kMaxFfn) : in.integer_or("ffn", 4 * model.hidden, 1, kMaxFfn);
}

ModelSpec read_config(const Document& config, const std::filesystem::path& folder) {
  ModelSpec model = parse_hugging_face(config, folder);
  if (model.blocks.empty()) model.transformer = transformer_blocks(folder / "blocks", Node(config).where());
  return model;
}

// Reads a model whose shape is stated by keys of a Hugging Face config.json.
ModelSpec read_model_of_config(Mapping& in, const std::filesystem::path& folder) {
  const Node stated = in.require("config");
  const Mapping keys(stated);
  if (!keys.has("model_type") && !keys.has("architectures")) {
    stated.fail("missing the key 'model_type', which says whose keys these are", "copy it from the config.json");
  }
  ModelSpec model = read_config(stated.document(), folder);
  if (const std::optional<Node> sequence = in.find("max_sequence")) {
    if (model.blocks.empty() && model.position == PositionEncoding::learned) {
      sequence->fail("learned positions are as many as config states",
                     "leave it out, and state training.sequence_length");
    }
    model.max_sequence = sequence->as_integer(1, kMaxSequence);
  }
  return model;
}

ModelSpec parse_own_format(const Node& mapping, const std::string& file, const std::filesystem::path& folder) {
  Mapping in{mapping};
  if (in.has("blocks") || in.has("config")) {
    const std::string name = in.string_or("name", name_from_path(file));
    const std::string family = in.string_or("family", "");
    const std::string source = in.string_or("source", file);
    ModelSpec model = in.has("config") ? read_model_of_config(in, folder) : read_model_of_blocks(in, folder / "blocks");
    in.finish();
    model.name = name;
    if (!family.empty()) model.family = family;
    model.source = source;
    return model;
  }
  ModelSpec model;
  model.name = in.string_or("name", name_from_path(file));
  model.family = in.string_or("family", model.family);
  model.source = in.string_or("source", file);
  model.activation = choice_or(in, "activation", {"gelu", "relu", "swiglu", "geglu", "squared_relu"}, model.activation);
  model.normalization = choice_or(in, "normalization", {"layer_norm", "rms_norm"}, model.normalization);
  model.position = choice_or(in, "position", {"none", "learned", "rotary", "alibi"}, model.position);
  model.linear_bias = in.bool_or("linear_bias", model.linear_bias);
  model.qkv_bias = in.bool_or("qkv_bias", model.linear_bias);
  model.tied_embeddings = in.bool_or("tied_embeddings", model.tied_embeddings);
  model.embedding_norm = in.bool_or("embedding_norm", model.embedding_norm);
  model.qk_norm = in.bool_or("qk_norm", model.qk_norm);
  model.sinks = in.bool_or("sinks", model.sinks);
  model.causal = choice_or(in, "attention", {"causal", "bidirectional"}, Attention::causal) == Attention::causal;
  model.post_norm = choice_or(in, "norms", {"before", "after"}, Norms::before) == Norms::after;
  model.masked_share = in.number_or("masked_share", model.masked_share, 0, 1);
  model.sentence_pairs = in.bool_or("sentence_pairs", model.sentence_pairs);
  if (const std::optional<Node> limit = in.find("activation_limit")) {
    model.activation_limit = limit->as_number(0, 1e6);
    if (!model.gated()) limit->fail("only the halves of a gated activation are clamped");
  }
  model.dropout = in.number_or("dropout", model.dropout, 0, 1);

  model.layers = in.require("layers").as_integer(1, kMaxLayers);
  model.hidden = in.require("hidden").as_integer(1, kMaxHidden);
  if (const std::optional<Node> experts = in.find("experts")) model.mixture = read_mixture(*experts);
  if (const std::optional<Node> latent = in.find("latent_attention")) model.latent = read_latent_attention(*latent);
  if (const std::optional<Node> window = in.find("sliding_window")) model.window = read_window(*window);
  model.prediction_layers = in.integer_or("prediction_layers", 0, 0, kMaxLayers);
  if (const std::optional<Node> head = in.find("head")) {
    model.head = read_head(*head);
    const bool other = model.head.kind != HeadKind::language;
    if (other && (model.prediction_layers > 0 || model.masked_share > 0 || model.sentence_pairs)) {
      head->fail("prediction_layers, masked_share and sentence_pairs belong to a language head");
    }
  }
  model.ffn = read_ffn(in, model);
  model.vocab = in.require("vocab").as_integer(1, kMaxVocabulary);
  model.max_sequence = in.require("max_sequence").as_integer(1, kMaxSequence);
  const Node heads = in.require("heads");
  const std::optional<Node> kv_heads = in.find("kv_heads");
  const std::optional<Node> head_dim = in.find("head_dim");
  in.finish();  // before the heads are compared: an error for a misspelled head_dim is the better message
  read_heads(model, in.node(), {.heads = heads, .kv_heads = kv_heads, .head_dim = head_dim});
  check_parts(model, in.node());
  model.transformer = transformer_blocks(folder / "blocks", mapping.where());
  return model;
}

// Returns the path, relative to the folder of the asking file. A path in an override, which has no line, counts from
// the working folder.
std::filesystem::path path_at(const Location& asked_at, const std::filesystem::path& path) {
  return asked_at.line > 0 ? std::filesystem::path(asked_at.file).parent_path() / path : path;
}

ModelSpec load_path(const std::filesystem::path& path, const std::filesystem::path& models_folder,
                    const Location& asked_at) {
  refuse_named_file(asked_at, path.string());
  const bool beside_file = path.is_relative() && asked_at.line > 0;
  const std::filesystem::path file = path_at(asked_at, path);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    fail_input(asked_at, fmt::format("there is no model file '{}'", file.string()),
               beside_file ? "a relative path counts from the folder of the file that states it" : "");
  }
  return parse_model(Document::from_file(file), models_folder);
}

[[noreturn]] void fail_unknown(const std::string& name, const std::filesystem::path& folder, const Location& asked_at) {
  const std::string hint = suggestion(name, model_names(folder));
  fail_input(asked_at, fmt::format("there is no model '{}'", excerpt(name)),
             hint.ends_with('?') ? hint : hint + ", or the path of a model file; 'mirfak list models' shows all");
}

// Returns the entries of names/hugging-face.yaml, which is read once; none without the file.
std::span<const Value::Field> hub_names(const std::filesystem::path& models_folder) {
  static Remembered<Document> tables;
  const std::filesystem::path file = models_folder / "names" / "hugging-face.yaml";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return {};
  return tables.get(file.string(), [&] { return Document::from_file(file); }).root().fields;
}

}  // namespace

std::optional<std::string> model_of_hub(std::string_view name, const std::filesystem::path& models_folder) {
  for (const Value::Field& field : hub_names(models_folder)) {
    if (lower_case(field.key) == lower_case(name)) return field.value.scalar;
  }
  return std::nullopt;
}

std::optional<std::string> hub_name_ending(std::string_view last, const std::filesystem::path& models_folder) {
  const std::string sought = lower_case(last);
  const Value::Field* found = nullptr;
  for (const Value::Field& field : hub_names(models_folder)) {
    if (lower_case(field.key).substr(field.key.find('/') + 1) != sought) continue;
    if (found != nullptr && found->value.scalar != field.value.scalar) return std::nullopt;
    if (found == nullptr) found = &field;
  }
  return found == nullptr ? std::nullopt : std::optional(found->key);
}

std::optional<std::string> hub_name_of(std::string_view model, const std::filesystem::path& models_folder) {
  for (const Value::Field& field : hub_names(models_folder)) {
    if (field.value.scalar == model) return field.key;
  }
  return std::nullopt;
}

bool is_model_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".yaml") || text.ends_with(".yml") ||
         text.ends_with(".json");
}

ModelSpec load_model(std::string_view name_or_path, const std::filesystem::path& models_folder,
                     const Location& asked_at) {
  const std::optional<std::string> of_hub = model_of_hub(name_or_path, models_folder);
  if (!of_hub && is_model_path(name_or_path)) return load_path(name_or_path, models_folder, asked_at);
  const std::string name = of_hub.value_or(std::string(name_or_path));
  // Names are compared with those that exist: what a file system does with capital letters differs.
  for (const std::string& known : model_names(models_folder)) {
    if (lower_case(known) == lower_case(name))
      return parse_model(Document::from_file(models_folder / (known + ".yaml")), models_folder);
  }
  fail_unknown(name, models_folder, asked_at);
}

ModelSpec parse_model(const Document& document, const std::filesystem::path& models_folder) {
  if (!is_hugging_face_config(document)) return parse_own_format(Node(document), document.name(), models_folder);
  return read_config(document, models_folder);
}

ModelSpec parse_model(const Node& mapping, const std::filesystem::path& models_folder) {
  return parse_own_format(mapping, mapping.where().file, models_folder);
}

Value independent_model(const Node& stated, const ModelSpec& model, const std::filesystem::path& models_folder) {
  Value out = stated.value();
  if (!stated.is_mapping()) {
    const std::optional<std::string> of_hub = model_of_hub(out.scalar, models_folder);
    if (of_hub) out.scalar = *of_hub;
    if (is_model_path(out.scalar)) out.scalar = independent_path(path_at(out.where, out.scalar));
    out.quoted = true;
    return out;
  }
  for (Value::Field& field : out.fields) {
    if (field.key == "blocks") field.value = independent_blocks(std::move(field.value), models_folder / "blocks");
  }
  if (out.find("name") == nullptr) {
    Value name;
    name.kind = Value::Kind::scalar;
    name.scalar = model.name;
    name.quoted = true;
    out.fields.insert(out.fields.begin(), {"name", std::move(name)});
  }
  return out;
}

std::vector<std::string> model_names(const std::filesystem::path& models_folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator at(models_folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".yaml") names.push_back(at->path().stem().string());
  }
  if (error) fail_input({models_folder.string(), 0, 0}, "cannot read this folder of models: " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace mirfak
