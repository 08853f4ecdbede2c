// Queues run in order, so of what has to be waited for the last task of each queue tells all. Example: a host that
// waits for the end of a transfer and then issues a kernel. Handed on at once, the kernel's stream waits for the
// transfer, and every later task of that stream has thereby waited too.

#include "executor/device_waits.hpp"

#include <algorithm>
#include <map>

namespace mirfak::measure {

namespace {

// The last task of each queue, one behind it: 0 is none.
class Reached {
 public:
  bool covers(std::uint32_t queue, std::uint32_t task) const {
    const auto found = end_.find(queue);
    return found != end_.end() && found->second > task;
  }
  void add(std::uint32_t queue, std::uint32_t task) { end_[queue] = std::max(end_[queue], task + 1); }
  void add(const Reached& other) {
    for (const auto& [queue, end] : other.end_) end_[queue] = std::max(end_[queue], end);
  }
  // Calls `each` with a queue and its last task.
  template <typename Each>
  void for_each(const Each& each) const {
    for (const auto& [queue, end] : end_) each(queue, end - 1);
  }

 private:
  std::map<std::uint32_t, std::uint32_t> end_;
};

class WaitFinder {
 public:
  WaitFinder(const RankPlan& plan, HostWaits host)
      : plan_(plan), host_(host), waited_(plan.queues.size()), seen_by_host_(plan.tasks.size()) {}

  DeviceWaits run() {
    DeviceWaits out(plan_.tasks.size());
    for (std::uint32_t task = 0; task < plan_.tasks.size(); ++task) {
      const std::uint32_t queue = plan_.tasks[task].queue;
      const Reached needed = needed_by(plan_.tasks[task]);
      if (on_host(plan_, plan_.tasks[task])) {
        waited_[queue].add(needed);
        seen_by_host_[task] = waited_[queue];
        continue;
      }
      needed.for_each([&](std::uint32_t other, std::uint32_t last) {
        if (other == queue || waited_[queue].covers(other, last)) return;
        waited_[queue].add(other, last);
        out[task].push_back(last);
      });
    }
    return out;
  }

 private:
  Reached needed_by(const RankTask& task) const {
    Reached out;
    for (const std::uint32_t before : task.after) {
      if (!on_host(plan_, plan_.tasks[before])) {
        out.add(plan_.tasks[before].queue, before);
      } else if (host_ == HostWaits::by_streams) {
        out.add(seen_by_host_[before]);
      }
    }
    return out;
  }

  const RankPlan& plan_;
  HostWaits host_;
  std::vector<Reached> waited_;        // by queue
  std::vector<Reached> seen_by_host_;  // by task of the host
};

}  // namespace

bool on_host(const RankPlan& plan, const RankTask& task) { return plan.queues[task.queue].stream == StreamKind::host; }

DeviceWaits device_waits(const RankPlan& plan, HostWaits host) { return WaitFinder(plan, host).run(); }

}  // namespace mirfak::measure
