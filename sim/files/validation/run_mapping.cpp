// Reads mapping files. Every name in a file is checked here once, so that a misspelt key, column or capture is an error
// at its place and not a row that silently means something else.

#include "validation/run_mapping.hpp"

#include "base/key_path.hpp"
#include "base/text.hpp"
#include "validation/value_template.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace mirfak {

namespace {

constexpr std::array<std::string_view, 4> kSections = {"model.", "training.", "strategy.", "cluster."};

// Computed names that templates and conditions may use in addition to columns and keys (run_reading.hpp).
constexpr std::array<std::string_view, 2> kComputed = {"data", "replicas"};

std::vector<std::string> words_of(const Node& node) {
  if (node.is_scalar()) return {node.as_string()};
  return node.as_words();
}

std::vector<WordPattern> patterns_of(const Node& node) {
  if (node.is_scalar()) return {WordPattern::parse(node)};
  std::vector<WordPattern> out;
  for (const Node& item : node.as_items()) out.push_back(WordPattern::parse(item));
  if (out.empty()) node.fail("expected at least one word");
  return out;
}

// Reads one file; names are checked against the columns of the file and of its base mapping.
class MappingReader {
 public:
  explicit MappingReader(const RunMapping* base) : base_(base) {}

  RunMapping read(const Document& document);

 private:
  ColumnMapping read_column(const std::string& name, const Node& node);
  WordRule read_rule(const Node& node);
  Inference read_inference(const Node& node);
  Condition read_condition(const Node& node);
  Predicate read_predicate(const std::string& name, const Node& node);
  std::vector<KeyValue> read_keys(const Node& node, const std::vector<WordPattern>& words);
  void read_saving(const Node& node);

  void check_key(const std::string& key, const Node& at) const;
  void check_name(const std::string& name, const Node& at) const;
  void check_columns(const Condition& condition, const Node& at) const;
  void check_template(const Node& node, const std::vector<WordPattern>& words) const;
  void check_templates(const Node& node, const std::vector<WordPattern>& words) const;
  std::vector<std::string> column_names() const;

