// A family file says in data what a Python class says in code: which keys it reads, what absent keys mean, and which
// blocks follow. A family that differs little from another one states the differences (`like`).

#include "model/family_file.hpp"

#include "base/document_text.hpp"
#include "base/remembered.hpp"
#include "base/text.hpp"
#include "base/values.hpp"
#include "formula/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

namespace mirfak {

namespace {

constexpr formula::Language kLanguage = {
    nullptr, 32, "a name, a number or a quotient", "')'", "found the end of the text", true};

class FormulaParser : formula::Parser {
 public:
  explicit FormulaParser(const Node& source)
      : formula::Parser(source, formula::tokens_of_condition(source), kLanguage) {}
  using formula::Parser::read_formula;

 private:
  formula::Formula named() override {
    formula::Formula out;
    out.kind = formula::Kind::name;
    out.place = now().place;
    out.word = take().text;
    return out;
  }
};

// Merges a field that a family and its parent have other than by its value: null takes the field away, lists of idle
// keys are joined. A mapping of both stands where the family states it.
bool merged_otherwise(Value& parent, Value::Field& known, const Value& own) {
  if (own.kind == Value::Kind::null) {
    parent.fields.erase(parent.fields.begin() + (&known - parent.fields.data()));
    return true;
  }
  if (known.key == "idle" && own.kind == Value::Kind::sequence) {
    std::vector<Value>& items = known.value.items;
    items.insert(items.end(), own.items.begin(), own.items.end());
    return true;
  }
  if (own.kind == Value::Kind::mapping) known.value.where = own.where;
  return false;
}

class Reader {
 public:
  Reader(Family& family, const std::vector<std::shared_ptr<const Document>>& documents)
      : family_(family), documents_(documents) {}

  void read(const Node& root) {
    Mapping in(root);
    family_.description = in.require("description").as_string();
    in.require("source");
    in.ignore("like");
    read_types(in);
    family_.sections = in.words("sections");
    family_.idle = in.words("idle");
    if (const std::optional<Node> keys = in.find("keys")) {
      for (const auto& [name, node] : fields_of(*keys)) family_.keys.push_back(read_key(name, node));
    }
    if (const std::optional<Node> values = in.find("values")) family_.values = read_values(*values);
    if (const std::optional<Node> most = in.find("max_sequence")) family_.max_sequence = read_value(*most);
    if (const std::optional<Node> sizes = in.find("sizes")) family_.sizes = read_values(*sizes);
    if (const std::optional<Node> groups = in.find("groups")) {
      for (const auto& [name, node] : fields_of(*groups)) family_.groups[name] = read_values(node);
    }
    read_blocks(in);
    family_.notes = read_messages(in.find("notes"), "says");
    family_.requires_ = read_messages(in.find("requires"), "otherwise");
    in.finish();
  }

 private:
  using Fields = std::vector<std::pair<std::string, Node>>;

  // Returns the fields of a mapping, each with the document that it was read from.
  Fields fields_of(const Node& node) const {
    Fields out;
    for (const Value::Field& field : node.value().fields) out.emplace_back(field.key, at(node, field.value, field.key));
    return out;
  }

  Node at(const Node& parent, const Value& value, const std::string& key) const {
    const auto found = std::find_if(documents_.begin(), documents_.end(),
                                    [&](const auto& one) { return one->name() == value.where.file; });
    return {found == documents_.end() ? *documents_.front() : **found, value, parent.path() + "." + key};
  }

  void read_types(Mapping& in) {
    const std::optional<Node> types = in.find("types");
    if (!types) return;
    for (const auto& [name, node] : fields_of(*types)) {
      FamilyType& type = family_.types[name];
      Mapping one(node);
      type.class_name = one.require("class").as_string();
      for (const std::string& key : one.keys()) {
        if (key != "class") type.values[key] = one.require(key).as_number(0, 1e12);
      }
      one.finish();
    }
  }

  FamilyFormula read_formula(const Node& node) const {
    const Value& value = node.value();
    if (value.kind != Value::Kind::scalar) node.fail("expected a formula, found " + node.described());
    if (value.scalar == "true" || value.scalar == "false") {
      formula::Formula truth;
      truth.number = value.scalar == "true" ? 1 : 0;
      return {truth, node};
    }
    return {FormulaParser(node).read_formula(), node};
  }

