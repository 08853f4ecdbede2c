#pragma once

#include "cost/attention_model.hpp"
#include "cost/gemm_model.hpp"
#include "cost/kernel_model.hpp"
#include "sharding/partition.hpp"

#include <vector>

namespace mirfak {

// What one kernel computes on one device, whatever the device: shapes and traffic, no data.
struct KernelWork {
  enum class Kind : std::uint8_t {
    nothing,    // a view, or a delay that the program only predicts
    product,    // batch x [m, k] x [k, n]
    attention,  // fused: no scores in memory
    stream,     // reads and writes its operands once
    normalize,  // ... with statistics of each row of the first
    softmax,    // ... with the exponential of each element and the sum of each row
    gather,     // ... whose rows are read at random places
  };
  Kind kind = Kind::nothing;
  Precision precision = Precision::fp32;  // product, attention: of the operands
  GemmShape product;
  bool narrow = false;    // product: of operands in the job's narrow format, where it has one
  bool gradient = false;  // ... of which the first is a gradient
  bool quantizes =
      false;  // ... and is quantized from 16 bits by a kernel in front of it, as tables of products have it
  AttentionShape attention;
  bool backward = false;       // attention: gradients of query, key and value
  std::vector<double> reads;   // bytes of each operand read ...
  std::vector<double> writes;  // ... and written, in one pass
  double row_bytes = 0;        // normalize, softmax, gather
  double passes = 1;           // times that all of it moves
};

// The kernel of a step of a block; `step.kind` is kernel.
KernelWork kernel_work(const PartitionedBlock& block, const BlockStep& step, const KernelPrecision& precision);

// A kernel that moves so many bytes through memory, as an optimizer step does: two thirds read, one third written.
KernelWork traffic_work(double bytes);

// The operators that `mirfak calibrate` knows such kernels by: "elementwise", "normalization", "softmax", "reduction",
// "gather"; of one that reads `bytes_read` and writes `bytes_written` in rows of `row_bytes`.
KernelWork memory_work(OperatorKind kind, double bytes_read, double bytes_written, double row_bytes);

double bytes_moved(const KernelWork& work);  // of kinds that are bound by memory

}  // namespace mirfak
