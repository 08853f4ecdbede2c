#pragma once

#include "block/file.hpp"
#include "model/model_spec.hpp"

#include <filesystem>

namespace mirfak {

// Reads a model file that states its blocks (models/README.md, "Models of blocks"): `blocks`, `sizes` and the fields
// that follow from them. `folder` holds the library of blocks. Throws Error(input) with the place of the error, inside
// a block's file if that file is wrong. Every block is compiled once, so that no block fails later.
ModelSpec read_model_of_blocks(Mapping& in, const std::filesystem::path& folder);

// Returns the section `blocks` with absolute paths of blocks' files, so that it means the same in any file. The section
// was already read without an error.
Value independent_blocks(Value blocks, const std::filesystem::path& folder);

// Returns the sizes of one of model.blocks for `batch` sequences of `sequence` tokens.
block::Sizes sizes_of_block(const ModelSpec& model, const ModelBlock& item, std::int64_t batch, std::int64_t sequence);

}  // namespace mirfak
