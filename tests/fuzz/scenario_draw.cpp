// Each byte is one choice in a scenario that has the grammar of one (tests/support/drawn_scenario.hpp), so that the
// search is for jobs that behave wrongly, not for texts that are no jobs.

#include "scenario_checks.hpp"

#include "support/drawn_scenario.hpp"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  mirfak::test::ByteChoices choices(bytes, size);
  mirfak::check_scenario(mirfak::test::drawn_scenario(choices));
  return 0;
}
