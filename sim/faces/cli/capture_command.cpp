#include "cli/capture_command.hpp"

#include "base/document.hpp"
#include "base/error.hpp"
#include "capture/capture_file.hpp"
#include "capture/capture_report.hpp"
#include "cli/data_folders.hpp"
#include "cli/json_output.hpp"
#include "cli/options.hpp"
#include "cluster/catalog.hpp"
#include "import/chosen_nodes.hpp"
#include "report/json_csv.hpp"
#include "strategy/framework_catalog.hpp"
#include "trace/timeline_json.hpp"

#include <nlohmann/json.hpp>

namespace mirfak {

namespace {

Cluster cluster_of(const CaptureOptions& options, const Catalog& catalog) {
  if (options.nodes.empty()) {
    fail_input({options.capture, 0, 0}, "a capture does not say on what it runs",
               "give --nodes TYPE:COUNT, such as --nodes hgx-h100:8");
  }
  Document document = Document::from_text(cluster_section(options.nodes), "--nodes");
  for (const std::string& assignment : options.overrides) document.override_value(assignment);
  Mapping root{Node(document)};
  const Node section = root.require("cluster");
  root.finish();
  for (const Value::Field& field : section.value().fields) {
    if (field.key == "nodes" || field.key == "fabric") continue;
    section.child(field.value, field.key)
        .fail("this key has no effect on a capture", "captures take keys of cluster.nodes and cluster.fabric");
  }
  return read_cluster(section, catalog);
}

}  // namespace

CommandOutput simulate_capture(const CaptureOptions& options, const Surroundings& surroundings) {
  const OutputFormat format = format_or_csv_choice(options.format);
  const DataFolders folders = data_folders(options.data);
  const Catalog catalog(folders.hardware);
  const Cluster cluster = cluster_of(options, catalog);
  const OperatorTable table = read_operator_table(folders.hardware / "pytorch" / "operators.yaml");
  const FrameworkCatalog frameworks(folders.hardware);
  const CapturePricing pricing{cluster, table, frameworks.framework(FileReference(table.framework))};
  const Capture capture = read_capture(options.capture);
  const CapturedProgram executed = captured_program(capture, pricing);
  const CaptureResult result = capture_result(capture, pricing, executed);
  if (!options.timeline.empty()) write_timeline_json(options.timeline, executed.joined.program, executed.timeline);
  CommandOutput output;
  if (format == OutputFormat::text) {
    output.text = capture_text(capture, pricing, result, options.explain);
  } else {
    const nlohmann::ordered_json json = capture_json(capture, result, surroundings.seconds_so_far());
    output.text = format == OutputFormat::csv ? csv_of_json(json["operators"]) : printed_json(json);
  }
  if (!result.fits) {
    output.complaint = "out of memory: the program allocates more than a GPU has\n  choose GPUs with more memory";
    output.status = kStatusInfeasible;
  }
  return output;
}

}  // namespace mirfak
