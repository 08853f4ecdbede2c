#include "cli/replay_chakra.hpp"

#include "base/parallel.hpp"
#include "chakra/chakra_file.hpp"
#include "chakra/chakra_price.hpp"
#include "chakra/chakra_times.hpp"
#include "cli/data_folders.hpp"
#include "cli/json_output.hpp"
#include "cli/nodes_argument.hpp"
#include "engine/execute.hpp"
#include "report/chakra_report.hpp"
#include "report/json_csv.hpp"
#include "trace/timeline_json.hpp"

#include <algorithm>
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

CommandOutput replay_chakra(std::span<const std::string> files, const ChakraReplayOptions& options,
                            const Surroundings& surroundings) {
  for (const std::string& file : files) {
    if (is_chakra_trace(file)) continue;
    fail_input({file, 0, 0}, "this is no Chakra trace as the others are", "give files NAME.<rank>.et of one run");
  }
  ChakraPrice price;
  if (const auto cluster = cluster_of_nodes(options.nodes, data_folders(options.data).hardware)) {
    price = chakra_price(*cluster);
  }
  std::vector<ChakraTrace> traces(files.size());
  parallel_for(files.size(), [&](std::size_t i) { traces[i] = read_chakra_trace(files[i]); });
  std::sort(traces.begin(), traces.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  const ChakraProgram joined = chakra_program(traces, price);
  const Timeline timeline = execute(joined.program);
  if (!options.timeline.empty()) write_timeline_json(options.timeline, joined.program, timeline);
  const ChakraTimes times = chakra_times(traces, joined, timeline);
  if (options.format == OutputFormat::text) return {chakra_text(times, joined.notes), {}};
  const nlohmann::ordered_json out = chakra_json(times, joined.notes, surroundings.seconds_so_far());
  if (options.format == OutputFormat::csv) return {csv_of_json(out["ranks"]), {}};
  return {printed_json(out), {}};
}

}  // namespace mirfak
