#include "schedule/schedule.hpp"
#include "base/error.hpp"
#include "base/section.hpp"
#include "base/staged_file.hpp"
#include "cli/commands.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "schedule/pass_timeline.hpp"
#include "schedule/schedule_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace mirfak {

namespace {

namespace po = boost::program_options;

constexpr std::int64_t kMaxDrawnPasses = 4'000'000;
constexpr std::int64_t kMaxTime = 1'000'000'000;
constexpr int kPlainColumns = 160;  // columns if output is not a terminal
constexpr int kStages = 4;          // stages if neither options nor a file state them
constexpr int kMicrobatches = 8;

struct ScheduleOptions {
  std::string schedule;
  std::optional<int> stages;
  std::optional<int> microbatches;
  int chunks = 0;
  std::optional<int> max_in_flight;
  std::string times = "1,1,1";
  std::int64_t transfer = 0;
  std::string format = "text";
  std::string out;
};

CommandSyntax syntax_of(ScheduleOptions& options) {
  CommandSyntax syntax(
      "mirfak schedule NAME|FILE [OPTION]...",
      "Draws the order of passes of a pipeline schedule, checks it, and writes it in the CSV format of PyTorch's\n"
      "torch.distributed.pipelining. NAME is one that 'mirfak list schedules' shows; FILE is in that format.");
  syntax.operand = &options.schedule;
  const auto add = [&](const char* name, const po::value_semantic* value, const char* sentence) {
    syntax.options.add_options()(name, value, sentence);
  };
  const auto number = [](std::optional<int>& stated, const char* name) {
    return po::value<int>()->value_name(name)->notifier([&stated](int value) { stated = value; });
  };
  add("stages", number(options.stages, "P"), "pipeline stages (4); a FILE has its own number");
  add("microbatches", number(options.microbatches, "M"), "microbatches of an iteration (8); a FILE has its own number");
  add("chunks", po::value(&options.chunks)->value_name("V"),
      "chunks of each stage, where the schedule leaves their number open (2)");
  add("max-in-flight", number(options.max_in_flight, "N"),
      "microbatches whose activations a stage may keep: a limit for zb-auto, a check for other schedules");
  add("times", po::value(&options.times)->value_name("F,B,W[,P]")->default_value(options.times),
      "how long passes take: forward, backward of inputs, backward of weights, and a forward pass at the same time as "
      "a whole backward pass");
  add("transfer", po::value(&options.transfer)->value_name("T")->default_value(options.transfer),
      "how long a transfer between stages takes, in the same unit");
  add("format", po::value(&options.format)->value_name("text|json|csv")->default_value(options.format),
      "what to print; csv: PyTorch's format");
  syntax.add_file(FileRole::output, "out", options.out, "FILE", "also write the CSV to this file");
  return syntax;
}

void check_range(const char* option, std::int64_t value, std::int64_t min, std::int64_t max) {
  if (value >= min && value <= max) return;
  fail_input({}, fmt::format("--{}: expected a number from {} to {}, found {}", option, min, max, value));
}

PassTimes times_of(const ScheduleOptions& options) {
  std::vector<std::int64_t> numbers;
  for (std::size_t begin = 0; begin <= options.times.size();) {
    const std::size_t end = std::min(options.times.find(',', begin), options.times.size());
    std::int64_t number = -1;
    const char* last = options.times.data() + end;
    const auto [rest, error] = std::from_chars(options.times.data() + begin, last, number);
    if (error != std::errc() || rest != last || number < 0 || number > kMaxTime) {
      fail_input({}, fmt::format("--times: expected whole numbers such as 10,12,8, found '{}'", options.times));
    }
    numbers.push_back(number);
    begin = end + 1;
  }
  if (numbers.size() != 3 && numbers.size() != 4) {
    fail_input({}, fmt::format("--times: expected three or four numbers, found {}", numbers.size()));
  }
  PassTimes out;
  out.others = {numbers[0], numbers[1], numbers[2], numbers.size() == 4 ? numbers[3] : 0};
  out.transfer = options.transfer;
  return out;
}

// A schedule for one shape, executed.
struct DrawnSchedule {
  DrawnSchedule(const Schedule& of, const PipelineShape& size, const PassTimes& lasting)
      : schedule(of),
        shape(size),
        times(lasting),
        placement(of.placement(size)),
        orders(of.orders(size, lasting)),
        timeline(run_passes(orders, placement, lasting)) {}

  std::int64_t busy(int stage) const { return timeline.span(stage) - timeline.idle(stage); }
  // Returns the passes in flight, counted in microbatches in all chunks of the stage.
  double in_flight(int stage) const {
    const double passes = max_in_flight(orders[static_cast<std::size_t>(stage)]);
    const int chunks = placement.chunks(stage);
    return placement.holds_twice() ? passes : passes / chunks;
  }

