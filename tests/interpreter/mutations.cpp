// Programs that are broken on purpose: the check of divided programs finds each kind of fault. A check that cannot
// fail proves nothing.

#include "graph/backward.hpp"
#include "interpreter/sharding_cases.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace mirfak;
using namespace mirfak::test;

namespace {

using Steps = std::vector<BlockStep>;

// Steps that may be broken, of any list of a program.
std::vector<std::pair<Steps*, std::size_t>> steps_where(PartitionedBlock& block,
                                                        const std::function<bool(const BlockStep&)>& is) {
  std::vector<std::pair<Steps*, std::size_t>> out;
  for (Steps* steps : {&block.forward, &block.recompute, &block.backward}) {
    for (std::size_t i = 0; i < steps->size(); ++i) {
      if (is((*steps)[i])) out.emplace_back(steps, i);
    }
  }
  return out;
}

bool is_collective(const BlockStep& step) { return step.kind == BlockStep::Kind::collective; }
bool is_kernel(const BlockStep& step) { return step.kind == BlockStep::Kind::kernel; }
bool is_edge(const BlockStep& step) {
  return is_collective(step) && step.collective == CollectiveKind::shift && step.from == step.to;
}

struct Mutation {
  std::string name;
  std::function<bool(const BlockStep&)> of;
  std::function<void(PartitionedBlock&, Steps&, std::size_t)> change;  // breaks the step
};

void leave_out(PartitionedBlock&, Steps& steps, std::size_t i) {
  steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i));
}

// Says that an axis divided over one mesh axis is divided over another, or not at all.
void move_axis(Sharding& sharding) {
  for (std::size_t i = 0; i < sharding.axes.size(); ++i) {
    if (sharding.axes[i].empty()) continue;
    const MeshAxisSet moved = sharding.axes[i];
    sharding.axes[i] = {};
    sharding.axes[(i + 1) % sharding.axes.size()].insert(moved);
    return;
  }
}

std::vector<Mutation> mutations(const DeviceMesh& mesh) {
  const auto of_kind = [](CollectiveKind kind) {
    return [kind](const BlockStep& step) { return is_collective(step) && step.collective == kind; };
  };
  std::vector<Mutation> out = {
      {"edges left out", is_edge, leave_out},
      {"half the edge's rows", is_edge, [](PartitionedBlock&, Steps& steps, std::size_t i) { steps[i].bytes /= 2; }},
      {"bytes", is_collective, [](PartitionedBlock&, Steps& steps, std::size_t i) { steps[i].bytes *= 2; }},
      {"a gather of another axis", of_kind(CollectiveKind::all_gather),
       [](PartitionedBlock&, Steps& steps, std::size_t i) { move_axis(steps[i].to = steps[i].from); }},
      {"a sum that is called a gather",
       [](const BlockStep& step) { return is_collective(step) && !step.from.partial.empty(); },
       [](PartitionedBlock&, Steps& steps, std::size_t i) { steps[i].collective = CollectiveKind::all_gather; }},
      {"a group without a mesh axis", [](const BlockStep& step) { return is_collective(step) && !is_edge(step); },
       [](PartitionedBlock&, Steps& steps, std::size_t i) { steps[i].over.erase(*steps[i].over.begin()); }},
      {"another group", is_collective,
       [&mesh](PartitionedBlock&, Steps& steps, std::size_t i) {
         MeshAxisSet other = mesh.axes();
         other.erase(steps[i].over);
         steps[i].over = other;
       }},
      {"a kernel of more than its part", is_kernel,
       [](PartitionedBlock&, Steps& steps, std::size_t i) { steps[i].local.front() += 1; }},
      {"a kernel left out", is_kernel, leave_out},
  };
  for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                                    CollectiveKind::reduce_scatter, CollectiveKind::all_to_all}) {
    out.push_back({fmt::format("{} left out", name_of(kind)), of_kind(kind), leave_out});
  }
  return out;
}

