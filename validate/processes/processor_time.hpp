#pragma once

#include <optional>
#include <string_view>

namespace mirfak::measure {

// What the processors of a machine did since it started, all together, in the ticks of /proc/stat.
struct ProcessorTime {
  double busy = 0;    // ran something
  double stolen = 0;  // had something to run, and a hypervisor ran another machine instead
};

// From the text of /proc/stat (proc(5)); nullopt where it does not say.
std::optional<ProcessorTime> parse_processor_time(std::string_view stat);
// Of this machine, until now; nullopt where the system does not tell.
std::optional<ProcessorTime> processor_time();

// Which share of the time for which processors had something to run was taken away, between two moments; 0 if they had
// nothing to run. nullopt where one of the moments is not known.
std::optional<double> stolen_share(const std::optional<ProcessorTime>& before,
                                   const std::optional<ProcessorTime>& after);

// The same since this was first called in this process: 0 then.
std::optional<double> stolen_share_of_process();

}  // namespace mirfak::measure
