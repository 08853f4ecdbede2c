// Every built-in block under every combination of today's rules: what the devices of the mesh compute together is what
// the undivided block computes.

#include "graph/adapters.hpp"
#include "graph/backward.hpp"
#include "interpreter/divided.hpp"
#include "interpreter/layout.hpp"
#include "interpreter/proof_fixture.hpp"
#include "sharding/propagation.hpp"
#include "strategy/strategy.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>

using namespace mirfak;
using namespace mirfak::interpreter;
using namespace mirfak::test;

namespace {

std::string described(const Strategy& s) {
  return fmt::format("data {} tensor {} context {} expert {} expert_tensor {}{}{} communication {} recompute {}",
                     s.data, s.tensor, s.context, s.expert, s.expert_tensor, s.sequence_parallel ? " sequence" : "",
                     s.overlap_tensor ? " overlap" : "", static_cast<int>(s.context_communication),
                     static_cast<int>(s.recompute));
}

std::vector<Strategy> strategies() {
  std::vector<Strategy> out;
  for (const int data : {1, 2}) {
    for (const int tensor : {1, 2, 4}) {
      for (const int context : {1, 2, 4}) {
        Strategy s;
        s.data = data;
        s.tensor = tensor;
        s.context = context;
        if (data * tensor * context == 1 || data * tensor * context > 8) continue;
        for (const int overlap : {0, 1, 2}) {
          if (overlap > 0 && tensor == 1) continue;
          s.sequence_parallel = overlap > 0;
          s.overlap_tensor = overlap > 1;
          for (const auto communication :
               {ContextCommunication::p2p, ContextCommunication::all_gather, ContextCommunication::all_to_all}) {
            if (communication != ContextCommunication::p2p && context == 1) continue;
            s.context_communication = communication;
            for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
              s.recompute = recompute;
              out.push_back(s);
            }
          }
        }
      }
    }
  }
  return out;
}

// Experts over data, context and tensor ranks, whole or each divided by tensor ranks.
std::vector<Strategy> expert_strategies() {
  std::vector<Strategy> out;
  for (const Strategy& base : strategies()) {
    if (base.recompute == Recompute::selective) continue;
    for (const int expert : {2, 4}) {
      for (const int expert_tensor : {1, base.tensor}) {
        Strategy s = base;
        s.expert = expert;
        s.expert_tensor = expert_tensor;
        const bool twice = base.tensor == 1 && expert_tensor == base.tensor && !out.empty() && out.back() == s;
        if (!twice && s.data % s.expert_span().data == 0) out.push_back(s);
      }
    }
  }
  return out;
}

std::vector<TensorId> dropped_by(const OperatorGraph& graph, Recompute recompute) {
  if (recompute == Recompute::selective) return tensors_under(graph, "core_attn", Produced::inside);
  if (recompute == Recompute::full) return all_activations(graph);
  return {};
}

struct Tally {
  int proved = 0;
  int uneven = 0;
};

// All combinations where MIRFAK_PROOFS is set, else some of each.
bool is_chosen(std::size_t number) {
  constexpr std::size_t kOneOf = 6;
  static const bool all = std::getenv("MIRFAK_PROOFS") != nullptr;
  return all || number % kOneOf == 0;
}

void prove_under(const std::string& label, const OperatorGraph& graph, const Meaning& meaning, const Values& whole,
                 const Strategy& strategy, GradientSums sums, Tally& tally) {
  const DeviceMesh mesh = mesh_of(strategy);
  const std::vector<AxisRule> rules = axis_rules(strategy);
  const ShardingPlan plan = propagate(graph, mesh, rules);
  if (!Layout(graph, mesh, plan).is_even()) {
    ++tally.uneven;
    return;
  }
  const std::vector<TensorId> dropped = dropped_by(graph, strategy.recompute);
  try {
    const PartitionedBlock block = partition(graph, mesh, plan, rules, dropped, sums);
    const SequenceGroups groups = sequence_groups(graph, mesh, plan);
    prove({block, mesh, plan, dropped, meaning},
          groups.empty() ? whole : run(graph, meaning, entering_values(graph), groups));
    ++tally.proved;
  } catch (const Error& error) {
    FAIL_CHECK(fmt::format("{}, {}: {}", label, described(strategy), error.what()));
  }
}

}  // namespace

TEST_CASE("every block under every strategy") {
  FusionRules packing;
  packing.packed_tags = proof_fusion().packed_tags;
  Tally tally;
  std::size_t number = 0;
  const std::vector<Strategy> all = strategies();
  for (const SmallBlock& block : small_blocks()) {
    for (const bool fused : {false, true}) {
      OperatorGraph forward = forward_graph(block, fused);
      const OperatorGraph unfused = fuse(forward_graph(block, fused), packing);
      if (fused) forward = fuse(std::move(forward), proof_fusion());
      const OperatorGraph graph = with_backward(std::move(forward), {});
      const Meaning meaning(graph, fused ? &unfused : nullptr);
      const Values whole = run(graph, meaning, entering_values(graph));
      const std::string label = block.label + (fused ? ", fused" : "");
      for (const Strategy& strategy : all) {
        if (!is_chosen(number++)) continue;
        prove_under(label, graph, meaning, whole, strategy, GradientSums::behind_reducing, tally);
      }
    }
  }
  for (const SmallBlock& block : small_blocks()) {
    if (!block.sizes.contains("experts")) continue;
    const OperatorGraph graph = with_backward(forward_graph(block, true), {});
    const Meaning meaning(graph);
    const Values whole = run(graph, meaning, entering_values(graph));
    for (const Strategy& strategy : expert_strategies()) {
      if (!is_chosen(number++)) continue;
      prove_under(block.label, graph, meaning, whole, strategy, GradientSums::before_reducing, tally);
    }
  }
  MESSAGE(tally.proved << " proved, " << tally.uneven << " of uneven sizes");
  CHECK(tally.proved > 1000);
}
