// Random graphs under random shardings: what the devices of a mesh compute together is what the undivided graph
// computes. A few tensors are annotated and the rest completed, or everything is chosen at random. A case that fails
// is printed with all that it takes to repeat it, after what it does not take was left out.

#include "graph/backward.hpp"
#include "interpreter/proof_fixture.hpp"
#include "interpreter/sharding_cases.hpp"
#include "sharding/completion.hpp"
#include "sharding/halo.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <random>

namespace random_shardings_test {

using namespace mirfak;
using namespace mirfak::interpreter;
using namespace mirfak::test;

namespace {

struct Tally {
  int proved = 0;
  int refused = 0;     // blocks that the language has not
  int impossible = 0;  // no way to give parts to devices that the plan's moves allow
  int collectives = 0;
  int edges = 0;
};

void check_annotated(const Subject& subject, const DeviceMesh& mesh, std::vector<std::string> texts, bool recompute,
                     Tally& tally) {
  const std::vector<TensorId> dropped = recompute ? all_activations(subject.graph) : std::vector<TensorId>();
  const auto fault = [&](const std::vector<std::string>& annotated, Proof* proof) {
    const ShardingPlan plan = complete(subject.graph, mesh, read_annotations(annotated, subject.graph, mesh));
    return fault_of(subject, mesh, plan, dropped, proof);
  };
  Proof proof;
  std::optional<std::string> found = fault(texts, &proof);
  if (!found) {
    ++tally.impossible;
    return;
  }
  if (found->empty()) {
    ++tally.proved;
    tally.collectives += proof.collectives;
    return;
  }
  // Leaves out annotations that the fault does not need.
  for (std::size_t i = 0; i < texts.size();) {
    std::vector<std::string> fewer = texts;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    const std::optional<std::string> still = fault(fewer, nullptr);
    if (still && !still->empty()) {
      texts = fewer;
      found = still;
    } else {
      ++i;
    }
  }
  FAIL_CHECK(fmt::format("{}\n{}\nmesh {}{}\n  {}", *found, subject.text, described(mesh),
                         recompute ? ", recomputed" : "", fmt::join(texts, "\n  ")));
}

// Every operator divides its labels and every tensor lies as chance has it.
ShardingPlan random_plan(std::mt19937& random, const OperatorGraph& graph, const DeviceMesh& mesh) {
  ShardingPlan plan;
  plan.by_compiler = true;
  std::map<TensorId, Sharding> stepped;  // gradients of one parameter lie alike
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    Sharding sharding;
    const auto rank = graph.tensors[id].axes.size();
    sharding.axes.resize(rank);
    for (const MeshAxis axis : mesh.axes()) {
      const auto place = static_cast<std::size_t>(below(random, static_cast<int>(rank) + 2));
      if (place < rank) sharding.axes[place].insert(axis);
    }
    if (graph.tensors[id].role == TensorRole::parameter_gradient) {
      sharding = stepped.try_emplace(graph.tensors[id].of, sharding).first->second;
    }
    plan.tensors.push_back(sharding);
  }
  for (const Operator& op : graph.operators) {
    std::vector<Axis> labels;
    for (const auto* operands : {&op.inputs, &op.outputs}) {
      for (const Operand& operand : *operands) {
        for (std::size_t i = 0; i < operand.labels.size(); ++i) {
          const Axis label = dividing_label(operand, i);
          if (!whole_with_halos(op, label) && std::find(labels.begin(), labels.end(), label) == labels.end()) {
            labels.push_back(label);
          }
        }
      }
    }
    LabelSharding divided;
    divided.resize(graph.axes.size());
    for (const MeshAxis axis : mesh.axes()) {
      const auto place = static_cast<std::size_t>(below(random, static_cast<int>(labels.size()) + 1));
      if (place < labels.size()) divided[index_of(labels[place])].insert(axis);
    }
    for (const auto* operands : {&op.inputs, &op.outputs}) {
      for (const Operand& operand : *operands) {
        for (const Window& window : operand.windows) {
          divided[index_of(operand.labels[window.position])] = divided[index_of(window.step)];
        }
      }
    }
    plan.operators.push_back(divided);
  }
  return plan;
}

std::string plan_text(const OperatorGraph& graph, const DeviceMesh& mesh, const ShardingPlan& plan) {
  std::string out;
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    out += fmt::format("  {}: {}\n", graph.tensors[id].name,
                       sharding_text(graph, static_cast<TensorId>(id), plan.tensors[id], mesh));
  }
  for (std::size_t id = 0; id < graph.operators.size(); ++id) {
    out += fmt::format("  {} over", graph.operators[id].name);
    for (std::size_t axis = 0; axis < graph.axes.size(); ++axis) {
      for (const MeshAxis by : plan.operators[id][axis]) {
        out += fmt::format(" {}@{}", graph.axes[axis].name, mesh.name_of(by));
      }
    }
    out += "\n";
  }
  return out;
}

