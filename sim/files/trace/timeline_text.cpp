// Drawing. A stage is first laid out as letters over time, without gaps: its passes, and between them communication or
// idling. A window of time then becomes a row of columns, each of which shows the letter that fills most of the column.
// A pass that is shorter than a column can be lost to its neighbours, so an iteration of many passes is not squeezed
// into one row. Instead its beginning, its middle and its end are drawn at a scale at which the shortest forward pass
// has two columns. The beginning and the end have a coarser scale if it is needed to see the pipeline fill and drain.

#include "trace/timeline_text.hpp"

#include "base/units.hpp"
#include "engine/time_spans.hpp"
#include "trace/pass_spans.hpp"
#include "trace/stream_index.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

namespace mirfak {

namespace {

constexpr char kIdle = '.';
constexpr char kTransfer = '-';
constexpr char kReduction = '=';
constexpr char kOptimizer = 'O';
constexpr std::size_t kMaxStageRows = 24;  // stages in one drawing

struct Segment {
  Picoseconds start = 0;
  Picoseconds end = 0;
  char letter = kIdle;
};
using Segments = std::vector<Segment>;

struct TimeWindow {
  const char* title = "";
  Picoseconds start = 0;
  double column = 0;  // picoseconds of a column
};

// Returns the letter of a pass: upper case for even chunks, lower case for odd ones, so that neighbours in an
// interleaved schedule differ.
char letter_of(const PassSpan& span) {
  const char letter = span.kind == TaskKind::forward           ? 'F'
                      : span.kind == TaskKind::backward        ? 'B'
                      : span.kind == TaskKind::weight_gradient ? 'W'
                                                               : kOptimizer;
  const bool odd = span.kind != TaskKind::optimizer && span.chunk % 2 == 1;
  return odd ? static_cast<char>(letter - 'A' + 'a') : letter;
}

Segments communication_of(const Program& program, const Timeline& timeline, const StreamIndex& index,
                          std::uint32_t rank) {
  Segments out;
  for (const StreamId stream : index.streams_of(rank)) {
    const StreamKind kind = program.streams[stream].kind;
    if (kind == StreamKind::host || kind == StreamKind::compute || kind == StreamKind::group) continue;
    const char letter = kind == StreamKind::data || kind == StreamKind::tensor || kind == StreamKind::context ||
                                kind == StreamKind::expert
                            ? kReduction
                            : kTransfer;
    for (const TaskId task : index.tasks_on(stream)) out.push_back({timeline.start[task], timeline.end[task], letter});
  }
  std::sort(out.begin(), out.end(), [](const Segment& a, const Segment& b) { return a.start < b.start; });
  return out;
}

// Gives each of two passes that take turns its share of their time, one after the other.
void lay_pairs_in_a_row(std::vector<PassSpan>& spans) {
  for (std::size_t i = 1; i < spans.size(); ++i) {
    PassSpan& first = spans[i - 1];
    PassSpan& second = spans[i];
    if (second.start >= first.end) continue;
    const Picoseconds end = std::max(first.end, second.end);
    const double share = static_cast<double>(first.busy) / static_cast<double>(first.busy + second.busy);
    first.end = second.start = first.start + static_cast<Picoseconds>(share * static_cast<double>(end - first.start));
    second.end = end;
  }
}

// Returns the activities of a rank, from 0 to the end of the iteration.
Segments lay_out(const Program& program, const Timeline& timeline, const StreamIndex& index, std::uint32_t rank) {
  const Segments communication = communication_of(program, timeline, index, rank);
  Segments out;
  std::size_t next = 0;
  Picoseconds now = 0;
  const auto fill_gap = [&](Picoseconds until) {
    for (; next < communication.size() && communication[next].start < until; ++next) {
      const Picoseconds start = std::max(now, communication[next].start);
      const Picoseconds end = std::min(until, communication[next].end);
      if (end > start) {
        if (start > now) out.push_back({now, start, kIdle});
        out.push_back({start, end, communication[next].letter});
        now = end;
      }
      if (communication[next].end > until) break;
    }
    if (until > now) out.push_back({now, until, kIdle});
    now = std::max(now, until);
  };
  std::vector<PassSpan> spans = pass_spans(program, timeline, index.compute_tasks_of(rank));
  lay_pairs_in_a_row(spans);
  for (const PassSpan& span : spans) {
    fill_gap(span.start);
    out.push_back({span.start, span.end, letter_of(span)});
    now = span.end;
  }
  fill_gap(timeline.makespan);
  return out;
}

std::string draw_row(const Segments& segments, const TimeWindow& window, int columns) {
  std::string out;
  auto next = std::partition_point(segments.begin(), segments.end(),
                                   [&](const Segment& segment) { return segment.end <= window.start; });
  for (int i = 0; i < columns; ++i) {
    const double begin = static_cast<double>(window.start) + i * window.column;
    const double end = begin + window.column;
    std::map<char, double> filled;
    while (next != segments.end() && static_cast<double>(next->end) <= begin) ++next;
    for (auto it = next; it != segments.end() && static_cast<double>(it->start) < end; ++it) {
      filled[it->letter] +=
          std::min(end, static_cast<double>(it->end)) - std::max(begin, static_cast<double>(it->start));
    }
    const auto longest = std::max_element(filled.begin(), filled.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    out += longest == filled.end() ? ' ' : longest->first;
  }
  return out;
}

std::string coloured(const std::string& row) {
  const auto code = [](char letter) -> std::string_view {
    switch (letter) {
      case 'F':
        return "\x1b[30;46m";
      case 'f':
        return "\x1b[30;106m";
      case 'B':
        return "\x1b[30;42m";
      case 'b':
        return "\x1b[30;102m";
      case 'W':
      case 'w':
        return "\x1b[30;44m";
      case kOptimizer:
        return "\x1b[30;45m";
      case kTransfer:
      case kReduction:
        return "\x1b[33m";
      default:
        return "\x1b[90m";
    }
  };
  std::string out;
  std::string_view current;
  for (const char letter : row) {
    if (code(letter) != current) out += current = code(letter);
    out += letter;
  }
  return out + "\x1b[0m";
}

// Returns 1, 2 or 5 times a power of ten, at least `min_step`.
double round_step(double min_step) {
  const double power = std::pow(10, std::floor(std::log10(min_step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= min_step * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

struct TimeUnit {
  const char* name;
  double picoseconds;
};

TimeUnit unit_for(Picoseconds span) {
  for (const TimeUnit unit : {TimeUnit{"s", 1e12}, TimeUnit{"ms", 1e9}, TimeUnit{"us", 1e6}}) {
    if (static_cast<double>(span) >= unit.picoseconds) return unit;
  }
  return {"ns", 1e3};
}

// Draws a line of ticks and a line of their times.
std::string draw_axis(const TimeWindow& window, int columns, int margin, Picoseconds makespan) {
  const TimeUnit unit = unit_for(makespan);
  const double per_column = window.column / unit.picoseconds;
  const double first = static_cast<double>(window.start) / unit.picoseconds;
  const double step = round_step(16 * per_column);
  const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
  std::string ticks(static_cast<std::size_t>(columns), '-');
  std::string labels;
  for (double time = std::ceil(std::max(0.0, first / step - 1e-9)) * step;; time += step) {
    const auto column = static_cast<std::size_t>(std::max(0.0, std::round((time - first) / per_column)));
    const std::string label = fmt::format("{:.{}f} {}", time, decimals, unit.name);
    if (column + label.size() > static_cast<std::size_t>(columns)) break;
    ticks[column] = '+';
    labels.resize(column, ' ');
    labels += label;
  }
  const std::string left(static_cast<std::size_t>(margin), ' ');
  return left + ticks + '\n' + left + labels + '\n';
}

// Returns the ends of the window, with as many digits as tell its columns apart.
std::string window_title(const TimeWindow& window, int columns, Picoseconds makespan) {
  const double column = window.column * 1e-12;
  const double end = to_seconds(window.start) + column * columns;
  const int digits = digits_for_steps(10 * column, end);
  return fmt::format("  {}: {} to {} of {}, {} a column\n", window.title,
                     format_seconds(to_seconds(window.start), digits), format_seconds(end, digits),
                     format_seconds(to_seconds(makespan)), format_seconds(column));
}

bool is_forward(const Segment& segment) { return segment.letter == 'F' || segment.letter == 'f'; }
bool is_backward(const Segment& segment) { return segment.letter == 'B' || segment.letter == 'b'; }

// Start of the first stage's first backward pass, until which the pipeline fills, and end of its last forward pass,
// from which on the pipeline drains.
TimeSpan steady_part(const Segments& first_stage, Picoseconds makespan) {
  const auto backward = std::find_if(first_stage.begin(), first_stage.end(), is_backward);
  const auto forward = std::find_if(first_stage.rbegin(), first_stage.rend(), is_forward);
  return {backward == first_stage.end() ? 0 : backward->start, forward == first_stage.rend() ? makespan : forward->end};
}

Picoseconds shortest_forward(const std::vector<Segments>& stages, Picoseconds makespan) {
  Picoseconds shortest = makespan;
  for (const Segments& segments : stages) {
    for (const Segment& segment : segments) {
      if (is_forward(segment) && segment.end > segment.start)
        shortest = std::min(shortest, segment.end - segment.start);
    }
  }
  return shortest;
}

std::vector<TimeWindow> choose_windows(const std::vector<Segments>& stages, Picoseconds makespan, int columns) {
  const Picoseconds shortest = shortest_forward(stages, makespan);
  const auto window = [&](const char* title, Picoseconds start, Picoseconds length) {
    return TimeWindow{title, start, static_cast<double>(length) / columns};
  };
  if (makespan <= shortest * columns) return {window("the whole iteration", 0, makespan)};
  const Picoseconds third = makespan / 3;
  const Picoseconds readable = std::min(third, shortest * columns / 2);
  const TimeSpan steady = steady_part(stages.front(), makespan);
  const Picoseconds beginning = std::clamp(steady.start + steady.start / 8, readable, third);
  const Picoseconds drain = makespan - steady.end;
  const Picoseconds end = std::clamp(drain + drain / 8, readable, third);
  return {window("beginning", 0, beginning), window("middle", (makespan - readable) / 2, readable),
          window("end", makespan - end, end)};
}

std::string legend(const std::vector<Segments>& stages) {
  std::string seen;
  for (const Segments& segments : stages) {
    for (const Segment& segment : segments) {
      if (seen.find(segment.letter) == std::string::npos) seen += segment.letter;
    }
  }
  const auto has = [&](char letter) { return seen.find(letter) != std::string::npos; };
  const bool chunks = has('f');
  std::string out =
      chunks ? "F f forward, B b backward (upper case: even chunks, lower case: odd)" : "F forward, B backward";
  if (has('W')) out += chunks ? ", W w weight gradients" : ", W weight gradients";
  if (has(kOptimizer)) out += ", O optimizer";
  out += "\n  ";
  if (has(kReduction)) out += "= reduction of gradients, ";
  if (has(kTransfer)) out += "- transfer, ";
  return "  " + out + ". idle; a column shows what most of its time went to\n";
}

}  // namespace

std::string timeline_text(const Program& program, const Timeline& timeline, const TimelineTextOptions& options) {
  if (timeline.makespan <= 0) return {};
  const StreamIndex index(program);
  std::vector<Segments> stages;  // by stage; with mixed replicas, by stage and class
  std::vector<const ProgramRank*> drawn;
  for (std::uint32_t rank = 0; rank < program.ranks.size(); ++rank) {
    const ProgramRank& described = program.ranks[rank];
    const bool known = std::any_of(drawn.begin(), drawn.end(), [&](const ProgramRank* other) {
      return other->stage == described.stage && other->plan == described.plan;
    });
    if (known) continue;
    stages.push_back(lay_out(program, timeline, index, rank));
    drawn.push_back(&described);
  }
  const bool mixed = stages.size() > drawn.back()->stage + 1;
  const int margin = mixed ? 24 : 12;
  const int columns = std::max(40, options.width) - margin;
  const std::size_t every = (stages.size() + kMaxStageRows - 1) / kMaxStageRows;
  const std::vector<TimeWindow> windows = choose_windows(stages, timeline.makespan, columns);
  std::string out = "Timeline of the pipeline, one GPU of ";
  if (mixed) {
    out += every == 1 ? "each stage and class of replicas\n"
                      : fmt::format("every {}th stage and class of replicas\n", every);
  } else {
    out += every == 1 ? "each stage\n" : fmt::format("stages 0, {}, {}, ...\n", every, 2 * every);
  }
  for (const TimeWindow& window : windows) {
    out += window_title(window, columns, timeline.makespan);
    for (std::size_t stage = 0; stage < stages.size(); stage += every) {
      const std::string row = draw_row(stages[stage], window, columns);
      out += fmt::format("  stage {:>3} ", drawn[stage]->stage);
      if (mixed) out += fmt::format("replica {:>3} ", drawn[stage]->data);
      out += (options.colour ? coloured(row) : row) + '\n';
    }
    out += draw_axis(window, columns, margin, timeline.makespan);
  }
  return out + legend(stages);
}

}  // namespace mirfak
