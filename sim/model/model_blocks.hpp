#pragma once

#include "block/file.hpp"
#include "model/model_spec.hpp"

#include <filesystem>

namespace mirfak {

// A model file that states its blocks (models/README.md, "Models of blocks"): `blocks`, `sizes` and what follows from
// them. `folder` holds the library of blocks. Throws Error(input) with its place, inside a block's file where that is
// wrong; every block is compiled once, so that nothing of it fails later.
ModelSpec read_model_of_blocks(Mapping& in, const std::filesystem::path& folder);

// The section `blocks` with the paths of blocks' files absolute, so that it means the same in any file. It was read
// before, without an error.
Value independent_blocks(Value blocks, const std::filesystem::path& folder);

// What one of model.blocks is given for `batch` sequences of `sequence` tokens.
block::Sizes sizes_of_block(const ModelSpec& model, const ModelBlock& item, std::int64_t batch, std::int64_t sequence);

}  // namespace mirfak
