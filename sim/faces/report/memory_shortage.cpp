#include "report/memory_shortage.hpp"

#include "base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace mirfak {

namespace {

// Returns the parts of the peak, largest first, without parts that would show as 0.0 GiB.
std::string parts_of(const MemoryUse& peak) {
  std::vector<MemoryPart> parts(memory_parts().begin(), memory_parts().end());
  std::stable_sort(parts.begin(), parts.end(),
                   [&](const MemoryPart& a, const MemoryPart& b) { return peak.*a.bytes > peak.*b.bytes; });
  std::string out;
  for (const MemoryPart& part : parts) {
    const double gib = peak.*part.bytes / kGiB;
    if (gib >= 0.05) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", part.name, format_number(gib));
  }
  return out;
}

// Returns the shortage of the stage whose ranks lack most of their share of the hosts' memory.
std::string host_shortage(const IterationResult& result) {
  const auto lacking = [](const StageResult& stage) { return stage.memory.host - stage.memory.host_capacity; };
  const StageMemory& memory =
      std::max_element(result.stages.begin(), result.stages.end(), [&](const StageResult& a, const StageResult& b) {
        return lacking(a) < lacking(b);
      })->memory;
  return fmt::format(
      "a rank's part of the optimizer needs {} GiB of its host's memory, and its share of that is {} "
      "GiB",
      format_number(memory.host / kGiB), format_number(memory.host_capacity / kGiB));
}

}  // namespace

std::string memory_shortage_text(const IterationResult& result) {
  const StageMemory& memory = result.stages[result.fullest_plan].memory;
  if (memory.peak.total() <= memory.capacity) return host_shortage(result);
  return fmt::format("stage {} needs {:.1f} of {:.1f} GiB: {}", result.fullest_stage, memory.peak.total() / kGiB,
                     memory.capacity / kGiB, parts_of(memory.peak));
}

}  // namespace mirfak
