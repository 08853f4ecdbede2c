#pragma once

#include "base/error.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Megatron Core's --pipeline-model-parallel-layout: what lies on each virtual stage in the order of the model. E is the
// embedding, t a layer of the decoder, m a module of multi-token prediction, L the loss; | ends a stage, x*3 and
// (x|y)*3 repeat, and commas, blanks and backslashes in front of signs mean nothing: "Et*4|(tttt|)*14tmL".
std::vector<std::string> pipeline_layout_stages(std::string_view text, const Location& where);

// How many layers, "t", are on each: what strategy.layer_split takes.
std::vector<int> layers_of_stages(const std::vector<std::string>& stages);

}  // namespace mirfak
