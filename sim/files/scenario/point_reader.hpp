#pragma once

#include "cluster/catalog.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sweep_file.hpp"
#include "strategy/framework_catalog.hpp"

#include <array>
#include <cstdint>
#include <list>
#include <string_view>
#include <vector>

namespace mirfak {

// A resolved scenario as text: model and cluster; training; strategy.
using ResolvedSections = std::array<std::string_view, 3>;

// Reads the points of a sweep as parse_scenario would read their scenarios, but reads again only the sections that
// differ from the point before. Neighbours in the order of SweepFile::point_at are cheapest. For one thread.
class PointReader {
 public:
  // `sweep` must outlive the reader. `catalog` may be shared with other readers: it is a value that remembers the files
  // it read.
  PointReader(const SweepFile& sweep, Catalog catalog, DataFolders folders);
  ~PointReader();
  PointReader(const PointReader&) = delete;
  PointReader& operator=(const PointReader&) = delete;

  // Returns the job at a point, valid until the next point is read. Errors as of parse_scenario, at the values of the
  // axes.
  const Job& read(std::uint64_t point);

  // Returns, for the point read last, a number that is equal for points with the same model and cluster.
  std::uint64_t setting() const;
  // Returns Scenario::resolved of the point read last, in sections that each repeat from point to point; valid until
  // the next point is read.
  ResolvedSections resolved() const;

 private:
  // A model on a cluster, with the training and strategy that were read last for them.
  struct Setting;
  // Numbers of changes of each section of the document.
  struct Versions {
    std::uint64_t training = 1;
    std::uint64_t strategy = 1;
  };

  void move_to(std::uint64_t point);
  void apply(const SweepAxis& axis, std::uint32_t digit);
  Setting& setting_at_digits();
  void read_sections(Setting& setting, const Node& training, const Node& strategy) const;

  const SweepFile& sweep_;
  Catalog catalog_;
  FrameworkCatalog frameworks_;
  RangeWidths ranges_;
  DataFolders folders_;
  Document document_;
  bool overlapping_ = false;             // some axis is inside another: all axes are applied again for each point
  std::vector<std::size_t> of_setting_;  // axes that change the model or the cluster
  std::vector<std::uint32_t> digits_;    // the values that the document has; empty: before the first point
  std::vector<std::uint32_t> next_;
  Versions versions_;
  std::list<Setting> settings_;  // the most recently used first
  std::uint64_t settings_made_ = 0;
};

}  // namespace mirfak
