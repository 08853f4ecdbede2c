#include "scenario/low_rank_section.hpp"

namespace mirfak {

namespace {

constexpr int kMaxDimensions = 1 << 20;
constexpr int kLongestSpan = 1'000'000;

}  // namespace

const FieldTable<LowRankGradients>& low_rank_fields() {
  using L = LowRankGradients;
  using F = FieldTable<L>::Field;
  static const FieldTable<L> table = {
      F("rank", &L::rank, {1, kMaxDimensions}).required(),
      F("every", &L::every, {1, kLongestSpan}),
      F("quantized_projectors", &L::quantized_projectors, {}).if_set(),
  };
  return table;
}

}  // namespace mirfak
