#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mirfak {

// Reads numbers as people write them: a number and a unit of what its key counts, "80GB", "10 min", "2MW", "$2.10",
// "15T". The key's name says which units it has, as it says which unit a plain number has: "restart_s" takes times,
// "power_cap_w" watts, "bytes_per_s" rates in bytes or bits, keys without a unit thousands, millions, billions and
// trillions of what they count. GB are 1e9 bytes and GiB 2^30. In lengths of sequences k and M are 1024 and 1024^2, as
// in "8k" and "128k".
//
// Returns the value in the key's own unit; nullopt if the text is no number, or its unit is none of the key's.
// `key` is a path such as "cluster.nodes[0].clock_mhz".
std::optional<double> written_number(std::string_view text, std::string_view key);

// Returns the units of a key for a hint, such as "ns, us, ms, s, min, h, d"; a key without a unit has "k, M, B, T".
std::string units_of_written_number(std::string_view key);

}  // namespace mirfak
