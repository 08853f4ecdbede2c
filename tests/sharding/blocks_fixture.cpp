#include "blocks_fixture.hpp"

#include "graph/backward.hpp"
#include "support/transformers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace mirfak::test {

ModelSpec small_gpt() {
  ModelSpec model;
  model.layers = 3;
  model.hidden = 128;
  model.heads = 8;
  model.kv_heads = 8;
  model.head_dim = 16;
  model.ffn = 512;
  model.vocab = 1024;
  model.max_sequence = 64;
  model.dropout = 0.1;
  return with_blocks(std::move(model));
}

BlockOptions options_for(const ModelSpec& model, const Strategy& strategy) {
  BlockOptions options;
  options.batch = std::int64_t{2} * strategy.data;
  options.sequence = model.max_sequence;
  options.kv_heads = std::max<std::int64_t>(model.kv_heads, strategy.tensor);
  options.vocabulary = model.vocab;
  options.fusion = usual_fusion();
  return options;
}

PartitionedBlock sharded_layer(const ModelSpec& model, const Strategy& strategy, bool fused_attention) {
  BlockOptions options = options_for(model, strategy);
  options.fused_attention = fused_attention;
  OperatorGraph graph = with_backward(build_layer_block(model, options), {});
  std::vector<TensorId> dropped;
  if (strategy.recompute == Recompute::selective) dropped = tensors_under(graph, "core_attn", Produced::inside);
  if (strategy.recompute == Recompute::full) dropped = all_activations(graph);
  return partition(std::move(graph), mesh_of(strategy), axis_rules(strategy), dropped);
}

std::vector<OperatorGraph> blocks_of(const ModelSpec& model, const Strategy& strategy, bool fused) {
  BlockOptions options;
  options.batch = std::int64_t{2} * strategy.data;
  options.sequence = std::min<std::int64_t>(512, model.max_sequence);
  options.kv_heads = std::max<std::int64_t>(model.kv_heads, strategy.tensor);
  options.vocabulary = model.vocab;
  options.fused_attention = fused;
  if (fused) options.fusion = usual_fusion();
  std::vector<OperatorGraph> out;
  out.push_back(with_backward(build_embedding_block(model, options), {}));
  for (const LayerKind& kind : layer_kinds(model)) {
    out.push_back(with_backward(build_layer_block(model, options, kind), {}));
  }
  out.push_back(with_backward(build_head_block(model, options), {}));
  return out;
}

std::vector<std::string> step_texts(const PartitionedBlock& block, const std::vector<BlockStep>& steps) {
  std::vector<std::string> out;
  for (const BlockStep& step : steps) {
    if (step.kind == BlockStep::Kind::kernel) {
      out.push_back(fmt::format("{} {}", block.graph.op(step.op).name, fmt::join(step.local, " ")));
    } else {
      const std::string& tensor = block.graph.tensor(step.tensor).name;
      out.push_back(fmt::format("{} of {}: {} bytes", name_of(step.collective), tensor, step.bytes));
    }
  }
  return out;
}

}  // namespace mirfak::test
