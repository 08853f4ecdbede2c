#pragma once

#include <memory>
#include <span>
#include <vector>

namespace mirfak {

// Number of layers of one chunk of each stage.
using LayerSplit = std::shared_ptr<const std::vector<int>>;

// Returns every way to give `layers` to the stages, at least one layer each, such that stages on equal hardware have
// equally many layers, except that the first and the last stage may have up to `uneven` fewer each. `hardware_of`: a
// number for each stage, equal for equal hardware. The ways are compositions, not permutations: if hardware differs,
// each kind of hardware may have any number of layers. `most`: the most layers of each stage; empty: any number. Ways
// that exceed it are left out without being looked at.
std::vector<LayerSplit> layer_splits(std::span<const int> hardware_of, int layers, int uneven,
                                     std::span<const int> most = {});

}  // namespace mirfak
