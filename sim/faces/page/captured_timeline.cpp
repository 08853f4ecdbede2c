#include "page/captured_timeline.hpp"

#include "page/pass_timeline.hpp"
#include "page/timeline_boxes.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kKinds = {{
    {"forward", "forward"},
    {"recomputation", "recomputation"},
    {"backward", "backward"},
    {"optimizer", "optimizer"},
    {"collective", "collectives"},
    {"transfer", "messages"},
}};

// Kernels of one module and phase, or one communication.
struct Span {
  Picoseconds start = 0;
  Picoseconds end = 0;
  std::uint32_t module = 0;
  std::string_view kind;
  std::string_view operation;  // empty: kernels of a module
};

void sort_by_start(std::vector<Span>& spans) {
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
}

// Returns the first `depth` parts of a module's path.
std::string_view beginning(std::string_view path, std::size_t depth) {
  std::size_t end = 0;
  for (std::size_t part = 0; part < depth && end < path.size(); ++part) {
    end = std::min(path.find('.', end + (part > 0 ? 1 : 0)), path.size());
  }
  return path.substr(0, end);
}

std::size_t depth_of(std::string_view path) {
  return path.empty() ? 0 : 1 + static_cast<std::size_t>(std::count(path.begin(), path.end(), '.'));
}

class CapturedTimeline {
 public:
  explicit CapturedTimeline(const CaptureSimulation& simulation)
      : capture_(*simulation.capture), executed_(simulation.executed), end_(simulation.executed.timeline.makespan) {}

  Json json() {
    Json out = empty_timeline(end_);
    const std::size_t all = executed_.ranks.size();
    const std::size_t every = (all + kMostTimelineRows - 1) / kMostTimelineRows;
    for (std::size_t i = 0; i < all; ++i) {
      if (i % every == 0 || i + 1 == all) read_rank(i);
    }
    if (rows_.size() < all) left_out_.push_back(fmt::format("{} of {} captured ranks are drawn", rows_.size(), all));
    add_kernels(out);
    add_others(out);
    out["names"] = names_.json();
    add_kinds(out, kKinds);
    out["left_out"] = left_out_;
    return out;
  }

 private:
  struct Row {
    std::int64_t rank = 0;
    std::vector<Span> kernels;  // of the stream that computes most
    std::vector<Span> others;
  };

  void read_rank(std::size_t index);
  Span span_of(std::size_t index, std::size_t task) const;
  std::vector<Span> joined(const std::vector<Span>& kernels, std::size_t depth) const;
  std::size_t drawn_depth();
  void add_kernels(Json& out);
  void add_others(Json& out);
  Json lane(const std::vector<Span>& spans, std::size_t depth);

  const Capture& capture_;
  const CapturedProgram& executed_;
  Picoseconds end_;
  std::vector<Row> rows_;
  BoxNames names_;
  std::size_t boxes_ = 0;
  std::vector<std::string> left_out_;
};

Span CapturedTimeline::span_of(std::size_t index, std::size_t task) const {
  const PricedRank& priced = executed_.ranks[index];
  const auto of = static_cast<std::size_t>(priced.tasks[task].event);
  const CaptureEvent& event = capture_.ranks[priced.rank].events[of];
  const TaskId id = executed_.joined.task_of[index][task];
  Span out{executed_.timeline.start[id], executed_.timeline.end[id], event.module, {}, {}};
  if (event.kind == CaptureEventKind::communicate) {
    const CapturedCommunication& made = capture_.communication[event.entry];
    out.kind = collective_of(made) ? "collective" : "transfer";
    out.operation = made.kind;
  } else {
    out.kind = kCapturePhaseNames[static_cast<std::size_t>(event.phase)];
  }
  return out;
}

