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

// A parsed YAML or JSON value that remembers its place in the file. Plain data, owned by its Document.
struct Value {
  enum class Kind { null, scalar, sequence, mapping };
  struct Field;

  Kind kind = Kind::null;
  std::string scalar;         // Kind::scalar: the text as written, quotes removed
  bool quoted = false;        // Kind::scalar: was written in quotes, so it is a string
  std::vector<Value> items;   // Kind::sequence
  std::vector<Field> fields;  // Kind::mapping, in the order of the file
  Location where;
  Location key_where;  // for a field of a mapping: the place of its key

  const Value* find(std::string_view key) const;  // Kind::mapping; nullptr when absent
};

struct Value::Field {
  std::string key;
  Value value;
};

// An input file (YAML 1.2, of which JSON is a part) with overrides applied on top.
class Document {
 public:
  // Throws Error(input) with file:line:column on a missing or unreadable file, a syntax error, a duplicate key, a key
  // of more than 128 bytes, a tag, a second document, text that is not UTF-8, or input larger than 2 MiB, nested deeper
  // than 64 or holding more than 200,000 keys and values (aliases expanded); and, in one error for all of them, on
  // values that are still to be filled in (placeholder.hpp).
  static Document from_file(const std::filesystem::path& path);
  static Document from_text(std::string text, std::string name);

  // Applies "cluster.nodes[0].count=48". Mappings on the way are created, items of sequences must exist; the value is
  // parsed as YAML. Errors name the override itself ("--set ...").
  void override_value(std::string_view assignment);
  // Puts a value that was read elsewhere at `path`; the value keeps its own place. Errors stand at `where`, the place
  // of the text that asks for the change.
  void assign(const KeyPath& path, Value value, const Location& where);
  // Returns a document with another root from the same text, such as a part of this document.
  Document with_root(Value root) const;

  const Value& root() const { return root_; }
  const std::string& name() const { return name_; }

  // Returns the document with its overrides applied, as YAML text.
  std::string to_yaml() const;

  // Returns the text of a line of the file (1-based), for error messages; "" if `number` is out of range.
  std::string line(int number) const;

 private:
  std::string name_;
  std::string text_;
  Value root_;
};

// The place in a file of one character of a scalar's text.
struct CharacterPlace {
  Location where;      // place of the character; place of the whole scalar unless `exact`
  std::string line;    // line of the file with the character, "" for an override
  bool exact = false;  // false: the text differs from its form in the file (escapes, several lines, an override)
};

// A cursor on one value, for strict reading: every key of a mapping must be read, and every error names the place, the
// expected value, and the nearest valid name. Cheap to copy; valid as long as its Document.
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

  // Values of scalars. Error(input) for a wrong type, a value out of range, and NaN.
  std::string as_string() const;
  bool as_bool() const;
  std::int64_t as_integer(std::int64_t minimum, std::int64_t maximum) const;  // also 300e9; up to 2^53
  double as_number(double minimum, double maximum) const;
  // Returns the index in `names` of the value's text. The error for any other text suggests the nearest name.
  std::size_t as_choice(const std::vector<std::string>& names) const;

  std::vector<Node> as_items() const;         // the items of a sequence
  std::vector<std::string> as_words() const;  // the texts of a sequence of scalars

  // Throws Error(input) at this value: "expected ..., found ...".
  [[noreturn]] void fail(std::string message, std::string hint = {}) const;
  [[noreturn]] void fail_infeasible(std::string message, std::string hint = {}) const;
  // place_of() returns the place of byte `offset` of a scalar's text, at most one byte after the last. fail_at() throws
  // Error(input) at that place; where the place is not exact, the message names the character by its number.
  CharacterPlace place_of(std::size_t offset) const;
  [[noreturn]] void fail_at(std::size_t offset, std::string message, std::string hint = {}) const;
  std::string described() const;  // "'abc'", "a mapping", ...: for error messages
  Node child(const Value& value, std::string_view key) const;
  Document document() const;  // with this value as its root, from the same text

 private:
  std::optional<double> parse_number() const;  // nullopt: not a number

  const Document* document_;
  const Value* value_;
  std::string path_;
};

// Strict reading of one mapping: the caller asks for each key that the mapping may have, then calls finish(), which
// refuses all other keys.
class Mapping {
 public:
  explicit Mapping(const Node& node);  // Error(input) unless `node` is a mapping (or null: an empty mapping)

  const Node& node() const { return node_; }
  std::optional<Node> find(std::string_view key);  // absent: nullopt; null: Error(input)
  // Like find(), but null is allowed: it stands for "no value" (`tokens: null`), or for a section without any key.
  std::optional<Node> find_or_null(std::string_view key);
  Node require(std::string_view key);  // absent: Error(input) naming the key
  bool has(std::string_view key) const;

  std::string string_or(std::string_view key, std::string fallback);
  bool bool_or(std::string_view key, bool fallback);
  std::int64_t integer_or(std::string_view key, std::int64_t fallback, std::int64_t minimum = 1,
                          std::int64_t maximum = std::int64_t{1} << 53);
  double number_or(std::string_view key, double fallback, double minimum = 0, double maximum = 1e30);
  std::vector<std::string> words(std::string_view key);  // as_words() of the key's value; empty: the key is absent

  std::vector<std::string> keys() const;  // in the order of the file
  void ignore(std::string_view key);      // a key that is known and not used here
  void finish() const;                    // Error(input) at the first key that no caller asked for, with a suggestion

 private:
  Node node_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace mirfak