  FamilyValue read_value(const Node& node) const {
    if (!node.is_sequence()) return {{std::nullopt, read_formula(node)}};
    FamilyValue out;
    const std::vector<Value>& items = node.value().items;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Node item = at(node, items[i], std::to_string(i));
      if (!item.is_mapping()) {
        if (i + 1 < items.size()) item.fail("only the last case has no condition");
        out.push_back({std::nullopt, read_formula(item)});
        continue;
      }
      if (i + 1 == items.size()) item.fail("the last case has no condition", "state its value alone");
      Mapping in(item);
      const Node when = in.require("when");
      const Node is = in.require("is");
      in.finish();
      out.push_back({read_formula(when), read_formula(is)});
    }
    if (out.empty()) node.fail("expected a formula or cases");
    return out;
  }

  std::vector<NamedFamilyValue> read_values(const Node& mapping) const {
    std::vector<NamedFamilyValue> out;
    for (const auto& [name, node] : fields_of(mapping)) out.emplace_back(name, read_value(node));
    return out;
  }

  FamilyKey read_key(const std::string& name, const Node& node) const {
    FamilyKey key = key_of(name, node);
    if (key.absent && key.words.empty()) key.kind = kind_of(*key.absent);
    return key;
  }

  static FamilyKey::Kind kind_of(const FamilyValue& absent) {
    const FamilyFormula& is = absent.front().is;
    if (absent.size() > 1 || is.formula.kind != formula::Kind::number) return FamilyKey::Kind::any;
    const std::string& text = is.source.value().scalar;
    return text == "true" || text == "false" ? FamilyKey::Kind::truth : FamilyKey::Kind::number;
  }

  FamilyKey key_of(const std::string& name, const Node& node) const {
    FamilyKey key;
    key.name = name;
    if (!node.is_mapping()) {
      if (node.is_scalar() && node.value().scalar == "section") {
        key.form = FamilyKey::Form::section;
      } else if (!node.is_scalar() || node.value().scalar != "required") {
        key.absent = read_value(node);
      }
      return key;
    }
    Mapping in(node);
    key.alias = in.words("alias");
    if (const std::optional<Node> form = in.find("form")) {
      key.form = static_cast<FamilyKey::Form>(
          form->as_choice({"scalar", "each_layer", "letters", "layer_numbers", "section", "count", "by_layer"}));
    }
    if (const std::optional<Node> words = in.find("words")) {
      for (const auto& [word, number] : fields_of(*words)) key.words[word] = number.as_number(0, 1e12);
    }
    const bool listed = key.form == FamilyKey::Form::each_layer || key.form == FamilyKey::Form::layer_numbers;
    if (const std::optional<Node> absent = in.find("absent")) {
      key.absent = worded(key, node, *absent);
    } else if (key.form == FamilyKey::Form::layer_numbers) {
      key.absent = FamilyValue{{std::nullopt, {formula::Formula(), node}}};
    }
    if (const std::optional<Node> first = in.find("first")) key.first_layer = first->as_integer(0, 1);
    if (const std::optional<Node> null = in.find("if_null")) key.null = worded(key, node, *null);
    if (listed && !key.null) key.null = key.absent;
    in.finish();
    return key;
  }

  // Reads the value of a key that is not stated: one of the words of the key, or a formula.
  FamilyValue worded(const FamilyKey& key, const Node& parent, const Node& node) const {
    const Node own = at(parent, node.value(), key.name);
    if (node.is_scalar()) {
      if (const auto word = key.words.find(node.value().scalar); word != key.words.end()) {
        formula::Formula number;
        number.number = word->second;
        return {{std::nullopt, {number, own}}};
      }
    }
    return read_value(own);
  }

  void read_blocks(Mapping& in) {
    const std::optional<Node> blocks = in.find("blocks");
    const std::vector<std::string> order = in.words("order");
    if (!blocks) return;
    const Fields fields = fields_of(*blocks);
    for (const auto& [name, node] : fields) {
      if (std::find(order.begin(), order.end(), name) == order.end()) {
        node.fail(fmt::format("`order` does not name the block '{}'", name), did_you_mean(name, order, ""));
      }
    }
    for (const std::string& name : order) {
      const auto found = std::find_if(fields.begin(), fields.end(), [&](const auto& one) { return one.first == name; });
      if (found != fields.end()) family_.blocks.push_back(read_block(found->second));
    }
  }

