#pragma once

#include "capture/capture.hpp"
#include "capture/operator_table.hpp"
#include "cost/kernel_model.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>

namespace mirfak {

// Price of one call of an operator on one GPU.
struct OperatorPrice {
  KernelCost cost;        // all its kernels, one after another
  int kernels = 0;        // 0: nothing is launched
  bool known = true;      // false: no entry of the table names it, and its bytes are its price
  Precision precision{};  // of products and attention
  std::string figures;    // fused attention: the generation whose figures stand in for the one that runs; empty: none
};

// Prices captured operators on one GPU type. `gpu` and `table` must outlive it. Usable from one thread.
class OperatorPrices {
 public:
  // `time_factor`: of all kernels (NodeSpec::time_factors).
  OperatorPrices(const GpuSpec& gpu, const OperatorTable& table, double time_factor);

  // Sets the clock of all later prices, as a share of the full one.
  void set_clock_share(double settled, double limit);
  // Error(infeasible) for products in a precision that the GPU does not compute in, and for attention that does not
  // run on the GPU.
  OperatorPrice price(const CapturedOperator& op);

 private:
  const KernelModel& model(Precision precision, const std::string& generation = {});
  Precision precision_of(const CapturedTensor& tensor) const;
  KernelCost product(const CapturedOperator& op, const OperatorRule& rule);
  KernelCost convolution(const CapturedOperator& op, const OperatorRule& rule);
  KernelCost attention(const CapturedOperator& op, const OperatorRule& rule);
  KernelCost moved(const CapturedOperator& op, const OperatorRule& rule, int kernels);
  KernelCost joined(const CapturedOperator& op, int& kernels);
  int kernels_of_lists(const CapturedOperator& op) const;
  double cycles(const CapturedOperator& op) const;

  const GpuSpec& gpu_;
  const OperatorTable& table_;
  double time_factor_;
  double settled_ = 1;
  double limit_ = 1;
  Precision usual_;  // of kernels that multiply no matrices, for which it has no effect
  std::map<std::pair<Precision, std::string>, KernelModel> models_;
};

}  // namespace mirfak
