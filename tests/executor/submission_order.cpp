#include "executor/submission_order.hpp"

#include "executor/collective_plans.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace submission_order_test {

using namespace mirfak;
using namespace mirfak::measure;

namespace {

Job job_of(const std::string& strategy, const std::string& framework) {
  const bool experts = strategy.find("expert") != std::string::npos;
  const std::string text = fmt::format(
      "model: {{source: test, family: gpt, layers: 4, hidden: 64, heads: 4, ffn: 256, vocab: 512, max_sequence: 64,\n"
      "  activation: gelu, normalization: layer_norm, position: learned, linear_bias: true, tied_embeddings: true,\n"
      "  dropout: 0.1{}}}\n"
      "cluster: {{nodes: [{{type: dgx-a100-80g, count: 1, gpus: 4}}]}}\n"
      "training: {{global_batch: 8, sequence_length: 64, precision: bf16, framework: {}}}\n"
      "strategy: {{{}}}\n",
      experts ? ", experts: {count: 4, per_token: 2, ffn: 256}" : "", framework, strategy);
  const DataFolders folders{source_root() + "/models", source_root() + "/hw_profiles"};
  return parse_scenario(Document::from_text(text, "test"), folders).job;
}

struct NamedJob {
  const char* strategy;
  const char* framework;
};
constexpr std::array kJobs = {NamedJob{"tensor: 2, pipeline: 2", "megatron-core"},
                              NamedJob{"data: 4, expert: 2", "megatron-core"},
                              NamedJob{"data: 2, pipeline: 2, expert: 2", "megatron-core"},
                              NamedJob{"pipeline: 2, virtual_pipeline: 2, data: 2", "megatron-core"},
                              NamedJob{"pipeline: 4", "megatron-core"},
                              NamedJob{"data: 2, zero: 1, pipeline: 2, overlap_grad_reduce: true", "megatron-core"},
                              NamedJob{"data: 4, zero: 3", "pytorch-fsdp"}};

std::vector<RankPlan> all_plans(const Simulation& simulation, const ExecutionGroups& groups) {
  std::vector<RankPlan> out;
  for (const ProgramRank& rank : simulation.program.ranks) {
    out.push_back(rank_plan(simulation.program, groups, static_cast<int>(rank.rank)));
  }
  return out;
}

// Runs a collective of all members on numbers; member i's input is its own.
std::vector<std::vector<double>> run_moves(CollectiveKind kind, const std::vector<std::vector<double>>& inputs,
                                           std::size_t elements) {
  const auto members = static_cast<int>(inputs.size());
  std::vector<std::vector<double>> results(inputs.size(), std::vector<double>(elements, -1));
  for (int phase = 0; phase < 2; ++phase) {
    const std::vector<std::vector<double>> before = results;
    for (int member = 0; member < members; ++member) {
      std::vector<double>& own = results[static_cast<std::size_t>(member)];
      for (const LoopbackMove& move : loopback_moves(kind, member, members, elements)) {
        if (move.phase != phase) continue;
        for (std::size_t i = 0; i < move.count; ++i) {
          double value = 0;
          if (move.sums) {
            for (const auto& input : inputs) value += input.at(move.source + i);
          } else {
            value = (move.of_result ? before : inputs).at(static_cast<std::size_t>(move.from)).at(move.source + i);
          }
          own.at(move.target + i) = value;
        }
      }
    }
  }
  return results;
}

std::vector<std::vector<double>> numbered_inputs(int members, std::size_t elements) {
  std::vector<std::vector<double>> out;
  for (int member = 0; member < members; ++member) {
    std::vector<double>& own = out.emplace_back(elements);
    for (std::size_t i = 0; i < elements; ++i) own[i] = member * 100 + static_cast<double>(i);
  }
  return out;
}

}  // namespace

TEST_CASE("each task is submitted once, behind all that it waits for and all before it in its queue") {
  for (const NamedJob& job : kJobs) {
    CAPTURE(job.strategy);
    const auto simulation = lowered(job_of(job.strategy, job.framework), {true, true});
    const ExecutionGroups groups = execution_groups(simulation.program);
    const std::vector<RankPlan> plans = all_plans(simulation, groups);
    const std::vector<SubmissionStep> order = submission_order(groups, plans);
    std::vector<std::vector<std::size_t>> place;
    for (const RankPlan& plan : plans) place.emplace_back(plan.tasks.size(), order.size());
    for (std::size_t step = 0; step < order.size(); ++step) {
      for (const PlannedTask& task : order[step]) {
        REQUIRE(place[task.plan][task.task] == order.size());
        place[task.plan][task.task] = step;
      }
    }
    for (std::size_t plan = 0; plan < plans.size(); ++plan) {
      for (std::size_t task = 0; task < plans[plan].tasks.size(); ++task) {
        REQUIRE(place[plan][task] < order.size());
        for (const std::uint32_t before : plans[plan].tasks[task].after) {
          CHECK(place[plan][before] < place[plan][task]);
        }
      }
      for (const RankQueue& queue : plans[plan].queues) {
        for (std::size_t i = 1; i < queue.tasks.size(); ++i) {
          CHECK(place[plan][queue.tasks[i - 1]] < place[plan][queue.tasks[i]]);
        }
      }
    }
  }
}

