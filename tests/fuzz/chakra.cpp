// Any bytes are either a trace that executes, or an input error with its place.

#include "base/error.hpp"
#include "chakra/chakra_file.hpp"
#include "chakra/chakra_times.hpp"
#include "engine/execute.hpp"
#include "input_file.hpp"
#include "require.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

using namespace mirfak;

namespace {

void check(const std::filesystem::path& path) {
  try {
    // Two ranks that do the same.
    std::array<ChakraTrace, 2> traces = {read_chakra_trace(path), read_chakra_trace(path)};
    traces[1].rank = traces[0].rank < 1000 ? traces[0].rank + 1 : 0;
    const ChakraProgram joined = chakra_program(traces);
    joined.program.validate();
    const Timeline timeline = execute(joined.program);
    const ChakraTimes times = chakra_times(traces, joined, timeline);
    for (const ChakraRankTimes& rank : times.ranks) {
      require(rank.exposed_s <= rank.communication_s &&
              rank.compute_s + rank.idle_s <= times.iteration_s * 1.000001 + 1e-12);
    }
  } catch (const Error& error) {
    require_refusal(error);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const InputFile messages(".0.et");
  static const InputFile json(".0.json");
  check(size > 0 && bytes[0] == '{' ? json.of(bytes, size) : messages.of(bytes, size));
  return 0;
}
