#pragma once

#include "graph/operator_graph.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Low-rank adapters (LoRA, arXiv 2106.09685) next to products with parameters.
struct AdapterRules {
  std::int64_t rank = 0;          // 0: no adapters
  double dropout = 0;             // dropout of the input of the first product
  std::vector<std::string> tags;  // tags of the products that have an adapter
  // A and B are fp32, weights have 16 bits: x is cast to fp32, and back before the product, as are A and B.
  bool wide = false;
  bool scales = false;      // the scale of (x A) B is a kernel of its own
  bool decomposed = false;  // DoRA: the norms of the adapted weight's columns are computed, and scaled
};

// Adds y + scale dropout(x) A B to y = x W; all parameters except A and B are frozen. If tensor ranks divide the
// product by columns, they divide A by its rank, and B reads the result of A whole (as NeMo's ParallelLinearAdapter
// does). `forward` has no gradient operators yet.
OperatorGraph with_adapters(OperatorGraph forward, const AdapterRules& rules);

}  // namespace mirfak
