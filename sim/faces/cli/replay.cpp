#include "base/error.hpp"
#include "base/text.hpp"
#include "chakra/chakra_replay.hpp"
#include "chakra/chakra_report.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "engine/execute.hpp"
#include "import/chosen_nodes.hpp"
#include "replay/replay_report.hpp"
#include "replay/replayed_trace.hpp"
#include "report/json_csv.hpp"
#include "trace/timeline_json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>

namespace mirfak {

namespace {

namespace po = boost::program_options;

struct ReplayOptions {
  std::vector<std::string> traces;
  std::string nodes;
  std::string data;
  std::string dependencies;
  std::string groups;
  std::string ideal;
  ReplayQuestions questions;
  std::string format;
  std::string timeline;
  std::optional<int> step;

  ReplayInputs inputs() const { return {traces.front(), dependencies, groups, ideal, questions, step}; }
};

CommandSyntax syntax_for(ReplayOptions& options) {
  CommandSyntax syntax(
      "mirfak replay TRACE... [OPTION]...",
      "Executes the recorded steps of a real training again, and says what its stragglers cost, and what changes "
      "would\n"
      "gain. TRACE is a table of operations, plain or compressed by gzip, with the columns dp_rank, stage, rank, "
      "step,\n"
      "optype, start_ts, duration, seq_id, mc, mb_id and gmc. Or it executes Chakra execution traces of some ranks of\n"
      "one run, NAME.<rank>.et, and says where their time goes and what decides it.");
  syntax.operands = &options.traces;
  auto add = syntax.options.add_options();
  syntax.add_file(FileRole::input, "dependencies", options.dependencies, "D.csv",
                  "a table of dependencies with columns op, depends_on; without it, dependencies follow from TRACE");
  syntax.add_file(FileRole::input, "groups", options.groups, "G.csv",
                  "a table of the operations that are one transfer or collective: columns group, op, across_dp");
  syntax.add_file(
      FileRole::input, "ideal", options.ideal, "I.csv",
      "a table of durations without stragglers: columns optype, ideal_s; without it, means and medians of TRACE");
  add("ideal-rank", po::value(&options.questions.ranks)->value_name("R"),
      "replay as if this rank were no straggler; may be repeated, as the options below");
  add("ideal-data", po::value(&options.questions.data_ranks)->value_name("D"),
      "replay as if this data-parallel rank were no straggler");
  add("ideal-stage", po::value(&options.questions.stages)->value_name("S"),
      "replay as if this pipeline stage were no straggler");
  add("ideal-op", po::value(&options.questions.operations)->value_name("NAME"),
      "replay as if this type of operation had no straggler");
  add("speed", po::value(&options.questions.speeds)->value_name("WHAT:X"),
      "replay as if some operations were X times as fast: stage=3:1.2, data=0,stage=3:0.9, rank=5:2, "
      "op=forward-recv:2");
  add("format", po::value(&options.format)->default_value("text")->value_name("text|json|csv"), "what to print");
  syntax.add_file(FileRole::output, "timeline", options.timeline, "FILE.json",
                  "write a timeline of one replayed step for Perfetto or chrome://tracing");
  add("step", po::value<int>()->notifier([&](int step) { options.step = step; })->value_name("N"),
      "with --timeline: the step to write; default the first");
  add("nodes", po::value(&options.nodes)->value_name("TYPE:COUNT"),
      "for Chakra traces: price communication without a recorded duration on these nodes, with rank r on GPU r");
  add("data", data_folder_option(options.data), "holds models/ and hw_profiles/");
  return syntax;
}

// Refuses options that have no effect on Chakra traces.
void check_chakra(const ReplayOptions& options) {
  const ReplayQuestions& asked = options.questions;
  const bool of_tables = !options.dependencies.empty() || !options.groups.empty() || !options.ideal.empty() ||
                         !asked.ranks.empty() || !asked.data_ranks.empty() || !asked.stages.empty() ||
                         !asked.operations.empty() || !asked.speeds.empty() || options.step;
  if (!of_tables) return;
  fail_input({}, "Chakra traces have one step, say themselves what waits for what, and take no what-ifs",
             "leave out all options but --nodes, --timeline, --format and --data");
}

CommandOutput chakra_output(const ReplayOptions& options, OutputFormat format, const Surroundings& surroundings) {
  check_chakra(options);
  const ChakraReplay replay =
      replay_chakra(options.traces, cluster_of_nodes(options.nodes, data_folders(options.data).hardware));
  if (!options.timeline.empty()) write_timeline_json(options.timeline, replay.joined.program, replay.timeline);
  if (format == OutputFormat::text) return {chakra_text(replay.times, replay.joined.notes), {}};
  const nlohmann::ordered_json out = chakra_json(replay.times, replay.joined.notes, surroundings.seconds_so_far());
  return {format == OutputFormat::csv ? csv_of_json(out["ranks"]) : printed_json(out), {}};
}

void check_table(const ReplayOptions& options) {
  if (options.traces.size() > 1) {
    fail_input({}, fmt::format("unexpected argument '{}'", excerpt(options.traces[1])),
               "a table of operations is one file; Chakra traces are files NAME.<rank>.et");
  }
  if (options.step && options.timeline.empty()) {
    fail_input({}, "--step says which step to draw", "add --timeline, or leave it out");
  }
  if (!options.nodes.empty()) fail_input({}, "--nodes prices communication of Chakra traces", "leave it out");
}

}  // namespace

CommandOutput run_replay(std::span<const std::string> arguments, const Surroundings& surroundings) {
  ReplayOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return {*help, {}};
  const OutputFormat format = format_or_csv_choice(options.format);
  if (are_chakra_traces(options.traces)) return chakra_output(options, format, surroundings);
  check_table(options);
  const ReplayedTrace replayed = replay_trace(options.inputs());
  if (!options.timeline.empty()) {
    const Program program = replayed.program(step_index(replayed.replay.trace(), options.step));
    write_timeline_json(options.timeline, program, execute(program));
  }
  const auto& [replay, question, asked, analysis, notes] = replayed;
  if (format == OutputFormat::text) return {replay_text(replay, analysis, asked, notes), {}};
  const nlohmann::ordered_json json = replay_json(replay, analysis, asked, notes, surroundings.seconds_so_far());
  return {format == OutputFormat::csv ? csv_of_json(json["steps"]) : printed_json(json), {}};
}

}  // namespace mirfak
