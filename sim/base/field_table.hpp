#pragma once

#include "base/document.hpp"
#include "base/reading_observer.hpp"
#include "base/values.hpp"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace mirfak {

// Values that a key may have.
struct FieldDomain {
  double minimum = 0;  // range of a number, or of each number of a list
  double maximum = 0;
  // Words, in the order of an enumeration, or those for false and true. nullptr: any word, or true and false.
  const std::vector<std::string>& (*words)() = nullptr;
};

// Reads a truth, a number, a word or a list of these. Error(input) for a value outside the domain.
template <class T>
T read_in(const Node& node, const FieldDomain& domain) {
  if constexpr (std::is_same_v<T, bool>) {
    return domain.words == nullptr ? node.as_bool() : node.as_choice(domain.words()) == 1;
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(node.as_choice(domain.words()));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(
        node.as_integer(static_cast<std::int64_t>(domain.minimum), static_cast<std::int64_t>(domain.maximum)));
  } else if constexpr (std::is_floating_point_v<T>) {
    return node.as_number(domain.minimum, domain.maximum);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return domain.words == nullptr ? node.as_string() : domain.words()[node.as_choice(domain.words())];
  } else {
    T list;
    for (const Node& item : node.as_items()) list.push_back(read_in<typename T::value_type>(item, domain));
    return list;
  }
}

// Returns the value that read_in() reads as `of`.
template <class T>
Value value_in(const T& of, const FieldDomain& domain) {
  if constexpr (std::is_enum_v<T>) {
    return word_value(domain.words()[static_cast<std::size_t>(of)]);
  } else if constexpr (std::is_same_v<T, bool>) {
    return domain.words == nullptr ? scalar_value(of) : word_value(domain.words()[of ? 1 : 0]);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return word_value(of);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return scalar_value(of);
  } else {
    Value list = list_value();
    for (const auto& item : of) list.items.push_back(value_in(item, domain));
    return list;
  }
}

struct NoContext {};

// The keys of a mapping, each with its member of S: reading, the resolved scenario, the schema, and the documentation
// follow from the table. `Context`: facts from elsewhere that some keys are read with.
template <class S, class Context = NoContext>
class FieldTable {
 public:
  class Field;
  using Check = std::function<void(Mapping&, S&, const Context&)>;

  // `check`: checks of keys against each other, after all of them are read.
  FieldTable(std::initializer_list<Field> fields, Check check = nullptr) : fields_(fields), check_(std::move(check)) {}

  // Reads the keys of a mapping over the defaults in `out`. Keys of no field stay unread.
  void read(Mapping& keys, S& out, const Context& context) const {
    for (const Field& field : fields_) field.read(keys, out, context);
    if (check_) check_(keys, out, context);
  }
  // Reads a whole mapping; other keys are errors.
  S read(const Node& node, S out = {}, const Context& context = {}) const {
    Mapping keys(node);
    read(keys, out, context);
    keys.finish();
    return out;
  }

  // Returns the mapping that is read as `of`.
  Value value(const S& of) const {
    Value out = mapping_value();
    for (const Field& field : fields_) {
      if (field.is_written(of)) out.fields.push_back({std::string(field.key()), field.value(of)});
    }
    return out;
  }

  const std::vector<Field>& fields() const { return fields_; }

 private:
  std::vector<Field> fields_;
  Check check_;
};

// A key: Field("tokens", &TrainingSpec::tokens, {1, 1e18}, "of the whole training").or_null().if_set(). A place is a
// pointer to a member, or a function that returns a reference to it. `meaning`: the sentence in the documentation;
// empty: the sentence on the whole mapping says it.
template <class S, class Context>
class FieldTable<S, Context>::Field {
 public:
  using Read = std::function<void(const Node&, S&, const Context&)>;
  using ValueOf = std::function<Value(const S&)>;

  // A key with a value of read_in().
  template <class Place>
  Field(std::string_view name, Place place, FieldDomain domain, std::string_view meaning = {})
      : Field(
            name, [=](const Node& node, auto& to) { to = read_in<TypeAt<Place>>(node, domain); }, place,
            [=](const auto& of) { return value_in(of, domain); }, meaning) {
    tells_default_ = std::is_arithmetic_v<TypeAt<Place>> && domain.words == nullptr;
  }
  // A key whose type has a reader, reader(node, member), and a writer, writer(member).
  template <class Reader, class Place, class Writer>
  requires(!std::is_convertible_v<Writer, std::string_view>)
      Field(std::string_view name, Reader reader, Place place, Writer writer, std::string_view meaning = {})
      : Field(
            name, [=](const Node& node, S& of, const Context&) { reader(node, std::invoke(place, of)); },
            [=](const S& of) { return writer(std::invoke(place, of)); }, meaning) {
    is_set_ = [=, initial = S()](const S& of) { return !(std::invoke(place, of) == std::invoke(place, initial)); };
  }
  // A mapping with a table of its own.
  template <class Place, class Inner>
  Field(std::string_view name, Place place, const FieldTable<Inner>& table, std::string_view meaning = {})
      : Field(
            name, [=](const Node& node, Inner& of) { of = table.read(node, of); }, place,
            [=](const Inner& of) { return table.value(of); }, meaning) {}
  // A key that functions of the whole section read and write.
  Field(std::string_view name, Read reader, ValueOf writer, std::string_view meaning = {})
      : key_(name), sentence_(meaning), read_(std::move(reader)), value_(std::move(writer)) {}

  Field& required() { return is_required_ = true, *this; }
  Field& or_null() { return may_be_null_ = true, *this; }  // null has the effect of leaving the key out
  Field& by_default(std::string_view text) { return default_text_ = text, *this; }  // documentation of the default
  // The resolved scenario has the key only where the member differs from that of S(), or where the condition holds.
  Field& if_set() { return only_if_set_ = true, *this; }
  Field& if_set(std::function<bool(const S&)> condition) { return is_set_ = std::move(condition), if_set(); }

  std::string_view key() const { return key_; }
  std::string_view sentence() const { return sentence_; }
  Value value(const S& of) const { return value_(of); }
  bool is_written(const S& of) const { return !only_if_set_ || is_set_(of); }
  // Returns the default as documentation shows it: "required", "none", "the model's", "false", "`bf16`".
  std::string default_in_words() const {
    if (is_required_) return "required";
    if (!default_text_.empty()) return std::string(default_text_);
    if (may_be_null_) return "none";
    const std::string text = line_of(value_(S()));
    const bool is_word = text.front() >= 'a' && text.front() <= 'z' && text != "true" && text != "false";
    return is_word ? '`' + text + '`' : text;
  }

  void read(Mapping& keys, S& out, const Context& context) const {
    const std::optional<Node> found = is_required_   ? keys.require(key_)
                                      : may_be_null_ ? keys.find_or_null(key_)
                                                     : keys.find(key_);
    if (reading_observer() != nullptr && tells_default_ && !is_required_ && !may_be_null_) {
      reading_observer()->fallback(keys.node(), key_, value_(out).scalar);
    }
    if (found) read_(*found, out, context);
  }

 private:
  template <class Place>
  using TypeAt = std::remove_cvref_t<std::invoke_result_t<Place, S&>>;

  std::string_view key_;
  std::string_view sentence_;
  Read read_;
  ValueOf value_;
  std::function<bool(const S&)> is_set_;
  std::string_view default_text_;
  bool tells_default_ = false;  // the reader tells an observer the default, which `out` has before
  bool is_required_ = false;
  bool may_be_null_ = false;
  bool only_if_set_ = false;
};

}  // namespace mirfak
