#pragma once

#include "import/program_facts.hpp"

#include <vector>

namespace mirfak {

// Programs around Megatron Core state its options in YAML of their own. Known translations stand in their facts under
// `dialect`:
//   options: {of the program: of Megatron-LM}, or {to: of Megatron-LM, negated: true, values: {word: word}},
//            or {flags: {word: option without a value}}
// sections: in these sections ("model.", or "" for all), other names are Megatron-LM's
//   same: options with Megatron-LM's names and meanings, with underscores
//   last: sections that take precedence over all others
//   nothing: [{options, values}]: options that state nothing when they have these values
//   switches: [{said_by, begin}]: options with this prefix mean nothing if another option is absent or off
// Options that state nothing (null), options of other sections and options that the facts judge keep their names. Lists
// of lists of a pipeline layout, and of layers with experts, become the text that Megatron-LM takes.
// `on`: options that are on although no file states them, as a recipe's model has what they say.
std::vector<Setting> in_megatron_words(std::vector<Setting> settings, const ProgramFacts& facts,
                                       const std::vector<std::string>& on = {});

// Takes the linear layers that have adapters; `known`: mirfak's names of them by Megatron Core's. An unknown layer is
// doubted.
void take_adapter_targets(ImportDraft& draft, const Setting& setting, const Value& known);

// Judges a program's own settings that remain after read_megatron_settings(): null states nothing, and the way in which
// Python builds objects (_target_) decides nothing.
void leave_python(ImportDraft& draft);

}  // namespace mirfak
