#include "simulation/link_use.hpp"

#include "base/cancellation.hpp"
#include "engine/time_spans.hpp"
#include "simulation/link_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace mirfak {

namespace {

// Activities on one link, in the order in which their stretches end.
struct LinkLog {
  struct Span {
    TaskId task = 0;  // one of the activity's tasks, on the sending side
    Picoseconds from = 0;
    Picoseconds to = 0;
    double bytes_per_s = 0;  // bandwidth as it ran
    double asked = 0;        // bandwidth at full speed
    double full_speed_s = 0;
    double slowed_s = 0;  // slowed by this link; 0: not at all
    double links = 1;     // number of links that are equally short, and share the time that they add
  };
  std::vector<Span> spans;
};

// Returns one task that stands for an activity: for a transfer the sender's task, whichever end began first.
TaskId sending_task(const Program& program, std::span<const TaskId> tasks) {
  const auto sends = [&](TaskId task) {
    const StreamKind kind = program.streams[program.stream[task]].kind;
    return sending_stream(kind) == kind;
  };
  const auto found = std::find_if(tasks.begin(), tasks.end(), sends);
  return found == tasks.end() ? tasks.front() : *found;
}

void note(const Program& program, const LinkStretch& stretch, const TimeSpan& within, std::vector<LinkLog>& logs) {
  const Picoseconds from = std::max(stretch.from, within.start);
  const Picoseconds to = std::min(stretch.to, within.end);
  if (from >= to) return;
  const double seconds = to_seconds(to - from);
  const TaskId task = sending_task(program, stretch.tasks);
  const double links = std::max<double>(1, double(stretch.held_by.size()));
  const double slowed_s = (1 - stretch.speed) * seconds / links;
  for (const LinkUse& use : stretch.uses) {
    LinkLog& log = logs[use.link];
    const double asked = use.bytes_per_s / stretch.slower;
    const bool held = std::find(stretch.held_by.begin(), stretch.held_by.end(), use.link) != stretch.held_by.end();
    log.spans.push_back(
        {task, from, to, asked * stretch.speed, asked, to_seconds(stretch.full_speed), held ? slowed_s : 0, links});
  }
}

// Returns the times at which an activity is held back, as stretches that do not meet, ascending.
std::vector<std::pair<Picoseconds, Picoseconds>> binding_times(const std::vector<LinkLog::Span>& spans) {
  std::vector<std::pair<Picoseconds, Picoseconds>> held;
  for (const LinkLog::Span& span : spans) {
    if (span.slowed_s > 0) held.emplace_back(span.from, span.to);
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

// Bandwidth that all activities on a link take and ask for, from `time` on.
struct LoadPoint {
  Picoseconds time = 0;
  double bytes_per_s = 0;
  double asked = 0;
};

// Adds up the spans. Times ascend strictly, from `begin`.
std::vector<LoadPoint> added_up(const std::vector<LinkLog::Span>& spans, Picoseconds begin) {
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
  std::vector<LoadPoint> out = {{begin, 0, 0}};
  LoadPoint sum;
  int running = 0;
  for (const Change& change : changes) {
    running += change.running;
    sum = {change.by.time, sum.bytes_per_s + change.by.bytes_per_s, sum.asked + change.by.asked};
    if (running == 0) sum = {change.by.time, 0, 0};  // exactly zero, whatever was rounded
    if (out.back().time != sum.time) out.emplace_back();
    out.back() = sum;
  }
  return out;
}

std::vector<std::string> names_at(const Program& program, const std::vector<LinkLog::Span>& spans, Picoseconds time,
                                  const LinkOwners& owners) {
  std::set<std::string> names;
  for (const LinkLog::Span& span : spans) {
    if (span.from > time || time >= span.to) continue;
    const std::string& name = program.class_of(span.task).name;
    names.insert(owners.names.empty() ? name
                                      : fmt::format("{} ({})", name, owners.names[owners.of(program, span.task)]));
  }
  return {names.begin(), names.end()};
}

// Computes the use over time, its peak, and the most that is asked for while the link is short.
void follow(const Program& program, const LinkLog& log, const TimeSpan& within, const LinkOwners& owners,
            LinkUsage& out) {
  const double bytes_per_s = program.links[out.link].bytes_per_s;
  out.binding = binding_times(log.spans);
  for (const auto& [from, to] : out.binding) out.binds_s += to_seconds(to - from);
  auto bound = out.binding.begin();
  Picoseconds most_at = 0;
  for (const LoadPoint& point : added_up(log.spans, within.start)) {
    // A sum of shares that make up the whole may be rounded to a little more.
    out.points.push_back({point.time, point.bytes_per_s, point.bytes_per_s / bytes_per_s});
    out.peak_use = std::max(out.peak_use, std::min(1.0, point.bytes_per_s / bytes_per_s));
    while (bound != out.binding.end() && bound->second <= point.time) ++bound;
    const bool binds = bound != out.binding.end() && bound->first <= point.time;
    if (!binds || point.asked / bytes_per_s <= out.most_asked * (1 + 1e-9)) continue;
    out.most_asked = point.asked / bytes_per_s;
    most_at = point.time;
  }
  if (out.most_asked > 0) out.asking = names_at(program, log.spans, most_at, owners);
  LinkUsePoint last = out.points.back();
  last.time = within.end;
  if (out.points.back().time != within.end) out.points.push_back(last);
}

void add_to(std::vector<double>& sums, const std::vector<double>& more) {
  sums.resize(std::max(sums.size(), more.size()), 0);
  for (std::size_t i = 0; i < more.size(); ++i) sums[i] += more[i];
}

// Demand of one owner on a link of `bytes_per_s`, added up over time.
class AskedOverTime {
 public:
  AskedOverTime(const std::vector<LinkLog::Span>& spans, double bytes_per_s) {
    double bytes = 0;
    double slowed_s = 0;
    Picoseconds time = 0;
    double asked = 0;
    double slower = 0;
    for (const LoadPoint& point : added_up(spans, 0)) {
      const double seconds = to_seconds(point.time - time);
      bytes += asked * seconds;
      slowed_s += slower * seconds;
      time = point.time;
      asked = point.asked;
      slower = asked > bytes_per_s ? 1 - bytes_per_s / asked : 0;
      points_.push_back({time, bytes, slowed_s, asked, slower});
    }
  }

  double bytes(Picoseconds from, Picoseconds to) const { return at(to).bytes - at(from).bytes; }
  // Returns the time by which this traffic would take longer than at full speed if no other owner sent.
  double slowed_s(Picoseconds from, Picoseconds to) const { return at(to).slowed_s - at(from).slowed_s; }

 private:
  struct Point {
    Picoseconds time = 0;
    double bytes = 0;  // until `time`
    double slowed_s = 0;
    double asked = 0;  // from `time` on
    double slower = 0;
  };
  Point at(Picoseconds time) const {
    auto found = std::upper_bound(points_.begin(), points_.end(), time,
                                  [](Picoseconds t, const Point& point) { return t < point.time; });
    Point out = *--found;
    const double seconds = to_seconds(time - out.time);
    out.bytes += out.asked * seconds;
    out.slowed_s += out.slower * seconds;
    return out;
  }

  std::vector<Point> points_;  // the first at 0
};

// Divides the time that a link adds among the owners whose traffic causes it.
class OwnersOfLink {
 public:
  OwnersOfLink(const Program& program, const LinkLog& log, double bytes_per_s, const LinkOwners& owners)
      : program_(program), owners_(owners) {
    if (owners.names.empty()) return;
    std::vector<std::vector<LinkLog::Span>> spans(owners.names.size());
    for (const LinkLog::Span& span : log.spans) spans[owners.of(program, span.task)].push_back(span);
    for (const auto& of_owner : spans) asked_.emplace_back(of_owner, bytes_per_s);
  }

  std::vector<double> by(const LinkLog::Span& span) const {
    std::vector<double> out(asked_.size(), 0);
    if (asked_.empty()) return out;
    const std::size_t own = owners_.of(program_, span.task);
    double others = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (i != own) others += out[i] = std::max(0.0, asked_[i].bytes(span.from, span.to));
    }
    out[own] =
        others > 0 ? std::min(span.slowed_s, asked_[own].slowed_s(span.from, span.to) / span.links) : span.slowed_s;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (i != own && others > 0) out[i] *= (span.slowed_s - out[own]) / others;
    }
    return out;
  }

 private:
  const Program& program_;
  const LinkOwners& owners_;
  std::vector<AskedOverTime> asked_;
};

bool earlier(const HeldActivity& a, const HeldActivity& b) { return a.task < b.task; }

// Merges entries of one activity.
std::vector<HeldActivity> merged(std::vector<HeldActivity> held) {
  std::stable_sort(held.begin(), held.end(), earlier);
  std::vector<HeldActivity> out;
  for (const HeldActivity& each : held) {
    if (out.empty() || out.back().task != each.task) {
      out.push_back(each);
    } else {
      out.back().slowed_s += each.slowed_s;
      add_to(out.back().by, each.by);
    }
  }
  return out;
}

// Adds up the bytes that cross the link and the activities that it holds back.
void add_up(const Program& program, const LinkLog& log, const LinkOwners& owners, LinkUsage& out) {
  const OwnersOfLink divided(program, log, program.links[out.link].bytes_per_s, owners);
  out.bytes_of.assign(owners.names.size(), 0);
  std::vector<HeldActivity> held;
  for (const LinkLog::Span& span : log.spans) {
    const double bytes = span.bytes_per_s * to_seconds(span.to - span.from);
    out.bytes += bytes;
    if (!out.bytes_of.empty()) out.bytes_of[owners.of(program, span.task)] += bytes;
    if (span.slowed_s > 0) held.push_back({span.task, span.full_speed_s, span.slowed_s, divided.by(span)});
  }
  out.held = merged(std::move(held));
}

}  // namespace

