// A config.json becomes a model of blocks: the keys are numbers, the sizes of each layer are formulas over these
// numbers, and layers with equal sizes are one entry of the model.

#include "model/family_config.hpp"

#include "base/text.hpp"
#include "block/file.hpp"
#include "formula/evaluate.hpp"
#include "model/hugging_face_config.hpp"
#include "model/hugging_face_head.hpp"
#include "model/model_blocks.hpp"
#include "model/model_reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

namespace mirfak {

namespace {

constexpr double kMaxNumber = 1e15;

// A key in a section of the file: "depth" in "vision_config".
struct Place {
  std::string section;
  std::string key;
};

Place place_of(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? Place{"", name} : Place{name.substr(0, dot), name.substr(dot + 1)};
}

// The sections of a config.json, each read strictly. "" is the section of the language model, "root" the whole file.
class Sections {
 public:
  Sections(const Document& document, const Family& family) : root_(document) {
    add("root", root_);
    add("", root_);
    for (const std::string& name : family.sections) {
      const Value* section = root_.value().find(name);
      if (section == nullptr || section->kind != Value::Kind::mapping) continue;
      root().ignore(name);
      add("", root_.child(*section, name));
      break;
    }
  }

  const Node& root_node() const { return root_; }
  Config& root() { return *configs_.at("root"); }
  Config& language() { return *find(""); }

  // Returns a section; nullptr: the file has none, or null.
  Config* find(const std::string& name) {
    const auto known = configs_.find(name);
    if (known != configs_.end()) return known->second.get();
    const Place place = place_of(name);
    Config* const outer = place.section.empty() ? &root() : find(place.section);
    if (outer == nullptr) return nullptr;
    const std::optional<Node> node = outer->find(std::vector<std::string>{place.key});
    if (!node || !node->is_mapping()) return nullptr;
    return add(name, *node);
  }

  // Refuses or notes the keys that nobody asked for.
  void finish(const Family& family, ModelSpec& model) {
    for (auto& [name, config] : configs_) {
      for (const std::string& idle : family.idle) {
        const Place place = place_of(idle);
        if (place.section.empty() || place.section == name) config->ignore(place.key);
      }
      if (name == "root" && &config->node().value() == &language().node().value()) config->ignore_like(language());
    }
    for (auto& [name, config] : configs_) {
      if (name == "root" || &config->node().value() != &root_.value()) config->finish(model);
    }
  }

 private:
  Config* add(const std::string& name, const Node& node) {
    std::unique_ptr<Config>& config = configs_[name];
    config = std::make_unique<Config>(node);
    return config.get();
  }

  Node root_;
  std::map<std::string, std::unique_ptr<Config>> configs_;
};

class FamilyConfig {
 public:
  FamilyConfig(const Document& document, const Family& family, const std::string& type,
               const std::filesystem::path& models_folder)
      : document_(document),
        family_(family),
        type_(family.types.find(type)->second),
        folder_(models_folder),
        library_(folder_ / "blocks"),
        sections_(document, family) {
    model_.family = type;
    read_class();
  }

  ModelSpec read() {
    for (const FamilyKey& key : family_.keys) check(key);
    for (const FamilyMessage& message : family_.requires_) {
      if (value_of(message.when) == 0) sections_.root_node().fail(message.text, Config::unsupported);
    }
    Value text = model_text();
    sections_.finish(family_, model_);
    Mapping in(Node(document_, text, "model"));
    ModelSpec model = read_model_of_blocks(in, folder_ / "blocks");
    in.finish();
    model.hidden = static_cast<std::int64_t>(model.sizes.at("hidden"));  // not the width of a tower before the decoder
    model.name = name_from_path(document_.name());
    model.family = model_.family;
    model.source = document_.name();
    model.notes = std::move(model_.notes);
    for (const FamilyMessage& message : family_.notes) {
      if (value_of(message.when) != 0) model.notes.push_back(fmt::format("{}: {}", document_.name(), message.text));
    }
    return model;
  }

 private:
  // The values of names in formulas.
  struct Names {
    FamilyConfig& config;
    const Node& source;

    double value(const formula::Formula& name) const { return config.value_of_name(name, source); }
    void computed(const formula::Formula&, const formula::Formula& part, double /*left*/, double right,
                  double /*result*/) const {
      const bool divides = part.by == formula::Operation::divide || part.by == formula::Operation::floor_divide ||
                           part.by == formula::Operation::remainder;
      if (divides && right == 0) {
        source.fail_at(part.place.offset,
                       fmt::format("division by zero, with the keys of {}", config.document_.name()));
      }
    }
    void compared(const formula::Formula&, const formula::Formula&, double, double, bool) const {}
  };

