#include "base/document.hpp"
#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "cli/commands.hpp"
#include "cli/data_folders.hpp"
#include "cli/graphviz.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "network/fabric_file.hpp"
#include "network/node_topology.hpp"
#include "network/topology_report.hpp"
#include "report/job_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <optional>

namespace mirfak {

namespace {

namespace po = boost::program_options;

struct TopologyOptions {
  std::string file;
  std::vector<std::string> overrides;
  std::vector<std::string> between;
  std::string name;
  std::string format;
  std::string svg;
  std::string data;
};

CommandSyntax syntax_for(TopologyOptions& options) {
  CommandSyntax syntax(
      "mirfak topology FILE [OPTION]...",
      "Prints the graph of a network: kinds of vertices and links, levels, diameter, bisection, and the bandwidth "
      "between\n"
      "any two groups of devices. FILE is a scenario, a file with the keys of a scenario's cluster, or a description "
      "of a\n"
      "network: mirfak's own, InfraGraph, a topology file of NCCL (.xml), Slurm's topology.conf or topology.yaml.\n\n"
      "Groups are written node:3, node:0-7, domain:0, pod:1, group:2, rail:5, device:0-15, or as the beginning of "
      "names\n"
      "in a file, host.0.");
  syntax.operand = &options.file;
  auto add = syntax.options.add_options();
  add("set", po::value(&options.overrides)->composing()->value_name("KEY=VALUE"),
      "override a key of the file; may be repeated");
  add("between", po::value(&options.between)->composing()->multitoken()->value_name("A B"),
      "also print the bandwidth from group A to group B; may be repeated");
  add("topology", po::value(&options.name)->value_name("NAME"), "the topology to read if a topology.yaml has several");
  add("format", po::value(&options.format)->default_value("text")->value_name("text|json|dot"), "what to print");
  syntax.add_file(FileRole::output, "svg", options.svg, "FILE.svg", "draw the network (needs Graphviz' dot)");
  add("data", data_folder_option(options.data), "holds models/ and hw_profiles/");
  return syntax;
}

bool is_yaml(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  return extension != ".xml" && extension != ".conf";
}

// Returns the cluster of a scenario, or of a file that is the section itself; nullopt: the file describes a network.
std::optional<Cluster> cluster_of(const TopologyOptions& options) {
  if (!is_yaml(options.file)) return std::nullopt;
  Document document = Document::from_file(options.file);
  if (document.root().kind != Value::Kind::mapping) return std::nullopt;
  const bool scenario = document.root().find("cluster") != nullptr;
  if (!scenario && document.root().find("nodes") == nullptr) return std::nullopt;
  for (const std::string& assignment : options.overrides) document.override_value(assignment);
  const Catalog catalog(data_folders(options.data).hardware);
  const Node root(document);
  const Node section = scenario ? root.child(*document.root().find("cluster"), "cluster") : root;
  return with_network_files(read_cluster(section, catalog));
}

void ask_between(const std::vector<std::string>& groups, TopologyReport& report) {
  if (groups.size() % 2 != 0) {
    fail_input({}, "--between: expected two groups of devices", "for example --between pod:0 pod:1");
  }
  for (std::size_t i = 0; i < groups.size(); i += 2) {
    const std::vector<int> from = named_devices(*report.topology, report.cluster, groups[i], "--between");
    const std::vector<int> to = named_devices(*report.topology, report.cluster, groups[i + 1], "--between");
    for (const int device : to) {
      if (std::find(from.begin(), from.end(), device) != from.end()) {
        fail_input({}, fmt::format("--between: {} is in both groups", report.topology->name(device)),
                   "name groups that share no device");
      }
    }
    report.between.push_back(
        {groups[i], groups[i + 1], from.size(), to.size(), most_between(*report.topology, from, to)});
  }
}

}  // namespace

CommandOutput run_topology(std::span<const std::string> arguments, const Surroundings& /*surroundings*/) {
  TopologyOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return {*help, {}};
  const std::vector<std::string> formats = {"text", "json", "dot"};
  const std::size_t format = choice("--format", options.format, formats);

  TopologyReport report;
  const std::optional<Cluster> cluster = cluster_of(options);
  std::optional<Topology> topology;
  if (cluster) {
    report.title = cluster_text(*cluster);
    report.format = fmt::format("{} GPUs", cluster->gpus());
    if (cluster->fabric().graph) report.notes = cluster->fabric().graph->notes;
    for (std::string& note : topology_notes(*cluster)) report.notes.push_back(std::move(note));
    report.cluster = &*cluster;
    topology.emplace(*cluster);
  } else {
    if (!options.overrides.empty()) fail_input({}, "--set changes a scenario, and this file is none", "edit the file");
    const NetworkGraph graph = read_network_file(options.file, options.name);
    report.title = graph.title;
    report.format = graph.format;
    report.facts = graph.facts;
    report.notes = graph.notes;
    const int parts = graph.parts();
    report.facts.emplace_back("connected_components", std::to_string(parts));
    topology.emplace(graph);
  }
  report.topology = &*topology;
  report.diameter = diameter_of(*topology);
  if (topology->devices() > 1 && !report.diameter.unreachable) {
    report.bisection = bisection_of(*topology, report.cluster);
  }
  ask_between(options.between, report);
  if (!options.svg.empty()) write_text_file(options.svg, drawn_by_graphviz(topology_dot(report)));
  if (format == 2) return {topology_dot(report), {}};
  return {format == 1 ? printed_json(topology_json(report)) : topology_text(report), {}};
}

}  // namespace mirfak
