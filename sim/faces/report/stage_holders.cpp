#include "report/stage_holders.hpp"

#include "base/section.hpp"
#include "base/text.hpp"
#include "program/replica_classes.hpp"
#include "strategy/rules.hpp"

#include <fmt/format.h>

#include <set>
#include <vector>

namespace mirfak {

namespace {

// Neighbouring stages that one class of replicas runs on one type of node, with the same layers each.
struct Holding {
  int first = 0;
  int last = 0;
  std::string node;
  std::int64_t layers = 0;
  std::set<int> nodes;
};

std::set<int> nodes_of(const Job& job, int stage, const ReplicaClass& alike) {
  std::set<int> out;
  const int team = job.strategy.at(stage).team();
  for (const int replica : alike.replicas) {
    for (int member = 0; member < team; ++member) {
      out.insert(job.cluster.place_of(job.rank_of(stage, replica, member)).node);
    }
  }
  return out;
}

std::vector<Holding> holdings_of(const Job& job, const ReplicaClass& alike) {
  const auto layers = layers_of_chunks(job.strategy, job.model);
  std::vector<Holding> out;
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    std::int64_t count = 0;
    for (const LayerRange& chunk : layers[static_cast<std::size_t>(stage)]) count += chunk.count;
    const std::string node = job.hardware_of(stage, alike.first()).hardware.name();
    if (out.empty() || out.back().node != node || out.back().layers != count)
      out.push_back({stage, stage, node, count, {}});
    out.back().last = stage;
    out.back().nodes.merge(nodes_of(job, stage, alike));
  }
  return out;
}

}  // namespace

std::string stage_holders_text(const Job& job) {
  if (job.cluster.groups().size() < 2) return {};
  const std::vector<ReplicaClass> classes = replica_classes(job);
  Table table("||||");
  for (const ReplicaClass& alike : classes) {
    for (const Holding& of : holdings_of(job, alike)) {
      const bool one = of.first == of.last;
      table.add({one ? fmt::format("stage {}", of.first) : fmt::format("stages {}-{}", of.first, of.last),
                 classes.size() == 1 ? "" : "replicas " + ranges_text(alike.replicas),
                 fmt::format("{} layers{}", of.layers, one ? "" : " each"),
                 classes.size() == 1 ? "" : fmt::format("{} microbatches each", alike.microbatches),
                 fmt::format("{}, nodes {}", of.node, ranges_text({of.nodes.begin(), of.nodes.end()}))});
    }
  }
  return "\nStages of the best\n" + table.text();
}

}  // namespace mirfak