  double value_of(const FamilyFormula& formula) {
    const Names names{*this, formula.source};
    return formula::Evaluator(names).value(formula.formula);
  }

  double value_of(const FamilyValue& cases) {
    for (const FamilyCase& one : cases) {
      if (!one.when || value_of(*one.when) != 0) return value_of(one.is);
    }
    return 0;
  }

  double value_of_name(const formula::Formula& name, const Node& source) {
    if (name.word == "layer") {
      by_layer_ = true;
      return static_cast<double>(layer_);
    }
    if (const auto decided = type_.values.find(name.word); decided != type_.values.end()) return decided->second;
    if (const auto head = head_.find(name.word); head != head_.end()) return head->second;
    if (const auto known = of_all_layers_.find(name.word); known != of_all_layers_.end()) return known->second;
    if (!inside_.insert(name.word).second) {
      source.fail_at(name.place.offset, fmt::format("'{}' is defined by itself", name.word));
    }
    const bool outer_by_layer = std::exchange(by_layer_, false);
    const double value = value_inside(name, source);
    inside_.erase(name.word);
    if (!by_layer_) of_all_layers_.emplace(name.word, value);
    by_layer_ = by_layer_ || outer_by_layer;
    return value;
  }

  double value_inside(const formula::Formula& name, const Node& source) {
    for (const FamilyKey& key : family_.keys) {
      if (key.name == name.word) return value_of(key);
    }
    for (const auto& [known, value] : family_.values) {
      if (known == name.word) return value_of(value);
    }
    std::vector<std::string> names = {"layer"};
    for (const FamilyKey& key : family_.keys) names.push_back(key.name);
    for (const auto& [known, value] : family_.values) names.push_back(known);
    source.fail_at(name.place.offset, fmt::format("unknown name '{}'", excerpt(name.word)),
                   did_you_mean(name.word, names, ""));
  }

  std::optional<Node> find(const FamilyKey& key, bool& null) {
    if (key.form == FamilyKey::Form::by_layer) return find_in_layer(key.name);
    const Place place = place_of(key.name);
    Config* const config = sections_.find(place.section);
    if (config == nullptr) return std::nullopt;
    std::vector<std::string> names = {place.key};
    names.insert(names.end(), key.alias.begin(), key.alias.end());
    std::optional<Node> found = config->find(names);
    const bool each = key.form == FamilyKey::Form::each_layer;
    if (found && each && found->is_sequence() && found->value().items.empty()) return std::nullopt;  // as not stated
    null = !found && std::any_of(names.begin(), names.end(),
                                 [&](const std::string& one) { return config->is_null(one.c_str()); });
    return found;
  }

  // Finds a key in the layer's own entry of a mapping of layers by number, which may have leading zeros.
  std::optional<Node> find_in_layer(const std::string& name) {
    const Place place = place_of(name);
    const std::optional<Node> layers = sections_.language().find(std::vector<std::string>{place.section});
    if (!layers) return std::nullopt;
    for (const std::string& number : Mapping(*layers).keys()) {
      const Node entry = layers->child(*layers->value().find(number), number);
      Mapping in(entry);
      for (const FamilyKey& known : family_.keys) {
        if (known.form == FamilyKey::Form::by_layer) in.find_or_null(place_of(known.name).key);
      }
      in.finish();
      const std::size_t digits = number.find_first_not_of('0');
      const std::string plain = digits == std::string::npos ? "0" : number.substr(digits);
      if (plain == std::to_string(layer_)) return in.find_or_null(place.key);
    }
    return std::nullopt;
  }

  // Checks a stated key, needed or not, so that no value passes unread.
  void check(const FamilyKey& key) {
    if (key.form == FamilyKey::Form::section) {
      sections_.find(key.name);
      return;
    }
    bool null = false;
    if (find(key, null)) value_of(key);
  }

  static bool reads_layer(const FamilyKey& key) {
    return key.form == FamilyKey::Form::each_layer || key.form == FamilyKey::Form::letters ||
           key.form == FamilyKey::Form::layer_numbers || key.form == FamilyKey::Form::by_layer;
  }

