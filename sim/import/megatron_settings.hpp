#pragma once

#include "import/import_draft.hpp"
#include "import/import_formats.hpp"

#include <string>
#include <string_view>

namespace mirfak {

// "--micro-batch-size" for "micro_batch_size", "--micro_batch_size" or "micro-batch-size": the name that
// read_megatron_settings() knows an option of Megatron-LM by, however a file writes it.
std::string megatron_option_name(std::string_view name);

// What stands around the options.
struct MegatronRun {
  std::string program;  // the script that is started: "pretrain_gpt.py"; "" where a file does not say it
  Location where;       // of the program, or of the file
  // A name of models/ where the options do not say what the model is, and how that is known; "": they do.
  std::string model = {};
  std::string model_reason = {};
  bool checked = false;  // the program checks its arguments as Megatron-LM's arguments.py does
};

// Understands Megatron-LM's options, and Megatron-DeepSpeed's beside them, into `model`, `training` and `strategy` of
// the draft's scenario; names of settings are those of megatron_option_name(). What is not said is assumed as the
// program has it, with its reason. Options that nothing is known of stay open. What mirfak cannot simulate is an
// obstacle: the layout is read anyway. Error(input) at a value that is impossible, or where the layout hangs on values
// that are not known (Setting::missing).
void read_megatron_settings(ImportDraft& draft, const MegatronRun& run, const ImportContext& context);

}  // namespace mirfak
