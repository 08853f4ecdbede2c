#pragma once

#include "program/kernel_work.hpp"

#include <Eigen/Core>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace mirfak::measure {

// Kernels in fp32 on one core: products by Eigen, all else by loops that move their operands through memory once.
//
// Operands lie in two arenas, one that is only read and one that is only written, so that no result is ever the input
// of a later kernel: values stay random numbers in [-1, 1), never zeros, denormals or infinities, whose arithmetic has
// another speed. Every kernel takes its operands from the next place of the arena, which is larger than the caches that
// one core has to itself: a kernel finds its operands in memory, in a program as in a benchmark. For one thread.
class CpuKernels {
 public:
  // `max_bytes`: of all operands of one kernel together.
  explicit CpuKernels(double max_bytes, std::uint64_t seed = 1);

  void run(const KernelWork& work);

  static double operand_bytes(const KernelWork& work);  // all together

 private:
  const float* next_input(std::size_t count);
  float* next_output(std::size_t count);
  void multiply(const GemmShape& shape);
  void attend(const KernelWork& work);
  // The places of one pass's operands in the arenas.
  struct Operands {
    std::vector<std::pair<const float*, std::size_t>> reads;
    std::vector<std::pair<float*, std::size_t>> writes;
    std::size_t largest = 1;  // elements
  };
  Operands place(const KernelWork& work, double share);
  void add_up(const Operands& operands, bool at_random, std::size_t done, Eigen::Map<Eigen::ArrayXf> sum);
  void move(const KernelWork& work, KernelWork::Kind kind, double share);

  std::vector<float> inputs_;
  std::vector<float> outputs_;
  std::vector<float> scores_;
  std::vector<std::uint32_t> places_;  // random numbers, for rows to gather
  std::size_t next_input_ = 0;
  std::size_t next_output_ = 0;
  std::size_t place_ = 0;  // of places_, the next
};

}  // namespace mirfak::measure
