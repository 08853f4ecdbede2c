#pragma once

#include <string>
#include <vector>

namespace mirfak {

// Copies in one pass of attention, each of which reads and writes a tensor once. A share is the number of copies of a
// tensor: 0.5 is a copy of half of it, or memory that is only written.
struct CopyShares {
  double queries = 0;   // of the device's queries; results and their gradients are as large
  double keys = 0;      // of the device's keys and values together
  double gathered = 0;  // of the keys and values of all context ranks together
  // Shares of the keys and values that queries see where early tokens are paired with late ones: (2 cp + 1) / (2 cp) of
  // the gathered ones, as each half of the queries takes its own range.
  double seen = 0;
  double later_queries = 0;  // of the queries, in each piece of a ring but the first
  double later_keys = 0;     // of the keys and values, in each piece of a ring but the first
  double kernels = 0;        // kernels that do all of it, on average over context ranks

  friend bool operator==(const CopyShares&, const CopyShares&) = default;
};

// Copies that a framework makes around kernels of fused attention.
struct AttentionCopies {
  std::vector<std::string> attention;  // generations of kernels that they are made for
  std::string context;                 // exchange of context ranks (context_communication_names()); "": any, or none
  int sequences = 1;                   // least sequences of a microbatch; packed documents are one sequence
  CopyShares forward;
  CopyShares backward;

  friend bool operator==(const AttentionCopies&, const AttentionCopies&) = default;
};

}  // namespace mirfak
