#include "import/interpolation.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace mirfak {

namespace {

constexpr std::size_t kMaxExpandedBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxReferences = 64;  // in a row: a to b to c ...
constexpr std::size_t kMaxInside = 16;      // inside one another: ${a:${b:${c}}}

std::size_t brace_behind(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    out.emplace_back(trimmed(text.substr(0, comma)));
    if (comma == text.size()) return out;
    text.remove_prefix(comma + 1);
  }
}

class Interpolation {
 public:
  Interpolation(const Value& root, const std::map<std::string, std::string>& environment)
      : root_(root), environment_(environment) {}

  // Returns a scalar with its references replaced. `parents`: the mappings and lists around the scalar, the innermost
  // last.
  std::string expand(const Value& scalar, const std::vector<const Value*>& parents) {
    if (scalar.scalar.find("${") == std::string::npos) return scalar.scalar;
    const auto done = done_.find(&scalar);
    if (done != done_.end()) return done->second;
    if (!active_.insert(&scalar).second) fail_input(scalar.where, "a reference that leads to itself");
    if (active_.size() > kMaxReferences) fail_input(scalar.where, "too many references in a row");
    std::string out = expand_text(scalar.scalar, scalar, parents, 0);
    active_.erase(&scalar);
    return done_[&scalar] = std::move(out);
  }

 private:
  std::string expand_text(std::string_view text, const Value& scalar, const std::vector<const Value*>& parents,
                          std::size_t depth) {
    if (depth > kMaxInside) fail_input(scalar.where, "too many references inside one another");
    std::string out;
    while (true) {
      const std::size_t open = text.find("${");
      const std::size_t close = open == std::string_view::npos ? open : brace_behind(text, open + 1);
      if (close == std::string_view::npos) break;
      out += text.substr(0, open);
      const std::string inside = expand_text(text.substr(open + 2, close - open - 2), scalar, parents, depth + 1);
      out += value_of(inside, scalar, parents).value_or("${" + inside + "}");
      text.remove_prefix(close + 1);
    }
    out += text;
    written_ += out.size();
    if (written_ > kMaxExpandedBytes) fail_input(scalar.where, "references that expand to more than 1 MiB");
    return out;
  }

  std::optional<std::string> value_of(const std::string& inside, const Value& scalar,
                                      const std::vector<const Value*>& parents) {
    if (inside.find("${") != std::string::npos) return std::nullopt;  // depends on a value that is not known
    const std::size_t colon = inside.find(':');
    if (colon == std::string::npos) return referred(inside, parents);
    const std::string name = inside.substr(0, colon);
    const std::string_view rest = std::string_view(inside).substr(colon + 1);
    if (name == "oc.env") {
      const std::vector<std::string> arguments = split_arguments(rest);
      return of_environment(arguments[0], arguments.size() > 1 ? std::optional(arguments[1]) : std::nullopt);
    }
    const bool variable = std::all_of(
        name.begin(), name.end(), [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; });
    if (variable) return of_environment(name, std::string(rest));
    return computed(name, split_arguments(rest), scalar);
  }

  std::optional<std::string> of_environment(const std::string& name, const std::optional<std::string>& fallback) const {
    const auto said = environment_.find(name);
    return said == environment_.end() ? fallback : std::optional(said->second);
  }

  static std::string computed(const std::string& name, const std::vector<std::string>& arguments, const Value& scalar) {
    std::vector<double> numbers;
    for (const std::string& argument : arguments) {
      double number = 0;
      const auto [end, error] = std::from_chars(argument.data(), argument.data() + argument.size(), number);
      if (error != std::errc() || end != argument.data() + argument.size() || !std::isfinite(number)) {
        fail_input(scalar.where, fmt::format("{}: expected numbers, found '{}'", excerpt(name), excerpt(argument)));
      }
      numbers.push_back(number);
    }
    double out = 0;
    if (name == "multiply") {
      out = 1;
      for (const double number : numbers) out *= number;
    } else if (name == "sum") {
      for (const double number : numbers) out += number;
    } else if ((name == "divide_ceil" || name == "divide_floor") && numbers.size() == 2 && numbers[1] != 0) {
      const double ratio = numbers[0] / numbers[1];
      out = name == "divide_ceil" ? std::ceil(ratio) : std::floor(ratio);
    } else {
      fail_input(scalar.where, fmt::format("a resolver that mirfak does not know: {}", excerpt(name)),
                 "known: multiply, sum, divide_ceil, divide_floor, oc.env");
    }
    if (!std::isfinite(out)) fail_input(scalar.where, fmt::format("{}: the result is no number", excerpt(name)));
    return out == std::floor(out) && std::abs(out) < 1e15 ? fmt::format("{}", static_cast<std::int64_t>(out))
                                                          : fmt::format("{}", out);
  }

  // Returns the value of a reference. One dot is the surrounding mapping, each further dot the next mapping around it.
  std::optional<std::string> referred(std::string_view path, const std::vector<const Value*>& parents) {
    std::vector<const Value*> around;
    if (path.starts_with('.')) {
      std::size_t up = 0;
      while (up < path.size() && path[up] == '.') ++up;
      if (up > parents.size()) return std::nullopt;
      around.assign(parents.begin(), parents.end() - static_cast<std::ptrdiff_t>(up - 1));
      path.remove_prefix(up);
    } else {
      around = {&root_};
      // Launchers hang a file below a key of their own, with which its references begin.
      const std::string_view first = path.substr(0, path.find('.'));
      if (root_.find(first) == nullptr && path.starts_with("training.")) path.remove_prefix(9);
    }
    return found(path, std::move(around));
  }

  std::optional<std::string> found(std::string_view path, std::vector<const Value*> around) {
    while (!path.empty()) {
      const std::string_view key = path.substr(0, path.find('.'));
      path.remove_prefix(std::min(key.size() + 1, path.size()));
      const Value& at = *around.back();
      const Value* next = at.kind == Value::Kind::mapping ? at.find(key) : nullptr;
      if (at.kind == Value::Kind::sequence) {
        std::size_t index = 0;
        const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
        if (error == std::errc() && end == key.data() + key.size() && index < at.items.size()) next = &at.items[index];
      }
      if (next == nullptr) return std::nullopt;
      around.push_back(next);
    }
    const Value& value = *around.back();
    around.pop_back();
    if (value.kind == Value::Kind::null) return "null";
    if (value.kind != Value::Kind::scalar || around.empty()) return std::nullopt;
    return expand(value, around);
  }

  const Value& root_;
  const std::map<std::string, std::string>& environment_;
  std::map<const Value*, std::string> done_;
  std::set<const Value*> active_;
  std::size_t written_ = 0;
};

void fill(Value& value, std::vector<const Value*>& parents, const Value& original, Interpolation& interpolation) {
  if (value.kind == Value::Kind::scalar) {
    value.scalar = interpolation.expand(original, parents);
    return;
  }
  parents.push_back(&original);
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    fill(value.items[i], parents, original.items[i], interpolation);
  }
  for (std::size_t i = 0; i < value.fields.size(); ++i) {
    fill(value.fields[i].value, parents, original.fields[i].value, interpolation);
  }
  parents.pop_back();
}

}  // namespace

void fill_interpolations(Value& root, const std::map<std::string, std::string>& environment) {
  const Value original = root;
  Interpolation interpolation(original, environment);
  std::vector<const Value*> parents;
  fill(root, parents, original, interpolation);
}

}  // namespace mirfak
