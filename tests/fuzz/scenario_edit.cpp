// The first line is a key, the second its value (empty: it is taken out), the rest a scenario's text: either the key
// has the value afterwards, all else says what it said, and editing again changes nothing; or it is an input error.

#include "serve/scenario_edit.hpp"

#include "base/error.hpp"
#include "base/key_path.hpp"
#include "base/yaml.hpp"
#include "require.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace {

using namespace mirfak;

Value ordered(Value value) {
  for (Value& item : value.items) item = ordered(std::move(item));
  for (Value::Field& field : value.fields) field.value = ordered(std::move(field.value));
  std::sort(value.fields.begin(), value.fields.end(),
            [](const Value::Field& a, const Value::Field& b) { return a.key < b.key; });
  return value;
}

std::string meaning_of(const std::string& text) { return emit_yaml(ordered(parse_yaml(text, "scenario"))); }

// Returns the meaning of the text once the key has its value.
std::string meaning_with(const std::string& text, const serve::KeyEdit& edit) {
  Value root = parse_yaml(text, "scenario");
  const Location where{"scenario", 0, 0};
  KeyPath(edit.key, where).assign(root, parse_yaml(*edit.value, "value"), where);
  return emit_yaml(ordered(std::move(root)));
}

void check_edit(const std::string& text, const serve::KeyEdit& edit) {
  const std::string out = serve::edited(text, {edit}, "scenario");
  if (edit.value) require(meaning_of(out) == meaning_with(text, edit));
  const std::string again = serve::edited(out, {edit}, "scenario");
  require(meaning_of(again) == meaning_of(out));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string input(bytes, bytes + size);
  const std::size_t key_end = input.find('\n');
  if (key_end == std::string::npos) return 0;
  const std::size_t value_end = input.find('\n', key_end + 1);
  if (value_end == std::string::npos) return 0;
  serve::KeyEdit edit{input.substr(0, key_end), std::nullopt};
  if (value_end > key_end + 1) edit.value = input.substr(key_end + 1, value_end - key_end - 1);
  try {
    check_edit(input.substr(value_end + 1), edit);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::input, error.what());
  }
  return 0;
}
