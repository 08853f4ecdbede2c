#include "program/team_writer.hpp"

#include <algorithm>

namespace mirfak {

namespace {

constexpr StreamId kNoStream = static_cast<StreamId>(-1);

std::size_t index(StreamKind kind) { return static_cast<std::size_t>(kind); }

void append(std::vector<TaskId>& to, std::span<const TaskId> tasks) { to.insert(to.end(), tasks.begin(), tasks.end()); }

}  // namespace

TeamWriter::TeamWriter(Program& program, std::span<const std::uint32_t> ranks) : program_(program) {
  for (const std::uint32_t rank : ranks) {
    Lane lane;
    lane.rank = rank;
    lane.streams.fill(kNoStream);
    lane.last.fill(kNoTask);
    lanes_.push_back(lane);
  }
  meeting_streams_.fill(kNoStream);
  if (lanes_.size() < 2) return;
  TaskClass meeting;
  meeting.kind = TaskKind::meeting;
  meeting.name = "ranks of a team meet";
  meeting.stage = static_cast<std::int32_t>(program.ranks[ranks.front()].stage);
  meeting_class_ = program_.add_class(std::move(meeting));
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

TaskId TeamWriter::meet(StreamKind stream, std::span<const TaskId> after, std::int32_t microbatch) {
  StreamId& meetings = meeting_streams_[index(stream)];
  if (meetings == kNoStream) meetings = program_.add_stream(lanes_.front().rank, StreamKind::group);
  return program_.add_task(meetings, meeting_class_, 0, after, microbatch);
}

TaskId TeamWriter::last_on(std::size_t lane, StreamKind stream) const { return lanes_[lane].last[index(stream)]; }

TaskId TeamWriter::transfer(std::size_t lane, StreamKind stream, ClassId of, Picoseconds lasting,
                            std::span<const TaskId> after, std::int32_t microbatch) {
  return add(lanes_[lane], stream, of, lasting, after, microbatch);
}

void TeamWriter::run(const PassWork& work, std::int32_t microbatch) {
  for (Lane& lane : lanes_) lane.done_before = lane.done;
  if (work.bodies.empty()) {
    run_folded(work, microbatch);
  } else {
    if (work.host_first > 0) begin_on_host(work, microbatch);
    for (const PassWork::Steps* steps : work.bodies) run_body(*steps, work.issue_class, microbatch);
  }
  for (Lane& lane : lanes_) {
    lane.device_waits.clear();
    lane.host_waits.clear();
  }
}

void TeamWriter::begin_on_host(const PassWork& work, std::int32_t microbatch) {
  for (Lane& lane : lanes_) {
    add(lane, StreamKind::host, work.issue_class, work.host_first, lane.host_waits, microbatch);
    lane.host_waits.clear();
  }
}

// Host: `lead`, then the rest. Device: one task that may start after the lead (see FoldedBody). The ranks of a
// team meet before they start, because the collectives inside keep them in step.
void TeamWriter::run_folded(const PassWork& work, std::int32_t microbatch) {
  const FoldedBody& body = work.folded;
  scratch_.clear();
  std::vector<TaskId> leads;
  for (Lane& lane : lanes_) {
    const TaskId lead = add(lane, StreamKind::host, work.issue_class, body.lead, lane.host_waits, microbatch);
    if (body.host > body.lead) {
      add(lane, StreamKind::host, work.issue_class, body.host - body.lead, {}, microbatch);
    }
    leads.push_back(lead);
  }
  const auto gather = [&](std::size_t i) {
    scratch_.push_back(leads[i]);
    append(scratch_, lanes_[i].device_waits);
  };
  if (lanes_.size() > 1) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      gather(i);
      append(scratch_, lanes_[i].done);
    }
    const TaskId met = meet(StreamKind::compute, scratch_, microbatch);
    for (Lane& lane : lanes_) {
      lane.done = {add(lane, StreamKind::compute, work.task_class, body.device, {&met, 1}, microbatch)};
    }
    return;
  }
  gather(0);
  Lane& lane = lanes_.front();
  lane.done = {add(lane, StreamKind::compute, work.task_class, body.device, scratch_, microbatch)};
}

void TeamWriter::run_body(const PassWork::Steps& steps, ClassId issue_class, std::int32_t microbatch) {
  std::vector<std::vector<TaskId>> ends(lanes_.size());  // [lane][step]
  // Device streams start a body free: its first step on each waits for all that ran before.
  std::vector<TaskId> issued(lanes_.size());
  for (const PassWork::Step& step : steps) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = lanes_[i];
      const TaskId running = lane.last[index(StreamKind::compute)];
      if (step.step->host_waits && running != kNoTask) lane.host_waits.push_back(running);
      issued[i] = add(lane, StreamKind::host, issue_class, step.step->host, lane.host_waits, microbatch);
      lane.host_waits.clear();
    }
    run_step(step, issued, ends, microbatch);
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

void TeamWriter::run_step(const PassWork::Step& work, std::span<const TaskId> issued,
                          std::vector<std::vector<TaskId>>& ends, std::int32_t microbatch) {
  const BodyStep& step = *work.step;
  const bool together = step.stream != StreamKind::compute && lanes_.size() > 1;
  scratch_.clear();
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    if (!together) scratch_.clear();
    scratch_.push_back(issued[i]);
    const bool first_on_stream = std::none_of(ends[i].begin(), ends[i].end(),
                                              [&](TaskId task) { return task == lane.last[index(step.stream)]; });
    if (first_on_stream) {
      append(scratch_, lane.done);
      append(scratch_, lane.device_waits);
    }
    for (const int before : step.after) scratch_.push_back(ends[i][static_cast<std::size_t>(before)]);
    if (together && lane.last[index(step.stream)] != kNoTask) scratch_.push_back(lane.last[index(step.stream)]);
    if (!together) ends[i].push_back(add(lane, step.stream, work.task_class, step.device, scratch_, microbatch));
  }
  if (!together) return;
  const TaskId met = meet(step.stream, scratch_, microbatch);
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    ends[i].push_back(add(lanes_[i], step.stream, work.task_class, step.device, {&met, 1}, microbatch));
  }
}

}  // namespace mirfak