void CapturedTimeline::read_rank(std::size_t index) {
  const PricedRank& priced = executed_.ranks[index];
  Row& row = rows_.emplace_back();
  row.rank = capture_.ranks[priced.rank].rank;
  std::map<std::int32_t, std::pair<Picoseconds, std::vector<Span>>> streams;
  for (std::size_t task = 0; task < priced.tasks.size(); ++task) {
    if (priced.tasks[task].on_host) continue;
    const Span span = span_of(index, task);
    if (span.end == span.start) continue;
    if (!span.operation.empty()) {
      row.others.push_back(span);
      continue;
    }
    const auto event = static_cast<std::size_t>(priced.tasks[task].event);
    auto& [busy, spans] = streams[capture_.ranks[priced.rank].events[event].stream];
    busy += span.end - span.start;
    spans.push_back(span);
  }
  const auto most = std::max_element(streams.begin(), streams.end(),
                                     [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  for (auto stream = streams.begin(); stream != streams.end(); ++stream) {
    std::vector<Span>& into = stream == most ? row.kernels : row.others;
    into.insert(into.end(), stream->second.second.begin(), stream->second.second.end());
  }
  sort_by_start(row.kernels);
  sort_by_start(row.others);
}

std::vector<Span> CapturedTimeline::joined(const std::vector<Span>& kernels, std::size_t depth) const {
  const Picoseconds gap = end_ / 1000;
  std::vector<Span> out;
  for (const Span& span : kernels) {
    const bool goes_on =
        !out.empty() && out.back().kind == span.kind && span.start - out.back().end < gap &&
        beginning(capture_.modules[out.back().module], depth) == beginning(capture_.modules[span.module], depth);
    if (goes_on) {
      out.back().end = span.end;
    } else {
      out.push_back(span);
    }
  }
  return out;
}

// Returns the largest depth at which the boxes of all rows are few enough; 0 if there is none.
std::size_t CapturedTimeline::drawn_depth() {
  std::size_t deepest = 0;
  for (const std::string& module : capture_.modules) deepest = std::max(deepest, depth_of(module));
  for (std::size_t depth = deepest; depth > 0; --depth) {
    std::size_t boxes = 0;
    for (const Row& row : rows_) boxes += joined(row.kernels, depth).size();
    if (boxes > kMostTimelineBoxes) continue;
    if (depth < deepest) {
      left_out_.push_back(fmt::format("modules are drawn {} deep in the program, of {}", depth, deepest));
    }
    return depth;
  }
  if (deepest > 0) left_out_.emplace_back("modules are not drawn, whose boxes would be too many, but phases");
  return 0;
}

Json CapturedTimeline::lane(const std::vector<Span>& spans, std::size_t depth) {
  Json out = Json::array();
  for (const Span& span : spans) {
    const std::string module(beginning(capture_.modules[span.module], depth));
    const std::string_view what = span.operation.empty() ? span.kind : span.operation;
    const std::string text = module.empty() ? std::string(what) : fmt::format("{}, {}", module, what);
    out.push_back(timeline_box(names_.index_of(text, std::string(span.kind)), span.start, span.end, -1));
  }
  boxes_ += out.size();
  return out;
}

void CapturedTimeline::add_kernels(Json& out) {
  const std::size_t depth = drawn_depth();
  const std::size_t room = kMostTimelineBoxes / std::max<std::size_t>(1, rows_.size());
  std::size_t most = 0;
  for (const Row& row : rows_) {
    std::vector<Span> spans = joined(row.kernels, depth);
    most = std::max(most, spans.size());
    if (depth == 0 && spans.size() > room) spans.resize(room);
    Json lanes = Json::array({lane(spans, depth)});
    out["rows"].push_back({{"label", fmt::format("rank {}", row.rank)}, {"lanes", std::move(lanes)}});
  }
  if (depth == 0 && most > room) {
    left_out_.push_back(fmt::format("the first {} of {} stretches of kernels of a rank are drawn", room, most));
  }
}

// Adds the lower lanes of all rows or, if there are too many boxes, of none.
void CapturedTimeline::add_others(Json& out) {
  std::size_t count = 0;
  for (const Row& row : rows_) count += row.others.size();
  if (count == 0) return;
  if (boxes_ + count > kMostTimelineBoxes) {
    left_out_.push_back(fmt::format(
        "communication and kernels of other streams are left out: {} boxes beside {} of kernels are too many", count,
        boxes_));
    return;
  }
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    out["rows"][row]["lanes"].push_back(lane(rows_[row].others, static_cast<std::size_t>(-1)));
  }
}

}  // namespace

nlohmann::ordered_json captured_timeline(const CaptureSimulation& simulation) {
  return CapturedTimeline(simulation).json();
}

}  // namespace mirfak
