#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace mirfak {

// Counts the sources (tables of measured runs) by which the predictions of a framework on GPUs of an architecture were
// judged and improved. A prediction that no source has judged is a first contact, and its range is wider.
class MeasuredSoftware {
 public:
  using Counts = std::map<std::string, int, std::less<>>;  // by architecture of the GPUs; absent: none

  // Lists a framework of the data folder, measured or not.
  void list(const std::string& framework) { frameworks_[framework]; }
  void add(const std::string& framework, const std::string& architecture, int sources = 1) {
    frameworks_[framework][architecture] += sources;
  }

  // Returns the number of sources for a framework. A framework that is not listed is a user's own: it counts as the
  // first listed framework of `likes`, the frameworks that it inherits from, the nearest first.
  int sources(std::string_view framework, std::span<const std::string> likes, std::string_view architecture) const;

  bool empty() const { return frameworks_.empty(); }
  const std::map<std::string, Counts, std::less<>>& frameworks() const { return frameworks_; }

  friend bool operator==(const MeasuredSoftware&, const MeasuredSoftware&) = default;

 private:
  std::map<std::string, Counts, std::less<>> frameworks_;
};

// Returns the share of an iteration for which Uncertainty::unmeasured counts if this many sources measured its software
// on its GPUs: 1 without any, 1/8 with one, 1/27 with two.
double unmeasured_share(int sources);

}  // namespace mirfak
