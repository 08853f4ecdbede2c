#include "schedule/schedule.hpp"

#include "base/error.hpp"
#include "schedule/dual_pipe.hpp"
#include "schedule/looped_orders.hpp"
#include "schedule/zero_bubble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

namespace mirfak {

namespace {

// Schedules of stages with several chunks, without and with passes in pairs: schedule_of_chunks() chooses between them.
constexpr const char* kChunks = "interleaved-1f1b";
constexpr const char* kPairedChunks = "combined-1f1b";

using StageOrder = std::vector<Pass> (*)(const PipelineShape& shape, int stage);

// Makes a schedule from a function that returns the order of one stage; the schedule fits any shape.
Schedule by_stage(const char* name, const char* sentence, StageOrder order) {
  Schedule out;
  out.name = name;
  out.sentence = sentence;
  out.placement = [](const PipelineShape& shape) { return Placement::looped(shape.stages, shape.chunks); };
  out.orders = [order](const PipelineShape& shape, const PassTimes& /*times*/) {
    StageOrders orders;
    for (int stage = 0; stage < shape.stages; ++stage) orders.push_back(order(shape, stage));
    return orders;
  };
  out.unfit = [](const PipelineShape& /*shape*/) { return std::nullopt; };
  return out;
}

// Makes a schedule that alternates forward and backward passes and sends the output of each pass before the next one.
Schedule alternating(const char* name, const char* sentence, StageOrder order) {
  Schedule out = by_stage(name, sentence, order);
  out.alternates = true;
  out.sends_beside_passes = false;
  return out;
}

Schedule splitting(const char* name, const char* sentence, StageOrder order) {
  Schedule out = by_stage(name, sentence, order);
  out.splits = true;
  return out;
}

std::optional<Unfit> fits_in_groups(const PipelineShape& shape) {
  if (shape.stages < 2) {
    return Unfit{Unfit::Size::stages, "the interleaved schedule needs at least 2 pipeline stages",
                 "set strategy.schedule: 1f1b"};
  }
  if (shape.microbatches % shape.group == 0) return std::nullopt;
  return Unfit{Unfit::Size::microbatches,
               fmt::format("the interleaved schedule needs microbatches ({}) in whole groups of {}", shape.microbatches,
                           shape.group),
               "change training.global_batch, strategy.micro_batch or strategy.pipeline"};
}

Schedule interleaving(const char* name, const char* sentence, StageOrder order) {
  Schedule out = alternating(name, sentence, order);
  out.chunks = 0;
  out.in_groups = true;
  out.unfit = fits_in_groups;
  return out;
}

Schedule combined() {
  Schedule out =
      interleaving(kPairedChunks,
                   "Interleaved 1F1B whose forward and backward passes run at the same time, step by step, after "
                   "one more forward pass.",
                   combined_order);
  out.pairs = true;
  return out;
}

Schedule vee_shaped(Schedule out) {
  out.chunks = 2;
  out.looped = false;
  out.placement = [](const PipelineShape& shape) { return Placement::vee(shape.stages); };
  return out;
}

// Checks that there are enough microbatches for pairs between warm-up and drain.
std::optional<Unfit> fits_pairs(const PipelineShape& shape, const char* name, int step) {
  const int least = 2 * shape.stages;
  if (shape.microbatches >= least && shape.microbatches % step == 0) return std::nullopt;
  return Unfit{Unfit::Size::microbatches,
               fmt::format("{} needs {} microbatches or more{}, not {}", name, least,
                           step > 1 ? ", an even number" : "", shape.microbatches),
               "change training.global_batch, strategy.micro_batch or strategy.pipeline"};
}

Schedule dual_pipe() {
  Schedule out = by_stage("dualpipe",
                          "Microbatches from both ends of stages that hold two parts of the model each; "
                          "forward passes at the same time as backward passes.",
                          dual_pipe_order);
  out.chunks = 2;
  out.looped = false;
  out.splits = out.pairs = true;
  out.placement = [](const PipelineShape& shape) { return Placement::both_ways(shape.stages); };
  out.unfit = [](const PipelineShape& shape) -> std::optional<Unfit> {
    if (shape.stages % 2 != 0) {
      return Unfit{Unfit::Size::stages, fmt::format("dualpipe needs an even number of stages, not {}", shape.stages),
                   "set strategy.schedule: dualpipe-v, or another strategy.pipeline"};
    }
    return fits_pairs(shape, "dualpipe", 2);
  };
  return out;
}

Schedule dual_pipe_v() {
  Schedule out = vee_shaped(splitting("dualpipe-v",
                                      "DualPipe folded in the middle: two chunks a stage in the shape "
                                      "of a V; forward passes at the same time as backward passes.",
                                      dual_pipe_v_order));
  out.pairs = true;
  out.unfit = [](const PipelineShape& shape) { return fits_pairs(shape, "dualpipe-v", 1); };
  return out;
}

Schedule memory_limited() {
  Schedule out = splitting("zb-auto",
                           "The shortest zero-bubble order for the passes' times that keeps at most "
                           "strategy.max_in_flight microbatches.",
                           nullptr);
  out.needs_times = true;
  out.orders = memory_limited_orders;
  return out;
}

std::vector<Schedule> make_schedules() {
  Schedule gpipe = by_stage("gpipe", "All forward passes, then all backward passes.", gpipe_order);
  gpipe.sends_beside_passes = false;
  return {
      std::move(gpipe),
      alternating("1f1b", "One forward, one backward pass in turn.", one_forward_one_backward_order),
      interleaving(kChunks, "1F1B over several chunks of each stage.", interleaved_order),
      combined(),
      splitting("zb-h1", "1F1B with backward passes of weights where stages would idle; the memory of 1F1B.",
                zero_bubble_h1_order),
      splitting("zb-h2", "The same with more forward passes ahead: no bubble, nearly twice the memory.",
                zero_bubble_h2_order),
      vee_shaped(splitting("zb-v", "Two chunks a stage in the shape of a V: no bubble, the memory of 1F1B.",
                           zero_bubble_v_order)),
      memory_limited(),
      dual_pipe(),
      dual_pipe_v(),
  };
}

// Schedules of files, at stable addresses.
class Files {
 public:
  const Schedule& of(std::size_t index) {
    const std::lock_guard lock(mutex_);
    return entries_.at(index).first;
  }
  std::size_t add(Schedule schedule, const std::string& contents) {
    const std::lock_guard lock(mutex_);
    const auto same = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) {
      return entry.first.path == schedule.path && entry.first.name == schedule.name && entry.second == contents;
    });
    const auto index = static_cast<std::size_t>(same - entries_.begin());
    if (same == entries_.end()) entries_.emplace_back(std::move(schedule), contents);
    return index;
  }

