#pragma once

#include "block/syntax.hpp"

#include <string_view>
#include <vector>

namespace mirfak::block {

// Returns the blocks of a text, in order. Throws Error(input) at file:line:column with the expected token, and with the
// nearest word for a probable misspelling. Nesting and length are bounded.
std::vector<Block> parse(const Node& source);

// Parses a text that is one size: "sequence/4".
Formula parse_size(const Node& source);

// True for words that cannot be names of tensors, sizes or labels.
bool is_reserved(std::string_view word);
// Returns the bytes per element of a format (fp32, bf16, ...); 0: no such format.
double bytes_of_format(std::string_view name);

}  // namespace mirfak::block
