#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mirfak {

// Reads numbers as people write them, with a unit: "80GB", "10 min", "2MW", "$2.10", "15T". The key's name tells the
// units that its value may have, as it tells the unit of a plain number: "restart_s" takes times, "power_cap_w" watts,
// "bytes_per_s" rates in bytes or bits. Numbers of keys without a unit may be thousands, millions, billions and
// trillions. GB are 1e9 bytes and GiB 2^30. In lengths of sequences k and M are 1024 and 1024^2, as in "8k" and
// "128k".
//
// Returns the value in the key's own unit; nullopt if the text is no number, or has a unit that the key does not take.
// `key` is a path such as "cluster.nodes[0].clock_mhz".
std::optional<double> written_number(std::string_view text, std::string_view key);

// Returns the units of a key for a hint, such as "ns, us, ms, s, min, h, d"; a key without a unit has "k, M, B, T".
std::string units_of_written_number(std::string_view key);

}  // namespace mirfak
