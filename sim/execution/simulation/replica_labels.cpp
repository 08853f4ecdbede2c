#include "simulation/replica_labels.hpp"

#include "base/text.hpp"
#include "simulation/document_contexts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

bool has_mixed_replicas(const Simulation& simulation) { return classes_of(simulation.plans) > 1; }

std::string replicas_text(const StagePlan& plan) { return ranges_text(plan.replicas.replicas); }

std::string plans_text(const Simulation& simulation, std::span<const int> plans) {
  const bool mixed = has_mixed_replicas(simulation);
  std::string out;
  for (const StagePlan& first : plans_of(simulation.plans, 0)) {
    std::vector<int> stages;
    for (const int place : plans) {
      const StagePlan& plan = simulation.plans[static_cast<std::size_t>(place)];
      if (plan.replica_class == first.replica_class) stages.push_back(plan.stage);
    }
    if (stages.empty()) continue;
    out += fmt::format("{}stage{} {}", out.empty() ? "" : ", ", stages.size() == 1 ? "" : "s", ranges_text(stages));
    if (mixed) out += " of replicas " + replicas_text(first);
  }
  return out;
}

std::string microbatches_text(const Simulation& simulation) {
  if (simulation.contexts) {
    std::int64_t documents = 0;
    for (const DocumentFigures& of : simulation.contexts->shapes) documents += of.documents;
    const std::size_t rounds = simulation.contexts->rounds;
    return fmt::format("{} document{} in {} round{}", documents, documents == 1 ? "" : "s", rounds,
                       rounds == 1 ? "" : "s");
  }
  const auto classes = plans_of(simulation.plans, 0);
  const int size = simulation.job.strategy.micro_batch;
  const int first = classes.front().replicas.microbatches;
  if (std::all_of(classes.begin(), classes.end(),
                  [&](const StagePlan& plan) { return plan.replicas.microbatches == first; })) {
    const Strategy& strategy = simulation.job.strategy;
    if (!strategy.stages.empty()) return fmt::format("{} microbatches of {}", first, size * strategy.data);
    return fmt::format("{} microbatches of {} per replica", first, size);
  }
  std::string out;
  for (const StagePlan& plan : classes) {
    out += fmt::format("{}{} on replicas {}", out.empty() ? "" : ", ", plan.replicas.microbatches, replicas_text(plan));
  }
  return fmt::format("microbatches of {}: {}", size, out);
}

}  // namespace mirfak
