#pragma once

#include "graph/operator_graph.hpp"

namespace mirfak {

// Gives every sequence `images` images, 0 <= images, on average: tensors of the batch with an axis of images
// (AxisInfo::of_images) exist so many times. Kernels of all images of a microbatch are launched once, so an operator
// has so many times the rows, and attention so many times the batch. `graph` has its gradient operators.
void repeat_images(OperatorGraph& graph, double images);

// True if the operator reads or writes a tensor of images that no sequence has.
bool lacks_images(const OperatorGraph& graph, const Operator& op);

// True if the block's first output is a stream of images: the block belongs to a tower.
bool leaves_images(const OperatorGraph& graph);

// Tokens of a sequence that one image takes in a block that puts images among words: rows of the table with an axis of
// images that a gather reads. 0: the block does not.
std::int64_t tokens_of_image(const OperatorGraph& graph);

}  // namespace mirfak
