#pragma once

#include "base/document.hpp"
#include "cluster/hardware.hpp"

#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace mirfak {

// One YAML file of hardware data being read: a mapping whose figures are written [value, source], where source is a
// key of the file's own `sources` mapping. Strict: a figure without a source, a source nobody uses and a key nobody
// reads are errors.
class ProfileFile {
 public:
  explicit ProfileFile(const std::filesystem::path& path);
  ProfileFile(const ProfileFile&) = delete;
  ProfileFile& operator=(const ProfileFile&) = delete;

  Mapping& root() { return root_; }
  std::string name() const;  // the file's name without folder and ending
  std::string title();       // the key `title`, not empty

  // A figure from `minimum` to `maximum`. The ranges are wide: they catch a wrong unit, not a wrong value.
  Figure figure(Mapping& mapping, std::string_view key, double minimum, double maximum);
  Figure figure(std::string_view key, double minimum, double maximum) { return figure(root_, key, minimum, maximum); }
  Figure figure_at(const Node& node, double minimum, double maximum);

  void finish() const;  // Error(input) at the first key or source that was not used

 private:
  Document document_;
  Mapping root_;
  std::map<std::string, std::string, std::less<>> sources_;
  std::set<std::string, std::less<>> used_sources_;
};

// What `mirfak calibrate` writes behind the constants that it fitted.
FitQuality read_fit_quality(Mapping& mapping);

}  // namespace mirfak