  double value_of(const FamilyKey& key) {
    by_layer_ = by_layer_ || reads_layer(key);
    if (key.form == FamilyKey::Form::section) return sections_.find(key.name) != nullptr ? 1 : 0;
    bool null = false;
    const std::optional<Node> found = find(key, null);
    if (found) return value_of(key, *found);
    if (null && key.null) return value_of(*key.null);
    const bool formula = key.absent && (key.absent->size() > 1 || !is_number(key.absent->front().is.formula));
    if (null && !formula) return 0;
    if (key.absent) return value_of(*key.absent);
    Config* const config = sections_.find(place_of(key.name).section);
    (config != nullptr ? config->node() : sections_.root_node())
        .fail(fmt::format("missing the key '{}'", key.name), "the model's shape depends on it");
  }

  static bool is_number(const formula::Formula& formula) { return formula.kind == formula::Kind::number; }

  double value_of(const FamilyKey& key, const Node& node) {
    switch (key.form) {
      case FamilyKey::Form::each_layer:
        return node.is_sequence() ? of_layer(key, node) : number_of(key, node);
      case FamilyKey::Form::letters:
        return of_letter(key, node);
      case FamilyKey::Form::layer_numbers:
        return contains_layer(key, node) ? 1 : 0;
      case FamilyKey::Form::count:
        return static_cast<double>(node.as_items().size());
      default:
        return number_of(key, node);
    }
  }

  double number_of(const FamilyKey& key, const Node& node) const {
    if (node.is_sequence()) return of_equal(key, node);
    const std::string& text = node.value().scalar;
    const bool truth = node.is_scalar() && (text == "true" || text == "false") && !key.words.contains(text);
    if (key.kind == FamilyKey::Kind::truth || (truth && key.kind == FamilyKey::Kind::any))
      return node.as_bool() ? 1 : 0;
    if (key.words.empty()) return node.as_number(-1, kMaxNumber);
    if (!node.is_scalar()) node.fail("expected a word, found " + node.described());
    if (const auto word = key.words.find(text); word != key.words.end()) return word->second;
    if (!text.empty() && text.front() >= '0' && text.front() <= '9') return node.as_number(0, kMaxNumber);
    std::vector<std::string> words;
    for (const auto& [word, number] : key.words) words.push_back(word);
    node.fail(fmt::format("expected {}, found {}", join_or(words), node.described()), Config::unsupported);
  }

  // Returns the number that all entries of a list are: the sides of a square.
  double of_equal(const FamilyKey& key, const Node& list) const {
    const std::vector<Node> items = list.as_items();
    if (items.empty()) list.fail("expected a number, found an empty list");
    const double first = number_of(key, items.front());
    for (const Node& item : items) {
      if (number_of(key, item) != first) item.fail(fmt::format("expected equal numbers, found {:g} before", first));
    }
    return first;
  }

  double of_layer(const FamilyKey& key, const Node& node) const {
    const std::vector<Value>& items = node.value().items;
    const auto layer = static_cast<std::size_t>(layer_);
    if (layer >= items.size()) {
      node.fail(
          fmt::format("expected an entry for each layer, found {} and no entry for layer {}", items.size(), layer_));
    }
    return number_of(key, node.child(items[layer], std::to_string(layer)));
  }

  double of_letter(const FamilyKey& key, const Node& node) const {
    const std::string text = node.as_string();
    const auto layer = static_cast<std::size_t>(layer_);
    if (layer >= text.size()) {
      node.fail(fmt::format("expected a letter for each layer, found {} and none for layer {}", text.size(), layer_));
    }
    const auto letter = key.words.find(text.substr(layer, 1));
    if (letter == key.words.end()) {
      node.fail(fmt::format("the kind of layer '{}' (layer {}) is not known", text.substr(layer, 1), layer_),
                Config::unsupported);
    }
    return letter->second;
  }

  bool contains_layer(const FamilyKey& key, const Node& node) const {
    const std::vector<Node> layers = node.as_items();
    return std::any_of(layers.begin(), layers.end(),
                       [&](const Node& one) { return one.as_integer(0, kMaxLayers) - key.first_layer == layer_; });
  }

  // Reads the class in `architectures`, which says what the model ends in.
  void read_class() {
    const HeadOfClass read = head_of_class(sections_.root(), sections_.language(), {type_.class_name}, model_.notes);
    head_ = {{"head.labels", static_cast<double>(read.head.labels)},
             {"head.bias", read.head.bias ? 1.0 : 0.0},
             {"head.of_tokens", read.head.kind == HeadKind::labels_of_tokens ? 1.0 : 0.0},
             {"head.pooled", read.head.kind == HeadKind::pooled ? 1.0 : 0.0},
             {"head.causal_class", read.causal ? 1.0 : 0.0}};
  }