  FamilyBlock read_block(const Node& node) const {
    FamilyBlock block;
    for (const auto& [name, value] : fields_of(node)) {
      if (name == "use") {
        block.use = value.as_string();
      } else if (name == "shares") {
        block.group = value.as_string();
      } else if (name == "when") {
        block.when = read_value(value);
      } else if (name == "layers") {
        block.layers = read_value(value);
      } else {
        block.sizes.emplace_back(name, read_value(value));
      }
    }
    if (block.use.empty()) node.fail("expected the block that is used", "use: decoder");
    return block;
  }

  std::vector<FamilyMessage> read_messages(const std::optional<Node>& section, const char* text) const {
    std::vector<FamilyMessage> out;
    if (!section) return out;
    for (const auto& [name, node] : fields_of(*section)) {
      Mapping in(node);
      const Node when = in.require("that");
      out.push_back({read_value(at(node, when.value(), "that")), in.require(text).as_string()});
      in.finish();
    }
    return out;
  }

  Family& family_;
  const std::vector<std::shared_ptr<const Document>>& documents_;
};

// Reads one family with those that it is like.
std::shared_ptr<const Family> read_family(const std::filesystem::path& file) {
  auto family = std::make_shared<Family>();
  family->name = file.stem().string();
  constexpr std::size_t kMostAncestors = 8;
  std::filesystem::path at = file;
  while (true) {
    family->documents.push_back(std::make_shared<const Document>(Document::from_file(at)));
    const Document& document = *family->documents.back();
    const Value* like = document.root().find("like");
    if (like == nullptr) break;
    if (family->documents.size() > kMostAncestors) fail_input(like->where, "families that are like each other");
    at = file.parent_path() / (like->scalar + ".yaml");
    std::error_code ignored;
    if (!std::filesystem::exists(at, ignored)) {
      fail_input(like->where, fmt::format("there is no family '{}'", excerpt(like->scalar)));
    }
  }
  Value all = family->documents.back()->root();
  for (auto child = family->documents.rbegin() + 1; child != family->documents.rend(); ++child) {
    // The family that this one is like has a model_type of its own.
    std::erase_if(all.fields, [](const Value::Field& field) { return field.key == "types"; });
    all.where = (*child)->root().where;
    put_over(all, (*child)->root(), merged_otherwise);
  }
  family->merged = std::make_shared<const Value>(std::move(all));
  Reader(*family, family->documents).read(Node(*family->documents.front(), *family->merged, family->name));
  return family;
}

}  // namespace

struct Families::Memory {
  Remembered<std::shared_ptr<const Family>> families;
};

const Families& Families::of(const std::filesystem::path& folder) {
  static Remembered<Families> known;
  return known.get(folder.lexically_normal().string(), [&] {
    Families out;
    out.memory_ = std::make_shared<Memory>();
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      if (entry->path().extension() == ".yaml") out.files_.push_back({entry->path(), document_text(entry->path())});
    }
    std::sort(out.files_.begin(), out.files_.end(), [](const File& a, const File& b) { return a.path < b.path; });
    return out;
  });
}

const std::shared_ptr<const Family>& Families::read(const File& file) const {
  return memory_->families.get(file.path.string(), [&] { return read_family(file.path); });
}

const Family* Families::find(std::string_view model_type) const {
  for (const File& file : files_) {
    if (file.text.find(model_type) == std::string::npos) continue;
    const std::shared_ptr<const Family>& family = read(file);
    if (family->types.contains(model_type)) return family.get();
  }
  return nullptr;
}

std::vector<std::shared_ptr<const Family>> Families::all() const {
  std::vector<std::shared_ptr<const Family>> out;
  for (const File& file : files_) out.push_back(read(file));
  return out;
}

std::vector<std::string> Families::model_types() const {
  std::vector<std::string> out;
  for (const auto& family : all()) {
    for (const auto& [type, described] : family->types) out.push_back(type);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace mirfak
