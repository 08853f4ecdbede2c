#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "capture/captured_scenario.hpp"
#include "cli/capture_command.hpp"
#include "cli/chakra_files.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/emit_options.hpp"
#include "cli/import_options.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "cli/power_options.hpp"
#include "launch/runnable_search.hpp"
#include "page/page_data.hpp"
#include "report/explanation.hpp"
#include "report/job_text.hpp"
#include "report/jobs_report.hpp"
#include "report/json_csv.hpp"
#include "report/link_report.hpp"
#include "report/links_svg.hpp"
#include "report/memory_remedies.hpp"
#include "report/memory_shortage.hpp"
#include "report/result_json.hpp"
#include "report/sensitivity_report.hpp"
#include "report/spread_report.hpp"
#include "report/summary_text.hpp"
#include "scenario/idle_keys.hpp"
#include "scenario/jobs_file.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "simulation/joint_jobs.hpp"
#include "simulation/long_iteration.hpp"
#include "simulation/sensitivity.hpp"
#include "simulation/spread.hpp"
#include "trace/memory_snapshot.hpp"
#include "trace/power_report.hpp"
#include "trace/timeline_json.hpp"
#include "trace/timeline_text.hpp"
#include "trace/trace_hdf5.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

namespace po = boost::program_options;

struct SimulateOptions {
  std::vector<std::string> files;
  std::vector<std::string> overrides;
  ImportOptions import;
  std::string out;
  std::string format;
  std::string detail;
  bool unfolded = false;
  std::string trace;
  std::string timeline;
  std::string links;
  std::string memory_snapshot;
  PowerOptions power;
  std::string report;
  std::string chakra;
  std::string chakra_ranks;
  bool explain = false;
  std::optional<int> samples;
  std::optional<std::uint64_t> seed;
  std::string sampling;
  bool sensitivity = false;
  std::optional<double> factor;
  EmitOptions emit;
  std::string data;
};

CommandSyntax syntax_for(SimulateOptions& options) {
  CommandSyntax syntax(
      "mirfak simulate FILE... [OPTION]...",
      "Simulates one training iteration of the job, or of each of several jobs, that the scenario FILE describes, and\n"
      "says how long it takes, where the time goes, what memory, energy and money it needs. Or of the job that the\n"
      "FILEs start, which mirfak import reads. Or one step of a captured PyTorch program, on --nodes.");
  syntax.operands = &options.files;
  auto add = syntax.options.add_options();
  add("set", po::value(&options.overrides)->value_name("KEY=VALUE"),
      "override a key (strategy.tensor=4); may be repeated");
  add("format", po::value(&options.format)->default_value("text")->value_name("text|json|csv"), "what to print");
  add("detail", po::value(&options.detail)->default_value("passes")->value_name("passes|operators"),
      "a task for each pass, or each kernel and collective");
  add("unfolded", po::bool_switch(&options.unfolded), "simulate every rank, not one for all that behave alike");
  syntax.add_file(FileRole::output, "trace", options.trace, "FILE.h5", "write all tasks, memory and power as HDF5");
  syntax.add_file(FileRole::output, "timeline", options.timeline, "FILE.json",
                  "write a timeline for Perfetto or chrome://tracing");
  syntax.add_file(FileRole::output, "links", options.links, "FILE.svg", "draw the use of the network's links");
  syntax.add_file(FileRole::output, "memory-snapshot", options.memory_snapshot, "FILE.pickle",
                  "write the predicted memory for PyTorch's memory viewer");
  options.power.add_to(syntax, kIterationResolutions);
  syntax.add_file(FileRole::output, "report", options.report, "FILE.html",
                  "write a page with views and reasons of all figures");
  syntax.add_file(FileRole::as_added, "chakra", options.chakra, "PREFIX",
                  "write Chakra execution traces PREFIX.<rank>.et");
  syntax.more_files = [&options](std::vector<FileArgument>& files) {
    if (!options.chakra.empty()) files.push_back({FileRole::output, "--chakra", options.chakra + ".comm_groups.json"});
  };
  add("chakra-ranks", po::value(&options.chakra_ranks)->value_name("RANKS"),
      "ranks of --chakra, such as 0-7,64; default all");
  add("explain", po::bool_switch(&options.explain), "also print every cost with formula and sources");
  add("samples", po::value<int>()->notifier([&](int count) { options.samples = count; })->value_name("N"),
      "N draws of cluster.perturbations, training.images: p50, p95, p99");
  add("seed", po::value<std::uint64_t>()->notifier([&](std::uint64_t seed) { options.seed = seed; })->value_name("S"),
      "seed of --samples (cluster.perturbations.seed)");
  add("sampling", po::value(&options.sampling)->default_value("antithetic")->value_name("antithetic|random"),
      "pairs of mirrored samples, or independent ones");
  add("sensitivity", po::bool_switch(&options.sensitivity), "print the gain from more of each resource");
  add("factor", po::value<double>()->notifier([&](double factor) { options.factor = factor; })->value_name("F"),
      "factor of --sensitivity; default 1.1");
  options.emit.add_to(syntax);
  syntax.add_file(FileRole::output, "out", options.out, "FILE.sh", "with --emit-into: write the script here");
  options.import.add_to(syntax);
  add("data", data_folder_option(options.data), "holds models/ and hw_profiles/");
  return syntax;
}

