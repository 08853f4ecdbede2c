#pragma once

#include "base/document.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// What hw_profiles/launch/megatron.yaml says of Megatron-LM's arguments beside their names.
struct MegatronKnowledge {
  struct Vocabulary {
    std::string of;  // a type of tokenizer, or a part of a model's name
    std::int64_t tokens = 0;
    std::string source;
  };

  // An option that the program takes only beside one of others, or beside none of them.
  struct Requirement {
    std::string option;
    std::vector<std::string> words;  // with one of which it counts; empty: whatever it says
    std::optional<double> above;     // which its number has to exceed to count
    std::vector<std::string> beside;
    std::vector<std::string> not_beside;
  };

  std::map<std::string, std::string, std::less<>> without_effect;  // "lr": "the learning rate ..."
  std::vector<std::pair<std::string, std::string>> starts;         // "inference-": the same of all that begin so
  std::map<std::string, std::string, std::less<>> not_distinguished;
  std::vector<std::string> names;  // of all options of its trainings, in all releases
  Value held_back;                 // rules of hold_back()
  std::vector<Vocabulary> tokenizer_types;
  std::vector<Vocabulary> models;
  std::vector<Requirement> requirements;

  // Why the option `name` ("lr") has no effect; nullptr: it is none of those.
  const std::string* reason_without_effect(std::string_view name) const;
};

// Error(input) for a file that is not as hw_profiles/launch/README.md says. `hardware`: the folder hw_profiles/.
MegatronKnowledge read_megatron_knowledge(const std::filesystem::path& hardware);

}  // namespace mirfak
