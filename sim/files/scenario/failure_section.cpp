#include "scenario/failure_section.hpp"

#include "base/csv.hpp"
#include "base/file_reference.hpp"
#include "base/units.hpp"
#include "cluster/profile_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace mirfak {

namespace {

constexpr double kMaxPerDay = 1e5;  // about one a second

// Names of the units, in the order of FailureUnit.
const std::vector<std::string>& unit_names() {
  static const std::vector<std::string> names = {"gpu", "node", "link", "group", "job"};
  return names;
}

int nodes_taken(Mapping& component, FailureUnit unit, const Cluster& cluster) {
  const bool by_default = unit == FailureUnit::gpu || unit == FailureUnit::node || unit == FailureUnit::link;
  const int least = unit == FailureUnit::group ? 1 : 0;
  const std::optional<Node> nodes = unit == FailureUnit::group ? component.require("nodes") : component.find("nodes");
  return nodes ? static_cast<int>(nodes->as_integer(least, cluster.nodes())) : by_default ? 1 : 0;
}

// Reads the failures per day of one component, stated as such or as the mean time between failures.
double per_day(Mapping& component) {
  const std::optional<Node> hours = component.find("mtbf_hours");
  const std::optional<Node> rate = component.find("rate_per_day");
  if (hours && rate) rate->fail("mtbf_hours says it already", "leave one of them out");
  if (hours) return 24 / hours->as_number(24 / kMaxPerDay, 1e12);
  return (rate ? *rate : component.require("rate_per_day")).as_number(0, kMaxPerDay);
}

FailureCause read_component(const Node& node, const Cluster& cluster, double repair_s) {
  Mapping component(node);
  FailureCause cause;
  cause.name = component.require("name").as_string();
  cause.per = static_cast<FailureUnit>(component.require("per").as_choice(unit_names()));
  cause.nodes = nodes_taken(component, cause.per, cluster);
  cause.rate_per_s = per_day(component) * unit_count(cause.per, cluster, cause.nodes) / kSecondsPerDay;
  cause.repair_s = component.number_or("repair_s", cause.nodes > 0 ? repair_s : 0, 0, kLongestOperation);
  cause.source = component.string_or("source", "the scenario");
  component.finish();
  return cause;
}

// Reads a profile of failures (hw_profiles/failures/README): components by name, rates with sources.
std::vector<FailureCause> read_profile(const Node& name, const Cluster& cluster, double repair_s,
                                       const std::filesystem::path& hardware) {
  const FileReference reference(name);
  std::filesystem::path path;
  if (reference.is_path()) {
    path = reference.existing_path();
  } else {
    std::vector<std::string> known;
    for (const auto& entry : std::filesystem::directory_iterator(hardware / "failures")) {
      if (entry.path().extension() == ".yaml") known.push_back(entry.path().stem().string());
    }
    std::sort(known.begin(), known.end());
    if (!std::binary_search(known.begin(), known.end(), reference.name())) {
      reference.fail_unknown("profile of failures", known);
    }
    path = hardware / "failures" / (reference.name() + ".yaml");
  }
  ProfileFile file(path);
  file.title();
  Mapping components(file.root().require("components"));
  std::vector<FailureCause> causes;
  for (const std::string& key : components.keys()) {
    Mapping component(components.require(key));
    FailureCause cause;
    cause.name = key;
    cause.per = static_cast<FailureUnit>(component.require("per").as_choice(unit_names()));
    cause.nodes = nodes_taken(component, cause.per, cluster);
    const Figure rate = file.figure(component, "rate_per_day", 0, kMaxPerDay);
    cause.rate_per_s = rate.value * unit_count(cause.per, cluster, cause.nodes) / kSecondsPerDay;
    cause.repair_s = cause.nodes > 0 ? repair_s : 0;
    cause.source = rate.source;
    component.finish();
    causes.push_back(std::move(cause));
  }
  file.finish();
  return causes;
}

// Reads a log with the columns time_s, component and nodes: the number of nodes that a failure takes, 1 if the column
// is missing.
void read_log(const Node& name, const Cluster& cluster, double repair_s, Failures& failures) {
  const CsvTable table = CsvTable::from_file(FileReference(name).path(), kLogFile);
  const std::size_t time = table.require("time_s");
  const std::size_t component = table.require("component");
  const std::optional<std::size_t> nodes = table.find("nodes");
  if (table.rows() == 0) name.fail("the log has no failures", "leave it out");
  double before = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const double now = table.number(row, time, 0, 1e12);
    if (now < before) {
      table.fail(row, time, fmt::format("{:g} s comes after {:g} s: times go backwards", now, before),
                 "sort the log by time_s");
    }
    before = now;
    FailureCause cause;
    cause.name = table.text(row, component);
    cause.nodes = nodes ? static_cast<int>(table.integer(row, *nodes, 0, cluster.nodes())) : 1;
    cause.repair_s = cause.nodes > 0 ? repair_s : 0;
    cause.source = name.as_string();
    const auto known = std::find_if(failures.causes.begin(), failures.causes.end(), [&](const FailureCause& one) {
      return one.name == cause.name && one.nodes == cause.nodes;
    });
    failures.log.push_back({now, static_cast<std::size_t>(known - failures.causes.begin())});
    if (known == failures.causes.end()) failures.causes.push_back(std::move(cause));
  }
}

