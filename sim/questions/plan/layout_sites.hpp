#pragma once

#include "plan/candidate_clusters.hpp"
#include "plan/layout.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace mirfak {

// Keeps the last few costs of layouts, so that costs needed again soon are not computed again.
class RecentCosts {
 public:
  void keep(std::shared_ptr<const LayoutCosts> made);

 private:
  std::mutex mutex_;
  std::array<std::shared_ptr<const LayoutCosts>, 512> kept_;
  std::size_t next_ = 0;
};

// Nodes of a layout in one order.
struct LayoutSite {
  std::shared_ptr<const Cluster> cluster;
  std::uint32_t order = 0;  // number of the order of types
  bool spread = false;      // true: each replica lies on one type; false: each stage does
  // Shapes of the stages in this order of types; empty if all stages are alike.
  std::vector<StageShape> stages;

  // Returns a choice of the layout's blocks with the stages of this site.
  Strategy placed(Strategy choice) const;
  std::weak_ptr<const LayoutCosts> costs;
};

// A layout's choices of blocks, and its sites: its nodes in every order. Both are made on demand. May be used by
// several threads at once.
class LayoutSites {
 public:
  // Takes a layout on `counts` nodes of each type of the job's cluster. `job` and `space` must outlive this object.
  LayoutSites(const Job& job, const NodeCounts& counts, const Strategy& layout, const StrategySpace& space)
      : job_(job), counts_(counts), layout_(layout), space_(space) {}

  const Strategy& layout() const { return layout_; }
  const std::vector<Strategy>& blocks();  // block_choices()
  std::vector<LayoutSite>& sites();
  // Returns the costs of a strategy placed on a site; null if a team of ranks would lie on several types. Costs are
  // kept while somebody holds them or while they are among the recent ones.
  std::shared_ptr<const LayoutCosts> costs(LayoutSite& site, const Strategy& placed, RecentCosts& recent);

 private:
  std::vector<LayoutSite> in_every_order() const;
  std::vector<LayoutSite> shaped_in_every_order() const;

  const Job& job_;
  NodeCounts counts_;
  Strategy layout_;
  const StrategySpace& space_;
  std::mutex mutex_;
  std::vector<Strategy> blocks_;
  std::vector<LayoutSite> sites_;
};

}  // namespace mirfak
