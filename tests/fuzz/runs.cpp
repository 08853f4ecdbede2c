// Any bytes are either a table of measured runs, of which every row is a scenario or has a reason why not, or an input
// error that says where.

#include "base/csv.hpp"
#include "base/error.hpp"
#include "require.hpp"
#include "support/source_root.hpp"
#include "validation/validate_runs.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

using namespace mirfak;

constexpr std::size_t kMaxRows = 8;

const RunMappings kMappings = RunMappings::from_folder(source_root() + "/validate/published");
const DataFolders kFolders{source_root() + "/models", source_root() + "/hw_profiles"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    const auto table = CsvTable::from_text({reinterpret_cast<const char*>(bytes), size}, "none/runs.csv");
    if (table.rows() > kMaxRows) return 0;
    const std::vector<ValidatedRun> runs = read_runs(table, kMappings, kFolders);
    require(runs.size() == table.rows());
    for (const ValidatedRun& run : runs) require(!run.skipped.empty() || !run.scenario.empty());
  } catch (const Error& error) {
    require_refusal(error);
  }
  return 0;
}
