#pragma once

#include "import/import_draft.hpp"
#include "import/import_formats.hpp"

#include <string>
#include <string_view>

namespace mirfak {

// Returns the name by which read_megatron_settings() knows an option of Megatron-LM, in any spelling:
// "--micro-batch-size" for "micro_batch_size", "--micro_batch_size" or "micro-batch-size".
std::string megatron_option_name(std::string_view name);

// The circumstances of the options.
struct MegatronRun {
  std::string program;  // the started script: "pretrain_gpt.py"; "" if a file does not name it
  Location where;       // place of the program, or of the file
  // The model as a scenario states it, for options that do not state it, and the reason for it; null: they do. With an
  // empty reason, the draft has it already.
  Value model = {};
  std::string model_reason = {};
  bool checked = false;  // the program checks its arguments as Megatron-LM's arguments.py does
  // Rules (`requirements`) by which a program around Megatron Core checks them in place of that; nullptr: none.
  const Value* requirements = nullptr;
  Value fusion = {};  // kernels as the program around says them: habits of the framework; null: none
};

// Reads Megatron-LM's options, and Megatron-DeepSpeed's next to them, into `model`, `training` and `strategy` of the
// draft's scenario; names of settings are those of megatron_option_name(). Options that are not stated are assumed as
// the program's defaults, each with a reason. Unknown options stay open. Anything that mirfak cannot simulate is an
// obstacle: the layout is read anyway. Error(input) at a value that is impossible, or if the layout depends on values
// that are not known (Setting::missing).
void read_megatron_settings(ImportDraft& draft, const MegatronRun& run, const ImportContext& context);

}  // namespace mirfak