std::vector<SlowedCommunication> slowed_by_name(const Program& program, std::vector<HeldActivity> held,
                                                const LinkOwners& owners) {
  std::map<std::pair<std::size_t, std::string>, SlowedCommunication> by_name;
  for (const HeldActivity& each : merged(std::move(held))) {
    const double meant = groups_meant(program, program.group_of(each.task), program.rank_of(each.task));
    SlowedCommunication& out = by_name[{owners.of(program, each.task), program.class_of(each.task).name}];
    out.times += meant;
    out.full_speed_s += meant * each.full_speed_s;
    out.slowed_s += meant * each.slowed_s;
    out.by.resize(each.by.size(), 0);
    for (std::size_t i = 0; i < each.by.size(); ++i) out.by[i] += meant * each.by[i];
  }
  std::vector<SlowedCommunication> out;
  for (auto& [key, slowed] : by_name) {
    slowed.owner = key.first;
    slowed.name = key.second;
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

std::vector<LinkUsage> link_usage(const Program& program, const Timeline& timeline, const LinkScope& scope) {
  const TimeSpan within{scope.from, scope.to.value_or(timeline.makespan)};
  std::vector<LinkLog> logs(program.links.size());
  for_each_stretch(program, timeline, [&](const LinkStretch& stretch) { note(program, stretch, within, logs); });
  std::vector<LinkUsage> out(program.links.size());
  for (LinkId link = 0; link < out.size(); ++link) {
    check_cancelled();
    const LinkLog log = std::move(logs[link]);
    out[link].link = link;
    add_up(program, log, scope.owners, out[link]);
    out[link].mean_use = out[link].bytes / program.links[link].bytes_per_s / to_seconds(within.length());
    follow(program, log, within, scope.owners, out[link]);
  }
  return out;
}

std::vector<LinkId> binding_links(const Program& program, std::span<const LinkUsage> links) {
  std::vector<LinkId> out;
  std::vector<double> added;
  for (const LinkUsage& usage : links) {
    check_cancelled();
    added.push_back(added_by(slowed_by_name(program, usage.held)));
    if (!usage.held.empty()) out.push_back(usage.link);
  }
  std::stable_sort(out.begin(), out.end(), [&](LinkId a, LinkId b) { return added[a] > added[b]; });
  return out;
}

}  // namespace mirfak
