#include "import/import_formats.hpp"

#include "import/megatron_formats.hpp"
#include "import/shell_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mirfak {

// A new format is a file and a line here.
std::span<const ImportFormat> import_formats() {
  static const std::array formats = {kMegatronTest, kMegatronYaml, kMegatronArguments, kLaunchScript};
  return formats;
}

const ImportFormat* format_of(const ImportFile& file) {
  const std::span<const ImportFormat> formats = import_formats();
  const auto found =
      std::find_if(formats.begin(), formats.end(), [&](const ImportFormat& format) { return format.recognises(file); });
  return found == formats.end() ? nullptr : &*found;
}

}  // namespace mirfak
