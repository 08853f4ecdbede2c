// Private to the room.
#pragma once

#include "block/syntax.hpp"

#include <string_view>

namespace mirfak::block {

// Whether the block's text uses the size for anything but the extent of one axis: `axes b=batch` does not; a second
// such axis, `axes t=2*batch`, `when batch > 1` and `k=batch` do.
bool mentions_beyond_axes(const Block& block, std::string_view size);

}  // namespace mirfak::block
