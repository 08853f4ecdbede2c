// References of OmegaConf, whatever they say, are filled or refused at their place; and what NeMo, Megatron-Bridge,
// Primus, Accelerate, the Trainer and DeepSpeed would make of such a file ends likewise.

#include "base/yaml.hpp"
#include "import/import_formats.hpp"
#include "import/interpolation.hpp"
#include "import_sources.hpp"
#include "require.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace mirfak;
  const ImportFile file{"input.yaml", std::string(bytes, bytes + size)};
  try {
    Value root = parse_yaml(file.text, file.name);
    fill_interpolations(root, {{"NAME", "8"}});
  } catch (const Error& error) {
    require_refusal(error);
  }
  ImportContext context{fuzz_sources()};
  context.gpus = 64;
  for (const ImportFormat& format : import_formats()) {
    if (!format.name.ends_with("-yaml") && !format.name.ends_with("-json") && format.name != "trainer") continue;
    if (!format.recognises(file)) continue;
    try {
      const ImportDraft draft = format.read(std::span(&file, 1), context);
      require(draft.lines().size() < 100'000);
    } catch (const Error& error) {
      require_refusal(error);
    }
  }
  return 0;
}