 private:
  std::mutex mutex_;
  std::deque<std::pair<Schedule, std::string>> entries_;
};

Files& files() {
  static Files all;
  return all;
}

}  // namespace

std::span<const Schedule> schedules() {
  static const std::vector<Schedule> all = make_schedules();
  return all;
}

const Schedule& schedule_of(ScheduleId id) {
  const auto index = static_cast<std::size_t>(id);
  const auto named = schedules();
  return index < named.size() ? named[index] : files().of(index - named.size());
}

ScheduleId add_schedule(Schedule schedule, const std::string& contents) {
  return static_cast<ScheduleId>(schedules().size() + files().add(std::move(schedule), contents));
}

ScheduleId schedule_named(std::string_view name) {
  const auto all = schedules();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Schedule& s) { return s.name == name; });
  if (found == all.end()) fail_internal(fmt::format("no schedule is named {}", name));
  return static_cast<ScheduleId>(found - all.begin());
}

ScheduleId schedule_of_chunks(bool overlaps_exchanges) {
  return schedule_named(overlaps_exchanges ? kPairedChunks : kChunks);
}

const std::string& schedule_text(ScheduleId schedule) {
  const Schedule& of = schedule_of(schedule);
  return of.path.empty() ? of.name : of.path;
}

int chunks_of_schedule(ScheduleId schedule) { return std::max(1, schedule_of(schedule).chunks); }

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Schedule& schedule : schedules()) out.push_back(schedule.name);
    return out;
  }();
  return names;
}

}  // namespace mirfak
