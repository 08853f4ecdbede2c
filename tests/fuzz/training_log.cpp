// A log of any content is read, or refused at its place; times are positive, and every setting has a verdict.

#include "import/training_log.hpp"

#include "import/log_import.hpp"
#include "import_sources.hpp"
#include "require.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace mirfak;
  const ImportFile file{"train.log", std::string(bytes, bytes + size)};
  const ImportContext context{fuzz_sources()};
  if (!is_training_log(file, context.sources.folders.hardware)) return 0;
  try {
    const LoggedRun run = read_logged_run({&file, 1}, context);
    require(run.draft.lines().size() < 100'000);
    const MeasuredSteps steps = steps_of(run, sizes_of(run), file.name);
    require(steps.seconds > 0 && steps.low_s <= steps.high_s);
  } catch (const Error& error) {
    require_refusal(error);
  }
  return 0;
}