TEST_CASE("members of an operation are submitted together") {
  const auto simulation = lowered(job_of("pipeline: 2, data: 2", "megatron-core"), {true, true});
  const ExecutionGroups groups = execution_groups(simulation.program);
  const std::vector<RankPlan> plans = all_plans(simulation, groups);
  for (const SubmissionStep& step : submission_order(groups, plans)) {
    const RankTask& first = plans[step.front().plan].tasks[step.front().task];
    std::size_t members = 1;
    if (first.operation == RankTask::Operation::collective || first.operation == RankTask::Operation::meet) {
      members = groups.groups[first.group].ranks.size();
    }
    if (first.operation == RankTask::Operation::send || first.operation == RankTask::Operation::receive) members = 2;
    CHECK(step.size() == members);
    for (const PlannedTask& task : step) CHECK(plans[task.plan].tasks[task.task].bytes == first.bytes);
  }
}

TEST_CASE("both ends of every transfer know its lane") {
  const auto simulation = lowered(job_of("pipeline: 2, virtual_pipeline: 2, data: 2", "megatron-core"), {true, true});
  const ExecutionGroups groups = execution_groups(simulation.program);
  const std::vector<TransferLane> lanes = transfer_lanes(simulation.program);
  CHECK(lanes.size() == 8);  // two pipelines, each both ways between two ranks, forward and backward
  for (const RankPlan& plan : all_plans(simulation, groups)) {
    for (const RankTask& task : plan.tasks) {
      if (task.operation != RankTask::Operation::send && task.operation != RankTask::Operation::receive) continue;
      CHECK(std::find(lanes.begin(), lanes.end(), lane_of(plan, task)) != lanes.end());
    }
  }
}

TEST_CASE("collectives in one memory give what collectives give") {
  constexpr std::size_t kElements = 12;
  for (const int members : {2, 3, 4}) {
    CAPTURE(members);
    const auto inputs = numbered_inputs(members, kElements);
    const double ranks = members * (members - 1) / 2.0 * 100;
    const std::size_t piece = kElements / static_cast<std::size_t>(members);
    const auto reduced = run_moves(CollectiveKind::all_reduce, inputs, kElements);
    const auto scattered = run_moves(CollectiveKind::reduce_scatter, inputs, kElements);
    const auto gathered = run_moves(CollectiveKind::all_gather, inputs, kElements);
    const auto exchanged = run_moves(CollectiveKind::all_to_all, inputs, kElements);
    const auto told = run_moves(CollectiveKind::broadcast, inputs, kElements);
    const auto shifted = run_moves(CollectiveKind::shift, inputs, kElements);
    for (std::size_t member = 0; member < inputs.size(); ++member) {
      for (std::size_t i = 0; i < kElements; ++i) {
        const std::size_t other = i / piece;
        CHECK(reduced[member][i] == ranks + members * static_cast<double>(i));
        CHECK(gathered[member][i] == inputs[other][i % piece]);
        CHECK(exchanged[member][i] == inputs[other][member * piece + i % piece]);
        CHECK(told[member][i] == inputs[0][i]);
        CHECK(shifted[member][i] == inputs[(member + inputs.size() - 1) % inputs.size()][i]);
      }
      for (std::size_t i = 0; i < piece; ++i) CHECK(scattered[member][i] == reduced[member][member * piece + i]);
    }
  }
}

TEST_CASE("an all-reduce takes elements that ranks do not divide") {
  const auto inputs = numbered_inputs(3, 11);
  for (const auto& result : run_moves(CollectiveKind::all_reduce, inputs, 11)) {
    for (std::size_t i = 0; i < result.size(); ++i) CHECK(result[i] == 300 + 3 * static_cast<double>(i));
  }
}

TEST_CASE("plans of a benchmark hold each operation for each rank, in one order") {
  const std::vector<double> sizes = {1024, 4096};
  const std::vector<int> everybody = {0, 1, 2, 3};
  const CollectivePlans collectives = collective_plans(CollectiveKind::all_gather, everybody, 4, sizes, 3);
  CHECK(collectives.plans.size() == 4);
  const auto order = submission_order(collectives.groups, collectives.plans);
  REQUIRE(order.size() == 6);
  for (const SubmissionStep& step : order) CHECK(step.size() == 4);
  CHECK(collectives.plans[3].tasks[5].bytes == 4096);

  const CollectivePlans sends = transfer_plans(std::array{0, 1}, 2, sizes, 2);
  const auto pairs = submission_order(sends.groups, sends.plans);
  REQUIRE(pairs.size() == 4);
  CHECK(pairs.front().size() == 2);
  CHECK(lane_of(sends.plans[0], sends.plans[0].tasks[0]) == lane_of(sends.plans[1], sends.plans[1].tasks[0]));
}

}  // namespace submission_order_test
