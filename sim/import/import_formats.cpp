#include "import/import_formats.hpp"

#include "import/deepspeed_json.hpp"
#include "import/hugging_face.hpp"
#include "import/megatron_bridge.hpp"
#include "import/megatron_deepspeed.hpp"
#include "import/megatron_formats.hpp"
#include "import/nemo.hpp"
#include "import/option_words.hpp"
#include "import/primus.hpp"
#include "import/shell_format.hpp"
#include "import/torchtitan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mirfak {

// A new format is a file and a line here.
std::span<const ImportFormat> import_formats() {
  static const std::array formats = {kMegatronTest,    kMegatronYaml,       kMegatronDeepSpeed, kMegatronArguments,
                                     kLaunchScript,    kTorchtitanToml,     kDeepSpeedJson,     kAccelerateYaml,
                                     kTrainerSettings, kMegatronBridgeYaml, kNemoYaml,          kPrimusYaml,
                                     kConfigCommand};
  return formats;
}

const ImportFormat* format_of(const ImportFile& file) {
  const std::span<const ImportFormat> formats = import_formats();
  const auto found =
      std::find_if(formats.begin(), formats.end(), [&](const ImportFormat& format) { return format.recognises(file); });
  return found == formats.end() ? nullptr : &*found;
}

}  // namespace mirfak
