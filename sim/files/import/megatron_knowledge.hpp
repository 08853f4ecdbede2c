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

// Facts of hw_profiles/launch/megatron.yaml on Megatron-LM's arguments, in addition to their names.
struct MegatronKnowledge {
  struct Vocabulary {
    std::string of;  // a type of tokenizer, or a part of a model's name
    std::int64_t tokens = 0;
    std::string source;
  };

  // An option that the program accepts only together with one of some other options, or only without all of some
  // others.
  struct Requirement {
    std::string option;
    std::vector<std::string> words;  // values for which the requirement counts; empty: any value
    std::optional<double> above;     // the option's number must exceed this bound for the requirement to count
    std::vector<std::string> beside;
    std::vector<std::string> not_beside;
  };

  std::map<std::string, std::string, std::less<>> without_effect;  // reasons by option, "lr": "the learning rate ..."
  std::vector<std::pair<std::string, std::string>> starts;         // reasons by prefix of the options: "inference-"
  std::map<std::string, std::string, std::less<>> not_distinguished;
  std::vector<std::string> names;  // all options of Megatron-LM's trainings, in all releases
  Value held_back;                 // rules of hold_back()
  std::vector<Vocabulary> tokenizer_types;
  std::vector<Vocabulary> models;
  std::vector<Requirement> requirements;

  // Returns the reason why the option `name` ("lr") has no effect; nullptr if the option is none of those.
  const std::string* reason_without_effect(std::string_view name) const;
};

// Reads megatron.yaml. Error(input) for a file that does not follow hw_profiles/launch/README.md. `hardware`: the
// folder hw_profiles/.
MegatronKnowledge read_megatron_knowledge(const std::filesystem::path& hardware);

}  // namespace mirfak