  const Schedule& schedule;
  PipelineShape shape;
  PassTimes times;
  Placement placement;
  StageOrders orders;
  PassTimeline timeline;
};

// Returns the place of a pass in the file of the schedule; empty if the schedule is not from a file.
Location location_of(const Schedule& schedule, const PassIndex& pass) {
  if (schedule.path.empty()) return {};
  const FilePlace place = place_in_schedule_file(schedule.path, pass);
  return {schedule.name, place.line, place.column};
}

void check_memory(const DrawnSchedule& subject, int limit) {
  for (int stage = 0; limit > 0 && stage < subject.shape.stages; ++stage) {
    int now = 0;
    const int max_passes = limit * (subject.placement.holds_twice() ? 1 : subject.placement.chunks(stage));
    const std::vector<Pass>& order = subject.orders[static_cast<std::size_t>(stage)];
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Pass& pass = order[i];
      if (is_forward(pass.kind) && ++now > max_passes) {
        fail_infeasible(location_of(subject.schedule, {stage, i}),
                        fmt::format("stage {} keeps more microbatches than {} from {} on", stage, limit,
                                    pass_text(subject.placement, stage, pass)),
                        "a later forward pass, or an earlier backward pass of weights, needs less");
      }
      if (makes_weight_gradient(pass.kind)) --now;
    }
  }
}

std::string parts_text(const Placement& placement, int stage) {
  std::vector<int> parts;
  for (int chunk = 0; chunk < placement.chunks(stage); ++chunk) parts.push_back(placement.part_of(stage, chunk));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Draws a row for each stage and a column of one width for each unit of time. The drawing is cut if it does not fit.
std::string drawing(const DrawnSchedule& subject, int columns) {
  std::size_t width = 1;
  for (std::size_t stage = 0; stage < subject.orders.size(); ++stage) {
    for (const Pass& pass : subject.orders[stage]) {
      width = std::max(width, pass_text(subject.placement, static_cast<int>(stage), pass).size() + 1);
    }
  }
  const std::string label = fmt::format("{}", subject.shape.stages - 1);
  const auto room = static_cast<std::int64_t>((static_cast<std::size_t>(columns) - label.size() - 3) / width);
  const bool cut = subject.timeline.end() > room;
  std::string out;
  for (std::size_t stage = 0; stage < subject.orders.size(); ++stage) {
    std::string row(static_cast<std::size_t>(std::min(room, subject.timeline.end())) * width, ' ');
    for (std::size_t i = 0; i < subject.orders[stage].size(); ++i) {
      const Pass& pass = subject.orders[stage][i];
      const auto& at = subject.timeline.stages[stage][i];
      const bool second = i > 0 && subject.orders[stage][i - 1].with_next;
      std::string text = pass_text(subject.placement, static_cast<int>(stage), pass);
      if (pass.with_next) text += '&';
      // The second pass of a pair is drawn after the first.
      const std::int64_t from = second ? at.start + std::max<std::int64_t>(1, (at.end - at.start) / 2) : at.start;
      const std::size_t place = static_cast<std::size_t>(from) * width;
      for (std::size_t c = 0; from < room && c < text.size() && place + c < row.size(); ++c) row[place + c] = text[c];
      for (std::int64_t t = from + 1; t < std::min(at.end, room) && !pass.with_next; ++t) {
        row[static_cast<std::size_t>(t) * width] = '-';
      }
    }
    row.erase(row.find_last_not_of(' ') + 1);
    out += fmt::format("{:>{}} | {}\n", stage, label.size(), row);
  }
  if (cut) out += fmt::format("(the first {} of {} units of time)\n", room, subject.timeline.end());
  return out;
}

std::string text_of(const DrawnSchedule& subject, int columns) {
  const Schedule& schedule = subject.schedule;
  std::string out = fmt::format("{}: {}\n{} stages, {} microbatches, {} parts of the model{}\n\n", schedule.name,
                                schedule.sentence, subject.shape.stages, subject.shape.microbatches,
                                subject.placement.parts(), subject.placement.holds_twice() ? ", each held twice" : "");
  out += drawing(subject, columns) + '\n';
  Table table(">stage | parts | >passes | >keeps | >idle | >from first to last");
  for (int stage = 0; stage < subject.shape.stages; ++stage) {
    table.add({fmt::format("{}", stage), parts_text(subject.placement, stage),
               fmt::format("{}", subject.orders[static_cast<std::size_t>(stage)].size()),
               fmt::format("{:g}", subject.in_flight(stage)), fmt::format("{}", subject.timeline.idle(stage)),
               fmt::format("{}", subject.timeline.span(stage))});
  }
  out += table.text();
  out += fmt::format(
      "\nkeeps: activations at most, in {}\n"
      "An iteration takes {} where stages step once all have ended (a barrier, as simulate has it: clipping needs the\n"
      "norm of all gradients), and {} where each steps by itself and is checked later (post-validation, arXiv\n"
      "2401.10241), for which bubbles of zero-bubble schedules are published.\n",
      subject.placement.holds_twice() ? "chunk passes" : "microbatches", subject.timeline.end(),
      subject.timeline.longest_span());
  return out;
}

std::string json_of(const DrawnSchedule& subject) {
  nlohmann::ordered_json out;
  out["schedule"] = subject.schedule.name;
  out["stages"] = subject.shape.stages;
  out["microbatches"] = subject.shape.microbatches;
  out["parts"] = subject.placement.parts();
  out["time_with_barrier"] = subject.timeline.end();
  out["time_without_barrier"] = subject.timeline.longest_span();
  out["by_stage"] = nlohmann::ordered_json::array();
  for (int stage = 0; stage < subject.shape.stages; ++stage) {
    nlohmann::ordered_json entry;
    entry["busy"] = subject.busy(stage);
    entry["idle"] = subject.timeline.idle(stage);
    entry["in_flight"] = subject.in_flight(stage);
    entry["passes"] = nlohmann::ordered_json::array();
    const auto& order = subject.orders[static_cast<std::size_t>(stage)];
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto& at = subject.timeline.stages[static_cast<std::size_t>(stage)][i];
      entry["passes"].push_back({{"pass", pass_text(subject.placement, stage, order[i])},
                                 {"start", at.start},
                                 {"end", at.end},
                                 {"beside_next", order[i].with_next}});
    }
    out["by_stage"].push_back(std::move(entry));
  }
  return printed_json(std::move(out));
}

