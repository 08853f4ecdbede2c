#pragma once

#include "block/file.hpp"
#include "model/blocks.hpp"
#include "model/model_spec.hpp"

#include <filesystem>
#include <memory>

namespace mirfak {

// The blocks that a model without blocks of its own consists of (models/blocks/transformer.yaml).
struct TransformerBlocks {
  block::DefinitionPointer embedding;
  block::DefinitionPointer layer;
  block::DefinitionPointer prediction;
  block::DefinitionPointer head;
};

// `folder` holds the library of blocks; its file is read once. Throws Error(input): at `asked_at` where it is missing,
// in the file where it is wrong.
std::shared_ptr<const TransformerBlocks> transformer_blocks(const std::filesystem::path& folder,
                                                            const Location& asked_at);

// What the blocks of `model` are given. A flag is 1 or 0.
block::Sizes transformer_sizes(const ModelSpec& model, const BlockOptions& options, const LayerKind& kind);

}  // namespace mirfak
