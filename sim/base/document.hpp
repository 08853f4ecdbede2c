#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

class KeyPath;

// A parsed YAML or JSON value that remembers where it stands. Plain data, owned by its Document.
struct Value {
  enum class Kind { null, scalar, sequence, mapping };
  struct Field;

  Kind kind = Kind::null;
  std::string scalar;         // Kind::scalar: the text as written, quotes removed
  bool quoted = false;        // Kind::scalar: was written in quotes, so it is a string
  std::vector<Value> items;   // Kind::sequence
  std::vector<Field> fields;  // Kind::mapping, in the order of the file
  Location where;
  Location key_where;  // a field of a mapping: where its key stands

  const Value* find(std::string_view key) const;  // Kind::mapping; nullptr when absent
};

struct Value::Field {
  std::string key;
  Value value;
};

// One input file (YAML 1.2, of which JSON is a part) with overrides applied on top.
class Document {
 public:
  // Throws Error(input) with file:line:column on a missing or unreadable file, a syntax error, a duplicate key, a
  // key of more than 128 bytes, a tag, a second document, text that is not UTF-8, or input larger than 2 MiB, nested
  // deeper than 64 or holding more than 200,000 keys and values (aliases expanded); and for values that are still to
  // be filled in, all at once (placeholder.hpp).
  static Document from_file(const std::filesystem::path& path);
  static Document from_text(std::string text, std::string name);

  // Applies "cluster.nodes[0].count=48". Mappings on the way are created, sequence items must exist; the
  // value is parsed as YAML. Errors name the override itself ("--set ...").
  void override_value(std::string_view assignment);
  // The same with a value that was read elsewhere and keeps its place; `where`: of what asks for it, for errors.
  void assign(const KeyPath& path, Value value, const Location& where);
  // Another root from the same text, such as a part of this document.
  Document with_root(Value root) const;

  const Value& root() const { return root_; }
  const std::string& name() const { return name_; }

  // The effective document, overrides applied, as YAML text.
  std::string to_yaml() const;

  // The text of a line of the file (1-based), for error messages; "" when out of range.
  std::string line(int number) const;

 private:
  std::string name_;
  std::string text_;
  Value root_;
};

// Where one character of a scalar's text stands in its file.
struct CharacterPlace {
  Location where;      // of the character; of the whole scalar unless `exact`
  std::string line;    // of the file, "" for an override
  bool exact = false;  // false: the file writes the text otherwise than it reads (escapes, several lines, an override)
};

// A cursor on one value, for strict reading: every mapping must be consumed whole, and every error names the
// place, what was expected, and the nearest valid name. Cheap to copy; valid as long as its Document.
class Node {
 public:
  explicit Node(const Document& document);
  Node(const Document& document, const Value& value, std::string path);

  const Value& value() const { return *value_; }
  const Location& where() const { return value_->where; }
  const std::string& path() const { return path_; }  // "strategy.tensor"
  bool is_null() const { return value_->kind == Value::Kind::null; }
  bool is_scalar() const { return value_->kind == Value::Kind::scalar; }
  bool is_sequence() const { return value_->kind == Value::Kind::sequence; }
  bool is_mapping() const { return value_->kind == Value::Kind::mapping; }

  // Scalars. Out of range, wrong type, NaN: Error(input).
  std::string as_string() const;
  bool as_bool() const;
  std::int64_t as_integer(std::int64_t minimum, std::int64_t maximum) const;  // also 300e9; up to 2^53
  double as_number(double minimum, double maximum) const;
  // One of `names`; the error suggests the nearest. Returns its index.
  std::size_t as_choice(const std::vector<std::string>& names) const;

  std::vector<Node> as_items() const;  // a sequence

  // Throws Error(input) at this value: "expected ..., found ...".
  [[noreturn]] void fail(std::string message, std::string hint = {}) const;
  [[noreturn]] void fail_infeasible(std::string message, std::string hint = {}) const;
  // The place of byte `offset` of a scalar's text, up to one behind its last; and Error(input) there, which counts
  // characters in words where the place is not exact.
  CharacterPlace place_of(std::size_t offset) const;
  [[noreturn]] void fail_at(std::size_t offset, std::string message, std::string hint = {}) const;
  std::string described() const;  // "'abc'", "a mapping", ...: for error messages
  Node child(const Value& value, std::string_view key) const;

 private:
  std::optional<double> parse_number() const;  // nullopt: not a number

  const Document* document_;
  const Value* value_;
  std::string path_;
};

// Strict reading of one mapping: ask for the keys it may have, then call finish(), which refuses all others.
class Mapping {
 public:
  explicit Mapping(const Node& node);  // Error(input) unless `node` is a mapping (or null: an empty mapping)

  const Node& node() const { return node_; }
  std::optional<Node> find(std::string_view key);  // absent: nullopt; null: Error(input)
  // The same where null stands for none (`tokens: null`), or for a section that says nothing.
  std::optional<Node> find_or_null(std::string_view key);
  Node require(std::string_view key);  // absent: Error(input) naming the key
  bool has(std::string_view key) const;

  std::string string_or(std::string_view key, std::string fallback);
  bool bool_or(std::string_view key, bool fallback);
  std::int64_t integer_or(std::string_view key, std::int64_t fallback, std::int64_t minimum = 1,
                          std::int64_t maximum = std::int64_t{1} << 53);
  double number_or(std::string_view key, double fallback, double minimum = 0, double maximum = 1e30);

  std::vector<std::string> keys() const;  // in the order of the file
  void ignore(std::string_view key);      // a key that is known and not used here
  void finish() const;                    // Error(input) at the first key nobody asked for, with a suggestion

 private:
  Node node_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace mirfak
