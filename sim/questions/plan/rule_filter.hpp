#pragma once

#include "plan/search.hpp"

#include <vector>

namespace mirfak {

// Rules that strategies have to keep: those of strategy/rules.hpp, the user's, and a program's refusals. Each rule is
// checked as early in the tree as the fields that it reads are known.
class RuleFilter {
 public:
  // All arguments must outlive this.
  RuleFilter(const Job& job, const std::vector<formula::Condition>& rules, const Refusals& refusals);

  // Returns false if layout and blocks break a rule, whatever the split of layers and the state.
  bool allows_branch(const Strategy& strategy, const Cluster& cluster) const;
  // Returns false if a strategy of an allowed branch breaks a rule, whatever its state. Asks far less than allows().
  bool allows_pipeline(const Strategy& strategy, const Cluster& cluster) const;
  // Returns true if a strategy of an allowed pipeline keeps all rules.
  bool allows(const Strategy& strategy, const Cluster& cluster) const;

 private:
  bool hold(const std::vector<const formula::Condition*>& rules, const Strategy& strategy,
            const Cluster& cluster) const;

  const Job& job_;
  const Refusals& refusals_;
  std::vector<const formula::Condition*> of_branch_;
  std::vector<const formula::Condition*> of_pipeline_;
  std::vector<const formula::Condition*> of_state_;
};

}  // namespace mirfak
