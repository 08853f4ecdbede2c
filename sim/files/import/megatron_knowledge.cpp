#include "import/megatron_knowledge.hpp"

#include "base/document.hpp"

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

void read_groups(const Node& groups, std::map<std::string, std::string, std::less<>>& out,
                 std::vector<std::pair<std::string, std::string>>& starts) {
  for (const Node& item : groups.as_items()) {
    Mapping group(item);
    const std::string reason = group.require("reason").as_string();
    for (const Node& name : group.require("options").as_items()) {
      if (!out.emplace(name.as_string(), reason).second) name.fail("named twice");
    }
    if (const auto begins = group.find("starts")) {
      for (const Node& start : begins->as_items()) starts.emplace_back(start.as_string(), reason);
    }
    group.finish();
  }
}

std::vector<MegatronKnowledge::Vocabulary> read_vocabularies(const Node& node) {
  std::vector<MegatronKnowledge::Vocabulary> out;
  Mapping all(node);
  for (const std::string& name : all.keys()) {
    Mapping one(all.require(name));
    MegatronKnowledge::Vocabulary vocabulary;
    vocabulary.of = name;
    vocabulary.tokens = one.require("tokens").as_integer(1, 100'000'000);
    vocabulary.source = one.require("source").as_string();
    one.finish();
    out.push_back(std::move(vocabulary));
  }
  return out;
}

std::vector<std::string> words(const std::optional<Node>& list) {
  std::vector<std::string> out;
  if (!list) return out;
  for (const Node& item : list->as_items()) out.push_back(item.as_string());
  return out;
}

std::vector<MegatronKnowledge::Requirement> read_requirements(const Node& list) {
  std::vector<MegatronKnowledge::Requirement> out;
  for (const Node& item : list.as_items()) {
    Mapping rule(item);
    MegatronKnowledge::Requirement one;
    one.option = rule.require("option").as_string();
    one.words = words(rule.find("words"));
    if (const auto above = rule.find("above")) one.above = above->as_number(0, 1e9);
    one.beside = words(rule.find("beside"));
    one.not_beside = words(rule.find("not_beside"));
    rule.finish();
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

const std::string* MegatronKnowledge::reason_without_effect(std::string_view name) const {
  const auto found = without_effect.find(name);
  if (found != without_effect.end()) return &found->second;
  const auto start =
      std::find_if(starts.begin(), starts.end(), [&](const auto& entry) { return name.starts_with(entry.first); });
  return start == starts.end() ? nullptr : &start->second;
}

MegatronKnowledge read_megatron_knowledge(const std::filesystem::path& hardware) {
  const Document document = Document::from_file(hardware / "launch" / "megatron.yaml");
  Mapping root((Node(document)));
  root.ignore("source");
  MegatronKnowledge out;
  read_groups(root.require("without_effect"), out.without_effect, out.starts);
  std::vector<std::pair<std::string, std::string>> none;
  read_groups(root.require("not_distinguished"), out.not_distinguished, none);
  Mapping vocabularies(root.require("vocabularies"));
  out.tokenizer_types = read_vocabularies(vocabularies.require("types"));
  out.models = read_vocabularies(vocabularies.require("models"));
  vocabularies.finish();
  out.held_back = root.require("held_back").value();
  out.requirements = read_requirements(root.require("requirements"));
  root.finish();
  const Document names = Document::from_file(hardware / "launch" / "names" / "megatron.yaml");
  Mapping list((Node(names)));
  for (const Node& name : list.require("names").as_items()) out.names.push_back(name.as_string());
  return out;
}

}  // namespace mirfak
