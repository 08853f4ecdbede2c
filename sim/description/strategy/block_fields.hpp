#pragma once

#include "strategy/strategy.hpp"

#include <array>
#include <compare>
#include <cstddef>

namespace mirfak {

// Cache key: the effective values of all strategy fields by which blocks are sharded and priced. A new field belongs to
// the key unless the table of fields states that blocks do not depend on it (not_in_blocks()).
class BlockFields {
 public:
  explicit BlockFields(const Strategy& strategy);

  friend auto operator<=>(const BlockFields&, const BlockFields&) = default;

 private:
  static constexpr std::size_t kCount = 21;

  std::array<double, kCount> values_{};
};

}  // namespace mirfak