void read_worse_nodes(const Node& list, const Cluster& cluster, NodeSpread& spread) {
  spread.factors.assign(static_cast<std::size_t>(cluster.nodes()), 1);
  for (const Node& item : list.as_items()) {
    Mapping node(item);
    const auto place = static_cast<std::size_t>(node.require("node").as_integer(0, cluster.nodes() - 1));
    spread.factors[place] = node.require("factor").as_number(0, 1e6);
    node.finish();
  }
}

}  // namespace

Failures read_failures(const Node& section, const Cluster& cluster, double repair_s,
                       const std::filesystem::path& hardware) {
  Mapping keys(section);
  Failures failures;
  if (const std::optional<Node> rate = keys.find("rate_per_node_day")) {
    FailureCause cause;
    cause.name = "node";
    cause.rate_per_s = rate->as_number(0, kMaxPerDay) * cluster.nodes() / kSecondsPerDay;
    cause.nodes = 1;
    cause.repair_s = repair_s;
    cause.source = "the scenario";
    cause.per = FailureUnit::node;
    failures.causes.push_back(std::move(cause));
  }
  if (const std::optional<Node> profile = keys.find("profile")) {
    for (FailureCause& cause : read_profile(*profile, cluster, repair_s, hardware)) {
      failures.causes.push_back(std::move(cause));
    }
  }
  if (const std::optional<Node> components = keys.find("components")) {
    for (const Node& item : components->as_items()) {
      failures.causes.push_back(read_component(item, cluster, repair_s));
    }
  }
  if (const std::optional<Node> log = keys.find("log")) {
    if (!failures.causes.empty()) log->fail("a log says all that fails", "leave out rates, or the log");
    read_log(*log, cluster, repair_s, failures);
  }
  if (const std::optional<Node> worse = keys.find("worse_nodes")) read_worse_nodes(*worse, cluster, failures.spread);
  failures.spread.sigma = keys.number_or("node_spread", 0, 0, 5);
  keys.finish();
  return failures;
}

Value independent_failures(const Node& section) {
  Value out = section.value();
  const auto reference = [&](const Value::Field& field) {
    return FileReference(section.child(field.value, field.key));
  };
  for (Value::Field& field : out.fields) {
    if (field.key == "profile") field.value.scalar = reference(field).independent();
    if (field.key == "log") field.value.scalar = independent_path(reference(field).path());
  }
  return out;
}

}  // namespace mirfak