// Refuses an option that contradicts the file: a file states its sizes itself.
void check_stated(const char* option, const std::optional<int>& stated, int has, const Schedule& schedule) {
  if (!stated || *stated == has) return;
  fail_input({}, fmt::format("--{}: {} has {}", option, schedule.name, has), "leave it out");
}

// Returns the shape of a file, or else the shape that the options and their defaults give.
PipelineShape shape_of(const ScheduleOptions& options, const Schedule& schedule) {
  PipelineShape shape;
  shape.stages = options.stages.value_or(kStages);
  shape.microbatches = options.microbatches.value_or(kMicrobatches);
  shape.chunks = schedule.chunks > 0 ? schedule.chunks : std::max(2, options.chunks);
  shape.group = shape.stages;
  shape.max_in_flight = schedule.needs_times ? options.max_in_flight.value_or(0) : 0;
  if (!schedule.path.empty()) {
    const Placement placement = schedule.placement(shape);
    shape.stages = shape.group = placement.stages();
    shape.microbatches = 1;
    for (const auto& order : schedule.orders_of(shape)) {
      for (const Pass& pass : order) shape.microbatches = std::max(shape.microbatches, pass.microbatch + 1);
    }
  }
  check_stated("stages", options.stages, shape.stages, schedule);
  check_stated("microbatches", options.microbatches, shape.microbatches, schedule);
  if (options.chunks > 0 && options.chunks != shape.chunks) {
    fail_input({}, fmt::format("--chunks: {} has {} per stage", schedule.name, shape.chunks), "leave it out");
  }
  if (const auto unfit = schedule.unfit(shape)) {
    fail_infeasible({}, unfit->message, "choose other --stages or --microbatches");
  }
  return shape;
}

}  // namespace

CommandOutput run_schedule(std::span<const std::string> arguments, const Surroundings& surroundings) {
  ScheduleOptions options;
  const CommandSyntax syntax = syntax_of(options);
  if (const auto help = read_arguments(syntax, arguments)) return {*help, {}};
  check_range("stages", options.stages.value_or(kStages), 1, kMaxStages);
  check_range("microbatches", options.microbatches.value_or(kMicrobatches), 1, kMaxMicrobatches);
  check_range("chunks", options.chunks, 0, kMaxStages);
  check_range("max-in-flight", options.max_in_flight.value_or(1), 1, kMaxMicrobatches);
  check_range("transfer", options.transfer, 0, kMaxTime);
  const std::vector<std::string> formats = {"text", "json", "csv"};
  const std::size_t format = choice("--format", options.format, formats);
  const PassTimes times = times_of(options);
  const bool file = is_schedule_path(options.schedule);
  const ScheduleId id = file ? read_schedule_file(options.schedule, options.schedule)
                             : static_cast<ScheduleId>(choice("schedule", options.schedule, schedule_names()));
  const Schedule& schedule = schedule_of(id);
  const PipelineShape shape = shape_of(options, schedule);
  if (std::int64_t{3} * shape.stages * shape.chunks * shape.microbatches > kMaxDrawnPasses) {
    fail_input({}, fmt::format("more than {} passes", kMaxDrawnPasses), "choose fewer --microbatches");
  }
  const DrawnSchedule subject(schedule, shape, times);
  check_memory(subject, options.max_in_flight.value_or(0));
  if (!options.out.empty()) write_text_file(options.out, schedule_csv(schedule, shape, times));
  if (format == 2) return {schedule_csv(schedule, shape, times), {}};
  if (format == 1) return {json_of(subject), {}};
  return {text_of(subject, surroundings.columns > 0 ? surroundings.columns : kPlainColumns), {}};
}

}  // namespace mirfak