  Value scalar(double number) const {
    Value out;
    out.kind = Value::Kind::scalar;
    out.scalar = number == std::floor(number) && std::abs(number) < kMaxNumber ? fmt::format("{:.0f}", number)
                                                                               : fmt::format("{:.17g}", number);
    out.where = document_.root().where;
    return out;
  }

  Value word(const std::string& text) const {
    Value out = scalar(0);
    out.scalar = text;
    out.quoted = true;
    return out;
  }

  Value empty(Value::Kind kind) const {
    Value out;
    out.kind = kind;
    out.where = document_.root().where;
    return out;
  }

  static void put(Value& mapping, const std::string& key, Value value) {
    mapping.fields.push_back({key, std::move(value)});
    mapping.fields.back().value.key_where = mapping.where;
  }

  // Writes the model as mirfak's own format has it.
  Value model_text() {
    Value out = empty(Value::Kind::mapping);
    put(out, "max_sequence", scalar(value_of(family_.max_sequence.value())));
    Value sizes = empty(Value::Kind::mapping);
    for (const auto& [name, value] : family_.sizes) put(sizes, name, scalar(value_of(value)));
    put(out, "sizes", std::move(sizes));
    Value blocks = empty(Value::Kind::sequence);
    for (const FamilyBlock& block : family_.blocks) append(blocks, block);
    put(out, "blocks", std::move(blocks));
    return out;
  }

  void append(Value& blocks, const FamilyBlock& block) {
    layer_ = 0;
    if (!block.layers) {
      if (!block.when || value_of(*block.when) != 0) blocks.items.push_back(entry(block, 1));
      return;
    }
    const double layers = value_of(*block.layers);
    if (!(layers >= 0 && layers <= static_cast<double>(kMaxLayers))) {
      sections_.root_node().fail(fmt::format("expected 0 to {} layers, found {:g}", kMaxLayers, layers));
    }
    std::int64_t alike = 0;
    Value last;
    for (; layer_ < static_cast<std::int64_t>(layers); ++layer_) {
      if (block.when && value_of(*block.when) == 0) continue;
      Value one = entry(block, 0);
      if (alike > 0 && equal(one, last)) {
        ++alike;
        continue;
      }
      finish_run(blocks, last, alike);
      last = std::move(one);
      alike = 1;
    }
    finish_run(blocks, last, alike);
    layer_ = 0;
  }

  void finish_run(Value& blocks, const Value& last, std::int64_t alike) const {
    if (alike == 0) return;
    Value item = last;
    put(item, "count", scalar(static_cast<double>(alike)));
    blocks.items.push_back(std::move(item));
  }

  static bool equal(const Value& a, const Value& b) {
    return std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(),
                      [](const Value::Field& one, const Value::Field& other) {
                        return one.key == other.key && one.value.scalar == other.value.scalar;
                      });
  }

  Value entry(const FamilyBlock& block, std::int64_t count) {
    Value out = empty(Value::Kind::mapping);
    put(out, "use", word(block.use));
    for (const auto& [name, value] : block.sizes) put(out, name, scalar(value_of(value)));
    if (const auto group = family_.groups.find(block.group); group != family_.groups.end()) {
      const block::DefinitionPointer used = library_.find(block.use, document_.root().where);
      const std::vector<std::string>& taken = used->sizes;
      for (const auto& [name, value] : group->second) {
        if (std::binary_search(taken.begin(), taken.end(), name)) put(out, name, scalar(value_of(value)));
      }
    }
    if (count > 0) put(out, "count", scalar(static_cast<double>(count)));
    return out;
  }

  const Document& document_;
  const Family& family_;
  const FamilyType& type_;
  const std::filesystem::path& folder_;
  block::Library library_;
  Sections sections_;
  ModelSpec model_;  // notes and the family's name, while keys are read
  std::map<std::string, double, std::less<>> head_;
  std::set<std::string> inside_;  // names whose values are being computed
  std::int64_t layer_ = 0;
  bool by_layer_ = false;                                     // the value that is being computed depends on the layer
  std::map<std::string, double, std::less<>> of_all_layers_;  // values of names that do not depend on the layer
};

}  // namespace

ModelSpec read_family_config(const Document& document, const Family& family, const std::string& type,
                             const std::filesystem::path& models_folder) {
  return FamilyConfig(document, family, type, models_folder).read();
}

}  // namespace mirfak
