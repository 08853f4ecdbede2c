#include "program/team_writer.hpp"

#include "base/cancellation.hpp"

#include <algorithm>

namespace mirfak {

namespace {

constexpr StreamId kNoStream = static_cast<StreamId>(-1);

std::size_t index(StreamKind kind) { return static_cast<std::size_t>(kind); }

}  // namespace

TeamWriter::TeamWriter(Program& program, RankGroups& groups, std::span<const std::uint32_t> ranks)
    : program_(program), groups_(groups) {
  for (const std::uint32_t rank : ranks) {
    Lane lane;
    lane.rank = rank;
    lane.streams.fill(kNoStream);
    lane.last.fill(kNoTask);
    lanes_.push_back(lane);
  }
}

StreamId TeamWriter::stream_of(Lane& lane, StreamKind kind) {
  StreamId& id = lane.streams[index(kind)];
  if (id == kNoStream) id = program_.add_stream(lane.rank, kind);
  return id;
}

TaskId TeamWriter::add(Lane& lane, StreamKind stream, ClassId of, Picoseconds lasting, std::span<const TaskId> after,
                       std::int32_t microbatch) {
  return lane.last[index(stream)] = program_.add_task(stream_of(lane, stream), of, lasting, after, microbatch);
}

const TeamWriter::LaneGroups& TeamWriter::lanes_in(GroupingId grouping) {
  static const LaneGroups only_one{{0}};
  if (lanes_.size() == 1) return only_one;
  const auto [known, is_new] = lanes_in_.try_emplace(grouping);
  if (!is_new) return known->second;
  std::map<std::pair<GroupId, std::size_t>, std::vector<std::size_t>> lanes;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const GroupId group = grouping == kAlone ? kNoGroup : program_.groupings[grouping].of_rank[lanes_[i].rank];
    lanes[{group, group == kNoGroup ? i : 0}].push_back(i);
  }
  for (auto& [group, members] : lanes) known->second.push_back(std::move(members));
  return known->second;
}

void TeamWriter::meet(std::span<const std::size_t> lanes, GroupingId grouping, StreamKind stream,
                      std::int32_t microbatch) {
  if (lanes.size() < 2) return;
  const GroupId group = program_.groupings[grouping].of_rank[lanes_[lanes.front()].rank];
  const TaskId met = groups_.meet(grouping, group, stream, scratch_, microbatch);
  scratch_.assign(1, met);
}

TaskId TeamWriter::last_on(std::size_t lane, StreamKind stream) const { return lanes_[lane].last[index(stream)]; }

TaskId TeamWriter::transfer(std::size_t lane, StreamKind stream, ClassId of, Picoseconds lasting,
                            std::span<const TaskId> after, std::int32_t microbatch) {
  return add(lanes_[lane], stream, of, lasting, after, microbatch);
}

void TeamWriter::run(const TeamWork& work, std::int32_t microbatch) {
  begin_pass();
  const Running pass{work, microbatch};
  if (!work.in_steps()) {
    run_folded(pass, pass);
  } else {
    begin_on_host(pass);
    run_bodies({pass, pass});
  }
  end_pass();
}

void TeamWriter::run_pair(const TeamWork& first, std::int32_t microbatch, const TeamWork& second,
                          std::int32_t its_microbatch) {
  begin_pass();
  const Pair passes{Running{first, microbatch}, Running{second, its_microbatch}};
  if (!first.in_steps()) {
    run_folded(passes[0], passes[1]);
  } else {
    for (const Running& pass : passes) begin_on_host(pass);
    run_bodies(passes);
  }
  end_pass();
}

void TeamWriter::begin_pass() {
  check_cancelled();
  for (Lane& lane : lanes_) lane.done_before = lane.done;
}

void TeamWriter::end_pass() {
  for (Lane& lane : lanes_) {
    end_issuing(lane);
    lane.device_waits.clear();
    lane.host_waits.clear();
  }
}

