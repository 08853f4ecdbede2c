#pragma once

#include "base/document.hpp"
#include "import/import_draft.hpp"
#include "model/model_spec.hpp"
#include "scenario/scenario_sources.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Returns the scalar of a mapping under a key; empty: there is none.
std::string text_under(const Value& mapping, std::string_view key);

// Returns the scalar under the longest key of a mapping that `fits`; "": none does.
std::string text_under_longest(const Value& mapping, const std::function<bool(const std::string& key)>& fits);

// Facts on a program's options, in addition to its reader: hw_profiles/launch/NAME.yaml, whose keys are described in
// hw_profiles/launch/README.md.
class ProgramFacts {
 public:
  ProgramFacts(const ScenarioSources& sources, std::string_view name);

  const Value& section(std::string_view key) const;  // null if there is no such section
  // Returns the names of the program's options as its sources have them.
  const std::vector<std::string>& names() const { return names_; }

  // Gives options of other releases the names that the reader asks for.
  void rename(std::vector<Setting>& settings) const;

  // True if the facts hold a verdict on the option.
  bool judges(const std::string& name) const;

  // Adds an obstacle for each setting that the program has no option for, with the name that is most like it: for
  // programs that refuse such settings. `program`: its name, for the reason. Names that begin with `$` or `#` are left
  // alone. Call this function before all others that read options.
  void refuse_unknown(ImportDraft& draft, std::string_view program) const;

  // Judges the options that no reader asked for: options without effect, or with an effect that no prediction includes.
  // Call this function after all other options are read. `prefix`: the draft's prefix for this program's names; names
  // without it are left alone. The names of all options of the program become known to the draft. Options in
  // `held_back` are obstacles.
  void judge_rest(ImportDraft& draft, std::string_view prefix = "") const;

 private:
  std::filesystem::path hardware_;
  const Document& document_;
  std::vector<std::string> names_;  // names of options, from names/ and options/
};

// Judges options by rules from another source. If a section of the settings is switched off ("fp16.enabled: false"),
// the section's other options have no effect.
void judge_options(ImportDraft& draft, std::string_view prefix, const Value& without_effect,
                   const Value& not_predicted);
// Adds obstacles at settings that make the training another one than mirfak describes; `rules` have the form of
// `held_back`.
void hold_back(ImportDraft& draft, std::string_view prefix, const Value& rules);

// Judges settings that no reader asked for by the rules of a section: `held_back`, then `without_effect` and
// `not_predicted`, of which the section may lack any.
void judge_section(ImportDraft& draft, std::string_view prefix, const Value& section);

// A model as a scenario states it (a name of models/, or a mapping of a model file's keys), or none.
struct KnownModel {
  Value model;
  std::string note;  // parts of the model that the prediction leaves out
};

// Returns the model of {like: NAME, other keys}, or of a model file's keys with `note` among them, the two forms in
// hw_profiles/launch/; `common`: keys that all models without `like` share.
KnownModel known_model(const Value& entry, const Value& common, std::string_view name, const ScenarioSources& sources);

// Returns the model with this name on Hugging Face ("meta-llama/Llama-3.1-8B"): by models/names/hugging-face.yaml, else
// by the config.json of a model on this machine (hub_cache.hpp), else by the last part of such a name at the end of a
// path
// ("./models/Llama-3.1-8B"). The note says by what, but for the first.
std::optional<KnownModel> hugging_face_model(std::string_view id, const ScenarioSources& sources);

// Reads the model that a draft states, a name or a mapping; errors of a name stand at `where`.
ModelSpec imported_model(const Value& model, const Location& where, const ScenarioSources& sources);

// True for files that define a model: Hugging Face's config.json, or a model file of mirfak.
bool is_model_file(const std::string& text, const std::string& name);
// Returns the number of layers of a scenario's model, if the model states it.
std::optional<std::int64_t> layers_of_model(const Value& model, const ScenarioSources& sources);

}  // namespace mirfak
