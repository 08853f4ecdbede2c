#pragma once

#include <string>
#include <vector>

namespace mirfak {

// Scaling of the values of a narrow format.
enum class Scaling {
  none,     // products run in the precision of activations
  delayed,  // one scale per tensor, from the largest values of earlier iterations
  current,  // one scale per tensor, from its own largest value
  rows,     // one scale per row of one operand and per column of the other, all that a product sums over (torchao)
  block,    // one scale per 1x128 of activations and gradients, 128x128 of parameters (arXiv 2412.19437)
  micro,    // one 8-bit scale per 1x32 (OCP microscaling formats)
  nested,   // one 8-bit scale per 1x16 of activations and gradients, 16x16 of parameters, and one per tensor (NVFP4)
};

// Number formats in which a model is trained. With a scaling, the linear layers of transformer layers (forward products
// and both gradient products) run in a narrow format. Everything else (attention, normalizations, routers, embedding,
// logits, and data exchanged between layers) stays in the precision of activations.
struct PrecisionRecipe {
  std::string name;         // value of training.precision: "fp8-current"
  std::string activations;  // precision of activations: "bf16"
  std::string products;     // precision of the products of linear layers: "fp8"
  Scaling scaling = Scaling::none;
  double scale_bytes = 0;              // bytes of scales per element of an activation
  double parameter_scale_bytes = 0;    // bytes of scales per element of a parameter
  bool wide_weight_gradients = false;  // products for gradients of weights are in the precision of activations
  std::string source;

  bool narrow() const { return scaling != Scaling::none; }
  // True if tensor cores apply the scales, one for each small group of values, while they multiply.
  bool scaled_in_groups() const { return scaling == Scaling::micro || scaling == Scaling::nested; }
};

// Returns nullptr for an unknown name. "fp8" is fp8-delayed, Megatron Core's default for its --fp8-format.
const PrecisionRecipe* find_precision_recipe(const std::string& name);
std::vector<std::string> precision_recipe_names();

}  // namespace mirfak
