#include "replay/step_graph.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>

namespace mirfak {

namespace {

std::optional<std::int32_t> whole_number(std::string_view text) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

OperationName parse_name(const CsvTable& table, std::size_t row, std::size_t column) {
  const std::string_view text = table.text(row, column);
  const std::size_t second = text.rfind('_');
  const std::size_t first = second == std::string_view::npos || second == 0 ? second : text.rfind('_', second - 1);
  if (first != std::string_view::npos && first != second) {
    const std::string kind_name(text.substr(0, first));
    const auto number = whole_number(text.substr(first + 1, second - first - 1));
    const auto place = whole_number(text.substr(second + 1));
    if (number && place) {
      if (const auto kind = find_operation_kind(kind_name)) return {*kind, *number, *place};
      const std::vector<std::string> names = operation_kind_names();
      fail_input(table.where(row, column), fmt::format("unknown operation '{}'", excerpt(kind_name)),
                 did_you_mean(kind_name, names, "expected " + join_or(names)));
    }
  }
  table.fail(row, column,
             fmt::format("expected an operation such as forward-compute_3_1 (type, microbatch, stage), found '{}'",
                         excerpt(text)));
}

class GraphReader {
 public:
  void read_dependencies(const CsvTable& table) {
    const std::size_t operation = table.require("op");
    const std::size_t depends_on = table.require("depends_on");
    if (table.rows() == 0) fail_input({table.name(), 1, 1}, "the table has no operations");
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const std::uint32_t own = number_of(table, row, operation);
      if (table.empty(row, depends_on)) continue;
      const std::uint32_t other = number_of(table, row, depends_on);
      std::vector<std::uint32_t>& after = graph.operations[own].after;
      if (std::find(after.begin(), after.end(), other) == after.end()) after.push_back(other);
    }
  }

  void read_groups(const CsvTable& table, const std::string& dependencies) {
    const std::size_t group = table.require("group");
    const std::size_t operation = table.require("op");
    const std::size_t across = table.require("across_dp");
    std::map<std::string, std::size_t> groups;
    std::map<std::uint32_t, int> line_of;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const auto found = known_.find(parse_name(table, row, operation));
      if (found == known_.end()) {
        table.fail(row, operation, fmt::format("{} is not in {}", table.text(row, operation), dependencies),
                   "name every operation there, with an empty depends_on if it waits for nothing");
      }
      const bool across_data = table.integer(row, across, 0, 1) == 1;
      const auto [known, is_new] = groups.try_emplace(table.text(row, group), graph.groups.size());
      if (is_new) graph.groups.push_back({{}, across_data});
      OperationGroup& of = graph.groups[known->second];
      if (of.across_data != across_data) {
        table.fail(row, across, fmt::format("group {} has another value above", table.text(row, group)));
      }
      const auto [member, is_free] = line_of.try_emplace(found->second, table.where(row, operation).line);
      if (!is_free) {
        table.fail(row, operation,
                   fmt::format("{} is in a group already, in line {}", table.text(row, operation), member->second));
      }
      of.members.push_back(found->second);
      graph.operations[found->second].where = table.where(row, operation);
    }
  }

  StepGraph graph;

 private:
  std::uint32_t number_of(const CsvTable& table, std::size_t row, std::size_t column) {
    const OperationName name = parse_name(table, row, column);
    const auto [known, is_new] = known_.try_emplace(name, static_cast<std::uint32_t>(graph.operations.size()));
    if (is_new) graph.operations.push_back({name, table.where(row, column), {}});
    return known->second;
  }

  std::map<OperationName, std::uint32_t> known_;
};

}  // namespace

std::string OperationName::text() const { return fmt::format("{}_{}_{}", operation_kinds()[kind].name, number, place); }

OperationName name_of(const MeasuredOperation& operation, const MeasuredTrace& trace, Naming naming) {
  const int stage = trace.ranks[operation.rank].stage;
  const bool is_pass = operation_kinds()[operation.kind].role == OperationRole::pass;
  const bool by_part = naming == Naming::by_part && is_pass && operation.part >= 0;
  return {operation.kind, naming == Naming::by_sequence ? operation.sequence : operation.number(),
          by_part ? operation.part : stage};
}

StepGraph read_step_graph(const CsvTable& dependencies, const CsvTable& groups) {
  GraphReader reader;
  reader.read_dependencies(dependencies);
  reader.read_groups(groups, dependencies.name());
  return std::move(reader.graph);
}

}  // namespace mirfak
