#include "simulation/link_use.hpp"

#include "simulation/link_replay.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace mirfak {

namespace {

// What happens on one link, in the order in which stretches end.
struct LinkLog {
  struct Span {
    TaskId task = 0;  // one of the activity's, of the sending side
    Picoseconds from = 0;
    Picoseconds to = 0;
    double bytes_per_s = 0;  // as it ran
    double asked = 0;        // ... at full speed
    bool held = false;       // by this link
  };
  double bytes = 0;
  std::vector<Span> spans;
  std::vector<HeldActivity> held;
};

// One task that stands for an activity: of a transfer the sender's, whichever end began first.
TaskId sending_task(const Program& program, std::span<const TaskId> tasks) {
  const auto sends = [&](TaskId task) {
    const StreamKind kind = program.streams[program.stream[task]].kind;
    return sending_stream(kind) == kind;
  };
  const auto found = std::find_if(tasks.begin(), tasks.end(), sends);
  return found == tasks.end() ? tasks.front() : *found;
}

void note(const Program& program, const LinkStretch& stretch, std::vector<LinkLog>& logs) {
  const double seconds = to_seconds(stretch.to - stretch.from);
  const TaskId task = sending_task(program, stretch.tasks);
  const double slowed_s = (1 - stretch.speed) * seconds / std::max<double>(1, double(stretch.held_by.size()));
  for (const LinkUse& use : stretch.uses) {
    LinkLog& log = logs[use.link];
    const double asked = use.bytes_per_s / stretch.slower;
    const double moved = asked * stretch.speed;
    const bool held = std::find(stretch.held_by.begin(), stretch.held_by.end(), use.link) != stretch.held_by.end();
    log.bytes += moved * seconds;
    log.spans.push_back({task, stretch.from, stretch.to, moved, asked, held});
    if (held) log.held.push_back({task, to_seconds(stretch.full_speed), slowed_s});
  }
}

// The moments at which something is held back, as stretches that do not meet, ascending.
std::vector<std::pair<Picoseconds, Picoseconds>> binding_times(const std::vector<LinkLog::Span>& spans) {
  std::vector<std::pair<Picoseconds, Picoseconds>> held;
  for (const LinkLog::Span& span : spans) {
    if (span.held) held.emplace_back(span.from, span.to);
  }
  std::sort(held.begin(), held.end());
  std::vector<std::pair<Picoseconds, Picoseconds>> out;
  for (const auto& [from, to] : held) {
    if (out.empty() || from > out.back().second) {
      out.emplace_back(from, to);
    } else {
      out.back().second = std::max(out.back().second, to);
    }
  }
  return out;
}

// What all that is on a link moves and asks for from `time` on.
struct LoadPoint {
  Picoseconds time = 0;
  double bytes_per_s = 0;
  double asked = 0;
};

// Times ascend strictly, from 0.
std::vector<LoadPoint> added_up(const std::vector<LinkLog::Span>& spans) {
  struct Change {
    LoadPoint by;
    int running = 0;
  };
  std::vector<Change> changes;
  for (const LinkLog::Span& span : spans) {
    changes.push_back({{span.from, span.bytes_per_s, span.asked}, 1});
    changes.push_back({{span.to, -span.bytes_per_s, -span.asked}, -1});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const auto& a, const auto& b) { return a.by.time < b.by.time; });
  std::vector<LoadPoint> out = {{}};
  LoadPoint sum;
  int running = 0;
  for (const Change& change : changes) {
    running += change.running;
    sum = {change.by.time, sum.bytes_per_s + change.by.bytes_per_s, sum.asked + change.by.asked};
    if (running == 0) sum = {change.by.time, 0, 0};  // exactly nothing, whatever was rounded
    if (out.back().time != sum.time) out.emplace_back();
    out.back() = sum;
  }
  return out;
}

std::vector<std::string> names_at(const Program& program, const std::vector<LinkLog::Span>& spans, Picoseconds time) {
  std::set<std::string> names;
  for (const LinkLog::Span& span : spans) {
    if (span.from <= time && time < span.to) names.insert(program.class_of(span.task).name);
  }
  return {names.begin(), names.end()};
}

