// Kernels that Transformer Engine runs for each recipe (release 2.x, transformer_engine/pytorch/module and tensor). x
// is an activation or gradient, 16 bits, one kernel for each arrow:
//
//   delayed    x -> rows, columns                        a normalization writes the rows itself
//   current    x -> largest;  x -> rows, columns
//   rows       x -> largest;  x -> rows;  x -> columns   torchao: as Inductor divides the work
//                                                        (with wide weight gradients no columns)
//   block      x -> rows, columns
//   micro      x -> rows, columns
//   nested     x -> largest;  x -> rows;  x -> columns   NVFP4: the columns after a Hadamard transform, so by another
//                                                        kernel
//
// Ada and Hopper multiply 8-bit operands in one layout only (cuBLAS: transposed times not transposed), so delayed and
// current scaling need transposed copies there; from Blackwell on, one copy suffices. Scales of blocks lie along the
// dimension that is summed over, so the finer recipes always need both copies.

#include "program/quantization_of_job.hpp"

#include "program/block_hardware.hpp"
#include "program/data_parallel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mirfak {

std::optional<Quantization> quantization_of(const Job& job) {
  const PrecisionRecipe& recipe = job.recipe();
  if (!recipe.narrow()) return std::nullopt;
  const double element = bytes_per_element(job.product_precision());
  const bool whole = recipe.scaling == Scaling::delayed || recipe.scaling == Scaling::current;
  Quantization out;
  out.element_bytes = element + recipe.scale_bytes;
  out.parameter_bytes = element + recipe.parameter_scale_bytes;
  const bool casts_apart = recipe.scaling == Scaling::rows || recipe.scaling == Scaling::nested;
  out.finds_largest = recipe.scaling == Scaling::current || casts_apart;
  out.fused_normalization = recipe.scaling == Scaling::delayed;
  out.second_copies = !whole || BlockHardware(job).one_layout;
  out.transposable = whole;
  out.two_kernels = casts_apart;
  out.wide_weight_gradients = recipe.wide_weight_gradients;
  out.gathers_tokens = job.strategy.sequence_parallel && job.strategy.tensor > 1;
  out.narrow_parameters = job.training.fp8_parameters;
  // Parts of divided weights that are kept in the narrow format are made once an iteration.
  out.caches_parameters =
      !data_parallel_plan(job).gathers_in_passes() || (job.strategy.divides_weights() && job.training.fp8_parameters);
  return out;
}

KernelPrecision kernel_precision(const Job& job) {
  return {job.precision(), job.product_precision(), job.recipe().scaling == Scaling::block};
}

std::optional<FormatObstacle> format_obstacle(const GpuSpec& gpu, const Job& job) {
  const PrecisionRecipe& recipe = job.recipe();
  const bool scales = !recipe.scaled_in_groups() || gpu.scaled_formats.contains(recipe.name);
  if (!scales || !gpu.peak_flops.contains(job.precision()) || !gpu.peak_flops.contains(job.product_precision())) {
    return FormatObstacle{"training.precision", gpu.title + " cannot compute in " + job.training.precision};
  }
  if (!job.training.fp8_attention) return std::nullopt;
  const std::string key = "training.fp8_attention";
  if (!recipe.narrow() || recipe.scaling == Scaling::block) {
    return FormatObstacle{key, "attention computes in 8 bits beside linear layers in fp8, mxfp8 or nvfp4, not beside " +
                                   job.training.precision};
  }
  const std::vector<std::string> kernels = job.attention_kernels();
  if (kernels.empty()) {
    return FormatObstacle{key, "framework " + job.framework.name + " has no fused attention, which computes in 8 bits"};
  }
  const AttentionChoice choice = attention_choice(gpu, kernels);
  if (choice.fit != nullptr && choice.fit->in_8_bits) return std::nullopt;
  return FormatObstacle{
      key, fmt::format("{} has no figures of attention in 8 bits ({})", gpu.title, fmt::join(kernels, ", "))};
}

}  // namespace mirfak
