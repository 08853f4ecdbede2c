#pragma once

#include "sharding/partition.hpp"

namespace mirfak {

// Chunks of rows on one device (OperatorGraph::chunks). With r rows there and s rows in a chunk, there are r/s chunks,
// the last of which may be a part of one, and takes that part of a chunk's time. With v classes there and u of them in
// a tile, each chunk is v/u kernels, likewise.

// Returns the graph with its head and loss in chunks: all operators from the product that makes the logits to those
// that read the gradient of the logits. `graph` has gradient operators. Unchanged if there is no loss.
OperatorGraph with_chunks(OperatorGraph graph, const RowChunks& chunks);

// Returns the tensors of forward that exist for one chunk at a time.
std::vector<TensorId> made_in_chunks(const OperatorGraph& graph);

// Number of chunks of the rows, whatever the tiles of the classes.
double row_chunks_of(const OperatorGraph& graph, const BlockStep& step);
// Number of chunks, or of their tiles, that a kernel of the graph runs in, one after the other; 1 for kernels that are
// not in chunks.
double chunks_of(const OperatorGraph& graph, const BlockStep& step);
// Returns the kernel for one of its chunks.
BlockStep chunk_of(const OperatorGraph& graph, const BlockStep& step);

// Returns the bytes of memory of a tensor on one device that exist at a time.
double bytes_at_once(const OperatorGraph& graph, TensorId tensor, const Sharding& sharding, const DeviceMesh& mesh);

}  // namespace mirfak
