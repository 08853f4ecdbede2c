#include "strategy/precision_recipe.hpp"

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

PrecisionRecipe plain(const char* name) {
  PrecisionRecipe recipe;
  recipe.name = recipe.activations = recipe.products = name;
  recipe.source = "the scenario";
  return recipe;
}

PrecisionRecipe scaled(const char* name, const char* products, Scaling scaling, const char* source) {
  PrecisionRecipe recipe;
  recipe.name = name;
  recipe.activations = "bf16";
  recipe.products = products;
  recipe.scaling = scaling;
  recipe.source = source;
  return recipe;
}

PrecisionRecipe block_scaled() {
  PrecisionRecipe recipe = scaled("fp8-block", "fp8", Scaling::block,
                                  "DeepSeek-V3, arXiv 2412.19437, section 3.3; Transformer Engine Float8BlockScaling");
  recipe.scale_bytes = 4.0 / 128;
  recipe.parameter_scale_bytes = 4.0 / (128 * 128);
  return recipe;
}

PrecisionRecipe micro_scaled() {
  PrecisionRecipe recipe =
      scaled("mxfp8", "fp8", Scaling::micro, "OCP Microscaling Formats v1.0; Transformer Engine MXFP8BlockScaling");
  recipe.scale_bytes = recipe.parameter_scale_bytes = 1.0 / 32;
  return recipe;
}

PrecisionRecipe micro_scaled_4_bits() {
  PrecisionRecipe recipe =
      scaled("mxfp4", "fp4", Scaling::micro, "OCP Microscaling Formats v1.0; ROCm/TransformerEngine MXFP4BlockScaling");
  recipe.scale_bytes = recipe.parameter_scale_bytes = 1.0 / 32;
  return recipe;
}

PrecisionRecipe nested_scaled() {
  PrecisionRecipe recipe =
      scaled("nvfp4", "fp4", Scaling::nested,
             "arXiv 2509.25149; Transformer Engine NVFP4BlockScaling; no layers kept in bf16: Megatron Bridge's "
             "bf16_with_nvfp4_mixed");
  recipe.scale_bytes = 1.0 / 16;
  recipe.parameter_scale_bytes = 1.0 / 16;  // a 16x16 block's scale is stored for each of its rows
  return recipe;
}

PrecisionRecipe scaled_by_rows(const char* name, bool wide_weight_gradients) {
  PrecisionRecipe recipe =
      scaled(name, "fp8", Scaling::rows,
             "pytorch/ao torchao/float8/config.py, Float8LinearRecipeName.ROWWISE: cast along both "
             "dimensions; ROWWISE_WITH_GW_HP: along one, and weight gradients in 16 bits");
  recipe.wide_weight_gradients = wide_weight_gradients;
  return recipe;
}

const std::array<PrecisionRecipe, 12>& table() {
  static const std::array<PrecisionRecipe, 12> recipes = {
      plain("bf16"),
      plain("fp16"),
      plain("fp32"),
      plain("tf32"),
      scaled("fp8-delayed", "fp8", Scaling::delayed, "Transformer Engine DelayedScaling; arXiv 2209.05433"),
      scaled("fp8-current", "fp8", Scaling::current, "Transformer Engine Float8CurrentScaling (Megatron: tensorwise)"),
      scaled_by_rows("fp8-rowwise", false),
      scaled_by_rows("fp8-rowwise-gw-hp", true),
      block_scaled(),
      micro_scaled(),
      micro_scaled_4_bits(),
      nested_scaled(),
  };
  return recipes;
}

}  // namespace

const PrecisionRecipe* find_precision_recipe(const std::string& name) {
  const std::string_view wanted = name == "fp8" ? std::string_view("fp8-delayed") : name;
  const auto found = std::find_if(table().begin(), table().end(),
                                  [&](const PrecisionRecipe& recipe) { return recipe.name == wanted; });
  return found == table().end() ? nullptr : &*found;
}

std::vector<std::string> precision_recipe_names() {
  std::vector<std::string> names;
  for (const PrecisionRecipe& recipe : table()) names.push_back(recipe.name);
  names.emplace_back("fp8");
  return names;
}

}  // namespace mirfak
