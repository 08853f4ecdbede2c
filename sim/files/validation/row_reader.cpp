#include "validation/row_reader.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "validation/run_condition.hpp"
#include "validation/value_template.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

constexpr double kMaxCell = 1e15;

}  // namespace

std::vector<std::string> parts_of_cell(std::string_view cell, std::string_view separators) {
  std::vector<std::string> out;
  std::string part;
  int depth = 0;
  const auto end_part = [&] {
    if (const std::string_view text = trimmed(part); !text.empty()) out.emplace_back(text);
    part.clear();
  };
  for (const char c : cell) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') depth = std::max(0, depth - 1);
    if (c == ';' || (depth == 0 && separators.find(c) != std::string_view::npos)) {
      end_part();
      if (c == ';') depth = 0;
      continue;
    }
    part += c;
  }
  end_part();
  return out;
}

// Reads one row; the result holds the reading so far.
class RowReader {
 public:
  RowReader(RunReading reading, const RunMapping& mapping) : out_(std::move(reading)), mapping_(mapping) {}

  void load(const CsvTable& table, std::size_t row);
  void read_column(const CsvTable& table, std::size_t row, std::size_t at);
  void infer(const std::vector<const MemorySaving*>& savings);
  void check();
  RunReading take() { return std::move(out_); }

 private:
  void read_word(const ColumnMapping& column, const std::string& word, const Location& where);
  void apply(const WordRule& rule, const Captures& captures, CellReading& cell);
  void set(const std::string& key, Value value, bool stated, const CellReading& cell);
  void put_text(const ColumnMapping& column, const std::string& text, const Location& where);
  void infer(const Inference& inference);
  void not_understood(const ColumnMapping& column, CellReading cell);
  void refuse(const Location& where, std::string column, std::string word, std::string message,
              std::string nearest_word = {}) {
    out_.refusals_.push_back({where, std::move(column), std::move(word), std::move(message), std::move(nearest_word)});
  }

  RunReading out_;
  const RunMapping& mapping_;
};

void RowReader::load(const CsvTable& table, std::size_t row) {
  out_.where_ = table.where(row, 0);
  for (std::size_t i = 0; i < table.header().size(); ++i) {
    const std::string& name = table.header()[i];
    const std::string text(trimmed(table.text(row, i)));
    if (text.empty()) continue;
    const ColumnMapping* column = mapping_.find(name);
    out_.texts_[name] = text;
    const bool parts = column != nullptr && !column->parts.empty();
    out_.words_[name] = parts ? parts_of_cell(text, column->parts) : std::vector<std::string>{text};
  }
}

void RowReader::set(const std::string& key, Value value, bool stated, const CellReading& cell) {
  RunReading::Key* known = out_.find_key(key);
  if (known == nullptr) {
    out_.keys_.push_back({key, std::move(value), stated, cell.inferred, cell.where});
    return;
  }
  if (known->stated && !stated) return;
  if (!known->stated && stated) {
    *known = {key, std::move(value), stated, cell.inferred, cell.where};
    return;
  }
  const std::string before = emit_flow_yaml(known->value);
  const std::string now = emit_flow_yaml(value);
  if (before == now) return;
  refuse(cell.where, cell.column, cell.word,
         fmt::format("{}: '{}' means {}: {}, but another cell of the row says {}", cell.column, excerpt(cell.word), key,
                     now, before));
}

void RowReader::apply(const WordRule& rule, const Captures& captures, CellReading& cell) {
  if (rule.kind != WordRule::Kind::set) {
    const bool ignored = rule.kind == WordRule::Kind::ignore;
    cell.meaning = fmt::format("{}: {}", ignored ? "ignored" : "not understood", rule.reason);
    if (!ignored) {
      refuse(cell.where, cell.column, cell.word,
             fmt::format("{}: '{}' is not understood: {}", cell.column, excerpt(cell.word), rule.reason));
    }
    return;
  }
  const auto lookup = [&](const std::string& name) -> std::optional<std::string> {
    for (const auto& [captured, text] : captures) {
      if (captured == name) return text;
    }
    return meaning_of(out_, name);
  };
  cell.inferred = rule.inferred;
  for (const KeyValue& each : rule.set) {
    std::string missing;
    std::optional<Value> value = filled_in(each.value, lookup, cell.where, &missing);
    if (!value) {
      refuse(
          cell.where, cell.column, cell.word,
          fmt::format("{}: '{}' needs '{}', which the row does not state", cell.column, excerpt(cell.word), missing));
      cell.meaning = "not understood: the row does not state " + missing;
      return;
    }
    cell.meaning += (cell.meaning.empty() ? "" : ", ") + key_text(each.key, *value);
    set(each.key, *std::move(value), rule.inferred.empty(), cell);
  }
}

