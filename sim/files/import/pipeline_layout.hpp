#pragma once

#include "base/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Parses Megatron Core's --pipeline-model-parallel-layout: the modules on each virtual stage in the order of the model.
// E is the embedding, t a layer of the decoder, m a module of multi-token prediction, L the loss; | ends a stage, x*3
// and (x|y)*3 repeat, and commas, blanks and backslashes before signs mean nothing: "Et*4|(tttt|)*14tmL".
std::vector<std::string> pipeline_layout_stages(std::string_view text, const Location& where);

// Returns the number of layers, "t", on each stage: the value of strategy.layer_split.
std::vector<int> layers_of_stages(const std::vector<std::string>& stages);

}  // namespace mirfak
