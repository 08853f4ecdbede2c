#pragma once

#include "strategy/strategy.hpp"

#include <array>
#include <compare>
#include <cstddef>
#include <type_traits>

namespace mirfak {

// What blocks are sharded and priced by, of a strategy: the values that hold of all fields of which the table does not
// say that blocks do not see them. A key of caches; a new field is part of it unless it is shown that it need not be.
class BlockFields {
 public:
  explicit BlockFields(const Strategy& strategy) {
    std::size_t at = 0;
    for_each_strategy_field([&](const auto& field) {
      using T = typename std::remove_cvref_t<decltype(field)>::Type;
      if constexpr (!kIsList<T>) {
        if (field.in_blocks) values_[at++] = effective_value(field, strategy);
      }
    });
  }

  friend auto operator<=>(const BlockFields&, const BlockFields&) = default;

 private:
  static constexpr std::size_t kCount = std::apply(
      [](const auto&... fields) { return (std::size_t{0} + ... + (fields.in_blocks ? 1 : 0)); }, kStrategyFields);

  std::array<double, kCount> values_{};
};

}  // namespace mirfak
