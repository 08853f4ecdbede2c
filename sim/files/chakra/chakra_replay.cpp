#include "chakra/chakra_replay.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "chakra/chakra_file.hpp"
#include "engine/execute.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace mirfak {

namespace {

bool is_chakra_trace(std::string_view file) {
  constexpr std::string_view endings[] = {".et", ".et.gz", ".json", ".json.gz"};
  return std::any_of(std::begin(endings), std::end(endings), [&](std::string_view end) { return file.ends_with(end); });
}

}  // namespace

bool are_chakra_traces(std::span<const std::string> files) {
  return std::any_of(files.begin(), files.end(), [](const std::string& file) { return is_chakra_trace(file); });
}

ChakraReplay replay_chakra(std::span<const std::string> files, const std::optional<Cluster>& cluster) {
  if (files.empty()) fail_input({}, "no traces", "give files NAME.<rank>.et of one run");
  for (const std::string& file : files) {
    if (is_chakra_trace(file)) continue;
    fail_input({file, 0, 0}, "this is no Chakra trace as the others are", "give files NAME.<rank>.et of one run");
  }
  std::vector<ChakraTrace> traces(files.size());
  parallel_for(files.size(), [&](std::size_t i) { traces[i] = read_chakra_trace(files[i]); });
  std::sort(traces.begin(), traces.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  ChakraReplay out;
  out.joined = chakra_program(traces, cluster ? chakra_price(*cluster) : ChakraPrice());
  out.timeline = execute(out.joined.program);
  out.times = chakra_times(traces, out.joined, out.timeline);
  return out;
}

}  // namespace mirfak
