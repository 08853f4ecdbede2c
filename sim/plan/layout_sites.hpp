#pragma once

#include "plan/candidate_clusters.hpp"
#include "plan/layout.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace mirfak {

// The last few costs of layouts, so that what is asked for again soon is not made anew.
class RecentCosts {
 public:
  void keep(std::shared_ptr<const LayoutCosts> made);

 private:
  std::mutex mutex_;
  std::array<std::shared_ptr<const LayoutCosts>, 512> kept_;
  std::size_t next_ = 0;
};

// Nodes in an order that a layout lies on.
struct LayoutSite {
  std::shared_ptr<const Cluster> cluster;
  std::uint32_t order = 0;  // of types
  bool spread = false;      // replicas of one type each; else stages of one type each
  // Of its own shape each, in this order of types; empty: all are alike.
  std::vector<StageShape> stages;

  // A choice of the layout's blocks, on these nodes.
  Strategy placed(Strategy choice) const;
  std::weak_ptr<const LayoutCosts> costs;
};

// A layout on its nodes in every order, made when it is asked for. May be used by several threads at once.
class LayoutSites {
 public:
  // On so many nodes of each type of the job's cluster. `job` must outlive this. `fixed`: in the cluster's order of
  // types alone.
  LayoutSites(const Job& job, const NodeCounts& counts, const Strategy& layout, bool fixed)
      : job_(job), counts_(counts), layout_(layout), fixed_(fixed) {}

  const Strategy& layout() const { return layout_; }
  std::vector<LayoutSite>& sites();
  // Of a site and a strategy placed there; null where a team of ranks would lie on several types. Kept while somebody
  // has them, or few others were made since.
  std::shared_ptr<const LayoutCosts> costs(LayoutSite& site, const Strategy& placed, RecentCosts& recent);

 private:
  std::vector<LayoutSite> in_every_order() const;
  std::vector<LayoutSite> shaped_in_every_order() const;

  const Job& job_;
  NodeCounts counts_;
  Strategy layout_;
  bool fixed_;
  std::mutex mutex_;
  std::vector<LayoutSite> sites_;
};

}  // namespace mirfak