void TeamWriter::run_bodies(const Pair& passes) {
  const std::size_t bodies = passes[0].work.of_lane(0).bodies.size();
  for (std::size_t body = 0; body < bodies; ++body) run_body(passes, body);
}

void TeamWriter::begin_on_host(const Running& pass) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const PassWork& work = pass.work.of_lane(i);
    if (work.host_first <= 0) continue;
    Lane& lane = lanes_[i];
    add(lane, StreamKind::host, work.issue_class, work.host_first, span_of(lane.host_waits), pass.microbatch);
    lane.host_waits.clear();
  }
}

// Writes the host's work that does not wait for the device: `lead`, and then the rest. Both are those of the pass as
// the lanes run it together: the lead depends on the time that the pass keeps the device busy.
void TeamWriter::hand_on(const Running& first, const Running& behind) {
  together_with_.assign(lanes_.size(), {});
  for (const std::vector<std::size_t>& together : lanes_in(first.work.meets())) {
    for (const std::size_t i : together) together_with_[i] = together;
  }
  leads_.clear();
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    const PassWork& work = first.work.of(together_with_[i]);
    const FoldedBody& body = work.folded;
    const Picoseconds rest = body.host - body.lead - std::max<Picoseconds>(0, body.waited);
    leads_.push_back(
        add(lane, StreamKind::host, work.lead_class, body.lead, span_of(lane.host_waits), first.microbatch));
    if (rest > 0 || body.host_waits()) {
      add(lane, StreamKind::host, behind.work.of(together_with_[i]).issue_class, rest, {}, behind.microbatch);
    }
  }
}

// True if the next task on the compute stream follows all passes so far.
bool TeamWriter::done_on_compute(const Lane& lane) {
  return lane.done.size() == 1 && lane.done.front() == lane.last[index(StreamKind::compute)];
}

// Device: a task that may start after the lead, and a second task after it if there are two passes. Host: after its
// work, a task that waits for the device, as long as from the time the device is free (see FoldedBody). Ranks that the
// collectives inside keep in step meet before they start.
void TeamWriter::run_folded(const Running& first, const Running& behind) {
  hand_on(first, behind);
  const GroupingId meets = first.work.meets();
  for (const std::vector<std::size_t>& together : lanes_in(meets)) {
    const PassWork& work = first.work.of(together);
    const PassWork& last_work = behind.work.of(together);
    scratch_.clear();
    for (const std::size_t i : together) {
      scratch_.push_back(leads_[i]);
      append(scratch_, span_of(lanes_[i].device_waits));
      if (together.size() > 1 || work.folded.host_waits() || !done_on_compute(lanes_[i])) {
        append(scratch_, span_of(lanes_[i].done));
      }
    }
    meet(together, meets, StreamKind::compute, first.microbatch);
    for (const std::size_t i : together) {
      Lane& lane = lanes_[i];
      TaskId last = add(lane, StreamKind::compute, work.task_class, work.folded.device, scratch_, first.microbatch);
      if (&first != &behind) {
        last = add(lane, StreamKind::compute, last_work.task_class, last_work.folded.device, {}, behind.microbatch);
      }
      lane.done.assign(1, last);
      if (!work.folded.host_waits()) continue;
      add(lane, StreamKind::host, last_work.wait_class, work.folded.waited, scratch_, behind.microbatch);
    }
  }
}

// The host's work after a step is written together with its work for the next step: nothing waits for it alone.
TaskId TeamWriter::issue(Lane& lane, const Issued& pass, Picoseconds lasting) {
  const bool other_pass =
      lane.behind_of.issue_class != pass.issue_class || lane.behind_of.microbatch != pass.microbatch;
  if (other_pass || !lane.host_waits.empty()) end_issuing(lane);
  const TaskId issued =
      add(lane, StreamKind::host, pass.issue_class, lane.behind + lasting, span_of(lane.host_waits), pass.microbatch);
  lane.behind = 0;
  lane.host_waits.clear();
  return issued;
}

