#include "validation/run_reading.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace mirfak {

std::optional<double> number_of(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return number;
}

const Value* RunReading::find(std::string_view key) const {
  const auto found = std::find_if(keys_.begin(), keys_.end(), [&](const Key& known) { return known.name == key; });
  return found == keys_.end() ? nullptr : &found->value;
}

RunReading::Key* RunReading::find_key(std::string_view key) {
  const auto found = std::find_if(keys_.begin(), keys_.end(), [&](const Key& known) { return known.name == key; });
  return found == keys_.end() ? nullptr : &*found;
}

bool RunReading::states(std::string_view key) const {
  return std::any_of(keys_.begin(), keys_.end(), [&](const Key& known) { return known.name == key && known.stated; });
}

bool RunReading::has_below(std::string_view key) const {
  return std::any_of(keys_.begin(), keys_.end(), [&](const Key& known) {
    return known.name.size() > key.size() && known.name.starts_with(key) && known.name[key.size()] == '.';
  });
}

std::optional<std::string> RunReading::text(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr || value->kind != Value::Kind::scalar) return std::nullopt;
  return value->scalar;
}

std::optional<std::int64_t> RunReading::whole_number(std::string_view key) const {
  const std::optional<std::string> written = text(key);
  if (!written) return std::nullopt;
  const std::optional<double> number = number_of(*written);
  if (!number || *number < 0 || *number > static_cast<double>(kMaxCount)) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(*number);
  if (static_cast<double>(whole) != *number) return std::nullopt;
  return whole;
}

std::int64_t RunReading::data() const {
  const std::int64_t gpus = whole_number("gpus").value_or(0);
  std::int64_t others = 1;
  for (const char* key : {"strategy.tensor", "strategy.pipeline", "strategy.context"}) {
    const std::int64_t size = whole_number(key).value_or(1);
    if (size < 1 || others > kMaxCount / size) return 0;
    others *= size;
  }
  return gpus % others == 0 ? gpus / others : 0;
}

std::string RunReading::cell(std::string_view column) const {
  const auto found = texts_.find(column);
  return found == texts_.end() ? std::string() : found->second;
}

const std::vector<std::string>* RunReading::words(std::string_view column) const {
  const auto found = words_.find(column);
  return found == words_.end() ? nullptr : &found->second;
}

std::string key_text(const std::string& key, const Value& value) {
  return fmt::format("{}: {}", key, emit_flow_yaml(value));
}

std::string reading_text(const RunReading& reading) {
  std::string out;
  std::size_t longest = 0;
  const auto cell_of = [](const CellReading& cell) {
    return fmt::format("{} '{}'", cell.column, excerpt(cell.word, 48));
  };
  for (const CellReading& cell : reading.cells()) longest = std::max(longest, cell_of(cell).size());
  for (const CellReading& cell : reading.cells()) {
    out += fmt::format("{:<{}}  {}{}\n", cell_of(cell), longest, cell.meaning,
                       cell.inferred.empty() ? "" : fmt::format(" (inferred: {})", cell.inferred));
  }
  for (const RunReading::Key& key : reading.keys()) {
    if (key.stated || key.from.file == reading.where().file) continue;
    out += fmt::format("inferred {} ({}), {}\n", key_text(key.name, key.value), key.note, key.from.text());
  }
  for (const std::string& dropped : reading.dropped()) out += "without meaning here: " + dropped + "\n";
  for (const Refusal& refusal : reading.refusals()) {
    out += fmt::format("{}: {}\n", refusal.where.text(), refusal.message);
  }
  return out;
}

}  // namespace mirfak
