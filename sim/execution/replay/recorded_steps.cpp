#include "replay/recorded_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace mirfak {

namespace {

constexpr std::uint32_t kNotRecorded = static_cast<std::uint32_t>(-1);

// Returns the first two operations of one rank and step that have the same name.
std::optional<std::pair<std::size_t, std::size_t>> twins(const MeasuredTrace& trace, Naming naming) {
  using Key = std::tuple<std::uint32_t, std::uint32_t, OperationName, std::size_t>;
  std::vector<Key> names;
  names.reserve(trace.operations.size());
  for (std::size_t i = 0; i < trace.operations.size(); ++i) {
    const MeasuredOperation& operation = trace.operations[i];
    names.emplace_back(operation.step, operation.rank, name_of(operation, trace, naming), i);
  }
  std::sort(names.begin(), names.end());
  const auto same = [](const Key& a, const Key& b) {
    return std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(a)) ==
           std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(b));
  };
  const auto found = std::adjacent_find(names.begin(), names.end(), same);
  if (found == names.end()) return std::nullopt;
  return std::pair{std::get<3>(*found), std::get<3>(*(found + 1))};
}

[[noreturn]] void fail_twins(const MeasuredTrace& trace, std::pair<std::size_t, std::size_t> pair) {
  const MeasuredOperation& first = trace.operations[pair.first];
  const MeasuredOperation& second = trace.operations[pair.second];
  fail_input(trace.where(second), fmt::format("{} of rank {} in step {} stands in line {} already",
                                              name_of(second, trace, Naming::by_stage).text(),
                                              trace.ranks[second.rank].number, trace.steps[second.step], first.line));
}

class Matcher {
 public:
  Matcher(const MeasuredTrace& trace, const StepGraph& graph) : trace_(trace), graph_(graph) {
    for (std::size_t i = 0; i < graph.operations.size(); ++i) {
      numbers_.emplace(graph.operations[i].name, static_cast<std::uint32_t>(i));
    }
    for (const int data : trace.data_ranks()) {
      first_replica_[data] = out_.replicas.size();
      for (int peer = 0; peer < trace.peers; ++peer) out_.replicas.push_back({data, peer});
    }
  }

  RecordedSteps match() {
    naming_ = best_naming();
    out_.stage_of.assign(graph_.operations.size(), -1);
    check_counts();
    out_.rank_of.assign(instances(), kNotRecorded);
    out_.operations.assign(instances() * trace_.steps.size(), kNotRecorded);
    for (std::size_t i = 0; i < trace_.operations.size(); ++i) {
      const MeasuredOperation& operation = trace_.operations[i];
      const std::size_t instance = instance_of(operation);
      std::uint32_t& at = out_.operations[operation.step * instances() + instance];
      if (at != kNotRecorded) fail_twins(trace_, {at, i});
      at = static_cast<std::uint32_t>(i);
      out_.rank_of[instance] = operation.rank;
    }
    return std::move(out_);
  }

 private:
  // Returns the naming by which the graph names everything that was recorded, or a distinct naming if there is none.
  Naming best_naming() const {
    for (const Naming naming : kNamings) {
      const bool known = std::all_of(
          trace_.operations.begin(), trace_.operations.end(),
          [&](const MeasuredOperation& operation) { return numbers_.contains(name_of(operation, trace_, naming)); });
      if (known && !twins(trace_, naming)) return naming;
    }
    return distinct_naming(trace_);
  }

  std::size_t instances() const { return out_.replicas.size() * graph_.operations.size(); }

  std::size_t instance_of(const MeasuredOperation& operation) {
    const MeasuredRank& rank = trace_.ranks[operation.rank];
    const OperationName name = name_of(operation, trace_, naming_);
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) {
      fail_input(trace_.where(operation), fmt::format("{} is not in the graph of dependencies", name.text()),
                 "name every operation there, or leave out --dependencies");
    }
    int& stage = out_.stage_of[found->second];
    if (stage >= 0 && stage != rank.stage) {
      fail_input(trace_.where(operation),
                 fmt::format("{} is on stage {} here, on {} elsewhere", name.text(), rank.stage, stage));
    }
    stage = rank.stage;
    const std::size_t replica = first_replica_.at(rank.data) + static_cast<std::size_t>(rank.peer);
    return replica * graph_.operations.size() + found->second;
  }

  // Checks that no step has fewer operations than instances. So never more room is made than was recorded; and if no
  // two operations are in one place, none is missing.
  void check_counts() {
    std::vector<std::size_t> counts(trace_.steps.size());
    for (const MeasuredOperation& operation : trace_.operations) ++counts[operation.step];
    const auto fewer =
        std::find_if(counts.begin(), counts.end(), [&](std::size_t count) { return count < instances(); });
    if (fewer != counts.end()) fail_lacking(static_cast<std::size_t>(fewer - counts.begin()));
  }

  [[noreturn]] void fail_lacking(std::size_t step) {
    std::set<std::size_t> found;
    for (const MeasuredOperation& operation : trace_.operations) {
      if (operation.step == step) found.insert(instance_of(operation));
    }
    std::size_t missing = 0;
    for (const std::size_t instance : found) missing += instance == missing ? 1 : 0;
    const GraphOperation& operation = graph_.operations[missing % graph_.operations.size()];
    fail_input(operation.where,
               fmt::format("step {} of data rank {} lacks {} in {}", trace_.steps[step],
                           out_.replicas[missing / graph_.operations.size()].data, operation.name.text(), trace_.name),
               "every step has every operation of the graph, on every data rank");
  }

  const MeasuredTrace& trace_;
  const StepGraph& graph_;
  std::map<OperationName, std::uint32_t> numbers_;
  std::map<int, std::size_t> first_replica_;
  Naming naming_{};
  RecordedSteps out_;
};

}  // namespace

RecordedSteps match_steps(const MeasuredTrace& trace, const StepGraph& graph) { return Matcher(trace, graph).match(); }

Naming distinct_naming(const MeasuredTrace& trace) {
  for (const Naming naming : kNamings) {
    if (!twins(trace, naming)) return naming;
  }
  fail_twins(trace, *twins(trace, Naming::by_sequence));
}

}  // namespace mirfak