bool wants_operators(const std::string& detail) {
  static const std::vector<std::string> names = {"passes", "operators"};
  return choice("--detail", detail, names) == 1;
}

std::string text_report(const Scenario& scenario, const Simulation& simulation, std::span<const std::string> notes,
                        bool explain, const Surroundings& surroundings) {
  TimelineTextOptions drawing;
  drawing.colour = surroundings.colour;
  if (surroundings.columns > 0) drawing.width = std::clamp(surroundings.columns, 40, 160);
  std::string out = summary_text(scenario, simulation, notes);
  if (!is_executed_in_part(simulation)) {
    out += "\n" + timeline_text(simulation.program, simulation.timeline, drawing);
  }
  if (explain) out += "\n" + text_of(explanation(scenario, simulation));
  return out;
}

// Results that are asked for in addition to the iteration.
struct Sections {
  std::optional<NetworkUse> links;
  std::optional<Spread> spread;
  std::optional<Sensitivity> gains;
  std::optional<PowerReport> power;
};

std::string csv_report(const Simulation& simulation, const std::optional<Sensitivity>& gains,
                       const Surroundings& surroundings) {
  if (gains) return sensitivity_csv(*gains);
  return csv_of_json(result_json(simulation, surroundings.seconds_so_far()));
}

nlohmann::ordered_json json_report(const Simulation& simulation, std::span<const std::string> notes,
                                   const Sections& sections, const Surroundings& surroundings) {
  nlohmann::ordered_json out = result_json(simulation, surroundings.seconds_so_far(), notes);
  if (sections.links) out["links"] = links_json(simulation, *sections.links);
  if (sections.spread) out["spread"] = spread_json(*sections.spread);
  if (sections.gains) out["sensitivity"] = sensitivity_json(*sections.gains);
  if (sections.power) out["power"] = power_json(*sections.power);
  return out;
}

void check_network(const Cluster& cluster) {
  if (cluster.domains() > 1) return;
  fail_input({"--links", 0, 0},
             fmt::format("{}: nothing crosses a network, as all GPUs are one scale-up domain", cluster_text(cluster)),
             "leave out --links, or give cluster.nodes more nodes");
}

NetworkUse draw_links(const std::string& path, const Scenario& scenario, const Simulation& simulation,
                      const LoweringOptions& lowering) {
  const Cluster& cluster = scenario.job.cluster;
  NetworkUse use = whole_network_use(simulation, lowering);
  const LinksTitle title{cluster_text(cluster) + ", " + scenario.job.model.name, links_effect_text(simulation, use)};
  write_text_file(path, links_svg(title, use));
  return use;
}

