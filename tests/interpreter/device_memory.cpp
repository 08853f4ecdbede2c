#include "interpreter/device_memory.hpp"

namespace mirfak::interpreter {

namespace {

bool has(const Version& version, const std::vector<Box>& boxes) {
  if (version.open) return false;
  for (std::size_t device = 0; device < boxes.size(); ++device) {
    if (!contains(version.pieces[device].box, boxes[device])) return false;
  }
  return true;
}

}  // namespace

const Version* DeviceMemory::find(TensorId tensor, MeshAxisSet partial, const std::vector<Box>& boxes) const {
  const auto found = versions_.find(tensor);
  if (found == versions_.end()) return nullptr;
  for (const Version& version : found->second) {
    if (version.partial == partial && has(version, boxes)) return &version;
  }
  return nullptr;
}

const Version* DeviceMemory::find_strictly(TensorId tensor, const std::vector<Box>& boxes) const {
  const auto found = versions_.find(tensor);
  if (found == versions_.end()) return nullptr;
  for (const Version& version : found->second) {
    if (!version.partial.empty() || !has(version, boxes)) continue;
    bool exact = true;
    for (std::size_t device = 0; device < boxes.size(); ++device) {
      exact = exact && version.pieces[device].box == boxes[device];
    }
    if (exact || !version.copy) return &version;
  }
  return nullptr;
}

const Version* DeviceMemory::find_any(TensorId tensor, const std::vector<Box>& boxes) const {
  const auto found = versions_.find(tensor);
  if (found == versions_.end()) return nullptr;
  for (const Version& version : found->second) {
    if (has(version, boxes)) return &version;
  }
  return nullptr;
}

Version* DeviceMemory::find_open(TensorId tensor) {
  for (Version& version : versions_[tensor]) {
    if (version.open) return &version;
  }
  return nullptr;
}

std::vector<Box> boxes_of(const Layout& layout, TensorId tensor, const Sharding& sharding) {
  std::vector<Box> out;
  for (std::int64_t device = 0; device < layout.devices(); ++device) {
    out.push_back(layout.box(tensor, sharding, device));
  }
  return out;
}

}  // namespace mirfak::interpreter
