#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Number of a schedule: named schedules first, as they are listed, then files in the order in which they are read.
// Schedules never change and are never removed, so strategies copy and compare them by number.
enum class ScheduleId : std::int32_t {};
inline constexpr ScheduleId kDefaultSchedule{1};  // 1f1b

ScheduleId schedule_named(std::string_view name);  // Error(internal) if the name is unknown
const std::vector<std::string>& schedule_names();
// Returns the schedule as a scenario names it: its name, or the path of its file.
const std::string& schedule_text(ScheduleId schedule);
// Returns the schedule of stages with several chunks whose strategy states none: interleaved 1F1B, or, if exchanges of
// experts are to run during passes of other microbatches, the same with its passes in pairs.
ScheduleId schedule_of_chunks(bool overlaps_exchanges);
int chunks_of_schedule(ScheduleId schedule);  // chunks of each stage; 1 if a strategy states the number

}  // namespace mirfak
