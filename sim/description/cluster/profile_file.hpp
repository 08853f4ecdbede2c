#pragma once

#include "base/document.hpp"
#include "cluster/hardware.hpp"

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// YAML file of hardware data being read: a mapping whose figures are written [value, source], where source is a key of
// the file's own `sources` mapping. Strict: a figure without a source, an unused source and an unknown key are errors.
class ProfileFile {
 public:
  explicit ProfileFile(const std::filesystem::path& path);
  explicit ProfileFile(Document document);
  ProfileFile(const ProfileFile&) = delete;
  ProfileFile& operator=(const ProfileFile&) = delete;

  Mapping& root() { return root_; }
  std::string name() const;  // file name without folder and extension
  std::string title();       // value of the key `title`, not empty

  // Error(input) with all of these keys that the file lacks; of keys with bars between them one is
  // enough ("gemm|gemm_like").
  void require_all(const std::vector<std::string_view>& keys) const;

  // Reads a figure from `minimum` to `maximum`. The ranges are wide: they catch a wrong unit, not a wrong value.
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

// Reads the accuracy that `mirfak calibrate` writes after the constants that it fitted.
FitQuality read_fit_quality(Mapping& mapping);

}  // namespace mirfak