  const RunMapping* base_;
  std::vector<std::string> own_columns_;
  RunMapping out_;
};

std::vector<std::string> MappingReader::column_names() const {
  std::vector<std::string> names = own_columns_;
  if (base_ != nullptr) {
    for (const ColumnMapping& column : base_->columns) names.push_back(column.name);
  }
  return names;
}

void MappingReader::check_key(const std::string& key, const Node& at) const {
  if (!is_run_key(key)) {
    at.fail(
        fmt::format("'{}' is neither a key of a scenario nor one from which mirfak makes such keys", excerpt(key)),
        did_you_mean(key, run_key_names(),
                     "keys begin with model., training., strategy. or cluster., or are " + join_or(run_key_names())));
  }
  if (key.find('.') != std::string::npos) KeyPath(key, at.where());
}

void MappingReader::check_name(const std::string& name, const Node& at) const {
  if (is_run_key(name) || std::find(kComputed.begin(), kComputed.end(), name) != kComputed.end()) return;
  std::vector<std::string> names = column_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  names.insert(names.end(), run_key_names().begin(), run_key_names().end());
  names.insert(names.end(), kComputed.begin(), kComputed.end());
  at.fail(fmt::format("'{}' is neither a column that this mapping describes nor a key", excerpt(name)),
          did_you_mean(name, names, "describe the column under 'columns'"));
}

// Checks that a condition names columns only. Cells are read in the order of the table, which has no meaning, so the
// meaning of a word cannot depend on keys.
void MappingReader::check_columns(const Condition& condition, const Node& at) const {
  const std::vector<std::string> columns = column_names();
  for (const Predicate& predicate : condition) {
    if (std::find(columns.begin(), columns.end(), predicate.name) != columns.end()) continue;
    at.fail(fmt::format("the meaning of a word may depend only on columns, and '{}' is not a column", predicate.name),
            "conditions on keys go under 'inferred'");
  }
}

void MappingReader::check_template(const Node& node, const std::vector<WordPattern>& words) const {
  std::size_t fault = 0;
  const auto names = template_names(node.value().scalar, &fault);
  if (!names) node.fail_at(fault, "expected {name}, {name / 4} or {name * other}");
  const auto check = [&](const std::string& name) {
    const auto captures = [&](const WordPattern& word) {
      const std::vector<std::string> captured = word.names();
      return std::find(captured.begin(), captured.end(), name) != captured.end();
    };
    if (words.empty() || !std::all_of(words.begin(), words.end(), captures)) check_name(name, node);
  };
  for (const TemplateName& used : *names) {
    check(used.name);
    for (const std::string& operand : used.operand_names()) check(operand);
  }
}

void MappingReader::check_templates(const Node& node, const std::vector<WordPattern>& words) const {
  const Value& value = node.value();
  if (value.kind == Value::Kind::scalar) check_template(node, words);
  if (value.kind == Value::Kind::sequence) {
    for (const Node& item : node.as_items()) check_templates(item, words);
  }
  for (const Value::Field& field : value.fields) check_templates(node.child(field.value, field.key), words);
}

std::vector<KeyValue> MappingReader::read_keys(const Node& node, const std::vector<WordPattern>& words) {
  Mapping in(node);
  std::vector<KeyValue> out;
  for (const std::string& key : in.keys()) {
    const Node value = in.require(key);
    check_key(key, value);
    check_templates(value, words);
    out.push_back({key, value.value()});
  }
  if (out.empty()) node.fail("expected at least one key to set");
  return out;
}

Predicate MappingReader::read_predicate(const std::string& name, const Node& node) {
  using Kind = Predicate::Kind;
  Predicate out;
  out.name = name;
  out.where = node.where();
  check_name(name, node);
  if (!node.is_scalar()) {
    out.words = patterns_of(node);
    return out;
  }
  const std::string text = node.as_string();
  if (text == "open" || text == "stated") {
    out.kind = text == "open" ? Kind::open : Kind::stated;
    return out;
  }
  using formula::Operation;
  for (const Operation by :
       {Operation::not_equal, Operation::less_equal, Operation::greater_equal, Operation::less, Operation::greater}) {
    const std::string sign = fmt::format("{} ", formula::sign_of(by).text);
    if (!text.starts_with(sign)) continue;
    out.kind = Kind::comparison;
    out.by = by;
    out.bound = text.substr(sign.size());
    check_template(node, {});
    return out;
  }
  out.words = patterns_of(node);
  return out;
}

Condition MappingReader::read_condition(const Node& node) {
  Mapping in(node);
  Condition out;
  for (const std::string& name : in.keys()) out.push_back(read_predicate(name, in.require(name)));
  if (out.empty()) node.fail("expected at least one column or key, and what it has to be");
  return out;
}

WordRule MappingReader::read_rule(const Node& node) {
  Mapping in(node);
  WordRule rule;
  rule.where = node.where();
  rule.words = patterns_of(in.require("words"));
  if (const auto when = in.find("when")) {
    rule.when = read_condition(*when);
    check_columns(rule.when, *when);
  }
  const auto set = in.find("set");
  const auto ignored = in.find("ignore");
  const auto refused = in.find("refuse");
  if ((set ? 1 : 0) + (ignored ? 1 : 0) + (refused ? 1 : 0) != 1) {
    node.fail("expected exactly one of set, ignore and refuse: what the words mean");
  }
  if (set) rule.set = read_keys(*set, rule.words);
  if (ignored || refused) {
    rule.kind = ignored ? WordRule::Kind::ignore : WordRule::Kind::refuse;
    rule.reason = (ignored ? *ignored : *refused).as_string();
  }
  if (const auto inferred = in.find("inferred")) {
    if (!set) inferred->fail("only what a rule sets can be inferred");
    rule.inferred = inferred->as_string();
  }
  in.finish();
  return rule;
}

ColumnMapping MappingReader::read_column(const std::string& name, const Node& node) {
  using Kind = ColumnMapping::Kind;
  Mapping in(node);
  ColumnMapping column;
  column.name = name;
  column.where = node.where();
  constexpr std::array<std::pair<std::string_view, Kind>, 3> kKinds = {
      {{"count", Kind::count}, {"number", Kind::number}, {"text", Kind::text}}};
  for (const auto& [word, kind] : kKinds) {
    const auto keys = in.find(word);
    if (!keys) continue;
    if (column.kind != Kind::words) keys->fail("a column is one of count, number and text");
    column.kind = kind;
    column.keys = words_of(*keys);
    for (const std::string& key : column.keys) check_key(key, *keys);
  }
  column.minimum = in.integer_or("minimum", 1, 0);
  column.parts = in.string_or("parts", "");
  if (const auto ignored = in.find("ignore")) {
    if (column.kind != Kind::words) ignored->fail("a column that is ignored has no key");
    column.kind = Kind::ignored;
    column.reason = ignored->as_string();
  }
  if (const auto rules = in.find("rules")) {
    for (const Node& rule : rules->as_items()) column.rules.push_back(read_rule(rule));
  }
  in.finish();
  if (column.kind == Kind::words && column.rules.empty()) {
    node.fail("expected count, number, text, ignore or rules: what the column means");
  }
  return column;
}

Inference MappingReader::read_inference(const Node& node) {
  Mapping in(node);
  Inference out;
  out.where = node.where();
  if (const auto when = in.find("when")) out.when = read_condition(*when);
  const auto set = in.find("set");
  const auto drop = in.find("drop");
  const auto refused = in.find("refuse");
  if ((set ? 1 : 0) + (drop ? 1 : 0) + (refused ? 1 : 0) != 1)
    node.fail("expected exactly one of set, drop and refuse");
  if (set) out.set = read_keys(*set, {});
  if (drop) {
    out.kind = Inference::Kind::drop;
    out.drop = words_of(*drop);
    for (const std::string& key : out.drop) check_key(key, *drop);
  }
  if (refused) out.kind = Inference::Kind::refuse;
  out.note = refused ? refused->as_string() : in.require("note").as_string();
  in.finish();
  return out;
}

void MappingReader::read_saving(const Node& node) {
  Mapping in(node);
  const Node measures = in.require("measures");
  Mapping named(measures);
  for (const std::string& name : named.keys()) {
    Mapping measure(named.require(name));
    MemorySaving saving;
    saving.name = name;
    if (const auto when = measure.find("when")) saving.when = read_condition(*when);
    saving.set = read_keys(measure.require("set"), {});
    saving.note = measure.require("note").as_string();
    measure.finish();
    out_.savings.emplace(name, std::move(saving));
  }
  std::vector<std::string> known;
  for (const auto& [name, saving] : out_.savings) known.push_back(name);
  for (const Node& combination : in.require("order").as_items()) {
    std::vector<std::string> names;
    for (const Node& name : combination.as_items()) names.push_back(known[name.as_choice(known)]);
    out_.saving.push_back(std::move(names));
  }
  in.finish();
}

RunMapping MappingReader::read(const Document& document) {
  Mapping in{Node(document)};
  out_.files = {document.name()};
  in.ignore("description");
  if (const auto tables = in.find("tables")) out_.tables = words_of(*tables);
  if (const auto sources = in.find("sources")) out_.sources = patterns_of(*sources);
  const auto columns = in.find("columns");
  if (columns) {
    own_columns_ = Mapping(*columns).keys();
    Mapping named(*columns);
    for (const std::string& name : own_columns_) out_.columns.push_back(read_column(name, named.require(name)));
  }
  if (const auto inferred = in.find("inferred")) {
    for (const Node& item : inferred->as_items()) out_.inferences.push_back(read_inference(item));
  }
  if (const auto needs = in.find("needs")) {
    for (const Node& item : needs->as_items()) out_.needs.push_back(words_of(item));
  }
  if (const auto required = in.find("required")) {
    Mapping keys(*required);
    for (const std::string& key : keys.keys()) {
      const Node name = keys.require(key);
      check_key(key, name);
      out_.required.emplace_back(key, name.as_string());
    }
  }
  if (const auto saving = in.find("memory_saving")) read_saving(*saving);
  in.finish();
  return std::move(out_);
}

}  // namespace

