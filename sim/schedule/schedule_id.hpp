#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// A schedule by its number: those with a name first, as they are listed, then files in the order in which they are
// read. Schedules never change and are never given up, so strategies are copied and compared by numbers.
enum class ScheduleId : std::int32_t {};
inline constexpr ScheduleId kDefaultSchedule{1};  // 1f1b

ScheduleId schedule_named(std::string_view name);  // Error(internal) if there is none
const std::vector<std::string>& schedule_names();
// As a scenario names it: its name, or the path of its file.
const std::string& schedule_text(ScheduleId schedule);
int chunks_of_schedule(ScheduleId schedule);  // of each stage; 1 where a strategy says how many

}  // namespace mirfak
