#pragma once

#include "strategy/rules.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace mirfak {

// Lists the divisors of `of` up to `limit`, to tell the user which values work: "1, 2, 4 or 8".
std::string divisors(std::int64_t of, std::int64_t limit);

// Rules on how replicas shard state (ZeRO), gather parameters and reduce gradients. Each returns the key that cannot be
// as stated; nullopt if the rule is kept.
std::optional<Violation> framework_shards(const RuleInput& in);
std::optional<Violation> zero_group_divides(const RuleInput& in);
std::optional<Violation> second_copy_divides(const RuleInput& in);
std::optional<Violation> exchanges_are_quantized(const RuleInput& in);
std::optional<Violation> gather_needs_shards(const RuleInput& in);
std::optional<Violation> buffers_are_registered(const RuleInput& in);

}  // namespace mirfak
