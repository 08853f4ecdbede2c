#include "import/toml.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

constexpr std::size_t kMaxTomlBytes = std::size_t{2} << 20;

class TomlReader {
 public:
  explicit TomlReader(const std::string& name) : name_(name) {}

  Location place(const toml::source_region& region) const {
    return {name_, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
  }

  Value table(const toml::table& from, std::size_t depth) const {
    Value out;
    out.kind = Value::Kind::mapping;
    out.where = out.key_where = place(from.source());
    std::vector<std::pair<Location, Value::Field>> fields;
    for (const auto& [key, node] : from) {
      Value value = read(node, depth + 1);
      value.key_where = place(key.source());
      const Location where = value.key_where;
      fields.push_back({where, {std::string(key.str()), std::move(value)}});
    }
    // Restores the order of the file: toml++ sorts keys.
    std::stable_sort(fields.begin(), fields.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first.line, a.first.column) < std::pair(b.first.line, b.first.column);
    });
    for (auto& field : fields) out.fields.push_back(std::move(field.second));
    return out;
  }

 private:
  Value read(const toml::node& node, std::size_t depth) const {
    const Location where = place(node.source());
    if (depth > kMaxDocumentDepth) fail_input(where, fmt::format("nested deeper than {}", kMaxDocumentDepth));
    if (const toml::table* inner = node.as_table()) return table(*inner, depth);
    if (const toml::array* items = node.as_array()) {
      Value out;
      out.kind = Value::Kind::sequence;
      out.where = out.key_where = where;
      for (const toml::node& item : *items) out.items.push_back(read(item, depth + 1));
      return out;
    }
    return scalar(node, where);
  }

  static Value scalar(const toml::node& node, const Location& where) {
    if (const auto* text = node.as_string()) {
      Value out = scalar_value_at(text->get(), where);
      out.quoted = true;
      return out;
    }
    if (const auto* integer = node.as_integer()) return scalar_value_at(std::to_string(integer->get()), where);
    if (const auto* number = node.as_floating_point()) return scalar_value_at(fmt::format("{}", number->get()), where);
    if (const auto* truth = node.as_boolean()) return scalar_value_at(truth->get() ? "true" : "false", where);
    std::ostringstream text;
    if (const auto* date = node.as_date()) text << date->get();
    if (const auto* time = node.as_time()) text << time->get();
    if (const auto* both = node.as_date_time()) text << both->get();
    return scalar_value_at(text.str(), where);
  }

  static Value scalar_value_at(const std::string& text, const Location& where) {
    Value out;
    out.kind = Value::Kind::scalar;
    out.scalar = text;
    out.where = out.key_where = where;
    return out;
  }

  const std::string& name_;
};

}  // namespace

Value parse_toml(const std::string& text, const std::string& name) {
  if (text.size() > kMaxTomlBytes) fail_input({name, 0, 0}, "larger than 2 MiB");
  const TomlReader reader(name);
  try {
    return reader.table(toml::parse(std::string_view(text), std::string_view(name)), 0);
  } catch (const toml::parse_error& error) {
    const Location where = reader.place(error.source());
    throw Error(ErrorKind::input, where, excerpt(error.description(), 200), "", nth_line(text, where.line));
  }
}

}  // namespace mirfak
