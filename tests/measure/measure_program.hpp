#pragma once

#include "program.hpp"

#include <string>

namespace mirfak::test {

// A GPT of 4 small layers in fp32, whose host is for free: what runs in a fraction of a second on a core.
// `keys`: of its strategy. `node`: a node type, of which two GPUs are used on `nodes` nodes.
std::string tiny_scenario(const std::string& node, int nodes, const std::string& keys);

bool contains(const std::string& text, const std::string& part);
std::size_t count(const std::string& text, const std::string& part);

// Runs `mirfak-measure` with `arguments` in `processes` processes.
Finished measure(int processes, const std::string& arguments, const ScratchFolder& folder);

}  // namespace mirfak::test
