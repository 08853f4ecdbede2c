#pragma once

#include "cluster/cluster.hpp"

#include <filesystem>
#include <functional>
#include <string>

// The catalog of the source tree.
const mirfak::Catalog& catalog();

// A copy of that catalog's folder in which files may be changed; removed at the end.
class ScratchCatalog {
 public:
  ScratchCatalog();
  ~ScratchCatalog();
  ScratchCatalog(const ScratchCatalog&) = delete;
  ScratchCatalog& operator=(const ScratchCatalog&) = delete;

  mirfak::Catalog catalog() const { return mirfak::Catalog(folder_); }
  const std::filesystem::path& folder() const { return folder_; }
  void replace(const std::string& file, const std::string& old_text, const std::string& new_text) const;
  void write(const std::string& file, const std::string& text) const;

 private:
  std::filesystem::path folder_;
};

// Calls `visit` with every figure of a profile and a name for it.
using FigureVisitor = std::function<void(const std::string& name, const mirfak::Figure& figure)>;
void visit_figures(const mirfak::GpuSpec& gpu, const FigureVisitor& visit);
void visit_figures(const mirfak::LinkSpec& link, const FigureVisitor& visit);

// `count` nodes of one type on a fabric.
mirfak::Cluster uniform_cluster(const std::string& node, int count, mirfak::Fabric fabric = mirfak::default_fabric());
