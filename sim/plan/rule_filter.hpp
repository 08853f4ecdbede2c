#pragma once

#include "plan/search.hpp"

#include <vector>

namespace mirfak {

// The rules that strategies have to keep: those of strategy/rules.hpp and the user's, each asked as early in the tree
// as what it reads is known.
class RuleFilter {
 public:
  RuleFilter(const Job& job, const std::vector<RuleExpression>& rules);

  // Of layout and blocks, whatever the split of layers and the state.
  bool allows_branch(const Strategy& strategy, const Cluster& cluster) const;
  // All rules.
  bool allows(const Strategy& strategy, const Cluster& cluster) const;

 private:
  bool hold(const std::vector<const RuleExpression*>& rules, const Strategy& strategy, const Cluster& cluster) const;

  const Job& job_;
  std::vector<const RuleExpression*> early_;
  std::vector<const RuleExpression*> late_;
};

}  // namespace mirfak