void RowReader::not_understood(const ColumnMapping& column, CellReading cell) {
  std::vector<std::string> known;
  for (const WordRule& rule : column.rules) {
    for (const WordPattern& word : rule.words) known.push_back(word.text());
  }
  cell.meaning = "not understood";
  refuse(cell.where, cell.column, cell.word,
         fmt::format("{}: '{}' is not a known word; {}", column.name, excerpt(cell.word),
                     did_you_mean(cell.word, known,
                                  fmt::format("'mirfak list words --column {}' shows those that are", column.name))),
         nearest(cell.word, known));
  out_.cells_.push_back(std::move(cell));
}

void RowReader::put_text(const ColumnMapping& column, const std::string& text, const Location& where) {
  CellReading cell{where, column.name, text, "", ""};
  Value value;
  value.kind = Value::Kind::scalar;
  value.scalar = text;
  value.quoted = column.kind == ColumnMapping::Kind::text;
  value.where = where;
  for (const std::string& key : column.keys) {
    cell.meaning += (cell.meaning.empty() ? "" : ", ") + key_text(key, value);
    set(key, value, true, cell);
  }
  out_.cells_.push_back(std::move(cell));
}

void RowReader::read_word(const ColumnMapping& column, const std::string& word, const Location& where) {
  CellReading cell{where, column.name, word, "", ""};
  for (const WordRule& rule : column.rules) {
    for (const WordPattern& pattern : rule.words) {
      const std::optional<Captures> captures = pattern.match(word);
      if (!captures || !holds(rule.when, out_)) continue;
      apply(rule, *captures, cell);
      out_.cells_.push_back(std::move(cell));
      return;
    }
  }
  if (column.kind == ColumnMapping::Kind::words) not_understood(column, std::move(cell));
}

void RowReader::read_column(const CsvTable& table, std::size_t row, std::size_t at) {
  using Kind = ColumnMapping::Kind;
  const std::string& name = table.header()[at];
  const auto words = out_.words_.find(name);
  if (words == out_.words_.end()) return;
  const Location where = table.where(row, at);
  const ColumnMapping* column = mapping_.find(name);
  ColumnMapping direct;
  if (column == nullptr) {  // a column named like a key
    direct.name = name;
    direct.kind = Kind::text;
    direct.keys = {name};
    put_text(direct, out_.cell(name), where);
    out_.keys_.back().value.quoted = false;
    return;
  }
  if (column->kind == Kind::ignored) {
    out_.cells_.push_back({where, name, out_.cell(name), "ignored: " + column->reason, ""});
    return;
  }
  const std::size_t before = out_.cells_.size();
  for (const std::string& word : words->second) read_word(*column, word, where);
  const bool matched = out_.cells_.size() > before;
  if (column->kind == Kind::text) put_text(*column, out_.cell(name), where);
  if (matched || column->kind == Kind::words || column->kind == Kind::text) return;
  if (!column->rules.empty() && !number_of(out_.cell(name))) {
    not_understood(*column, {where, name, out_.cell(name), "", ""});
    return;
  }
  if (column->kind == Kind::count) {
    table.integer(row, at, column->minimum, kMaxCount);
  } else {
    table.number(row, at, 1e-9, kMaxCell);
  }
  put_text(*column, out_.cell(name), where);
}

void RowReader::infer(const Inference& inference) {
  if (!holds(inference.when, out_)) return;
  if (inference.kind == Inference::Kind::refuse) refuse(out_.where_, "", "", inference.note);
  for (const std::string& key : inference.drop) {
    const auto same = [&](const RunReading::Key& known) { return known.name == key; };
    const auto found = std::find_if(out_.keys_.begin(), out_.keys_.end(), same);
    if (found == out_.keys_.end()) continue;
    const bool says_something = found->value.scalar != "false" && found->value.scalar != "0";
    if (found->stated && says_something) {
      out_.dropped_.push_back(fmt::format("{}: {}", key_text(key, found->value), inference.note));
    }
    out_.keys_.erase(found);
  }
  const auto lookup = [&](const std::string& name) { return meaning_of(out_, name); };
  for (const KeyValue& each : inference.set) {
    if (out_.find(each.key) != nullptr || out_.has_below(each.key)) continue;
    std::optional<Value> value = filled_in(each.value, lookup, inference.where);
    if (value) out_.keys_.push_back({each.key, *std::move(value), false, inference.note, inference.where});
  }
}

