// The waits of streams order a plan as its program does: no less, and no more.

#include "executor/device_waits.hpp"

#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

using namespace mirfak;
using namespace mirfak::measure;

namespace {

struct NamedJob {
  const char* strategy;
  const char* training;
};
constexpr std::array kJobs = {
    NamedJob{"tensor: 2, pipeline: 2", "framework: megatron-core, cuda_graphs: full"},
    NamedJob{"pipeline: 4", "framework: megatron-core"},
    NamedJob{"pipeline: 2, virtual_pipeline: 2, data: 2", "framework: megatron-core, cuda_graphs: full"},
    NamedJob{"data: 2, zero: 1, pipeline: 2, overlap_grad_reduce: true", "framework: megatron-core, cuda_graphs: full"},
    NamedJob{"pipeline: 2, data: 2, schedule: zb-v", "framework: megatron-core"},
    NamedJob{"pipeline: 2, tensor: 2, schedule: dualpipe", "framework: megatron-core, cuda_graphs: full"},
    NamedJob{"data: 4, zero: 3", "framework: pytorch-fsdp"}};

std::vector<RankPlan> plans_of(const NamedJob& job) {
  const std::string text = fmt::format(
      "model: {{source: test, family: gpt, layers: 4, hidden: 64, heads: 4, ffn: 256, vocab: 512, max_sequence: 64,\n"
      "  activation: gelu, normalization: layer_norm, position: learned, linear_bias: true, tied_embeddings: true,\n"
      "  dropout: 0.1}}\n"
      "cluster: {{nodes: [{{type: dgx-a100-80g, count: 1, gpus: 4}}]}}\n"
      "training: {{global_batch: 8, sequence_length: 64, precision: bf16, {}}}\n"
      "strategy: {{{}}}\n",
      job.training, job.strategy);
  const DataFolders folders{source_root() + "/models", source_root() + "/hw_profiles"};
  const auto simulation = lowered(parse_scenario(Document::from_text(text, "test"), folders).job, {true, true});
  const ExecutionGroups groups = execution_groups(simulation.program);
  std::vector<RankPlan> out;
  for (const ProgramRank& rank : simulation.program.ranks) {
    out.push_back(rank_plan(simulation.program, groups, static_cast<int>(rank.rank)));
  }
  return out;
}

// By queue, how many of its tasks have surely ended when a task begins.
using Ended = std::vector<std::uint32_t>;

// `waits`: by task, what it waits for beside the task before it in its queue. The host's queues are left out at the
// end.
std::vector<Ended> ended_before(const RankPlan& plan, const DeviceWaits& waits) {
  std::vector<std::uint32_t> place(plan.tasks.size());
  for (const RankQueue& queue : plan.queues) {
    for (std::uint32_t i = 0; i < queue.tasks.size(); ++i) place[queue.tasks[i]] = i;
  }
  std::vector<Ended> out(plan.tasks.size(), Ended(plan.queues.size(), 0));
  for (std::uint32_t task = 0; task < plan.tasks.size(); ++task) {
    std::vector<std::uint32_t> before = waits[task];
    const RankQueue& queue = plan.queues[plan.tasks[task].queue];
    if (place[task] > 0) before.push_back(queue.tasks[place[task] - 1]);
    for (const std::uint32_t each : before) {
      for (std::size_t i = 0; i < plan.queues.size(); ++i) out[task][i] = std::max(out[task][i], out[each][i]);
      std::uint32_t& own = out[task][plan.tasks[each].queue];
      own = std::max(own, place[each] + 1);
    }
  }
  for (Ended& ended : out) {
    for (std::size_t i = 0; i < plan.queues.size(); ++i) {
      if (plan.queues[i].stream == StreamKind::host) ended[i] = 0;
    }
  }
  return out;
}

// Returns the waits without the host's own order: as if the host had no queue and waited for nothing.
DeviceWaits without_host(const RankPlan& plan) {
  DeviceWaits out(plan.tasks.size());
  for (std::uint32_t task = 0; task < plan.tasks.size(); ++task) {
    if (on_host(plan, plan.tasks[task])) continue;
    for (const std::uint32_t before : plan.tasks[task].after) {
      if (!on_host(plan, plan.tasks[before])) out[task].push_back(before);
    }
  }
  return out;
}

DeviceWaits of_program(const RankPlan& plan) {
  DeviceWaits out;
  for (const RankTask& task : plan.tasks) out.push_back(task.after);
  return out;
}

void check_same_order(const RankPlan& plan, const DeviceWaits& found, const DeviceWaits& expected) {
  const std::vector<Ended> here = ended_before(plan, found);
  const std::vector<Ended> there = ended_before(plan, expected);
  for (std::uint32_t task = 0; task < plan.tasks.size(); ++task) {
    if (on_host(plan, plan.tasks[task])) {
      CHECK(found[task].empty());
      continue;
    }
    CHECK(here[task] == there[task]);
    for (const std::uint32_t before : found[task]) {
      CHECK(before < task);
      CHECK(plan.tasks[before].queue != plan.tasks[task].queue);
      CHECK(!on_host(plan, plan.tasks[before]));
    }
  }
}

std::size_t count(const DeviceWaits& waits) {
  std::size_t out = 0;
  for (const auto& of_task : waits) out += of_task.size();
  return out;
}

}  // namespace

TEST_CASE("streams that wait for the host too order a plan as its program does") {
  bool host_waits = false;
  for (const NamedJob& job : kJobs) {
    CAPTURE(job.strategy);
    for (const RankPlan& plan : plans_of(job)) {
      check_same_order(plan, device_waits(plan, HostWaits::by_streams), of_program(plan));
      for (const RankTask& task : plan.tasks) {
        if (!on_host(plan, task)) continue;
        host_waits = host_waits || std::any_of(task.after.begin(), task.after.end(), [&](std::uint32_t before) {
                       return !on_host(plan, plan.tasks[before]);
                     });
      }
    }
  }
  CHECK(host_waits);  // else this shows nothing
}

TEST_CASE("where the host waits itself, streams wait for the rest") {
  for (const NamedJob& job : kJobs) {
    CAPTURE(job.strategy);
    for (const RankPlan& plan : plans_of(job)) {
      const DeviceWaits waits = device_waits(plan, HostWaits::by_host);
      check_same_order(plan, waits, without_host(plan));
      CHECK(count(waits) <= count(device_waits(plan, HostWaits::by_streams)));
    }
  }
}

TEST_CASE("nothing is waited for twice") {
  // Two kernels behind one transfer, and one behind an earlier transfer of the same queue.
  RankPlan plan;
  plan.queues = {{StreamKind::compute, {}}, {StreamKind::recv_forward, {}}, {StreamKind::host, {}}};
  const auto add = [&](std::uint32_t queue, std::vector<std::uint32_t> after) {
    RankTask task;
    task.queue = queue;
    task.after = std::move(after);
    plan.queues[queue].tasks.push_back(static_cast<std::uint32_t>(plan.tasks.size()));
    plan.tasks.push_back(std::move(task));
  };
  add(1, {});
  add(1, {});
  add(2, {1});  // the host sees the second transfer end
  add(0, {2});
  add(0, {1, 2});
  add(0, {0});
  const DeviceWaits expected = {{}, {}, {}, {1}, {}, {}};
  CHECK(device_waits(plan, HostWaits::by_streams) == expected);
  const DeviceWaits by_host = {{}, {}, {}, {}, {1}, {}};
  CHECK(device_waits(plan, HostWaits::by_host) == by_host);
}