// Breaks one step of a program at random; false: it has none of that kind.
bool mutate(std::mt19937& random, const Mutation& mutation, PartitionedBlock& block) {
  const auto candidates = steps_where(block, mutation.of);
  if (candidates.empty()) return false;
  const auto [steps, i] = candidates[static_cast<std::size_t>(below(random, static_cast<int>(candidates.size())))];
  mutation.change(block, *steps, i);
  return true;
}

// Mutations that are not of steps: of the kept tensors, and of what the update reduces.
const std::vector<std::pair<std::string, std::function<bool(PartitionedBlock&)>>>& other_mutations() {
  static const std::vector<std::pair<std::string, std::function<bool(PartitionedBlock&)>>> all = {
      {"a kept tensor forgotten",
       [](PartitionedBlock& block) {
         if (block.kept.empty()) return false;
         block.kept.erase(block.kept.begin() + static_cast<std::ptrdiff_t>(block.kept.size() / 2));
         return true;
       }},
      {"more kept than is read",
       [](PartitionedBlock& block) {
         for (std::size_t id = 0; id < block.graph.tensors.size(); ++id) {
           const auto tensor = static_cast<TensorId>(id);
           const bool kept = std::find(block.kept.begin(), block.kept.end(), tensor) != block.kept.end();
           if (kept || block.graph.tensors[id].role != TensorRole::activation) continue;
           block.kept.push_back(tensor);
           return true;
         }
         return false;
       }},
      {"kept bytes",
       [](PartitionedBlock& block) {
         block.kept_bytes *= 2;
         return block.kept_bytes > 0;
       }},
      {"a gradient that is not reduced",
       [](PartitionedBlock& block) {
         for (ParameterShard& shard : block.parameters) {
           for (GradientLeft& left : shard.gradients) {
             if (left.made.partial.empty()) continue;
             left.made.partial = {};
             return true;
           }
         }
         return false;
       }},
      {"a gradient that nobody steps on",
       [](PartitionedBlock& block) {
         for (ParameterShard& shard : block.parameters) {
           if (shard.gradients.empty()) continue;
           shard.gradients.clear();
           return true;
         }
         return false;
       }},
  };
  return all;
}

}  // namespace

TEST_CASE("every kind of fault in a program is found") {
  std::map<std::string, std::pair<int, int>> found;  // faults made, and found
  for (unsigned seed = 800001; seed < 800131; ++seed) {
    std::mt19937 random(seed);
    const auto subject = random_subject(random, seed % 2 == 0, false, false);
    if (!subject) continue;
    const DeviceMesh mesh = random_mesh(random);
    const ShardingPlan plan = complete(
        subject->graph, mesh, read_annotations(random_annotations(random, subject->graph, mesh), subject->graph, mesh));
    const std::vector<TensorId> dropped = seed % 3 == 0 ? all_activations(subject->graph) : std::vector<TensorId>();
    const std::optional<std::string> intact = fault_of(*subject, mesh, plan, dropped);
    if (!intact) continue;
    REQUIRE(intact->empty());
    const auto count = [&](const std::string& name, const std::function<bool(PartitionedBlock&)>& breaks) {
      bool made = false;
      const std::optional<std::string> fault =
          fault_of(*subject, mesh, plan, dropped, nullptr, [&](PartitionedBlock& block) { made = breaks(block); });
      if (!made) return;
      ++found[name].first;
      found[name].second += fault && !fault->empty() ? 1 : 0;
      if (fault && fault->empty()) {
        FAIL_CHECK(fmt::format("{} is not found: MIRFAK_SEED={}\n{}", name, seed, subject->text));
      }
    };
    for (const Mutation& mutation : mutations(mesh)) {
      count(mutation.name, [&](PartitionedBlock& block) { return mutate(random, mutation, block); });
    }
    for (const auto& [name, breaks] : other_mutations()) count(name, breaks);
  }
  CHECK(found.size() == mutations(DeviceMesh{}).size() + other_mutations().size());
  for (const auto& [name, counts] : found) {
    MESSAGE(name << ": " << counts.second << " of " << counts.first);
    CHECK(counts.first >= 3);
  }
}
