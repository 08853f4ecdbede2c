#pragma once

#include "graph/operator_graph.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Low-rank adapters (LoRA, arXiv 2106.09685) beside products with parameters.
struct AdapterRules {
  std::int64_t rank = 0;          // 0: none
  double dropout = 0;             // of what enters the first product
  std::vector<std::string> tags;  // of the products that have one
};

// y + dropout(x) A B beside y = x W; all parameters but A and B are frozen. Where tensor ranks divide the product by
// columns they divide A by its rank, and B reads the result of A whole (as NeMo's ParallelLinearAdapter does).
// `forward` has no gradient operators yet.
OperatorGraph with_adapters(OperatorGraph forward, const AdapterRules& rules);

}  // namespace mirfak
