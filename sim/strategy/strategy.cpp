#include "strategy/strategy.hpp"

namespace mirfak {

ExpertSpan Strategy::expert_span() const {
  ExpertSpan span;
  span.data = expert;
  if (tensor_of_experts() == 1 && tensor > 1 && span.data % tensor == 0) {
    span.tensor = true;
    span.data /= tensor;
  }
  if (context > 1 && span.data > 1 && span.data % context == 0) {
    span.context = true;
    span.data /= context;
  }
  return span;
}

int Strategy::expert_replicas() const {
  const ExpertSpan span = expert_span();
  return replicas() / (span.data * (span.context ? context : 1));
}

}  // namespace mirfak
