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

// Hardware data being read, of a YAML file or of a mapping within a scenario: a mapping whose figures are written
// [value, source], where source is a key of its own `sources` mapping. Strict: a figure without a source, an unused
// source and an unknown key are errors.
class ProfileFile {
 public:
  explicit ProfileFile(const std::filesystem::path& path);
  explicit ProfileFile(const Document& document);                      // named like its file
  ProfileFile(Document document, std::string name, std::string path);  // stated at `path` of a document
  ProfileFile(const ProfileFile&) = delete;
  ProfileFile& operator=(const ProfileFile&) = delete;

  Mapping& root() { return root_; }
  const std::string& name() const { return name_; }  // of a file: without folder and extension
  std::string title();                               // value of the key `title`, not empty

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
  std::string name_;
  Mapping root_;
  std::map<std::string, std::string, std::less<>> sources_;
  std::set<std::string, std::less<>> used_sources_;
};

// Reads the accuracy that `mirfak calibrate` writes after the constants that it fitted.
FitQuality read_fit_quality(Mapping& mapping);

}  // namespace mirfak
