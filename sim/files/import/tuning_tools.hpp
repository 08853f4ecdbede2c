#pragma once

#include "import/import_formats.hpp"
#include "import/launch_command.hpp"

#include <span>
#include <vector>

namespace mirfak {

// LLaMA-Factory, axolotl and ms-swift, which configure Hugging Face's Trainer with names of their own:
// hw_profiles/launch/llama-factory.yaml, axolotl.yaml and ms-swift.yaml translate them.
bool is_llama_factory_file(const ImportFile& file);
bool is_axolotl_file(const ImportFile& file);
bool is_swift_file(const ImportFile& file);

// Reads a command of LLaMA-Factory, axolotl, ms-swift or GPT-NeoX: the file of settings that it names, which must be
// among `files`, and the options after it. `others`: settings that stay open for the reader of the script around the
// command.
ImportDraft import_tuning_command(const LaunchCommand& command, std::vector<Setting> others,
                                  std::span<const ImportFile> files, const ImportContext& context);

}  // namespace mirfak
