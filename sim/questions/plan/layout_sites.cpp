#include "plan/layout_sites.hpp"

#include "plan/shaped_layouts.hpp"
#include "strategy/stage_rules.hpp"

#include <algorithm>
#include <numeric>

namespace mirfak {

void RecentCosts::keep(std::shared_ptr<const LayoutCosts> made) {
  const std::lock_guard lock(mutex_);
  kept_[next_++ % kept_.size()] = std::move(made);
}

const std::vector<Strategy>& LayoutSites::blocks() {
  const std::lock_guard lock(mutex_);
  if (blocks_.empty()) blocks_ = block_choices(space_, layout_, job_.framework);
  return blocks_;
}

std::vector<LayoutSite>& LayoutSites::sites() {
  const std::lock_guard lock(mutex_);
  if (sites_.empty()) sites_ = layout_.stages.empty() ? in_every_order() : shaped_in_every_order();
  return sites_;
}

// Returns the sites with each stage on one type, in every order of types, which is the order of stages, and, if there
// are several types, the site with each replica on one type.
std::vector<LayoutSite> LayoutSites::in_every_order() const {
  const std::vector<std::shared_ptr<const Cluster>> orders = mirfak::in_every_order(job_.cluster, counts_);
  const std::size_t different = layout_.pipeline > 1 ? orders.size() : 1;
  std::vector<LayoutSite> out;
  for (std::size_t order = 0; order < different; ++order) {
    out.push_back({orders[order], static_cast<std::uint32_t>(order), false, {}, {}});
    if (order > 0) continue;
    if (auto spread = spread_over_stages(*orders.front(), layout_.pipeline)) {
      out.push_back({std::make_shared<const Cluster>(std::move(*spread)), 0, true, {}, {}});
    }
  }
  return out;
}

// The stages of a type move with the type.
std::vector<LayoutSite> LayoutSites::shaped_in_every_order() const {
  const std::vector<std::shared_ptr<const Cluster>> orders = mirfak::in_every_order(job_.cluster, counts_);
  const std::vector<StagesOfType> stages = stages_by_type(layout_, gpus_of_types(*orders.front()));
  std::vector<std::size_t> order(orders.front()->groups().size());
  std::iota(order.begin(), order.end(), 0);
  const bool fixed = space_.stages == StageShapes::fixed;
  std::vector<LayoutSite> out;
  for (std::size_t number = 0; number < orders.size(); ++number) {
    out.push_back({orders[number],
                   static_cast<std::uint32_t>(number),
                   false,
                   fixed ? layout_.stages : with_stages(layout_, stages, order).stages,
                   {}});
    if (fixed) break;
    std::next_permutation(order.begin(), order.end());
  }
  return out;
}

Strategy LayoutSite::placed(Strategy choice) const {
  if (!stages.empty()) set_stages(choice, stages);
  return choice;
}

std::shared_ptr<const LayoutCosts> LayoutSites::costs(LayoutSite& site, const Strategy& placed, RecentCosts& recent) {
  {
    const std::lock_guard lock(mutex_);
    if (auto known = site.costs.lock()) return known;
  }
  std::shared_ptr<const LayoutCosts> made = layout_costs(job_, *site.cluster, placed);
  const std::lock_guard lock(mutex_);
  site.costs = made;
  recent.keep(made);
  return made;
}

}  // namespace mirfak
