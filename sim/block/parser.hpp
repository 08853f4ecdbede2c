#pragma once

#include "block/syntax.hpp"

#include <string_view>
#include <vector>

namespace mirfak::block {

// The blocks of a text, in order. Throws Error(input) at file:line:column with what was expected, and the nearest word
// where one was probably misspelt. Nesting and length are bounded.
std::vector<Block> parse(const Source& source);

// A text that is one size: "sequence/4".
Size parse_size(const Source& source);

// Words that no tensor, size or label may be called.
bool is_reserved(std::string_view word);
// Formats of elements: fp32, bf16, ...: bytes of one; 0: no such format.
double bytes_of_format(std::string_view name);

}  // namespace mirfak::block