std::optional<SpreadOptions> sampling_of(const SimulateOptions& options) {
  static const std::vector<std::string> names = {"antithetic", "random"};
  const bool antithetic = choice("--sampling", options.sampling, names) == 0;
  if (!options.samples) {
    if (!options.seed && antithetic) return std::nullopt;
    fail_input({}, fmt::format("{} needs --samples", options.seed ? "--seed" : "--sampling"),
               "say how many iterations, such as --samples 1000");
  }
  check_samples(*options.samples);
  SpreadOptions out;
  out.samples = *options.samples;
  out.seed = options.seed;
  out.antithetic = antithetic;
  return out;
}

void refuse_of_several_jobs(const SimulateOptions& options) {
  std::vector<const char*> given;
  if (!options.chakra.empty()) given.push_back("--chakra");
  if (!options.memory_snapshot.empty()) given.push_back("--memory-snapshot");
  if (options.power.given()) given.push_back("--power");
  if (options.emit.given()) given.push_back("--emit");
  if (given.empty()) return;
  fail_input({}, fmt::format("{} is of one job", given.front()),
             "leave it out, or give the scenario of one of the jobs");
}

// Returns the factor of --sensitivity; nullopt: not asked.
std::optional<double> factor_of(const SimulateOptions& options) {
  constexpr double usual = 1.1;
  if (!options.sensitivity) {
    if (!options.factor) return std::nullopt;
    fail_input({}, "--factor needs --sensitivity", "it says by how much each resource is varied");
  }
  const double factor = options.factor.value_or(usual);
  if (factor >= 0.1 && factor <= 10) return factor;
  fail_input({}, fmt::format("--factor: expected a number from 0.1 to 10, found {:g}", factor));
}

// Checks the format. A CSV table has one kind of rows.
void check_format(const SimulateOptions& options, OutputFormat format) {
  options.emit.check(format);
  if (options.explain && format == OutputFormat::json) {
    fail_input({}, "--explain prints text, not JSON", "leave out --format json");
  }
  if (format != OutputFormat::csv) return;
  if (options.explain) fail_input({}, "--explain prints text, not CSV", "leave out --format csv");
  if (options.samples) {
    fail_input({}, "--samples adds percentiles, causes and ranks, which are no table", "use --format json");
  }
}

// Options of a simulation that were read and checked.
struct Asked {
  OutputFormat format;
  LoweringOptions lowering;
  std::optional<SpreadOptions> sampling;
  std::optional<double> factor;  // of --sensitivity
  double power_resolution_s = 0;
};

Asked asked_by(const SimulateOptions& options) {
  Asked out;
  out.format = format_or_csv_choice(options.format);
  out.lowering = {options.unfolded, wants_operators(options.detail)};
  check_format(options, out.format);
  out.sampling = sampling_of(options);
  out.factor = factor_of(options);
  out.power_resolution_s = options.power.checked_resolution_s();
  check_chakra_options(options.chakra, options.chakra_ranks);
  return out;
}

// Refuses options that mean nothing for a capture.
CaptureOptions options_of_capture(const SimulateOptions& options, const Asked& asked) {
  struct Other {
    bool given;
    const char* option;
    const char* reason;
  };
  const Other others[] = {
      {options.detail != "passes", "--detail", "each captured operator is a task"},
      {options.unfolded, "--unfolded", "each captured rank runs its own events"},
      {!options.links.empty(), "--links", "communication of captures has the links for itself"},
      {!options.memory_snapshot.empty(), "--memory-snapshot", "only the peaks of a capture's memory are kept"},
      {options.emit.given(), "--emit", "a captured program has no strategy that launch arguments would state"},
  };
  for (const Other& other : others) {
    if (!other.given) continue;
    fail_input({},
               fmt::format("{} means nothing for {}, which is of a capture: {}", other.option, options.files.front(),
                           other.reason),
               "leave it out");
  }
  return {asked.format,   options.trace,        options.timeline,        options.report,
          options.chakra, options.chakra_ranks, options.explain,         asked.sampling,
          asked.factor,   options.power.file,   asked.power_resolution_s};
}

