#pragma once

#include "import/program_facts.hpp"

#include <vector>

namespace mirfak {

// Programs around Megatron Core say its options in YAML of their own. What is known of them stands in their facts under
// `dialect`:
//   options: {of the program: of Megatron-LM}, or {to: of Megatron-LM, negated: true, values: {word: word}},
//            or {flags: {word: option without a value}}
//   sections: in these ("model.", or "" for all), other names are Megatron-LM's
//   last: sections that count over all others
//   nothing: [{options, values}]: with these values they say nothing
//   switches: [{said_by, begin}]: options that begin so mean nothing where another is not said, or off
// Options that say nothing (null), those of other sections and those that the facts judge keep their names. Lists of
// lists of a pipeline layout, and of layers with experts, become the text that Megatron-LM takes.
std::vector<Setting> in_megatron_words(std::vector<Setting> settings, const ProgramFacts& facts);

// What is left of a program's own settings behind read_megatron_settings(): null says nothing, and how Python builds
// objects (_target_) decides nothing.
void leave_python(ImportDraft& draft);

}  // namespace mirfak
