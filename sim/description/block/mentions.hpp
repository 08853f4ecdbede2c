// Private to the room.
#pragma once

#include "block/syntax.hpp"

#include <string_view>

namespace mirfak::block {

// True if the block's text uses the size for more than the extent of one axis. Examples: `axes b=batch` alone is false;
// a second axis of that size, `axes t=2*batch`, `when batch > 1` and `k=batch` are true. An axis that is split, joined
// or viewed also makes it true, because its extent must then fit other axes.
bool mentions_beyond_axes(const Block& block, std::string_view size);

}  // namespace mirfak::block