const ColumnMapping* RunMapping::find(std::string_view column) const {
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const ColumnMapping& known) { return known.name == column; });
  return found == columns.end() ? nullptr : &*found;
}

RunMapping load_mapping(const std::filesystem::path& file, const RunMapping* base) {
  return MappingReader(base).read(Document::from_file(file));
}

RunMapping combined(const RunMapping& own, const RunMapping& base) {
  RunMapping out = own;
  out.files.insert(out.files.end(), base.files.begin(), base.files.end());
  for (const ColumnMapping& column : base.columns) {
    const auto same = std::find_if(out.columns.begin(), out.columns.end(),
                                   [&](const ColumnMapping& known) { return known.name == column.name; });
    if (same == out.columns.end()) {
      out.columns.push_back(column);
      continue;
    }
    if (same->kind != ColumnMapping::Kind::words) continue;
    // Only the rules are the mapping's own: the kind of the column, and further rules, are the base's.
    std::vector<WordRule> rules = std::move(same->rules);
    rules.insert(rules.end(), column.rules.begin(), column.rules.end());
    *same = column;
    same->rules = std::move(rules);
  }
  out.inferences.insert(out.inferences.end(), base.inferences.begin(), base.inferences.end());
  out.needs.insert(out.needs.end(), base.needs.begin(), base.needs.end());
  out.required.insert(out.required.end(), base.required.begin(), base.required.end());
  if (out.saving.empty()) {
    out.savings = base.savings;
    out.saving = base.saving;
  }
  return out;
}

const std::vector<std::string>& run_key_names() {
  static const std::vector<std::string> names = {"scenario",
                                                 "tier",
                                                 "node",
                                                 "network",
                                                 "ports",
                                                 "gpus",
                                                 "gpus_per_node",
                                                 "library",
                                                 "new_model",
                                                 "experts",
                                                 "pipeline_layout",
                                                 "chunks_filled",
                                                 "measured.seconds",
                                                 "measured.tokens_per_s_per_gpu",
                                                 "measured.allocated_gib",
                                                 "measured.allocated_bytes",
                                                 "measured.gpu_power_w",
                                                 "measured.machine_power_w",
                                                 "measured.stage",
                                                 "measured.chose",
                                                 "measured.outcome"};
  return names;
}

bool is_run_key(std::string_view name) {
  const std::vector<std::string>& names = run_key_names();
  if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  return std::any_of(kSections.begin(), kSections.end(), [&](std::string_view section) {
    return name.size() > section.size() && name.starts_with(section);
  });
}

}  // namespace mirfak
