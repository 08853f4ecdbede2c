#pragma once

#include "cluster/hardware.hpp"
#include "graph/operator_graph.hpp"

#include <span>
#include <string>
#include <vector>

namespace mirfak {

// One call of fused attention on one device. Queries are the last of the tokens that have keys: with a causal mask
// query i sees keys up to i + (keys - queries).
struct AttentionShape {
  double batch = 1;
  double queries = 0;
  double keys = 0;
  double heads = 0;     // heads of queries
  double kv_heads = 0;  // == heads without grouped-query attention
  double head_dim = 0;
  bool causal = false;
  double window = 0;     // newest keys that a query sees, its own token included; 0: all
  double value_dim = 0;  // width of a head's values and results; 0: head_dim
  // Documents that sequences are packed with. Their `tokens` count queries; a document has as many keys per query as
  // the whole sequence. One kernel runs all documents (variable lengths); empty: one document.
  std::vector<DocumentLength> documents = {};
  bool ordered = false;  // backward: gradients of queries are summed in a fixed order
  double calls = 1;      // ... in so many calls at once, each of a part of the queries
};

// Returns the share of pairs of queries and keys that lie within documents.
double share_of_pairs(const AttentionShape& shape);

struct AttentionCost {
  double seconds = 0;
  double compute_s = 0;   // until the last multiprocessor has done its tiles
  double memory_s = 0;    // traffic that is not overlapped with products
  double overhead_s = 0;  // launches
  double clocked_s = 0;   // part of `seconds` at the full clock that a lower clock stretches
  double draw = 0;        // power draw as a share of the limit, at the full clock
  double executed_flop = 0;
};

// Fused attention of one generation of kernels on one GPU type (FlashAttention-2, arXiv 2307.08691, section 3.2: a
// thread block per tile of queries, which walks over its keys).
//
//   tile        T = FLOP of its key blocks / (16-bit peak per multiprocessor  e  c) + ramp
//   makespan    max(sum of T / multiprocessors + tail x mean T, longest T)
//   kernel      launch + max(makespan + io_passes (Q + O) / B, (Q + K + V + O) / B)
//   backward    three launches; five products for forward's two, at e of backward kernels, and twice its ramp and its
//               io_passes; backward_passes Q / B for the kernels before and after
//
//   in order    backward passes whose sums have a fixed order: n = multiprocessors / (batch x heads), rounded up,
//               thread blocks a head, block j takes key blocks j, j + n, ... of 128 keys; n sums of gradients in fp32
//               are cleared, and read again (github.com/Dao-AILab/flash-attention, v2.7.4, csrc/flash_attn/src/
//               flash_bwd_launch_template.h and flash_api.cpp). Thread blocks go to the multiprocessor that is free
//               first, one to each, as their shared memory asks for
//
// with B = bandwidth x memory_bandwidth_efficiency and c the share of the benchmarks' clock that a run holds. A
// tile with a causal mask or a window executes the blocks of 64 keys that hold a visible one, and no others. Between
// measured head dimensions the time of a product, and the rest, are interpolated over the dimension.
//
// Figures are of kernels in 16 bits, or of kernels in 8 bits (AttentionFit::in_8_bits). Jobs in tf32 and fp32 run other
// kernels, as FlashAttention takes fp16 and bf16 only (arXiv 2205.14135, appendix A). The model assumes that these
// kernels reach the same share of the peak of their own precision and move elements of 4 bytes.
class AttentionModel {
 public:
  // `gpu`, and `fit` of that GPU, must outlive the model. `precision`: of the tensors; below 16 bits the kernels run in
  // 16 bits. Throws Error(infeasible) if the GPU cannot compute in the precision.
  AttentionModel(const GpuSpec& gpu, const AttentionFit& fit, Precision precision = Precision::bf16);

  // Cost of a forward or backward call at `clock`, a share of the full clock.
  AttentionCost forward(const AttentionShape& shape, double clock = 1) const { return price(shape, false, clock); }
  AttentionCost backward(const AttentionShape& shape, double clock = 1) const { return price(shape, true, clock); }

  // Returns the time that a row of the fit's table should hold: a forward call on its own, at benchmark clocks,
  // including the copies of queries, keys and values into a cache. Needs fit.table.
  double table_seconds(const AttentionShape& shape) const;

  // Parts into which an ordered backward pass divides the keys of a head.
  double ordered_parts(const AttentionShape& shape) const;

  const AttentionFit& fit() const { return *fit_; }
  // Returns the constants for a head dimension: measured ones, or interpolated ones, which are stored in `between_two`.
  const AttentionTiles& tiles(double head_dim, AttentionTiles& between_two) const;
  // Returns the clock share at which a device settles that runs nothing else: from the table's long kernels, else from
  // long matrix products.
  double settled_clock(double head_dim) const;
  const Figure& peak() const { return *peak_of_gpu_; }  // peak FLOP/s of the GPU to which efficiencies refer

 private:
  struct Work;
  static void add_document(const AttentionShape& document, double times, Work& work);
  Work work(const AttentionShape& shape, const AttentionTiles& tiles) const;
  double makespan(const AttentionShape& shape, const AttentionTiles& tiles, const Work& work, bool backward) const;
  double ordered_makespan(const AttentionShape& shape, double head_s) const;
  double settled_clock(const AttentionTiles& tiles) const;
  AttentionCost price(const AttentionShape& shape, bool backward, double clock) const;

  const GpuSpec* gpu_;
  const AttentionFit* fit_;
  const Figure* peak_of_gpu_;
  double element_bytes_ = 2;
  double peak_ = 0;       // FLOP/s of one multiprocessor
  double bandwidth_ = 0;  // bytes/s that streaming kernels reach
};

// The generation of fused attention that a framework runs on a GPU, and the figures that it is priced by.
struct AttentionChoice {
  std::string wanted;                 // the generation that runs
  std::string figures_of;             // another generation, if the profile has no figures of `wanted`
  const AttentionFit* fit = nullptr;  // nullptr: fused attention does not run on the GPU
};

// Chooses the first of `preferred` for which the GPU has figures; else figures of the GPU's first generation stand in
// for the first of `preferred`. "NAME@ARCHITECTURE" is preferred on GPUs of that architecture only.
AttentionChoice attention_choice(const GpuSpec& gpu, std::span<const std::string> preferred);

// Returns the figures of attention_choice().
const AttentionFit* attention_fit(const GpuSpec& gpu, std::span<const std::string> preferred);

}  // namespace mirfak
