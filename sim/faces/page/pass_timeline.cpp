#include "page/pass_timeline.hpp"

#include "base/units.hpp"
#include "page/timeline_boxes.hpp"
#include "trace/pass_spans.hpp"
#include "trace/stream_index.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

// Returns the kind of a pass. Neighbouring chunks of an interleaved schedule have different kinds.
std::string kind_of(const PassSpan& span) {
  const std::string name = span.kind == TaskKind::weight_gradient ? "weight_gradient" : std::string(name_of(span.kind));
  const bool odd = span.chunk % 2 == 1 && (span.kind == TaskKind::forward || span.kind == TaskKind::backward);
  return odd ? name + "-odd" : name;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kPassKinds = {{
    {"forward", "forward"},
    {"forward-odd", "forward, odd chunks"},
    {"backward", "backward"},
    {"backward-odd", "backward, odd chunks"},
    {"weight_gradient", "weight gradients"},
    {"optimizer", "optimizer"},
    {"tensor_communication", "tensor communication"},
    {"context_communication", "context communication"},
    {"expert_communication", "expert communication"},
    {"data_communication", "data communication"},
    {"pipeline_communication", "pipeline communication"},
}};

// Returns the kind of a stream's communication; "" if it belongs to the row of the other end, or there is none.
std::string_view communication_kind(StreamKind kind) {
  switch (kind) {
    case StreamKind::tensor:
      return "tensor_communication";
    case StreamKind::context:
      return "context_communication";
    case StreamKind::expert:
      return "expert_communication";
    case StreamKind::data:
      return "data_communication";
    case StreamKind::send_forward:
    case StreamKind::send_backward:
      return "pipeline_communication";
    default:
      return {};
  }
}

class PassTimeline {
 public:
  explicit PassTimeline(const Simulation& simulation)
      : program_(simulation.program), timeline_(simulation.timeline), index_(program_) {}

  Json json() {
    choose_ranks();
    Json out = empty_timeline(timeline_.makespan);
    std::size_t boxes = 0;
    for (const std::uint32_t rank : ranks_) {
      Json passes = passes_of(rank);
      boxes += passes.size();
      Json lanes = Json::array({std::move(passes)});
      out["rows"].push_back({{"label", label_of(rank)}, {"lanes", std::move(lanes)}});
    }
    add_communication(out, boxes);
    out["names"] = names_.json();
    add_kinds(out, kPassKinds);
    out["left_out"] = left_out_;
    return out;
  }

 private:
  // Chooses the first rank of each stage and class of replicas, or evenly spaced ones if there are too many.
  void choose_ranks() {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> first;
    for (std::uint32_t rank = 0; rank < program_.ranks.size(); ++rank) {
      first.emplace(std::pair(program_.ranks[rank].stage, program_.ranks[rank].plan), rank);
    }
    std::vector<std::uint32_t> all;
    for (const auto& [place, rank] : first) all.push_back(rank);
    mixed_ = all.size() > program_.ranks[all.back()].stage + std::size_t{1};
    const std::size_t every = (all.size() + kMostTimelineRows - 1) / kMostTimelineRows;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i % every == 0 || i + 1 == all.size()) ranks_.push_back(all[i]);
    }
    if (every > 1) left_out_.push_back(fmt::format("{} of {} rows are drawn", ranks_.size(), all.size()));
  }

  std::string label_of(std::uint32_t rank) const {
    const ProgramRank& described = program_.ranks[rank];
    return mixed_ ? fmt::format("stage {}, {}", described.stage, described.data)
                  : fmt::format("stage {}", described.stage);
  }

  Json passes_of(std::uint32_t rank) {
    const std::vector<PassSpan> spans = pass_spans(program_, timeline_, index_.compute_tasks_of(rank));
    const std::size_t room = kMostTimelineBoxes / ranks_.size();
    const std::size_t begin = spans.size() > room ? room / 2 : spans.size();
    const std::size_t end = spans.size() > room ? spans.size() - room / 2 : spans.size();
    if (begin < end && left_out_passes_++ == 0) {
      left_out_.push_back(fmt::format(
          "the first {0} and the last {0} of {1} passes of a stage are drawn, not those between", begin, spans.size()));
    }
    Json out = Json::array();
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (i >= begin && i < end) continue;
      const PassSpan& span = spans[i];
      const std::string chunk = span.chunk > 0 ? fmt::format(", chunk {}", span.chunk) : "";
      out.push_back(timeline_box(names_.index_of(std::string(name_of(span.kind)) + chunk, kind_of(span)), span.start,
                                 span.end, span.microbatch));
    }
    return out;
  }

  struct Exchange {
    TaskId task = 0;
    std::string_view kind;
  };

  std::vector<Exchange> exchanges_of(std::uint32_t rank) const {
    std::vector<Exchange> out;
    for (const StreamId stream : index_.streams_of(rank)) {
      const std::string_view kind = communication_kind(program_.streams[stream].kind);
      if (kind.empty()) continue;
      for (const TaskId task : index_.tasks_on(stream)) {
        if (timeline_.end[task] > timeline_.start[task]) out.push_back({task, kind});
      }
    }
    std::stable_sort(out.begin(), out.end(), [&](const Exchange& a, const Exchange& b) {
      return timeline_.start[a.task] < timeline_.start[b.task];
    });
    return out;
  }

  // Adds the communication of all rows or, if there are too many boxes, of none.
  void add_communication(Json& out, std::size_t boxes) {
    std::vector<std::vector<Exchange>> all;
    std::size_t count = 0;
    for (const std::uint32_t rank : ranks_) count += all.emplace_back(exchanges_of(rank)).size();
    if (count == 0) return;
    if (boxes + count > kMostTimelineBoxes) {
      left_out_.push_back(fmt::format("communication is left out: {} boxes and {} passes are too many", count, boxes));
      return;
    }
    for (std::size_t row = 0; row < all.size(); ++row) {
      Json lane = Json::array();
      for (const Exchange& exchange : all[row]) {
        lane.push_back(timeline_box(names_.index_of(program_.class_of(exchange.task).name, std::string(exchange.kind)),
                                    timeline_.start[exchange.task], timeline_.end[exchange.task],
                                    program_.microbatch[exchange.task]));
      }
      out["rows"][row]["lanes"].push_back(std::move(lane));
    }
  }

  const Program& program_;
  const Timeline& timeline_;
  StreamIndex index_;
  std::vector<std::uint32_t> ranks_;
  bool mixed_ = false;
  BoxNames names_;
  std::size_t left_out_passes_ = 0;
  std::vector<std::string> left_out_;
};

}  // namespace

