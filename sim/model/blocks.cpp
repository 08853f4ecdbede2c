// Blocks of models: what the text of a block says, with the sizes of the model, in the kernels of a framework.

#include "model/blocks.hpp"

#include "base/error.hpp"
#include "block/compile.hpp"
#include "graph/adapters.hpp"
#include "model/model_blocks.hpp"
#include "model/transformer.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace mirfak {

namespace {

// Tags of the weights that adapters stand beside.
AdapterRules adapter_rules(const LowRankAdapters& adapters) {
  AdapterRules rules;
  rules.rank = adapters.rank;
  rules.dropout = adapters.dropout;
  if (adapters.query_key_value) rules.tags.emplace_back("qkv");
  if (adapters.attention_output) rules.tags.emplace_back("proj");
  if (adapters.mlp_up) rules.tags.emplace_back("fc1");
  if (adapters.mlp_down) rules.tags.emplace_back("fc2");
  return rules;
}

// What decides a graph, but for the extent of the axis of sequences.
struct BuiltFrom {
  block::DefinitionPointer definition;
  block::Sizes sizes;
  block::Divisions divisions;
  double element_bytes = 0;
  bool fused_attention = false;
  LowRankAdapters adapters;
  FusionRules fusion;
  BlockKernels kernels;

  friend bool operator==(const BuiltFrom&, const BuiltFrom&) = default;
};

OperatorGraph built(const BuiltFrom& from) {
  block::CompileOptions options;
  options.element_bytes = from.element_bytes;
  options.fused_attention = from.fused_attention;
  options.divisions = from.divisions;
  OperatorGraph graph = block::compile(*from.definition, from.sizes, options);
  graph = fuse(std::move(graph), with_plain_kernels(from.fusion, from.kernels));
  graph = with_adapters(std::move(graph), adapter_rules(from.adapters));
  return with_block_kernels(std::move(graph), from.kernels);
}

// The graphs that were built last. A search asks for the same few with thousands of batches.
class LastBuilt {
 public:
  std::shared_ptr<const OperatorGraph> get(const BuiltFrom& from) {
    {
      const std::scoped_lock lock(mutex_);
      for (const auto& [known, graph] : entries_) {
        if (known == from) return graph;
      }
    }
    const auto graph = std::make_shared<const OperatorGraph>(built(from));
    const std::scoped_lock lock(mutex_);
    entries_.emplace_front(from, graph);
    if (entries_.size() > kMaxEntries) entries_.pop_back();
    return graph;
  }

 private:
  static constexpr std::size_t kMaxEntries = 64;
  std::mutex mutex_;
  std::deque<std::pair<BuiltFrom, std::shared_ptr<const OperatorGraph>>> entries_;
};

OperatorGraph block_of(block::DefinitionPointer definition, block::Sizes sizes, block::Divisions divisions,
                       const BlockOptions& options) {
  static LastBuilt last;
  BuiltFrom from{std::move(definition),   std::move(sizes), std::move(divisions), options.element_bytes,
                 options.fused_attention, options.adapters, options.fusion,       options.kernels};
  if (!from.definition->batch_is_axis) return built(from);
  from.sizes["batch"] = 1;
  OperatorGraph graph = *last.get(from);
  const std::optional<Axis> batch = graph.find_axis("batch");
  for (AxisInfo& axis : graph.axes) {
    if (axis.name == "batch" || (batch && axis.same_as == batch)) axis.extent = options.batch;
  }
  return graph;
}

OperatorGraph transformer_block(const ModelSpec& model, block::DefinitionPointer TransformerBlocks::*which,
                                const BlockOptions& options, const LayerKind& kind) {
  if (!model.transformer) fail_internal("the model has no blocks");
  const block::DefinitionPointer& definition = (*model.transformer).*which;
  block::Sizes sizes = transformer_sizes(model, options, kind);
  const std::vector<std::string>& names = definition->sizes;
  std::erase_if(sizes, [&](const auto& size) {
    return size.first != "batch" && size.first != "sequence" &&
           !std::binary_search(names.begin(), names.end(), size.first);
  });
  return block_of(definition, block::complete_sizes(*definition, sizes, {}), {}, options);
}

OperatorGraph stated_block(const ModelSpec& model, std::size_t index, const BlockOptions& options) {
  const ModelBlock& item = model.blocks[index];
  block::Sizes sizes = sizes_of_block(model, item, options.batch, options.sequence);
  if (const auto vocab = sizes.find("vocab"); vocab != sizes.end())
    vocab->second = static_cast<double>(options.vocabulary);
  if (const auto heads = sizes.find("kv_heads"); heads != sizes.end()) {
    heads->second = std::max(heads->second, static_cast<double>(options.kv_heads));
  }
  return block_of(item.definition, std::move(sizes), model.divisions, options);
}

}  // namespace

OperatorGraph build_embedding_block(const ModelSpec& model, const BlockOptions& options) {
  if (!model.blocks.empty()) return stated_block(model, 0, options);
  return transformer_block(model, &TransformerBlocks::embedding, options, {});
}

OperatorGraph build_layer_block(const ModelSpec& model, const BlockOptions& options, const LayerKind& kind) {
  if (!model.blocks.empty()) return stated_block(model, kind.block, options);
  OperatorGraph graph = transformer_block(model, &TransformerBlocks::layer, options, kind);
  if (kind.experts) graph.name = "expert layer";
  return graph;
}

OperatorGraph build_prediction_block(const ModelSpec& model, const BlockOptions& options, const LayerKind& kind) {
  OperatorGraph graph = transformer_block(model, &TransformerBlocks::prediction, options, kind);
  graph.name = "prediction module";
  return graph;
}

OperatorGraph build_head_block(const ModelSpec& model, const BlockOptions& options) {
  if (!model.blocks.empty()) return stated_block(model, model.blocks.size() - 1, options);
  return transformer_block(model, &TransformerBlocks::head, options, {});
}

}  // namespace mirfak
