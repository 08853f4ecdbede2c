#pragma once

#include <optional>
#include <string_view>

namespace mirfak::measure {

// The time of all processors of a machine together since it started, in the ticks of /proc/stat.
struct ProcessorTime {
  double busy = 0;    // ran something
  double stolen = 0;  // had something to run, and a hypervisor ran another machine instead
};

// Reads the text of /proc/stat (proc(5)); nullopt where it does not say.
std::optional<ProcessorTime> parse_processor_time(std::string_view stat);
// The time of this machine's processors until now; nullopt where the system does not tell.
std::optional<ProcessorTime> processor_time();

// Returns the share of the time with something to run that was taken from processors, between two moments; 0 if
// they had nothing to run. nullopt where one of the moments is not known.
std::optional<double> stolen_share(const std::optional<ProcessorTime>& before,
                                   const std::optional<ProcessorTime>& after);

// The same since this was first called in this process: 0 then.
std::optional<double> stolen_share_of_process();

}  // namespace mirfak::measure
