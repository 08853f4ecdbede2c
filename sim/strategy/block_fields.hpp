#pragma once

#include "strategy/strategy.hpp"

#include <array>
#include <compare>
#include <cstddef>

namespace mirfak {

// What blocks are sharded and priced by, of a strategy: the values that hold of all fields of which the table does not
// say that blocks do not see them. A key of caches; a new field is part of it unless it is shown that it need not be.
class BlockFields {
 public:
  explicit BlockFields(const Strategy& strategy);

  friend auto operator<=>(const BlockFields&, const BlockFields&) = default;

 private:
  static constexpr std::size_t kCount = 14;

  std::array<double, kCount> values_{};
};

}  // namespace mirfak