// Writes the files of the iteration that are asked for.
void write_files(const SimulateOptions& options, const Scenario& scenario, const Simulation& simulation) {
  if (!options.trace.empty()) write_trace(options.trace, scenario, simulation);
  if (!options.timeline.empty()) write_timeline_json(options.timeline, simulation);
  if (!options.memory_snapshot.empty()) write_memory_snapshot(options.memory_snapshot, simulation);
  if (!options.chakra.empty()) write_chakra_files(options.chakra, options.chakra_ranks, scenario, simulation);
}

// Computes the results that are asked for in addition to the iteration, and writes the files of power and links.
Sections sections_of(const SimulateOptions& options, const Asked& asked, const Scenario& scenario,
                     const Simulation& simulation) {
  Sections out;
  if (options.power.given()) {
    out.power = power_report(simulation, asked.power_resolution_s);
    write_power(options.power.file, power_file_of(*out.power, scenario.resolved));
  }
  if (!options.links.empty()) out.links = draw_links(options.links, scenario, simulation, asked.lowering);
  if (asked.factor) out.gains = sensitivity(simulation, *asked.factor, asked.lowering);
  if (asked.sampling) out.spread = sample_iterations(scenario.job, *asked.sampling);
  return out;
}

// Returns the results of an iteration in the format that is asked for.
std::string printed(const SimulateOptions& options, OutputFormat format, const Scenario& scenario,
                    const Simulation& simulation, std::span<const std::string> notes, const Sections& sections,
                    const Surroundings& surroundings) {
  switch (format) {
    case OutputFormat::json:
      return printed_json(json_report(simulation, notes, sections, surroundings));
    case OutputFormat::csv:
      return csv_report(simulation, sections.gains, surroundings);
    case OutputFormat::text:
      return text_report(scenario, simulation, notes, options.explain, surroundings);
  }
  return {};
}

CommandOutput simulate_job(const SimulateOptions& options, const Asked& asked, const Document& document,
                           const ScenarioSources& sources, const Surroundings& surroundings) {
  const Scenario scenario = parse_scenario(document, sources);
  if (!options.links.empty()) check_network(scenario.job.cluster);
  const Simulation simulation = simulate(scenario.job, asked.lowering);
  write_files(options, scenario, simulation);
  const Sections sections = sections_of(options, asked, scenario, simulation);
  CommandOutput output;
  const bool as_usual = !asked.lowering.unfolded && !asked.lowering.operators;
  std::vector<std::string> notes =
      notes_on_keys(scenario, sources, as_usual ? simulation.result : simulate(scenario.job).result);
  if (sections.spread) leave_out_notes_on_perturbations(notes);
  const std::vector<std::string> of_program = notes_on_program(scenario.job, document, sources.folders.hardware);
  notes.insert(notes.end(), of_program.begin(), of_program.end());
  const AssertionResult asserted = check_assertions(scenario.assertions, scenario.job, simulation.result);
  notes.insert(notes.end(), asserted.notes.begin(), asserted.notes.end());
  if (!options.report.empty()) {
    nlohmann::ordered_json data = simulation_page_data(scenario, simulation, notes, surroundings.seconds_so_far());
    data["result"] = json_report(simulation, notes, sections, surroundings);
    write_text_file(options.report, page_of(data));
  }
  output.text = printed(options, asked.format, scenario, simulation, notes, sections, surroundings);
  if (options.emit.given())
    emit(scenario.job, options.emit, sources, {document, options.import, options.out}, {}, output);
  if (asked.format == OutputFormat::text) {
    if (sections.spread) output.text += "\n" + spread_text(*sections.spread);
    if (sections.gains) output.text += "\n" + sensitivity_text(*sections.gains);
    if (sections.power) output.text += "\n" + power_text(*sections.power);
  }
  complain_of_memory(scenario.job, simulation.result, output);
  complain_of_assertions(asserted, output);
  return output;
}

