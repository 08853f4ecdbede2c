// A handful of annotations is enough (GSPMD, arXiv 2105.04663): of what a strategy's rules say of a block, most follows
// from the rest. Annotations are left out one after the other as long as the block's steps stay the same; a few of how
// streams and one weight of each part lie remain.

#include "blocks_fixture.hpp"
#include "model/model_loader.hpp"
#include "sharding/completion.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace {

// All that one device does, forward and backward, and how large what it keeps is.
std::vector<std::string> work_of(const OperatorGraph& graph, const DeviceMesh& mesh,
                                 const std::vector<Annotation>& annotations, const std::vector<AxisRule>& rules) {
  ShardingPlan plan = complete(graph, mesh, annotations, rules);
  const PartitionedBlock block = partition(graph, mesh, plan, rules, {});
  std::vector<std::string> out = step_texts(block, block.forward);
  for (std::string& text : step_texts(block, block.backward)) out.push_back(std::move(text));
  out.push_back(fmt::format("{} {}", block.kept_bytes, block.parameter_bytes));
  return out;
}

// Leaves out what the others imply, the last first.
std::vector<Annotation> needed(const OperatorGraph& graph, const DeviceMesh& mesh, const std::vector<AxisRule>& rules) {
  std::vector<Annotation> out = annotations_of(graph, rules);
  const std::vector<std::string> work = work_of(graph, mesh, out, rules);
  for (std::size_t i = out.size(); i-- > 0;) {
    std::vector<Annotation> fewer = out;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (work_of(graph, mesh, fewer, rules) == work) out = std::move(fewer);
  }
  return out;
}

}  // namespace

TEST_CASE("every built-in block is divided as by its rules from a handful of annotations") {
  const std::filesystem::path models = std::filesystem::path(source_root()) / "models";
  std::string rows;
  for (const char* name : {"gpt3-1.3b", "llama3-8b", "mixtral-8x7b", "deepseek-v2-lite", "gshard-moe-1.3b",
                           "mamba2-130m", "vit-l", "t5-3b", "bert-base", "wide-resnet50-2"}) {
    const ModelSpec model = load_model(name, models, {});
    for (const bool sequence_parallel : {false, true}) {
      Strategy strategy;
      strategy.data = 4;
      strategy.tensor = 2;
      strategy.sequence_parallel = sequence_parallel;
      if (model.mixture.experts > 0) strategy.expert = 4;
      for (const OperatorGraph& graph : blocks_of(model, strategy, true)) {
        const std::vector<AxisRule> rules = axis_rules(strategy);
        const DeviceMesh mesh = mesh_of(strategy);
        const std::vector<Annotation> few = needed(graph, mesh, rules);
        std::string names;
        for (const Annotation& annotation : few) names += " " + graph.tensor(annotation.tensor).name;
        rows += fmt::format("\n  {:<17} {:<14} {} {:>3} of {:>3}:{}", name, graph.name, sequence_parallel ? "sp" : "  ",
                            few.size(), annotations_of(graph, rules).size(), names);
        INFO(fmt::format("{} {}:{}", name, graph.name, names));
        CHECK(few.size() <= 8);
        CHECK(2 * few.size() <= std::max<std::size_t>(annotations_of(graph, rules).size(), 10));
      }
    }
  }
  MESSAGE("annotations that are needed, of those that rules make" << rows);
}
