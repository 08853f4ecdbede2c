#pragma once

#include "import/import_formats.hpp"
#include "import/option_reader.hpp"
#include "import/program_facts.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace mirfak {

// Reads settings of Hugging Face's Trainer (TrainingArguments, and those of TRL's scripts) from JSON, YAML or words of
// a command line; names as in Python. `files`: the files next to them: Accelerate's YAML, a DeepSpeed JSON, the model's
// config.json. The first file may be the one that the settings were read from.
// `tool`: the facts (`program`, `defaults` and rules) of a tool around the Trainer, which come before the Trainer's.
// `program`: what the program of a command line is (ProgramIdentity::is), whose defaults may differ; empty: not known.
// `script`: the file of a program that is not known, which may have options and defaults of its own.
ImportDraft import_trainer(std::vector<Setting> settings, std::span<const ImportFile> files,
                           const ImportContext& context, const ProgramFacts* tool = nullptr,
                           std::string_view program = {}, std::string_view script = {});

// Takes the layers that PEFT puts adapters beside: all-linear, or names that the facts know (`adapter_targets`).
void read_hub_targets(OptionReader& options, const Option& option, const ProgramFacts& facts);

bool is_trainer_file(const ImportFile& file);

}  // namespace mirfak
