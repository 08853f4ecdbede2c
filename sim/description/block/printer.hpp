#pragma once

#include "block/syntax.hpp"

#include <span>
#include <string>

namespace mirfak::block {

// Returns the text of blocks, which parse() reads back as an equal tree. One statement a line, two spaces a level.
std::string print(std::span<const Block> blocks);
std::string print(const Statement& statement, int level);
std::string print(const Expression& expression);
std::string print(const Formula& formula);  // sizes and conditions

}  // namespace mirfak::block
