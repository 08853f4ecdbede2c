#include "import/import_formats.hpp"

#include "import/torchtitan.hpp"

#include <array>

namespace mirfak {

// A new format is a file and a line here.
std::span<const ImportFormat> import_formats() {
  static const std::array kFormats{
      ImportFormat{"torchtitan-toml", "TOML of torchtitan v0.1.0 to v0.2.2: [model], [training], [parallelism], ...",
                   is_torchtitan_toml, read_torchtitan_toml},
  };
  return kFormats;
}

}  // namespace mirfak
