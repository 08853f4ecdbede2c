#include "processes/processor_time.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>

namespace mirfak::measure {

std::optional<ProcessorTime> parse_processor_time(std::string_view stat) {
  // cpu  user nice system idle iowait irq softirq steal ...: user has the time of guests in it.
  std::istringstream in{std::string(stat.substr(0, stat.find('\n')))};
  std::string name;
  std::array<double, 8> ticks{};
  if (!(in >> name) || name != "cpu") return std::nullopt;
  for (double& value : ticks) {
    if (!(in >> value)) return std::nullopt;
  }
  constexpr std::size_t kSteal = 7;
  return ProcessorTime{ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6], ticks[kSteal]};
}

std::optional<ProcessorTime> processor_time() {
  std::ifstream in("/proc/stat");
  std::string line;
  std::getline(in, line);
  return parse_processor_time(line);
}

std::optional<double> stolen_share(const std::optional<ProcessorTime>& before,
                                   const std::optional<ProcessorTime>& after) {
  if (!before || !after) return std::nullopt;
  // Counts of single processors can fall by a tick when one is taken off line.
  const double stolen = std::max(0.0, after->stolen - before->stolen);
  const double busy = std::max(0.0, after->busy - before->busy);
  return stolen > 0 ? stolen / (stolen + busy) : 0;
}

std::optional<double> stolen_share_of_process() {
  static const std::optional<ProcessorTime> before = processor_time();
  return stolen_share(before, processor_time());
}

}  // namespace mirfak::measure
