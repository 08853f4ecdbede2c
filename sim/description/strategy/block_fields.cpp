#include "strategy/block_fields.hpp"

#include "strategy/strategy_fields.hpp"

#include <tuple>
#include <type_traits>

namespace mirfak {

BlockFields::BlockFields(const Strategy& strategy) {
  static_assert(kCount == std::apply([](const auto&... fields) { return (std::size_t{0} + ... + fields.in_blocks); },
                                     kStrategyFields),
                "as many as the table says that blocks see");
  std::size_t at = 0;
  for_each_strategy_field([&](const auto& field) {
    using T = typename std::remove_cvref_t<decltype(field)>::Type;
    if constexpr (!kIsList<T>) {
      if (field.in_blocks) values_[at++] = effective_value(field, strategy);
    }
  });
}

}  // namespace mirfak
