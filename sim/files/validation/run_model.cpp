#include "validation/run_model.hpp"

#include "base/key_path.hpp"
#include "base/text.hpp"
#include "model/model_loader.hpp"
#include "validation/word_pattern.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kModel = "model.";

// Sizes that identify a model of the library. Mixtures of experts are described by the library alone, so for them the
// sizes only choose the entry.
constexpr std::string_view kShape[] = {"model.hidden", "model.heads", "model.kv_heads", "model.head_dim", "model.ffn"};

bool is_shape(std::string_view key) { return std::find(std::begin(kShape), std::end(kShape), key) != std::end(kShape); }

// True for keys that models of blocks, or of a config.json, state as well.
bool is_of_any_model(std::string_view key) {
  return key == "model.name" || key == "model.source" || key == "model.max_sequence";
}

// True if the value is equal, or not stated.
bool same(const RunReading& reading, std::string_view key, std::int64_t value) {
  const std::optional<std::int64_t> stated = reading.whole_number(key);
  return !stated || *stated == value;
}

// Returns how many of the words are among others.
std::int64_t among(const std::vector<std::string>& words, const std::vector<std::string>& others) {
  return std::count_if(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(others.begin(), others.end(), word) != others.end();
  });
}

void need(const RunReading& reading, std::string_view key, std::string_view what) {
  if (reading.find(key) == nullptr) fail_infeasible(reading.where(), fmt::format("the row does not state {}", what));
}

}  // namespace

ModelLibrary::ModelLibrary(const std::filesystem::path& folder) : folder_(folder) {
  for (const std::string& name : model_names(folder)) names_.push_back({name, name_words(name)});
}

const ModelLibrary::Entry& ModelLibrary::entry_of(const std::string& name) const {
  return entries_.get(name, [&] {
    const Document document = Document::from_file(folder_ / (name + ".yaml"));
    return Entry{parse_model(document, folder_), document.root()};
  });
}

// Finds the library's model by shape, and among several models of one shape by name.
const ModelLibrary::Entry* ModelLibrary::find(const RunReading& reading) const {
  const std::vector<std::string> words = name_words(reading.text("model.name").value_or(""));
  const bool sized = reading.find("model.hidden") != nullptr;
  const bool mixture = reading.find("experts") != nullptr;
  std::optional<WordPattern> family;
  if (const Value* pattern = reading.find("library")) {
    const Document document = Document::from_text("", pattern->where.file);
    family = WordPattern::parse(Node(document, *pattern, "library"));
  }
  const Entry* best = nullptr;
  std::tuple<bool, std::int64_t, std::int64_t> best_fit;
  for (const Name& of : names_) {
    const std::int64_t common = among(words, of.words);
    const std::int64_t unsaid = static_cast<std::int64_t>(of.words.size()) - among(of.words, words);
    const bool named = sized ? common > 0 : unsaid == 0;  // without sizes the name alone decides
    if (!named || (family && !family->match(of.name))) continue;
    const Entry& entry = entry_of(of.name);
    const ModelSpec& spec = entry.spec;
    const bool shape =
        same(reading, "model.hidden", spec.hidden) && same(reading, "model.heads", spec.heads) &&
        (mixture || (same(reading, "model.ffn", spec.ffn) && same(reading, "model.kv_heads", spec.kv_heads)));
    if (!shape) continue;
    const std::tuple fit{same(reading, "model.layers", spec.layers), common, -unsaid};
    if (best != nullptr && fit <= best_fit) continue;
    best = &entry;
    best_fit = fit;
  }
  return best;
}

Value ModelLibrary::model_of(const RunReading& reading) const {
  const Entry* entry = find(reading);
  const bool mixture = reading.find("experts") != nullptr;
  const Value* described = reading.find("new_model");
  if (entry == nullptr && (mixture || described == nullptr)) {
    fail_infeasible(
        reading.where(),
        fmt::format("no model in the library has the shape of '{}'", reading.text("model.name").value_or("")),
        "add it to models/");
  }
  const bool of_blocks = described != nullptr && described->find("blocks") != nullptr;
  const bool known_otherwise =
      entry != nullptr && (entry->value.find("blocks") != nullptr || entry->value.find("config") != nullptr);
  if (entry == nullptr && !of_blocks) {
    need(reading, "model.layers", "the number of layers");
    need(reading, "model.hidden", "the hidden size");
    need(reading, "model.heads", "the number of heads");
  }
  Value root;
  root.kind = Value::Kind::mapping;
  // Stated sizes of a model of blocks are in its `sizes`, where the mapping puts them.
  KeyPath("model", reading.where()).assign(root, entry != nullptr ? entry->value : *described, reading.where());
  for (const RunReading::Key& key : reading.keys()) {
    if (!key.name.starts_with(kModel) || (mixture && is_shape(key.name))) continue;
    if (entry == nullptr && of_blocks && !is_of_any_model(key.name)) continue;
    if (known_otherwise && !key.stated && !is_of_any_model(key.name)) continue;
    // Inferred keys complete a new model; a model of the library is complete by itself.
    if (entry != nullptr && !key.stated && root.fields.front().value.find(key.name.substr(kModel.size())) != nullptr) {
      continue;
    }
    KeyPath(key.name, key.value.where).assign(root, key.value, key.value.where);
  }
  return std::move(root.fields.front().value);
}

}  // namespace mirfak
