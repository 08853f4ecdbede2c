// Any bytes are either a mapping of the columns of measured runs, or an input error that says where; and the same for
// the findings that stand beside a report.

#include "base/error.hpp"
#include "input_file.hpp"
#include "require.hpp"
#include "support/source_root.hpp"
#include "validation/findings.hpp"
#include "validation/run_mappings.hpp"

namespace {

using namespace mirfak;

const RunMappings kMappings = RunMappings::from_folder(source_root() + "/validate/published");

template <typename Load>
void expect_value_or_place(const Load& load) {
  try {
    load();
  } catch (const Error& error) {
    require_refusal(error);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const InputFile input(".yaml");
  const std::filesystem::path& path = input.of(bytes, size);
  expect_value_or_place([&] { combined(load_mapping(path, nullptr), kMappings.vocabulary()); });
  expect_value_or_place([&] { kMappings.own(path); });
  expect_value_or_place([&] { load_findings(path); });
  return 0;
}