int cases(int usual) { return std::getenv("MIRFAK_PROOFS") != nullptr ? 20 * usual : usual; }

void prove_random(bool windows, bool uneven, int blocks, unsigned seed) {
  constexpr int kAnnotationsOfBlock = 6;
  Tally tally;
  const char* only = std::getenv("MIRFAK_SEED");  // a block that failed, again
  for (int i = 0; i < blocks; ++i) {
    const unsigned own = seed + static_cast<unsigned>(i);
    if (only != nullptr && std::to_string(own) != only) continue;
    std::mt19937 random(own);
    const auto subject = random_subject(random, windows, uneven, i % 2 == 0);
    tally.refused += subject ? 0 : 1;
    INFO("MIRFAK_SEED=", own);
    if (!subject) continue;
    for (int j = 0; j < kAnnotationsOfBlock; ++j) {
      const DeviceMesh mesh = random_mesh(random);
      check_annotated(*subject, mesh, random_annotations(random, subject->graph, mesh), j % 3 == 2, tally);
    }
  }
  MESSAGE(tally.proved << " proved with " << tally.collectives << " collectives, " << tally.impossible
                       << " without a layout, " << tally.refused << " blocks refused");
  if (only == nullptr) CHECK(tally.proved > blocks * kAnnotationsOfBlock / 2);
}

void prove_random_plans(bool windows, bool uneven, int blocks, unsigned seed) {
  constexpr int kPlansOfBlock = 4;
  Tally tally;
  const char* only = std::getenv("MIRFAK_SEED");
  for (int i = 0; i < blocks; ++i) {
    const unsigned own = seed + static_cast<unsigned>(i);
    if (only != nullptr && std::to_string(own) != only) continue;
    std::mt19937 random(own);
    const auto subject = random_subject(random, windows, uneven, false);
    tally.refused += subject ? 0 : 1;
    if (!subject) continue;
    for (int j = 0; j < kPlansOfBlock; ++j) {
      const DeviceMesh mesh = random_mesh(random);
      const ShardingPlan plan = random_plan(random, subject->graph, mesh);
      Proof proof;
      const std::optional<std::string> fault = fault_of(*subject, mesh, plan, {}, &proof);
      tally.collectives += proof.collectives;
      ++(fault ? tally.proved : tally.impossible);
      if (fault && !fault->empty()) {
        FAIL_CHECK(fmt::format("{}\n{}\nmesh {}\n{}MIRFAK_SEED={}", *fault, subject->text, described(mesh),
                               plan_text(subject->graph, mesh, plan), own));
      }
    }
  }
  MESSAGE(tally.proved << " proved with " << tally.collectives << " collectives, " << tally.impossible
                       << " without a layout, " << tally.refused << " blocks refused");
  if (only == nullptr) CHECK(tally.proved > blocks);
}

}  // namespace

TEST_CASE("random graphs, completed from random annotations") { prove_random(false, false, cases(130), 1); }
TEST_CASE("of uneven sizes") { prove_random(false, true, cases(90), 100001); }
TEST_CASE("with windows: rows at the edges of parts") { prove_random(true, false, cases(90), 200001); }
TEST_CASE("with windows, of uneven sizes") { prove_random(true, true, cases(90), 300001); }

TEST_CASE("random plans: every operator and every tensor as chance has it") {
  prove_random_plans(false, false, cases(50), 400001);
  prove_random_plans(true, false, cases(30), 500001);
  prove_random_plans(true, true, cases(30), 600001);
}

TEST_CASE("every built-in block, completed from random annotations") {
  FusionRules packing;
  packing.packed_tags = proof_fusion().packed_tags;
  Tally tally;
  unsigned seed = 700001;
  for (const SmallBlock& block : small_blocks()) {
    for (const bool fused : {false, true}) {
      OperatorGraph unfused = fuse(forward_graph(block, fused), packing);
      OperatorGraph forward = fused ? fuse(forward_graph(block, fused), proof_fusion()) : forward_graph(block, fused);
      const Subject subject(block.label + (fused ? ", fused" : ""), with_backward(std::move(forward), {}),
                            fused ? std::move(unfused) : OperatorGraph());
      for (int i = 0; i < cases(4); ++i) {
        std::mt19937 random(seed++);
        const DeviceMesh mesh = random_mesh(random);
        check_annotated(subject, mesh, random_annotations(random, subject.graph, mesh), i % 4 == 3, tally);
      }
    }
  }
  MESSAGE(tally.proved << " proved with " << tally.collectives << " collectives, " << tally.impossible
                       << " without a layout");
  CHECK(tally.proved > cases(4) * static_cast<int>(small_blocks().size()));
}

}  // namespace random_shardings_test
