#pragma once

#include "capture/capture.hpp"

#include <cstddef>
#include <cstdint>
#include <map>

namespace mirfak {

// Returns the capture with events of their own for all ranks that did as another did: in the same groups, or each in
// its groups of the same families. For ranks that differ: in their GPUs, or because they are slow. Ranks that are not
// in the capture stay absent. Error(input) for more than kMaxEvents events in all, and for a rank that is in no group
// that corresponds to one of the other's.
Capture with_events_of_each(const Capture& capture);

// Returns how many ranks did as each rank with events did, itself included, by the number of the rank.
std::map<std::int64_t, std::int64_t> ranks_alike(const Capture& capture);

inline constexpr std::size_t kMaxEvents = 20'000'000;

}  // namespace mirfak
