#pragma once

#include "base/document.hpp"
#include "import/import_draft.hpp"
#include "scenario/scenario_sources.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// The scalar that a mapping has under a key; empty: it has none.
std::string text_under(const Value& mapping, std::string_view key);

// What is known of a program's options beside what its reader does with them: hw_profiles/launch/NAME.yaml, whose keys
// hw_profiles/launch/README.md describes.
class ProgramFacts {
 public:
  ProgramFacts(const ScenarioSources& sources, std::string_view name);

  const Value& defaults() const { return section("defaults"); }
  const Value& section(std::string_view key) const;  // null where there is none

  // Options that are called otherwise in other releases get the names that the reader asks for.
  void rename(std::vector<Setting>& settings) const;

  // Whether the verdict of an option stands here.
  bool judges(const std::string& name) const;

  // Verdicts of the options that nobody asked for: without effect, or with an effect that no prediction has. Call it
  // when all others are read. `prefix`: what the draft has in front of this program's names; others are left alone.
  // Names of all options that the program has become known to the draft. What `held_back` lists is an obstacle.
  void judge_rest(ImportDraft& draft, std::string_view prefix = "") const;

 private:
  Document document_;
  std::vector<std::string> names_;  // of options, of names/ and options/
};

// The same by rules that stand elsewhere. Where a section of the settings is switched off ("fp16.enabled: false"), what
// else it says has no effect.
void judge_options(ImportDraft& draft, std::string_view prefix, const Value& without_effect,
                   const Value& not_predicted);
// Obstacles at settings that make another training of it than mirfak describes: `rules` as `held_back` has them.
void hold_back(ImportDraft& draft, std::string_view prefix, const Value& rules);

// A model as a scenario says it (a name of models/, or a mapping of a model file's keys), or none.
struct KnownModel {
  Value model;
  std::string note;  // what the prediction leaves out of it
};

// Of {like: NAME, other keys} or of a model file's keys with `note` among them, as files of hw_profiles/launch/ have
// it; `common`: keys that all of them have which are not like another.
KnownModel known_model(const Value& entry, const Value& common, std::string_view name, const ScenarioSources& sources);

// The model that Hugging Face calls so ("meta-llama/Llama-3.1-8B"), by hw_profiles/launch/hugging-face.yaml.
std::optional<KnownModel> hugging_face_model(std::string_view id, const ScenarioSources& sources);

// Files that say what the model is: a config.json of Hugging Face's, or a model file of mirfak's.
bool is_model_file(const std::string& text, const std::string& name);
// Layers of a model as a scenario says it, where it says them.
std::optional<std::int64_t> layers_of_model(const Value& model, const ScenarioSources& sources);

}  // namespace mirfak
