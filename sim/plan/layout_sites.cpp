#include "plan/layout_sites.hpp"

namespace mirfak {

void RecentCosts::keep(std::shared_ptr<const LayoutCosts> made) {
  const std::lock_guard lock(mutex_);
  kept_[next_++ % kept_.size()] = std::move(made);
}

std::vector<LayoutSite>& LayoutSites::sites() {
  const std::lock_guard lock(mutex_);
  if (sites_.empty()) sites_ = in_every_order();
  return sites_;
}

// Stages of one type each in every order of types, which is that of stages, or, where several types are there, replicas
// of one type each.
std::vector<LayoutSite> LayoutSites::in_every_order() const {
  const std::vector<std::shared_ptr<const Cluster>> orders = mirfak::in_every_order(job_.cluster, counts_);
  const std::size_t different = layout_.pipeline > 1 ? orders.size() : 1;
  std::vector<LayoutSite> out;
  for (std::size_t order = 0; order < different; ++order) {
    out.push_back({orders[order], static_cast<std::uint32_t>(order), false, {}});
    if (order > 0) continue;
    if (auto spread = spread_over_stages(*orders.front(), layout_.pipeline)) {
      out.push_back({std::make_shared<const Cluster>(std::move(*spread)), 0, true, {}});
    }
  }
  return out;
}

std::shared_ptr<const LayoutCosts> LayoutSites::costs(LayoutSite& site, const Strategy& choice, RecentCosts& recent) {
  {
    const std::lock_guard lock(mutex_);
    if (auto known = site.costs.lock()) return known;
  }
  std::shared_ptr<const LayoutCosts> made = layout_costs(job_, *site.cluster, choice);
  const std::lock_guard lock(mutex_);
  site.costs = made;
  recent.keep(made);
  return made;
}

}  // namespace mirfak
