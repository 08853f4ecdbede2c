#include "import/import_formats.hpp"

#include "base/text.hpp"
#include "import/deepspeed_json.hpp"
#include "import/gpt_neox.hpp"
#include "import/hugging_face.hpp"
#include "import/megatron_bridge.hpp"
#include "import/megatron_deepspeed.hpp"
#include "import/megatron_formats.hpp"
#include "import/nemo.hpp"
#include "import/option_words.hpp"
#include "import/primus.hpp"
#include "import/shell_format.hpp"
#include "import/torchtitan.hpp"
#include "import/tuning_tools.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

namespace mirfak {

// A new format is a file and a line here.
std::span<const ImportFormat> import_formats() {
  static const std::array formats = {kMegatronTest,    kMegatronYaml,       kMegatronDeepSpeed, kMegatronArguments,
                                     kLaunchScript,    kTorchtitanToml,     kDeepSpeedJson,     kAccelerateYaml,
                                     kTrainerSettings, kMegatronBridgeYaml, kNemoYaml,          kPrimusYaml,
                                     kConfigCommand,   kLlamaFactory,       kAxolotl,           kGptNeox};
  return formats;
}

const ImportFormat* format_of(const ImportFile& file) {
  std::vector<const ImportFormat*> found;
  for (const ImportFormat& format : import_formats()) {
    if (format.recognises(file)) found.push_back(&format);
  }
  if (found.empty()) return nullptr;
  if (found.size() == 1) return found.front();
  std::vector<std::string> names;
  for (const ImportFormat* format : found) names.emplace_back(format->name);
  fail_input({file.name, 1, 1}, fmt::format("the file may be one of {}", join_or(names)),
             fmt::format("say which: --from {}", names.front()));
}

}  // namespace mirfak
