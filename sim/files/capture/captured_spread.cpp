// The program of a capture says who waits for whom, and nothing of groups: communication that meets shares no links. So
// samples are drawn by a second program, of the same tasks, whose classes say the kind of time and the group of each.
#include "capture/captured_spread.hpp"

#include "base/error.hpp"
#include "capture/captured_program.hpp"
#include "capture/captured_ranks.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

void check_draws(const Perturbations& perturbations) {
  if (perturbations.tokens) {
    fail_input({}, "cluster.perturbations.tokens: sequences of a captured program are as long as they were",
               "leave it out");
  }
  if (perturbations.draws_experts()) {
    fail_input({}, "cluster.perturbations.experts: a captured program has routed its tokens evenly", "leave it out");
  }
}

Cluster without_perturbations(const Cluster& cluster) {
  return Cluster({cluster.groups().begin(), cluster.groups().end()}, cluster.fabric(), {}, cluster.facility());
}

class DrawnProgram {
 public:
  DrawnProgram(const Capture& capture, const CapturedProgram& executed) : capture_(capture), executed_(executed) {}

  Program make() {
    out_ = executed_.joined.program;
    out_.links.clear();
    out_.link_uses.clear();
    out_.link_use_begin = {0};
    out_.classes.clear();
    add_ranks();
    // Tasks of no rank are meetings, which take no time.
    TaskClass meets;
    meets.kind = TaskKind::meeting;
    meets.name = "ranks meet";
    const ClassId meeting = out_.add_class(std::move(meets));
    std::fill(out_.task_class.begin(), out_.task_class.end(), meeting);
    for (std::size_t r = 0; r < executed_.ranks.size(); ++r) {
      for (std::size_t i = 0; i < executed_.ranks[r].tasks.size(); ++i) {
        const TaskId task = executed_.joined.task_of[r][i];
        out_.task_class[task] = class_of(r, executed_.ranks[r].tasks[i], executed_.joined.program.class_of(task).kind);
      }
    }
    return std::move(out_);
  }

 private:
  void add_ranks();
  ClassId class_of(std::size_t rank, const CapturedTask& task, TaskKind kind);
  GroupingId grouping_of(std::int64_t rank, const CapturedCommunication& made);

  const Capture& capture_;
  const CapturedProgram& executed_;
  Program out_;
  std::map<std::int64_t, std::uint32_t> index_of_;  // of a rank of the job, into Program::ranks
  std::map<std::vector<std::int64_t>, GroupingId> groupings_;
  std::map<std::tuple<TaskKind, Activity, GroupingId>, ClassId> classes_;
};

// Adds the ranks that are not in the capture after those that are. Each is a stage, so that the ends of a message are
// told apart.
void DrawnProgram::add_ranks() {
  for (std::uint32_t i = 0; i < out_.ranks.size(); ++i) index_of_[out_.ranks[i].rank] = i;
  for (std::int64_t rank = 0; rank < capture_.world_size; ++rank) {
    if (!index_of_.try_emplace(rank, static_cast<std::uint32_t>(out_.ranks.size())).second) continue;
    ProgramRank absent;
    absent.rank = static_cast<std::uint32_t>(rank);
    out_.ranks.push_back(absent);
  }
  for (std::uint32_t i = 0; i < out_.ranks.size(); ++i) out_.ranks[i].stage = i;
}

GroupingId DrawnProgram::grouping_of(std::int64_t rank, const CapturedCommunication& made) {
  std::vector<std::int64_t> members = made.ranks;
  if (!collective_of(made)) members = {std::min(rank, made.peer), std::max(rank, made.peer)};
  const auto [found, is_new] = groupings_.try_emplace(members, static_cast<GroupingId>(out_.groupings.size()));
  if (!is_new) return found->second;
  Group group;
  group.kind = collective_of(made) ? GroupKind::data : GroupKind::transfer;
  group.size = static_cast<std::uint32_t>(members.size());
  for (const std::int64_t member : members) group.ranks.push_back(index_of_.at(member));
  std::sort(group.ranks.begin(), group.ranks.end());
  Grouping grouping;
  grouping.kind = group.kind;
  grouping.first = static_cast<GroupId>(out_.groups.size());
  grouping.count = 1;
  grouping.of_rank.assign(out_.ranks.size(), kNoGroup);
  for (const std::uint32_t member : group.ranks) grouping.of_rank[member] = grouping.first;
  out_.groups.push_back(std::move(group));
  out_.groupings.push_back(std::move(grouping));
  return found->second;
}

ClassId DrawnProgram::class_of(std::size_t rank, const CapturedTask& task, TaskKind kind) {
  const PricedRank& priced = executed_.ranks[rank];
  const CapturedRank& captured = capture_.ranks[priced.rank];
  Activity activity = Activity::host;
  GroupingId grouping = kAlone;
  if (!task.on_host) {
    const CaptureEvent& event = captured.events[static_cast<std::size_t>(task.event)];
    if (event.kind == CaptureEventKind::communicate) {
      activity = Activity::data_communication;
      grouping = grouping_of(captured.rank, capture_.communication[event.entry]);
    } else {
      activity = executed_.price(priced, event).cost.activity;
    }
  }
  const auto [found, is_new] = classes_.try_emplace({kind, activity, grouping}, 0);
  if (!is_new) return found->second;
  TaskClass described;
  described.kind = kind;
  described.name = name_of(activity);
  described.grouping = grouping;
  described.activity_s[static_cast<std::size_t>(activity)] = 1;
  found->second = out_.add_class(std::move(described));
  return found->second;
}

}  // namespace

Spread sample_steps(const CapturedScenario& scenario, const CaptureSources& sources, const SpreadOptions& options) {
  check_draws(scenario.cluster.perturbations());
  check_sampled(scenario.cluster, scenario.cluster.perturbations().is_drawn());
  const Cluster even = without_perturbations(scenario.cluster);
  const Capture capture = with_events_of_each(*scenario.capture);
  const CapturedProgram executed = captured_program(capture, {even, sources.table(), sources.framework()});
  const Program drawn = DrawnProgram(capture, executed).make();
  const SampledProgram sampled(drawn, scenario.cluster);
  SampleSubject subject{executed.joined.program, sampled, drawn.ranks, {}, false, false};
  for (const PricedRank& rank : executed.ranks) {
    subject.waiting_w.push_back(even.groups()[rank.group].hardware.gpu.blocked_w.value);
  }
  SpreadOptions seeded = options;
  seeded.seed = options.seed.value_or(scenario.cluster.perturbations().seed);
  return sample_program(subject, seeded);
}

}  // namespace mirfak