nlohmann::ordered_json pass_timeline(const Simulation& simulation) { return PassTimeline(simulation).json(); }

nlohmann::ordered_json run_timeline(const TrainingPrediction& prediction) {
  Json out = empty_timeline(0);
  const std::vector<RunSpan>& spans = prediction.median_run;
  out["unit_s"] = 1;
  out["end"] = spans.empty() ? 0 : spans.back().end_s;
  BoxNames names;
  Json lane = Json::array();
  for (std::size_t i = 0; i < std::min(spans.size(), kMostTimelineBoxes); ++i) {
    const RunSpan& span = spans[i];
    const std::string& part = time_part_names()[static_cast<std::size_t>(span.part)];
    lane.push_back(Json::array({names.index_of(part, part), span.start_s, span.end_s - span.start_s, span.cause}));
  }
  if (spans.size() > kMostTimelineBoxes) {
    out["left_out"].push_back(fmt::format("the first {} of {} stretches are drawn", kMostTimelineBoxes, spans.size()));
  }
  out["names"] = names.json();
  Json lanes = Json::array({std::move(lane)});
  out["rows"].push_back({{"label", "run"}, {"lanes", std::move(lanes)}});
  Json& causes = out["causes"] = Json::array();
  for (const FailureCause& cause : prediction.course.failures.causes) causes.push_back(cause.name);
  return out;
}

nlohmann::ordered_json clock_timeline(const ClockedProgram& clocked, const ExecutedClocks& executed) {
  const Timeline timeline = timeline_with(clocked, executed.clocks);
  Json out = empty_timeline(executed.makespan);
  BoxNames names;
  double lowest = std::numeric_limits<double>::infinity();
  double highest = 0;
  std::map<std::int32_t, Json> rows;
  std::size_t boxes = 0;
  for (TaskId task = 0; task < clocked.program.size(); ++task) {
    if (!clocked.is_clocked(task)) continue;
    if (++boxes > kMostTimelineBoxes) continue;
    const TaskClass& of = clocked.program.class_of(task);
    const double clock = executed.clocks[task].clock_hz / kMegahertz;
    lowest = std::min(lowest, clock);
    highest = std::max(highest, clock);
    const std::string kind = of.kind == TaskKind::forward ? "lighter" : "full";
    Json pass = timeline_box(names.index_of(of.name, kind), timeline.start[task],
                             timeline.start[task] + executed.clocks[task].duration, clocked.program.microbatch[task]);
    pass.push_back(clock);
    Json& row = rows.emplace(of.stage, Json::array()).first->second;
    row.push_back(std::move(pass));
  }
  if (boxes == 0 || boxes > kMostTimelineBoxes) return nullptr;
  for (auto& [stage, row] : rows) {
    Json lanes = Json::array({std::move(row)});
    out["rows"].push_back({{"label", fmt::format("stage {}", stage)}, {"lanes", std::move(lanes)}});
  }
  out["names"] = names.json();
  out["lowest_mhz"] = lowest;
  out["highest_mhz"] = highest;
  return out;
}

}  // namespace mirfak
