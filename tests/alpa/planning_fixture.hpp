#pragma once

#include "alpa/block_plan.hpp"
#include "alpa/logical_mesh.hpp"
#include "cluster/catalog.hpp"
#include "cluster/cluster.hpp"
#include "cost/collective_model.hpp"
#include "cost/kernel_model.hpp"
#include "support/source_root.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

namespace mirfak::test {

// Nodes of a type in hw_profiles/, and what prices work on them.
class Machine {
 public:
  explicit Machine(const std::string& node, int nodes, Precision precision = Precision::fp16)
      : cluster_({{catalog().node(node), nodes, std::nullopt}}, default_fabric()),
        kernels_(hardware().gpu, precision),
        collectives_(hardware(), cluster_.fabric()) {}

  const Cluster& cluster() const { return cluster_; }
  const KernelModel& kernels() const { return kernels_; }
  const CollectiveModel& collectives() const { return collectives_; }
  alpa::LogicalMesh mesh(int rows, int columns) const {
    const int devices = rows * columns;
    const int gpus = std::min(devices, hardware().spec.gpus);
    return alpa::logical_mesh(cluster_, devices / gpus, gpus, rows, columns);
  }

 private:
  static Catalog catalog() { return Catalog(std::filesystem::path(source_root()) / "hw_profiles"); }
  const NodeHardware& hardware() const { return cluster_.groups().front().hardware; }

  Cluster cluster_;
  KernelModel kernels_;
  CollectiveModel collectives_;
};

}  // namespace mirfak::test
