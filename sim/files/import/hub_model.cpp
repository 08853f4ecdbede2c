// Models as programs around Transformers name them: on the hub, with a tower for images that the program puts in front
// of a language model (LLaVA, arXiv 2304.08485), and with parts that are not trained.

#include "import/hub_model.hpp"

#include "base/text.hpp"
#include "base/values.hpp"
#include "model/model_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string>

namespace mirfak {

namespace {

// True if the value is a path below a folder that every shell knows: the path's last part stands in the file.
bool is_below_home(const Option& option) {
  if (option.setting == nullptr || option.value.kind != Value::Kind::scalar) return false;
  static constexpr std::array<std::string_view, 2> folders = {"HOME", "PWD"};
  const std::vector<std::string>& missing = option.setting->missing;
  return missing.size() == 1 && std::find(folders.begin(), folders.end(), missing.front()) != folders.end() &&
         option.value.scalar.starts_with('/');
}

Location where_of(const Option& option) { return option.setting == nullptr ? Location{} : option.setting->where; }

// Returns the model that the draft's scenario has so far; nullopt: none, or one that is refused when the scenario is
// read.
std::optional<ModelSpec> model_so_far(const ImportDraft& draft, const ScenarioSources& sources) {
  const Value* stated = draft.scenario().find("model");
  if (stated == nullptr) return std::nullopt;
  try {
    return imported_model(*stated, stated->where, sources);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Returns the keys of a config.json that describe a decoder of Llama's kind; nullopt for one of another kind, whose
// layers the families with towers do not have. `biased`: the model_type of those with biases of queries and keys.
std::optional<Value> decoder_keys(const ModelSpec& model, const Value& types) {
  const bool alike = model.blocks.empty() && model.normalization == Normalization::rms_norm &&
                     model.activation == ActivationFunction::swiglu && model.position == PositionEncoding::rotary &&
                     model.causal && !model.linear_bias && !model.post_norm && !model.embedding_norm && !model.sinks &&
                     model.mixture.experts == 0 && model.latent.key_value_rank == 0 && model.window.tokens == 0 &&
                     model.prediction_layers == 0 && model.masked_share == 0 && model.dropout == 0 &&
                     model.activation_limit == 0 && model.head.kind == HeadKind::language;
  if (!alike || (model.qk_norm && model.qkv_bias)) return std::nullopt;
  Value keys;
  const auto set = [&](std::string_view key, const std::string& word) { set_field(keys, key, scalar_value(word, {})); };
  const char* kind = model.qk_norm ? "normed" : model.qkv_bias ? "biased" : "plain";
  set("model_type", text_under(types, kind));
  set("vocab_size", std::to_string(model.vocab));
  set("hidden_size", std::to_string(model.hidden));
  set("intermediate_size", std::to_string(model.ffn));
  set("num_hidden_layers", std::to_string(model.layers));
  set("num_attention_heads", std::to_string(model.heads));
  set("num_key_value_heads", std::to_string(model.kv_heads));
  set("head_dim", std::to_string(model.head_dim));
  set("max_position_embeddings", std::to_string(model.max_sequence));
  return keys;
}

// Returns the config.json that a model of models/ states, if its type is one of these; nullopt: it is another model.
std::optional<Value> stated_keys(const Value& model, const Value* types, const ScenarioSources& sources) {
  if (types == nullptr || model.kind != Value::Kind::scalar) return std::nullopt;
  const std::filesystem::path file = sources.folders.models / (model.scalar + ".yaml");
  if (!std::filesystem::exists(file)) return std::nullopt;
  const Document document = Document::from_file(file);
  const Value* config = document.root().find("config");
  if (config == nullptr) return std::nullopt;
  const std::string type = text_under(*config, "model_type");
  const bool known =
      std::any_of(types->items.begin(), types->items.end(), [&](const Value& one) { return one.scalar == type; });
  return known ? std::optional<Value>(*config) : std::nullopt;
}

// Reads the tower of one program.
class TowerReader {
 public:
  TowerReader(OptionReader& options, const Value& rules, const ImportContext& context)
      : options_(options), rules_(rules), context_(context) {}

  bool read() {
    const Option tower = options_.option("vision_tower");
    if (tower.is_none()) return false;
    const std::optional<ModelSpec> decoder = model_so_far(options_.draft(), context_.sources);
    if (decoder && decoder->image_tokens > 0) {
      options_.use(tower, "the model's own tower");
      judge_section(options_.draft(), options_.prefix(), rules_);
      return true;
    }
    const Value* sizes = sizes_of(tower);
    if (sizes != nullptr) options_.use(tower, "a tower for images");
    const bool projects = read_projector();
    judge_section(options_.draft(), options_.prefix(), rules_);
    if (sizes == nullptr || !projects || !decoder) return true;
    std::optional<Value> keys = decoder_keys(*decoder, *rules_.find("decoders"));
    if (!keys) {
      keys = stated_keys(*options_.draft().scenario().find("model"), rules_.find("stated"), context_.sources);
    }
    if (!keys) {
      hold(tower, fmt::format("a tower for images before {}, whose layers are others than those of Llama, is not "
                              "described: give the config.json of the whole model",
                              decoder->name));
    } else {
      put(tower, *decoder, *keys, *sizes);
    }
    return true;
  }

 private:
  void hold(const Option& option, const std::string& reason) {
    options_.doubt(option, reason);
    options_.draft().obstruct(where_of(option), fmt::format("{}: {}", option.name, reason));
  }

  // Returns the sizes of the tower, by its name on the hub or by a path that ends in this name.
  const Value* sizes_of(const Option& tower) {
    const std::string name = options_.word(tower);
    for (const Value::Field& field : rules_.find("sizes")->fields) {
      const std::string last = field.key.substr(field.key.find('/') + 1);
      if (name == field.key || name == last || name.ends_with("/" + last)) return &field.value;
    }
    hold(tower, fmt::format("no sizes are known of the tower for images {}: give the config.json of the whole model",
                            excerpt(name)));
    return nullptr;
  }

  bool read_projector() {
    const Option projector = options_.option("mm_projector_type");
    const std::string word = projector.is_none() ? "" : options_.word(projector);
    projector_ = word;
    const Value& described = *rules_.find("projectors");
    const bool known = std::any_of(described.items.begin(), described.items.end(),
                                   [&](const Value& one) { return one.scalar == word; });
    if (known) options_.use(projector, "what stands between tower and words");
    if (!known) hold(projector, fmt::format("between tower and words stands {}, which mirfak does not describe", word));
    return known;
  }

  void put(const Option& tower, const ModelSpec& decoder, const Value& keys, const Value& sizes) {
    Value config;
    set_field(config, "model_type", scalar_value(text_under(rules_, "model_type"), {}));
    set_field(config, "text_config", keys);
    set_field(config, "vision_config", sizes);
    const std::string key = text_under(rules_, "projector_key");
    if (!key.empty()) set_field(config, key, scalar_value(projector_, {}));
    set_field(config, "tie_word_embeddings", scalar_value(decoder.tied_embeddings ? "true" : "false", {}));
    const std::string name = options_.word(tower);
    Value model;
    set_field(model, "name",
              scalar_value(fmt::format("{} with {}", decoder.name, name.substr(name.rfind('/') + 1)), {}));
    set_field(model, "source", scalar_value(fmt::format("{}; {}", decoder.source, text_under(rules_, "source")), {}));
    set_field(model, "config", config);
    options_.put(tower, "model", model, "a tower for images in front of the language model");
    const std::string note = text_under(rules_, "note");
    if (!note.empty()) options_.draft().notes.push_back({where_of(tower), note});
  }

  OptionReader& options_;
  const Value& rules_;
  const ImportContext& context_;
  std::string projector_;  // the program's word for it
};

// Reads what of a model with a tower is not trained.
class FrozenReader {
 public:
  FrozenReader(OptionReader& options, const Value& rules, const ImportContext& context, bool of_vision)
      : options_(options), rules_(rules), has_tower_(of_vision) {
    const std::optional<ModelSpec> model = model_so_far(options.draft(), context.sources);
    if (model) has_tower_ = model->image_tokens > 0;
  }

  void read() {
    change(rules_, "first", true);
    for (const Value::Field& field : part("switches")) read_switch(field.key, field.value);
    for (const Value::Field& field : part("lists")) read_list(field.key, field.value);
    const Value* adapted = rules_.find("adapted");
    if (adapted != nullptr && has_tower_ && !options_.said("training.lora.rank").empty()) stand_beside(*adapted);
    if (!has_tower_ || frozen_.empty()) return;
    const Value parts = list_value(std::vector<std::string>(frozen_.begin(), frozen_.end()), {});
    if (by_) return options_.put(*by_, "training.frozen", parts, "not trained");
    options_.draft().assume("training.frozen", parts, "the program does not train them where nothing says so");
  }

 private:
  std::vector<Value::Field> part(std::string_view key) const {
    const Value* found = rules_.find(key);
    return found == nullptr ? std::vector<Value::Field>{} : found->fields;
  }

  void change(const Value& entry, std::string_view key, bool freezes) {
    const Value* parts = entry.find(key);
    if (parts == nullptr) return;
    for (const Value& one : parts->items) {
      if (freezes) frozen_.insert(one.scalar);
      if (!freezes) frozen_.erase(one.scalar);
    }
  }

  // Reads the parts of a model whose adapters stand in the parts `adapted`: these are frozen, and the others frozen or
  // trained whole.
  void stand_beside(const Value& adapted) {
    const bool rest_is_frozen = text_under(rules_, "beside_adapters") == "frozen";
    if (rest_is_frozen) frozen_ = {"tower", "projector", "decoder"};
    change(rules_, "adapted", false);
    if (rest_is_frozen) return;
    const std::vector<std::string> have = words_of(&adapted);
    std::vector<std::string> whole = words_of(rules_.find("whole_beside"));
    std::optional<Option> by;
    for (const char* part : {"projector", "tower", "decoder"}) {
      if (frozen_.contains(part) || std::find(have.begin(), have.end(), part) != have.end()) continue;
      whole.emplace_back(part);
      if (!by) by = switch_of(part);
    }
    if (whole.empty()) return;
    if (whole.back() == "decoder" || !options_.said("training.lora.whole").empty()) {
      return options_.draft().obstruct(
          by ? where_of(*by) : Location{},
          fmt::format("the {} is trained whole beside adapters in the {}, which mirfak does not describe", whole.back(),
                      join_or(have)));
    }
    const Value parts = list_value(whole, {});
    if (by) return options_.put(*by, "training.lora.whole", parts, "trained whole beside the adapters");
    options_.draft().assume("training.lora.whole", parts, "the program trains them where nothing freezes them");
  }

  // Returns the switch that freezes or trains a part, or the option that decides; nullopt: none is stated.
  std::optional<Option> switch_of(std::string_view part) const {
    for (const Value::Field& field : this->part("switches")) {
      const Option option = options_.option(field.key);
      for (const char* key : {"freezes", "trains"}) {
        const std::vector<std::string> parts = words_of(field.value.find(key));
        if (option.setting != nullptr && std::find(parts.begin(), parts.end(), part) != parts.end()) {
          return option;
        }
      }
    }
    return by_;
  }

  static std::vector<std::string> words_of(const Value* list) {
    std::vector<std::string> out;
    for (const Value& one : list == nullptr ? std::vector<Value>{} : list->items) out.push_back(one.scalar);
    return out;
  }

  // True if the option counts, which is then used.
  bool counts(const Option& option) {
    if (option.setting == nullptr) return false;
    if (!has_tower_) {
      options_.leave(option, "the model has no tower for images");
      return false;
    }
    options_.use(option, "decides what is trained");
    if (!by_) by_ = option;
    return true;
  }

  void read_switch(const std::string& name, const Value& entry) {
    Option option = options_.option(name);
    if (!counts(option)) option = {name, nullptr, scalar_value(text_under(entry, "unsaid"), {})};
    const bool on = !option.is_none() && options_.flag(option);
    if (option.setting != nullptr && entry.find(on ? "freezes" : "trains") != nullptr) by_ = option;
    if (!on) return note_off(option, text_under(entry, "off"));
    change(entry, "freezes", true);
    change(entry, "trains", false);
  }

  // Tells what a switch that is off leaves on, in a model with a tower.
  void note_off(const Option& option, const std::string& note) {
    if (has_tower_ && !note.empty() && options_.said("training.lora.rank").empty()) {
      options_.draft().notes.push_back({where_of(option), fmt::format("{}: {}", option.name, note)});
    }
  }

  // Reads a list of all parts that are trained; `words`: the program's names of them.
  void read_list(const std::string& name, const Value& words) {
    const Option option = options_.option(name);
    if (option.is_none() || !counts(option)) return;
    by_ = option;
    for (const Value::Field& field : words.fields) frozen_.insert(field.value.scalar);
    for (const Value& word : words_at_commas(option.value).items) {
      const std::string trained = text_under(words, word.scalar);
      if (trained.empty()) options_.fail(option, "names of parts with commas: " + join_or(names_in(words)));
      frozen_.erase(trained);
    }
  }

  static std::vector<std::string> names_in(const Value& words) {
    std::vector<std::string> out;
    for (const Value::Field& field : words.fields) out.push_back(field.key);
    return out;
  }

  OptionReader& options_;
  const Value& rules_;
  bool has_tower_;
  std::set<std::string> frozen_;
  std::optional<Option> by_;  // the last option that changes something, or else the first that could
};

}  // namespace

void read_hub_model(OptionReader& options, std::string_view option, const ImportContext& context) {
  const Option id = options.option(option);
  const auto lack = [&](const Location& where, const std::string& reason) {
    options.draft().lack(where, "model", reason + ": give its config.json as well, or --set model=NAME");
  };
  if (const Setting* config = options.draft().find("config.json")) {
    options.draft().take(*config, "model", config->value);
    return options.use(id, "its config.json is here");
  }
  if (id.setting == nullptr) return lack({}, "nothing says what the model is");
  const std::string name = is_below_home(id) ? id.value.scalar : options.word(id);
  const auto known = hugging_face_model(name, context.sources);
  if (known) return options.put(id, "model", known->model, known->note);
  options.doubt(id, "no shape is known of it");
  lack(id.setting->where, fmt::format("models/ does not have {}", excerpt(name)));
}

bool has_tower(const ImportDraft& draft, const ScenarioSources& sources) {
  const std::optional<ModelSpec> model = model_so_far(draft, sources);
  return model && model->image_tokens > 0;
}

bool lacks_tower(const ImportDraft& draft, const ScenarioSources& sources) {
  const std::optional<ModelSpec> model = model_so_far(draft, sources);
  return model && model->image_tokens == 0;
}

bool read_tower(OptionReader& options, const Value& rules, const ImportContext& context) {
  return TowerReader(options, rules, context).read();
}

void read_frozen_parts(OptionReader& options, const Value& rules, const ImportContext& context, bool of_vision) {
  if (rules.kind == Value::Kind::mapping) FrozenReader(options, rules, context, of_vision).read();
}

}  // namespace mirfak
