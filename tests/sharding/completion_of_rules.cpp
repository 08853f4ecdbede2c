// Every strategy is a set of annotations: what its rules say of parameters, streams and rows of experts, given as
// annotations, completes to the same shardings, and partitions to the same steps. What rules say of keys and of
// attention is no property of a tensor (both keys and queries of a ring are divided along tokens in any case), so that
// is handed on as it is, as is which products run in pieces.

#include "blocks_fixture.hpp"
#include "model/model_loader.hpp"
#include "sharding/completion.hpp"
#include "sharding/partition.hpp"
#include "sharding/propagation.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace completion_of_rules_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

// Mesh axes of size 1 divide nothing: rules may say them, completion leaves them out.
std::string text_of(const OperatorGraph& graph, TensorId tensor, Sharding sharding, const DeviceMesh& mesh) {
  for (MeshAxisSet& axes : sharding.axes) {
    for (const MeshAxis axis : mesh.axes()) {
      if (mesh.size(axis) == 1) axes.erase(axis);
    }
  }
  return sharding_text(graph, tensor, sharding, mesh);
}

void compare(const PartitionedBlock& expected, const PartitionedBlock& found, const DeviceMesh& mesh) {
  const auto& texts = step_texts;
  CHECK(texts(expected, expected.forward) == texts(found, found.forward));
  CHECK(texts(expected, expected.recompute) == texts(found, found.recompute));
  CHECK(expected.parameter_bytes == found.parameter_bytes);
  if (expected.graph.name == "mamba2") {
    // The rules do not divide what a norm over heads makes, though a product divided by heads reads it. Completion
    // does: less is kept, and its gradient is gathered where the norm reads it instead of where it is made.
    auto before = texts(expected, expected.backward), after = texts(found, found.backward);
    std::sort(before.begin(), before.end());
    std::sort(after.begin(), after.end());
    std::vector<std::string> gathered, divided;
    std::set_difference(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(gathered));
    std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(divided));
    CHECK(divided.empty());
    CHECK(std::all_of(gathered.begin(), gathered.end(),
                      [](const std::string& step) { return step.starts_with("all-gather of "); }));
    CHECK(found.kept_bytes <= expected.kept_bytes);
    return;
  }
  CHECK(texts(expected, expected.backward) == texts(found, found.backward));
  CHECK(expected.kept_bytes == found.kept_bytes);
  for (std::size_t id = 0; id < expected.shardings.size(); ++id) {
    const auto tensor = static_cast<TensorId>(id);
    INFO(expected.graph.tensors[id].name);
    CHECK(text_of(expected.graph, tensor, expected.shardings[id], mesh) ==
          text_of(found.graph, tensor, found.shardings[id], mesh));
  }
}

std::vector<Strategy> strategies(const ModelSpec& model) {
  std::vector<Strategy> out;
  const bool experts = model.mixture.experts > 0;
  for (const int tensor : {1, 2, 4}) {
    for (const bool sequence_parallel : {false, true}) {
      if (sequence_parallel && tensor == 1) continue;
      for (const int context : {1, 2}) {
        for (const auto exchange :
             {ContextCommunication::p2p, ContextCommunication::all_gather, ContextCommunication::all_to_all}) {
          if (context == 1 && exchange != ContextCommunication::p2p) continue;
          for (const int expert : {1, 2, 4, 8}) {
            if (expert > 1 && !experts) continue;
            for (const int expert_tensor : {1, tensor}) {
              if (expert_tensor > 1 && expert == 1) continue;
              Strategy strategy;
              strategy.data = 4;
              strategy.tensor = tensor;
              strategy.sequence_parallel = sequence_parallel;
              strategy.overlap_tensor = sequence_parallel && context == 2;
              strategy.context = context;
              strategy.context_communication = exchange;
              strategy.expert = expert;
              strategy.expert_tensor = expert_tensor;
              if (strategy.data % strategy.expert_span().data != 0) continue;
              out.push_back(strategy);
              if (expert_tensor == tensor) break;
            }
          }
        }
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("the rules of every strategy, as annotations, complete to the same shardings and collectives") {
  const std::filesystem::path models = std::filesystem::path(source_root()) / "models";
  for (const char* name : {"gpt3-1.3b", "llama3-8b", "bloom-1b1", "bert-base", "mixtral-8x7b", "deepseek-v2-lite",
                           "gpt-oss-20b", "mamba2-130m", "vit-l", "t5-3b"}) {
    const ModelSpec model = load_model(name, models, {});
    for (const Strategy& strategy : strategies(model)) {
      for (const bool fused : {false, true}) {
        for (OperatorGraph& graph : blocks_of(model, strategy, fused)) {
          INFO(fmt::format("{} {}: tensor {} sp {} context {} ({}) expert {} expert tensor {} fused {}", name,
                           graph.name, strategy.tensor, strategy.sequence_parallel, strategy.context,
                           static_cast<int>(strategy.context_communication), strategy.expert, strategy.expert_tensor,
                           fused));
          const std::vector<AxisRule> rules = axis_rules(strategy);
          const DeviceMesh mesh = mesh_of(strategy);
          ShardingPlan plan = complete(graph, mesh, annotations_of(graph, rules), rules);
          plan.by_compiler = false;  // rules move one mesh axis after the other
          compare(partition(graph, mesh, rules, {}), partition(graph, mesh, plan, rules, {}), mesh);
        }
      }
    }
  }
}

}  // namespace completion_of_rules_test