void TeamWriter::end_issuing(Lane& lane) {
  if (lane.behind == 0) return;
  add(lane, StreamKind::host, lane.behind_of.issue_class, lane.behind, {}, lane.behind_of.microbatch);
  lane.behind = 0;
}

// The host waits for the kernels so far; before the first kernel of a body, for everything that this kernel waits for.
void TeamWriter::wait_on_host(Lane& lane, const std::vector<TaskId>& ends) {
  const TaskId running = lane.last[index(StreamKind::compute)];
  if (std::find(ends.begin(), ends.end(), running) != ends.end()) {
    lane.host_waits.push_back(running);
    return;
  }
  append(lane.host_waits, span_of(lane.done));
  append(lane.host_waits, span_of(lane.device_waits));
}

void TeamWriter::run_body(const Pair& passes, std::size_t body) {
  const TeamWork& work = passes[0].work;
  const PassWork::Steps& like = *work.of_lane(0).bodies[body];
  if (like.empty()) return;
  std::vector<std::vector<TaskId>> ends(lanes_.size());  // [lane][step]
  // Device streams are free when a body starts: the first step on each stream waits for all earlier work.
  std::vector<TaskId> issued(lanes_.size());
  for (std::size_t at = 0; at < like.size(); ++at) {
    const Running& pass = passes[like[at].of_second ? 1 : 0];
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = lanes_[i];
      const BodyStep& step = *(*work.of_lane(i).bodies[body])[at].step;
      const Issued of{pass.work.of_lane(i).issue_class, pass.microbatch};
      if (step.host_waits) wait_on_host(lane, ends[i]);
      issued[i] = issue(lane, of, step.host);
      lane.behind = step.host_behind;
      lane.behind_of = of;
    }
    run_step(work, body, at, issued, ends, pass.microbatch);
  }
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    lane.device_waits.clear();
    lane.done.clear();
    for (const StreamKind stream : {StreamKind::compute, StreamKind::tensor, StreamKind::context, StreamKind::expert}) {
      const TaskId last = lane.last[index(stream)];
      if (std::find(ends[i].begin(), ends[i].end(), last) != ends[i].end()) lane.done.push_back(last);
    }
  }
}

void TeamWriter::gather_waits(std::size_t lane, const BodyStep& step, TaskId issued, const std::vector<TaskId>& ends) {
  const Lane& own = lanes_[lane];
  scratch_.push_back(issued);
  const TaskId last = own.last[index(step.stream)];
  if (std::find(ends.begin(), ends.end(), last) == ends.end()) {  // the first step on its stream
    append(scratch_, span_of(own.done));
    append(scratch_, span_of(own.device_waits));
  }
  for (const int before : step.after) scratch_.push_back(ends[static_cast<std::size_t>(before)]);
}

void TeamWriter::run_step(const TeamWork& work, std::size_t body, std::size_t at, std::span<const TaskId> issued,
                          std::vector<std::vector<TaskId>>& ends, std::int32_t microbatch) {
  const auto step_of = [&](TeamWork::Lanes lanes) -> const PassWork::Step& {
    return (*work.of(lanes).bodies[body])[at];
  };
  const std::size_t any = 0;
  const GroupingId grouping = program_.classes[step_of({&any, 1}).task_class].grouping;
  for (const std::vector<std::size_t>& together : lanes_in(grouping)) {
    const PassWork::Step& own = step_of(together);
    const BodyStep& step = *own.step;
    scratch_.clear();
    for (const std::size_t i : together) {
      gather_waits(i, step, issued[i], ends[i]);
      const TaskId last = lanes_[i].last[index(step.stream)];
      if (together.size() > 1 && last != kNoTask) scratch_.push_back(last);
    }
    meet(together, grouping, step.stream, microbatch);
    for (const std::size_t i : together) {
      ends[i].push_back(add(lanes_[i], step.stream, own.task_class, step.device, scratch_, microbatch));
    }
  }
}

}  // namespace mirfak
