#pragma once

#include "base/document.hpp"
#include "strategy/training.hpp"

namespace mirfak {

// Reads training.images: the images of a sequence on average, or the number of sequences that have each number of
// images, {0: 5, 1: 3, 4: 1}. Error(input) at an entry that is not a number of images or of sequences.
void read_image_counts(const Node& node, SequenceImages& images);

// Returns the mean, or the number of sequences for each number of images.
Value image_counts_value(const SequenceImages& images);

}  // namespace mirfak
