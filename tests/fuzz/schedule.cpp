// Any bytes are either a schedule, which is written and read back as it is, or an input error that says where.

#include "base/error.hpp"
#include "require.hpp"
#include "schedule/schedule_file.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace mirfak;

constexpr int kMaxStages = 8;
constexpr int kMaxMicrobatches = 16;

// Returns a small shape that the schedule of a file fits; nullopt: it fits none with so few stages and microbatches.
std::optional<PipelineShape> shape_of(const Schedule& schedule) {
  for (int stages = 1; stages <= kMaxStages; ++stages) {
    for (int microbatches = 1; microbatches <= kMaxMicrobatches; ++microbatches) {
      const PipelineShape shape{stages, schedule.chunks, microbatches, stages};
      if (!schedule.unfit(shape)) return shape;
    }
  }
  return std::nullopt;
}

void check(const Schedule& schedule) {
  const std::optional<PipelineShape> shape = shape_of(schedule);
  if (!shape) return;
  const std::string written = schedule_csv(schedule, *shape);
  require(schedule_csv(schedule_of(read_schedule_text(written, "written.csv")), *shape) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  try {
    check(schedule_of(read_schedule_text({reinterpret_cast<const char*>(bytes), size}, "input.csv")));
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::input && error.where().file == "input.csv", error.what());
  }
  return 0;
}
