#pragma once

#include "executor/rank_plan.hpp"

#include <cstdint>
#include <vector>

namespace mirfak::measure {

// Whether it is the host that has the task, not a stream of the device.
bool on_host(const RankPlan& plan, const RankTask& task);

// By task of a plan: tasks of other queues of the device whose end its stream must wait for.
using DeviceWaits = std::vector<std::vector<std::uint32_t>>;

// What a device does not know of: how streams come to wait for what the host waits for.
enum class HostWaits : std::uint8_t {
  by_host,     // the host waits itself, before it hands the next task on: nothing is left for streams
  by_streams,  // the host hands all tasks on at once: what it would have handed on later waits for what the host would
               // have waited for by then
};

// What a stream has waited for, and what came before that in the queue of that, is not waited for again.
DeviceWaits device_waits(const RankPlan& plan, HostWaits host);

}  // namespace mirfak::measure
