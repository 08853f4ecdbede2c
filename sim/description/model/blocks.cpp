// Blocks of models: the text of a block, with the sizes of the model, in the kernels of a framework.

#include "model/blocks.hpp"

#include "base/error.hpp"
#include "block/compile.hpp"
#include "graph/adapters.hpp"
#include "model/model_blocks.hpp"
#include "model/transformer.hpp"

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

// Returns adapters with the tags of the weights that they are added to.
AdapterRules adapter_rules(const LowRankAdapters& adapters, const BlockKernels& kernels) {
  AdapterRules rules;
  rules.rank = adapters.rank;
  rules.dropout = adapters.dropout;
  rules.wide = kernels.wide_adapters;
  rules.scales = kernels.scales_adapters;
  rules.decomposed = adapters.decomposed;
  if (adapters.query_key_value) rules.tags.emplace_back("qkv");
  if (adapters.attention_output) rules.tags.emplace_back("proj");
  if (adapters.mlp_up) rules.tags.emplace_back("fc1");
  if (adapters.mlp_down) rules.tags.emplace_back("fc2");
  return rules;
}

// Key of a cached graph: all inputs that decide a graph, except extents of axes that are nothing but sizes.
struct BuiltFrom {
  block::DefinitionPointer definition;
  block::Sizes sizes;
  block::Divisions divisions;
  BlockOptions options;

  bool is(const block::DefinitionPointer& other, const block::Sizes& other_sizes,
          const block::Divisions& other_divisions, const BlockOptions& other_options) const {
    return definition == other && options.element_bytes == other_options.element_bytes &&
           options.fused_attention == other_options.fused_attention && options.kernels == other_options.kernels &&
           options.adapters == other_options.adapters && sizes == other_sizes && divisions == other_divisions &&
           options.fusion == other_options.fusion;
  }
};

OperatorGraph built(const BuiltFrom& from) {
  const BlockOptions& options = from.options;
  block::CompileOptions compile;
  compile.element_bytes = options.element_bytes;
  compile.fused_attention = options.fused_attention;
  compile.divisions = from.divisions;
  OperatorGraph graph =
      block::compile(*from.definition, block::complete_sizes(*from.definition, from.sizes, {}), compile);
  graph = fuse(std::move(graph), with_plain_kernels(options.fusion, options.kernels));
  graph = with_adapters(std::move(graph), adapter_rules(options.adapters, options.kernels));
  return with_block_kernels(std::move(graph), options.kernels);
}

// The graphs that were built last. Searches and sweeps ask for the same few graphs with thousands of batches and
// lengths.
class LastBuilt {
 public:
  std::shared_ptr<const OperatorGraph> get(const block::DefinitionPointer& definition, const block::Sizes& sizes,
                                           const block::Divisions& divisions, const BlockOptions& options) {
    {
      const std::scoped_lock lock(mutex_);
      for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
        if (!entry->first.is(definition, sizes, divisions, options)) continue;
        entries_.splice(entries_.begin(), entries_, entry);
        return entry->second;
      }
    }
    BuiltFrom from{definition, sizes, divisions, options};
    auto graph = std::make_shared<const OperatorGraph>(built(from));
    const std::scoped_lock lock(mutex_);
    entries_.emplace_front(std::move(from), graph);
    if (entries_.size() > kMaxEntries) entries_.pop_back();
    return graph;
  }

 private:
  static constexpr std::size_t kMaxEntries = 64;
  std::mutex mutex_;
  std::list<std::pair<BuiltFrom, std::shared_ptr<const OperatorGraph>>> entries_;  // most recently used first
};

// Sets the extent of the axis of that name and of its primes.
void set_extent(OperatorGraph& graph, const std::string& name, double extent) {
  const std::optional<Axis> named = graph.find_axis(name);
  if (!named) return;
  for (std::size_t i = 0; i < graph.axes.size(); ++i) {
    const bool same = index_of(*named) == i || graph.axes[i].same_as == named;
    if (same) graph.axes[i].extent = static_cast<std::int64_t>(extent);
  }
}

OperatorGraph block_of(const block::DefinitionPointer& definition, block::Sizes sizes,
                       const block::Divisions& divisions, const BlockOptions& options) {
  static LastBuilt last;
  std::vector<std::pair<std::string, double>> extents;
  for (const std::string& size : definition->axis_sizes) {
    const auto found = sizes.find(size);
    if (found != sizes.end()) extents.emplace_back(size, std::exchange(found->second, 1));
  }
  OperatorGraph graph = *last.get(definition, sizes, divisions, options);
  for (const auto& [size, extent] : extents) set_extent(graph, size, extent);
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
  return block_of(definition, std::move(sizes), {}, options);
}

OperatorGraph stated_block(const ModelSpec& model, std::size_t index, const BlockOptions& options) {
  const ModelBlock& item = model.blocks[index];
  block::Sizes sizes = sizes_of_block(model, item, options.batch, options.sequence);
  if (const auto vocab = sizes.find("vocab"); vocab != sizes.end())
    vocab->second = static_cast<double>(options.vocabulary);
  if (const auto heads = sizes.find("kv_heads"); heads != sizes.end()) {
    // Layers with fewer keys than the model's other layers keep theirs, unless ranks replicate keys.
    const bool replicated = !model.sizes.contains("kv_heads") || options.kv_heads > model.kv_heads;
    if (replicated) heads->second = std::max(heads->second, static_cast<double>(options.kv_heads));
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
