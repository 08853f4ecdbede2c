#pragma once

#include <memory>
#include <span>
#include <vector>

namespace mirfak {

// Layers of one chunk of each stage.
using LayerSplit = std::shared_ptr<const std::vector<int>>;

// Every way to give `layers` to the stages, at least one each, so that stages on equal hardware have equally many, but
// the first and the last stage up to `uneven` fewer each. `hardware_of`: of each stage, equal numbers for equal
// hardware. Compositions, not permutations: where hardware differs, each kind of it may have any number of layers.
std::vector<LayerSplit> layer_splits(std::span<const int> hardware_of, int layers, int uneven);

}  // namespace mirfak
