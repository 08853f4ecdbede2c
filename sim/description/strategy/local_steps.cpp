#include "strategy/local_steps.hpp"

#include <algorithm>

namespace mirfak {

const std::vector<ExchangeFormat>& exchange_formats() {
  static const std::vector<ExchangeFormat> all = {{"fp32", 4}, {"bf16", 2}, {"fp8", 1}, {"fp4", 0.5}};
  return all;
}

const ExchangeFormat& exchange_format_of(const LocalSteps& of) {
  return *std::find_if(exchange_formats().begin(), exchange_formats().end(),
                       [&](const ExchangeFormat& format) { return format.name == of.exchange; });
}

}  // namespace mirfak
