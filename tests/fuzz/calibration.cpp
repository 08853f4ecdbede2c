// Any bytes are either a table of measurements from which constants follow, or an input error that says where or what
// is missing.

#include "calibration/calibration.hpp"
#include "base/error.hpp"
#include "require.hpp"
#include "support/source_root.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

using namespace mirfak;

constexpr std::size_t kMaxRows = 32;  // a fit of many takes seconds, and finds nothing else

const Catalog kCatalog(source_root() + "/hw_profiles");

void check(const FittedSection& section) {
  require(!section.scores.empty() && !section.source.empty());
  for (const FittedConstant& constant : section.constants) {
    require(!constant.name.empty() && std::isfinite(constant.value));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const CalibrationTarget target{kCatalog, "a100-80g", "nvlink3", Precision::bf16, {}, {}};
  try {
    CsvTable table = CsvTable::from_text({reinterpret_cast<const char*>(bytes), size}, "table.csv");
    if (table.rows() > kMaxRows) return 0;
    for (const FittedSection& section : calibrate({std::move(table)}, target)) check(section);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::input, error.what());
  }
  return 0;
}
