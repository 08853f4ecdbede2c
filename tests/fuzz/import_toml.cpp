// Any bytes are either a TOML document or an input error that says where; and so is what torchtitan would make of it.

#include "base/yaml.hpp"
#include "import/toml.hpp"
#include "import/torchtitan.hpp"
#include "import_sources.hpp"
#include "require.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace mirfak;
  const ImportFile file{"input.toml", std::string(bytes, bytes + size)};
  try {
    const Value root = parse_toml(file.text, file.name);
    require(parse_yaml(emit_yaml(root), "again.yaml").fields.size() == root.fields.size());
    ImportContext context{fuzz_sources()};
    context.gpus = 64;
    const ImportDraft draft = read_torchtitan_toml(std::span(&file, 1), context);
    require(draft.lines().size() >= 1);
  } catch (const Error& error) {
    require_refusal(error);
  }
  return 0;
}
