#pragma once

#include "cluster/hardware.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// Kinds of kernels that an operator may be.
enum class OperatorClass {
  product,
  convolution,
  attention,
  elementwise,
  normalization,
  softmax,
  reduction,
  gather,
  scatter,
  lists,  // one kernel for many tensors
  join,   // tensors side by side
};
const std::vector<std::string>& operator_class_names();  // ordered as the enumeration

// Entry of the table: what an operator launches. Operators of one entry have different arguments, so a name that is no
// argument of an operator has no effect.
struct OperatorRule {
  OperatorClass kind = OperatorClass::elementwise;
  int kernels = 1;                   // 0: nothing is launched
  std::vector<std::string> factors;  // of a product or convolution: its two arguments
  std::string gradient;              // the argument that backward begins with; empty: forward
  std::string generation;            // of fused attention
  std::vector<std::string> skips;    // arguments of which the kernels read next to nothing
  std::vector<std::string> gathers;  // arguments of which the kernels read as much as the operator writes
  std::vector<std::string> again;    // arguments that are read a second time
  std::vector<std::string> copies;   // arguments that are read and written, and nothing else; empty: all tensors
  std::map<std::string, std::string> writes_with;  // arguments that are written only together with another argument
  double passes = 1;                               // times that the bytes are moved
  bool counted = false;  // the bytes of the capture are those that the kernel moves, which does nothing else
};

// Kernels of PyTorch's operators: hw_profiles/pytorch/operators.yaml. Plain data.
struct OperatorTable {
  std::string framework;  // of hw_profiles/frameworks: memory of the platform, the host's time for a collective
  struct Host {
    double forward_s = 0;  // for each operator that is dispatched, also by the optimizer
    double backward_s = 0;
    double launch_s = 0;                 // for each kernel in addition
    double python_line_s = 0;            // for each line of Python
    double python_lines_of_forward = 0;  // that come with an operator forward where a capture counts none
    std::string source;
  } host;
  double slowest_host = 1;              // how many times longer than `host` a host has been found to take
  std::map<std::string, int> measured;  // sources that have judged captured steps, by architecture of their GPUs
  // Cycles of a multiprocessor for an element of the result.
  struct Instructions {
    double widening = 0;
    double mixed = 0;
    double strided = 0;
  } instructions;
  struct Lists {
    std::vector<int> tensors;  // most tensors of a launch, by the number of lists, from 1
    double blocks = 0;
    double elements = 0;  // of a block
  } lists;
  std::vector<std::string> results;  // arguments into which results are written, and which are not read
  std::map<std::string, Precision, std::less<>> precisions;  // of formats that products run in
  std::map<std::string, OperatorRule, std::less<>> rules;    // by name

  // Returns the entry of an operator or of the operator whose form in place it is; nullptr: no entry names it.
  const OperatorRule* find(std::string_view name) const;
};

// Error(input) at the place of the fault.
OperatorTable read_operator_table(const std::filesystem::path& file);

}  // namespace mirfak
