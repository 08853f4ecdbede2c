#pragma once

#include "graph/fusion.hpp"
#include "model/transformer.hpp"
#include "support/source_root.hpp"

#include <filesystem>
#include <utility>

namespace mirfak::test {

// A model whose fields a test states, with the blocks that such models consist of.
inline ModelSpec with_blocks(ModelSpec model) {
  model.transformer = transformer_blocks(std::filesystem::path(source_root()) / "models" / "blocks", {});
  return model;
}

// Rules by which Megatron-LM fuses and packs.
inline FusionRules usual_fusion() {
  FusionRules rules;
  rules.chains = {{{"scale?", "mask?", "softmax"}, 1.5 / 2, 2.0 / 3},
                  {{"bias?", "silu", "multiply"}},
                  {{"bias?", "gelu", "multiply"}},
                  {{"bias?", "gelu"}},
                  {{"bias?", "dropout?", "add"}}};
  rules.packed_tags = {"qkv", "fc1", "expert_fc1"};
  rules.group_tags = {"mla_rotary"};
  return rules;
}

}  // namespace mirfak::test
