#include "cost/explanation.hpp"

#include <fmt/format.h>

#include <utility>

namespace mirfak {

Explanation corrected(Explanation explanation, double factor) {
  if (factor == 1) return explanation;
  explanation.formula += ", times the correction";
  if (!explanation.evaluation.empty()) {
    explanation.evaluation = fmt::format("({}) * {:.6g}", explanation.evaluation, factor);
  }
  explanation.inputs.push_back({"correction", fmt::format("{:.4g}", factor), "the node type's measured runs"});
  return explanation;
}

}  // namespace mirfak
