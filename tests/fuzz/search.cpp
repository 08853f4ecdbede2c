// Any bytes are either a search, which survives its own YAML, or an error that says where.

#include "base/error.hpp"
#include "require.hpp"
#include "scenario/search_scenario.hpp"
#include "support/source_root.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace {

using namespace mirfak;

const DataFolders kFolders{source_root() + "/models", source_root() + "/hw_profiles"};

SearchScenario parse(std::string text) {
  return parse_search(Document::from_text(std::move(text), "none/s.yaml"), kFolders);
}

std::optional<SearchScenario> search_of(const std::string& text) {
  try {
    return parse(text);
  } catch (const Error& error) {
    require(error.kind() != ErrorKind::internal && error.where().known(), error.what());
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::optional<SearchScenario> search = search_of(std::string(bytes, bytes + size));
  if (search) require(parse(search->resolved).resolved == search->resolved);
  return 0;
}