// Use over time, its peak, and the most that is asked for while the link is short.
void follow(const Program& program, const LinkLog& log, Picoseconds makespan, LinkUsage& out) {
  const double bytes_per_s = program.links[out.link].bytes_per_s;
  out.binding = binding_times(log.spans);
  for (const auto& [from, to] : out.binding) out.binds_s += to_seconds(to - from);
  auto bound = out.binding.begin();
  Picoseconds most_at = 0;
  for (const LoadPoint& point : added_up(log.spans)) {
    // A sum of shares that make up the whole may be rounded to a little more.
    out.points.push_back({point.time, point.bytes_per_s, point.bytes_per_s / bytes_per_s});
    out.peak_use = std::max(out.peak_use, std::min(1.0, point.bytes_per_s / bytes_per_s));
    while (bound != out.binding.end() && bound->second <= point.time) ++bound;
    const bool binds = bound != out.binding.end() && bound->first <= point.time;
    if (!binds || point.asked / bytes_per_s <= out.most_asked * (1 + 1e-9)) continue;
    out.most_asked = point.asked / bytes_per_s;
    most_at = point.time;
  }
  if (out.most_asked > 0) out.asking = names_at(program, log.spans, most_at);
  LinkUsePoint last = out.points.back();
  last.time = makespan;
  if (out.points.back().time != makespan) out.points.push_back(last);
}

bool earlier(const HeldActivity& a, const HeldActivity& b) { return a.task < b.task; }

// Each activity once.
std::vector<HeldActivity> merged(std::vector<HeldActivity> held) {
  std::stable_sort(held.begin(), held.end(), earlier);
  std::vector<HeldActivity> out;
  for (const HeldActivity& each : held) {
    if (out.empty() || out.back().task != each.task) {
      out.push_back(each);
    } else {
      out.back().slowed_s += each.slowed_s;
    }
  }
  return out;
}

}  // namespace

std::vector<SlowedCommunication> slowed_by_name(const Program& program, std::vector<HeldActivity> held) {
  std::map<std::string, SlowedCommunication> by_name;
  for (const HeldActivity& each : merged(std::move(held))) {
    const double meant = groups_meant(program, program.group_of(each.task), program.rank_of(each.task));
    SlowedCommunication& out = by_name[program.class_of(each.task).name];
    out.times += meant;
    out.full_speed_s += meant * each.full_speed_s;
    out.slowed_s += meant * each.slowed_s;
  }
  std::vector<SlowedCommunication> out;
  for (auto& [name, slowed] : by_name) {
    slowed.name = name;
    out.push_back(std::move(slowed));
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.slowed_s > b.slowed_s; });
  return out;
}

double added_by(const std::vector<SlowedCommunication>& slowed) {
  double sum = 0;
  for (const SlowedCommunication& each : slowed) sum += each.slowed_s;
  return sum;
}

double groups_meant(const Program& program, GroupId group, std::uint32_t rank) {
  if (group == kNoGroup) return program.ranks[rank].multiplicity;
  double ranks = 0;
  for (const std::uint32_t member : program.groups[group].ranks) ranks += program.ranks[member].multiplicity;
  return ranks / program.groups[group].size;
}

std::vector<LinkUsage> link_usage(const Program& program, const Timeline& timeline) {
  std::vector<LinkLog> logs(program.links.size());
  for_each_stretch(program, timeline, [&](const LinkStretch& stretch) { note(program, stretch, logs); });
  std::vector<LinkUsage> out(program.links.size());
  for (LinkId link = 0; link < out.size(); ++link) {
    LinkLog& log = logs[link];
    out[link].link = link;
    out[link].bytes = log.bytes;
    out[link].mean_use = log.bytes / program.links[link].bytes_per_s / to_seconds(timeline.makespan);
    follow(program, log, timeline.makespan, out[link]);
    out[link].held = merged(std::move(log.held));
  }
  return out;
}

std::vector<LinkId> binding_links(const Program& program, std::span<const LinkUsage> links) {
  std::vector<LinkId> out;
  std::vector<double> added;
  for (const LinkUsage& usage : links) {
    added.push_back(added_by(slowed_by_name(program, usage.held)));
    if (!usage.held.empty()) out.push_back(usage.link);
  }
  std::stable_sort(out.begin(), out.end(), [&](LinkId a, LinkId b) { return added[a] > added[b]; });
  return out;
}

}  // namespace mirfak
