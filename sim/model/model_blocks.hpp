#pragma once

#include "block/file.hpp"
#include "graph/operator_graph.hpp"
#include "model/blocks.hpp"
#include "model/model_spec.hpp"

#include <filesystem>

namespace mirfak {

// A model file that states its blocks (models/README.md, "Models of blocks"): `blocks`, `sizes` and what follows from
// them. `folder` holds the library of blocks. Throws Error(input) with its place, inside a block's file where that is
// wrong; every block is compiled once, so that nothing of it fails later.
ModelSpec read_model_of_blocks(Mapping& in, const std::filesystem::path& folder);

// One of model.blocks, in the kernels that the framework has.
OperatorGraph build_model_block(const ModelSpec& model, std::size_t index, const BlockOptions& options);

}  // namespace mirfak
