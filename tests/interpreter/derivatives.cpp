// The derived backward graph is the derivative of the forward graph: along random directions, the difference quotient
// of what the forward graph computes is the product of the direction and the gradients that the backward graph
// computes.

#include "graph/backward.hpp"
#include "interpreter/derivative_check.hpp"
#include "interpreter/proof_fixture.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using namespace mirfak::interpreter;
using namespace mirfak::test;

TEST_CASE("the backward graph of every block is the derivative of its forward graph") {
  for (const SmallBlock& block : small_blocks()) {
    for (const bool fused_attention : {true, false}) {
      const std::string label = block.label + (fused_attention ? "" : ", attention in parts");
      CAPTURE(label);
      try {
        const OperatorGraph graph = with_backward(forward_graph(block, fused_attention), {});
        check_derivatives(label, graph, Meaning(graph));
      } catch (const Error& error) {
        FAIL_CHECK(std::string(error.what()));
      }
    }
  }
}

TEST_CASE("so is that of every block as frameworks fuse and pack it") {
  FusionRules packing;
  packing.packed_tags = proof_fusion().packed_tags;
  for (const SmallBlock& block : small_blocks()) {
    for (const bool fused_attention : {true, false}) {
      const std::string label = block.label + ", fused" + (fused_attention ? "" : ", attention in parts");
      CAPTURE(label);
      try {
        const OperatorGraph unfused = fuse(forward_graph(block, fused_attention), packing);
        const OperatorGraph graph = with_backward(fuse(forward_graph(block, fused_attention), proof_fusion()), {});
        check_derivatives(label, graph, Meaning(graph, &unfused));
      } catch (const Error& error) {
        FAIL_CHECK(std::string(error.what()));
      }
    }
  }
}