void RowReader::infer(const std::vector<const MemorySaving*>& savings) {
  const auto lookup = [&](const std::string& name) { return meaning_of(out_, name); };
  if (out_.find("scenario") != nullptr) return;  // a named scenario leaves nothing open
  for (const MemorySaving* saving : savings) {
    for (const KeyValue& each : saving->set) {
      if (out_.states(each.key)) continue;
      std::optional<Value> value = filled_in(each.value, lookup, out_.where_);
      if (!value) continue;
      RunReading::Key key{each.key, *std::move(value), false, saving->note, out_.where_};
      if (RunReading::Key* known = out_.find_key(each.key); known != nullptr) {
        *known = std::move(key);
      } else {
        out_.keys_.push_back(std::move(key));
      }
    }
  }
  for (const Inference& inference : mapping_.inferences) infer(inference);
}

void RowReader::check() {
  if (const auto stated = out_.whole_number("strategy.data"); stated && out_.data() > 0 && *stated != out_.data()) {
    const RunReading::Key& key = *out_.find_key("strategy.data");
    refuse(key.from, "", std::to_string(*stated),
           fmt::format("{} data-parallel ranks are stated, but {} GPUs in teams of tensor x pipeline x context make {}",
                       *stated, out_.whole_number("gpus").value_or(0), out_.data()));
  }
  if (!out_.refusals_.empty() || out_.find("scenario") != nullptr) return;
  for (const auto& [key, name] : mapping_.required) {
    if (out_.find(key) != nullptr) continue;
    refuse(out_.where_, "", "", "the row does not state " + name);
    return;
  }
}

namespace {

// True if the table has a column of this name, or a column whose cells are values of the key of this name.
bool says(const CsvTable& table, const RunMapping& mapping, const std::string& name) {
  if (table.find(name)) return true;
  return std::any_of(mapping.columns.begin(), mapping.columns.end(), [&](const ColumnMapping& column) {
    if (!table.find(column.name)) return false;
    const auto sets = [&](const WordRule& rule) {
      return std::any_of(rule.set.begin(), rule.set.end(), [&](const KeyValue& each) { return each.key == name; });
    };
    return std::find(column.keys.begin(), column.keys.end(), name) != column.keys.end() ||
           std::any_of(column.rules.begin(), column.rules.end(), sets);
  });
}

[[noreturn]] void fail_without_column(const CsvTable& table, const std::vector<std::string>& alternatives) {
  std::string hint = fmt::format("it has {}", excerpt(fmt::format("{}", fmt::join(table.header(), ", ")), 200));
  for (const std::string& name : alternatives) {
    const std::string close = nearest(name, table.header());
    if (!close.empty()) hint = fmt::format("is '{}' meant for {}?", close, name);
  }
  fail_input({table.name(), 1, 1}, fmt::format("the table has none of the columns {}", fmt::join(alternatives, ", ")),
             hint);
}

}  // namespace

void check_header(const CsvTable& table, const RunMapping& mapping) {
  const bool of_scenarios = says(table, mapping, "scenario");
  for (const std::vector<std::string>& alternatives : mapping.needs) {
    const bool measured = std::find(alternatives.begin(), alternatives.end(), "measured.seconds") != alternatives.end();
    if (of_scenarios && !measured) continue;
    const bool any = std::any_of(alternatives.begin(), alternatives.end(),
                                 [&](const std::string& name) { return says(table, mapping, name); });
    if (!any) fail_without_column(table, alternatives);
  }
  for (const std::string& name : table.header()) {
    if (mapping.find(name) != nullptr || is_run_key(name)) continue;
    std::vector<std::string> known = run_key_names();
    for (const ColumnMapping& column : mapping.columns) known.push_back(column.name);
    fail_input(table.header_where(*table.find(name)), fmt::format("no mapping explains the column '{}'", excerpt(name)),
               did_you_mean(name, known,
                            "name a key such as strategy.tensor, or describe the column in a mapping file (--map)"));
  }
}

RunReading read_cells(const CsvTable& table, std::size_t row, const RunMapping& mapping) {
  RowReader reader({}, mapping);
  reader.load(table, row);
  for (std::size_t column = 0; column < table.header().size(); ++column) reader.read_column(table, row, column);
  return reader.take();
}

RunReading completed(RunReading reading, const RunMapping& mapping, const std::vector<const MemorySaving*>& savings) {
  RowReader reader(std::move(reading), mapping);
  reader.infer(savings);
  reader.check();
  return reader.take();
}

}  // namespace mirfak
