// Private to the room.
#pragma once

#include "block/syntax.hpp"

#include <string_view>

namespace mirfak::block {

// Whether the block's text uses the size for anything but the extent of one axis: `axes b=batch` does not. A second
// such axis, `axes t=2*batch`, `when batch > 1`, `k=batch` do, and so does an axis that is parted, joined or viewed,
// because its extent must then fit others.
bool mentions_beyond_axes(const Block& block, std::string_view size);

}  // namespace mirfak::block
