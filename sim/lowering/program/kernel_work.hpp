#pragma once

#include "cost/attention_model.hpp"
#include "cost/gemm_model.hpp"
#include "cost/kernel_model.hpp"
#include "sharding/partition.hpp"

#include <vector>

namespace mirfak {

// Computation of one kernel on one device, independent of the device: shapes and traffic, no data.
struct KernelWork {
  enum class Kind : std::uint8_t {
    nothing,    // a view, or a delay that the program only predicts
    product,    // batch x [m, k] x [k, n]
    attention,  // fused: no scores in memory
    stream,     // reads and writes its operands once
    normalize,  // stream with statistics of each row of the first operand
    softmax,    // stream with the exponential of each element and the sum of each row
    gather,     // stream whose rows are read at random places
  };
  Kind kind = Kind::nothing;
  Precision precision = Precision::fp32;  // product, attention: precision of the operands
  GemmShape product;
  bool narrow = false;    // product: operands are in the job's narrow format, where it has one
  bool gradient = false;  // product: the first operand is a gradient
  // Product: a kernel before it quantizes an operand from 16 bits, as tables of products measure it (validate/measure).
  bool quantizes = false;
  AttentionShape attention;
  bool backward = false;       // attention: gradients of query, key and value
  std::vector<double> reads;   // bytes of each operand read in one pass
  std::vector<double> writes;  // bytes of each operand written in one pass
  double row_bytes = 0;        // normalize, softmax, gather
  double passes = 1;           // times that all of the bytes move
};

// The kernel of a step of a block; `step.kind` is kernel.
KernelWork kernel_work(const PartitionedBlock& block, const BlockStep& step, const KernelPrecision& precision);

// A kernel that moves `bytes` through memory, as an optimizer step does: two thirds read, one third written.
KernelWork traffic_work(double bytes);

// A kernel of an operator that `mirfak calibrate` measures as "elementwise", "normalization", "softmax", "reduction" or
// "gather". The kernel reads `bytes_read` and writes `bytes_written` in rows of `row_bytes`.
KernelWork memory_work(OperatorKind kind, double bytes_read, double bytes_written, double row_bytes);

}  // namespace mirfak