CommandOutput simulate_jobs(const JobsFile& file, const SimulateOptions& options, const Asked& asked) {
  const LoweringOptions& lowering = asked.lowering;
  std::vector<JobAmong> jobs;
  for (const NamedJob& job : file.jobs) jobs.push_back({job.job(), job.start_s});
  if (!options.links.empty()) check_network(file.cluster);
  const JointSimulation simulation = simulate_together(jobs, file.iterations, lowering);
  NetworkUse links = network_use(simulation, file.names());
  if (!options.trace.empty()) write_trace(options.trace, file, simulation, links);
  if (!options.timeline.empty()) write_timeline_json(options.timeline, simulation, links);
  if (!options.links.empty()) {
    links = whole_network_use(simulation, file.names(), lowering);
    write_text_file(options.links, links_svg(jobs_links_title(file, simulation), links));
  }
  if (!options.report.empty()) {
    const std::vector<Section> network = network_explanation(file, jobs, simulation, links, lowering);
    write_text_file(options.report, page_of(jobs_page_data(file, simulation, links, network)));
  }
  CommandOutput output;
  const bool json = asked.format == OutputFormat::json;
  std::optional<JointSpread> spread;
  if (asked.sampling) spread = sample_together(jobs, file.iterations, *asked.sampling);
  if (asked.format == OutputFormat::csv) {
    output.text = csv_of_json(jobs_json(file, simulation, links)["jobs"]);
  } else if (json) {
    nlohmann::ordered_json out = jobs_json(file, simulation, links);
    if (spread) out["spread"] = jobs_spread_json(file, *spread);
    output.text = printed_json(std::move(out));
  } else {
    output.text = jobs_text(file, simulation);
    if (options.explain) output.text += "\n" + text_of(jobs_explanation(file, jobs, simulation, links, lowering));
    if (spread) output.text += "\n" + jobs_spread_text(file, *spread);
  }
  for (std::size_t i = 0; i < jobs.size() && output.complaint.empty(); ++i) {
    const IterationResult& alone = simulation.jobs[i].alone;
    if (alone.fits) continue;
    output.complaint = fmt::format("out of memory: {}: {}\n  {}", file.jobs[i].name, memory_shortage_text(alone),
                                   memory_remedies(jobs[i].job, alone));
    output.status = kStatusInfeasible;
  }
  return output;
}

}  // namespace

CommandOutput run_simulate(std::span<const std::string> arguments, const Surroundings& surroundings) {
  SimulateOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return {*help, {}};
  const Asked asked = asked_by(options);
  const ScenarioSources sources(data_folders(options.data));
  options.emit.complete(options.files, options.import, sources);
  if (!options.out.empty() && options.emit.into.empty())
    fail_input({}, "--out is for the script that --emit-into changes", "say --emit-into SCRIPT, or leave it out");
  const Document document = scenario_document(options.files, options.import, options.overrides, sources);
  if (names_capture(document))
    return simulate_capture(document, options_of_capture(options, asked), sources, surroundings);
  if (!has_jobs(document)) return simulate_job(options, asked, document, sources, surroundings);
  refuse_of_several_jobs(options);
  if (asked.factor) {
    fail_input({}, "--sensitivity is of one job, and this file has several", "simulate a job of it alone");
  }
  JobsFile file = read_jobs(document, sources);
  note_what_is_idle(file, asked.sampling.has_value());
  return simulate_jobs(file, options, asked);
}

}  // namespace mirfak
