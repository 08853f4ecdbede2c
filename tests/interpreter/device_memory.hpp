#pragma once

#include "interpreter/layout.hpp"

#include <map>
#include <vector>

namespace mirfak::interpreter {

// One way in which all devices hold a tensor: a piece each, whole or as a part of a sum.
struct Version {
  MeshAxisSet partial;
  std::vector<Piece> pieces;  // by device
  // The result of windows that reach over the edges of parts: pieces hold what devices have for their neighbours, too,
  // and nobody may read them before that is added.
  bool open = false;
  bool copy = false;             // beside how the tensor lies: brought for those that read exactly this
  OperatorId for_operator = -1;  // a part with rows of neighbours, for this operator alone
};

// The tensors that devices hold: some versions of each, since a tensor that was gathered for one operator also lies as
// it did before.
class DeviceMemory {
 public:
  void put(TensorId tensor, Version version) { versions_[tensor].push_back(std::move(version)); }
  void replace(TensorId tensor, Version version) {
    versions_[tensor].clear();
    put(tensor, std::move(version));
  }
  // A version that is partial over exactly these mesh axes and has, on every device, at least a box; null: none.
  const Version* find(TensorId tensor, MeshAxisSet partial, const std::vector<Box>& boxes) const;
  // Finds as find() does, but of copies only those that are these boxes and no more.
  const Version* find_strictly(TensorId tensor, const std::vector<Box>& boxes) const;
  // Finds any version with these boxes, whatever it is a part of.
  const Version* find_any(TensorId tensor, const std::vector<Box>& boxes) const;
  void drop_rows_for(OperatorId id) {
    for (auto& [tensor, versions] : versions_) {
      std::erase_if(versions, [id](const Version& version) { return version.for_operator == id; });
    }
  }
  // The result whose edges are still to be added; null: none.
  Version* find_open(TensorId tensor);
  std::map<TensorId, std::vector<Version>>& all() { return versions_; }
  const std::map<TensorId, std::vector<Version>>& all() const { return versions_; }

 private:
  std::map<TensorId, std::vector<Version>> versions_;
};

// The parts of a tensor, one a device, that a sharding says.
std::vector<Box> boxes_of(const Layout& layout, TensorId tensor, const Sharding& sharding);

}  // namespace mirfak::interpreter
