#pragma once

#include <string>
#include <vector>

namespace mirfak {

// How the values of a narrow format are scaled.
enum class Scaling {
  none,     // products run in the precision of activations
  delayed,  // one scale per tensor, from the largest values of earlier iterations
  current,  // one scale per tensor, from its own largest value
  block,    // one scale per 1x128 of activations and gradients, 128x128 of parameters (arXiv 2412.19437)
  micro,    // one 8-bit scale per 1x32 (OCP microscaling formats)
  nested,   // one 8-bit scale per 1x16 of activations and gradients, 16x16 of parameters, and one per tensor (NVFP4)
};

// In which numbers a model is trained. With a scaling, the linear layers of transformer layers (forward products and
// both gradient products) run in a narrow format; everything else, attention, normalizations, routers, embedding,
// logits and what layers exchange, stays in the precision of activations.
struct PrecisionRecipe {
  std::string name;         // of training.precision: "fp8-current"
  std::string activations;  // a precision: "bf16"
  std::string products;     // ... of the products of linear layers: "fp8"
  Scaling scaling = Scaling::none;
  double scale_bytes = 0;            // per element of an activation, of the scales beside it
  double parameter_scale_bytes = 0;  // ... of a parameter
  int layers_kept_first = 0;         // layers at the model's start whose products stay in 16 bits
  int layers_kept_last = 0;          // ... at its end
  std::string source;

  bool narrow() const { return scaling != Scaling::none; }
};

// nullptr for an unknown name. "fp8" is fp8-delayed, Megatron Core's default for its --fp8-format.
const PrecisionRecipe* find_precision_recipe(const std::string& name);
std::vector<std::string> precision_recipe_names();

}  // namespace mirfak
