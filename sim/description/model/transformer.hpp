#pragma once

#include "block/file.hpp"
#include "model/blocks.hpp"
#include "model/model_spec.hpp"

#include <filesystem>
#include <memory>

namespace mirfak {

// Blocks of a model that has no blocks of its own (models/blocks/transformer.yaml).
struct TransformerBlocks {
  block::DefinitionPointer embedding;
  block::DefinitionPointer layer;
  block::DefinitionPointer prediction;
  block::DefinitionPointer head;
};

// Returns the blocks. `folder` holds the library of blocks; its file is read once. Throws Error(input): at `asked_at`
// if the file is missing, in the file if it is wrong.
std::shared_ptr<const TransformerBlocks> transformer_blocks(const std::filesystem::path& folder,
                                                            const Location& asked_at);

// Returns the sizes that the blocks of `model` take. A flag is 1 or 0.
block::Sizes transformer_sizes(const ModelSpec& model, const BlockOptions& options, const LayerKind& kind);

}  // namespace mirfak
