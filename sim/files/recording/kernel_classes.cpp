#include "recording/kernel_classes.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace mirfak {

namespace {

constexpr std::int64_t kMostElementBytes = 64;

}  // namespace

KernelClasses KernelClasses::from_file(const std::filesystem::path& path) {
  return from_document(Document::from_file(path));
}

KernelClasses KernelClasses::from_document(const Document& document) {
  KernelClasses out;
  bool has_copies = false;
  bool has_rest = false;
  Mapping root{Node(document)};
  const Node list = root.require("classes");
  for (const Node& item : list.as_items()) {
    Mapping entry(item);
    const std::string name = entry.require("name").as_string();
    const bool communication = entry.bool_or("communication", false);
    const bool copies = entry.bool_or("copies", false);
    const bool rest = entry.bool_or("rest", false);
    auto found = std::find_if(out.classes_.begin(), out.classes_.end(),
                              [&](const RecordedClass& each) { return each.name == name; });
    const auto cls = static_cast<std::uint32_t>(found - out.classes_.begin());
    if (found == out.classes_.end()) out.classes_.push_back({name, communication, copies});
    if (copies) out.copies_ = cls;
    if (rest) out.rest_ = cls;
    has_copies = has_copies || copies;
    has_rest = has_rest || rest;
    Rule rule{cls, {}};
    if (!copies && !rest) {
      for (const Node& word : entry.require("words").as_items()) rule.words.push_back(lower_case(word.as_string()));
      if (rule.words.empty() || rule.words.end() != std::find(rule.words.begin(), rule.words.end(), "")) {
        item.fail("expected words that occur in names of kernels, none of them empty");
      }
    }
    entry.finish();
    out.rules_.push_back(std::move(rule));
  }
  if (!has_copies || !has_rest) list.fail("expected one class with `copies: true` and one with `rest: true`");
  if (root.has("operators")) {
    for (const Node& item : root.require("operators").as_items()) out.add_operators(item);
  }
  if (root.has("element_bytes")) {
    Mapping sizes(root.require("element_bytes"));
    for (const std::string& key : sizes.keys()) {
      out.element_bytes_[key] = sizes.require(key).as_integer(1, kMostElementBytes);
    }
  }
  root.finish();
  return out;
}

void KernelClasses::add_operators(const Node& item) {
  Mapping entry(item);
  std::vector<std::string> names;
  for (const RecordedClass& cls : classes_) names.push_back(cls.name);
  Rule rule{static_cast<std::uint32_t>(entry.require("class").as_choice(names)), {}};
  for (const Node& word : entry.require("words").as_items()) rule.words.push_back(lower_case(word.as_string()));
  entry.finish();
  operator_rules_.push_back(std::move(rule));
}

const std::string* KernelClasses::class_of_operator(std::string_view name) const {
  const std::string in_lower_case = lower_case(name);
  for (const Rule& rule : operator_rules_) {
    for (const std::string& word : rule.words) {
      if (in_lower_case.find(word) != std::string::npos) return &classes_[rule.cls].name;
    }
  }
  return nullptr;
}

std::uint32_t KernelClasses::class_of(std::string_view kernel) const {
  const std::string name = lower_case(kernel);
  for (const Rule& rule : rules_) {
    for (const std::string& word : rule.words) {
      if (name.find(word) != std::string::npos) return rule.cls;
    }
  }
  return rest_;
}

std::optional<std::int64_t> KernelClasses::element_bytes(const std::string& type) const {
  const auto found = element_bytes_.find(type);
  if (found == element_bytes_.end()) return std::nullopt;
  return found->second;
}

}  // namespace mirfak
