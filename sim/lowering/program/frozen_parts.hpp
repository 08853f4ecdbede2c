#pragma once

#include "graph/operator_graph.hpp"
#include "strategy/training.hpp"

#include <cstdint>

namespace mirfak {

// True if nothing of a block is trained, so that no gradient enters it.
bool is_frozen(const OperatorGraph& graph, const FrozenParts& parts);

// Marks what is not trained in a block without gradient operators: its frozen parameters, streams from frozen blocks,
// and all that is made of these alone. Streams of images belong to the tower; a block that reads such a stream and
// leaves none holds the projector, in front of the words of the decoder.
void freeze(OperatorGraph& graph, const FrozenParts& parts);
// Place of a block in a model whose adapters have frozen it.
enum class BlockPlace : std::uint8_t { words, layer, head };
// Marks what is trained whole beside adapters in a block without gradient operators: the word embeddings and the
// projector of the block of words, the matrices of the head.
void thaw(OperatorGraph& graph, const WholeParts& whole, BlockPlace place);
// Marks all of a block without gradient operators: its pass only goes forward.
void freeze_all(OperatorGraph& graph);

}  // namespace mirfak
