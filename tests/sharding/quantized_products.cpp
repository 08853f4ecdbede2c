// Linear layers in narrow formats: FLOPs stay, bytes change, and both can be counted by hand. A GPT layer of hidden h
// with t = b s tokens has four linear layers with inputs of h, h, h and 4 h values per token.

#include "blocks_fixture.hpp"

#include "graph/backward.hpp"
#include "graph/quantization.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>

namespace quantized_products_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

PartitionedBlock quantized_layer(const Strategy& strategy, const std::optional<Quantization>& quantization) {
  ModelSpec model = small_gpt();
  model.dropout = 0;
  BlockOptions options = options_for(model, strategy);
  options.fused_attention = true;
  OperatorGraph graph = with_backward(build_layer_block(model, options), {});
  if (quantization) graph = with_quantized_products(std::move(graph), *quantization);
  std::vector<TensorId> dropped;
  if (strategy.recompute == Recompute::full) dropped = all_activations(graph);
  return partition(std::move(graph), mesh_of(strategy), axis_rules(strategy), dropped);
}

Quantization delayed_on_hopper() {
  Quantization quantization;
  quantization.fused_normalization = true;
  quantization.second_copies = true;
  quantization.transposable = true;
  return quantization;
}

double count(const std::vector<BlockStep>& steps, const OperatorGraph& graph, std::string_view prefix) {
  return static_cast<double>(std::count_if(steps.begin(), steps.end(), [&](const BlockStep& step) {
    return step.kind == BlockStep::Kind::kernel && graph.op(step.op).name.starts_with(prefix);
  }));
}

double collective_bytes(const std::vector<BlockStep>& steps, CollectiveKind kind) {
  double bytes = 0;
  for (const BlockStep& step : steps) {
    if (step.kind == BlockStep::Kind::collective && step.collective == kind) bytes += step.bytes;
  }
  return bytes;
}

const TensorId* find_tensor(const PartitionedBlock& block, const std::vector<TensorId>& among, std::string_view name) {
  const auto found =
      std::find_if(among.begin(), among.end(), [&](TensorId id) { return block.graph.tensor(id).name == name; });
  return found == among.end() ? nullptr : &*found;
}

constexpr double kTokens = 2 * 64;
constexpr double kHidden = 128;

}  // namespace

TEST_CASE("every product of a linear layer is narrow, attention is not, and no product is lost") {
  const PartitionedBlock wide = quantized_layer({}, std::nullopt);
  const PartitionedBlock narrow = quantized_layer({}, delayed_on_hopper());
  const auto products = [](const PartitionedBlock& block, bool narrow_only) {
    return std::count_if(block.graph.operators.begin(), block.graph.operators.end(), [&](const Operator& op) {
      return op.kind == OperatorKind::einsum && (!narrow_only || op.low_precision);
    });
  };
  CHECK(products(wide, true) == 0);
  CHECK(products(wide, false) == 12);
  CHECK(products(narrow, true) == 12);
  CHECK(products(narrow, false) == 12);
}

TEST_CASE("kept bytes: what weight gradients read is kept in the narrow format") {
  // Kept in 16 bits, per token: the inputs of both normalizations 2 x 2 h (the layer's input is one of them), query,
  // key and value 6 h, context 2 h, what enters the activation function 8 h; the inputs of linear layers add 2 h and 2
  // h (normalized), nothing for context, 8 h for the activation's result: narrow 1 h, 1 h, 1 h (a copy beside the
  // context) and 4 h.
  const double wide = quantized_layer({}, std::nullopt).kept_bytes;
  const double narrow = quantized_layer({}, delayed_on_hopper()).kept_bytes;
  CHECK(wide - narrow == doctest::Approx(kTokens * kHidden * (2 + 2 + 0 + 8 - (1 + 1 + 1 + 4))));
}

TEST_CASE("a fused normalization writes bytes, and backward transposes them") {
  const PartitionedBlock block = quantized_layer({}, delayed_on_hopper());
  CHECK(find_tensor(block, block.kept, "attention_norm.out_quantized") != nullptr);
  CHECK(count(block.forward, block.graph, "quantize_") == 2);    // context and the activation's result
  CHECK(count(block.backward, block.graph, "quantize_") == 4);   // four gradients
  CHECK(count(block.backward, block.graph, "transpose_") == 2);  // what two normalizations wrote
  CHECK(count(block.update, block.graph, "quantize_") == 4);     // four weights, once an iteration
  CHECK(block.parameter_copy_bytes == 2 * 12 * kHidden * kHidden);
}

TEST_CASE("where narrow operands can be transposed on the fly there is one copy, and nothing is transposed") {
  Quantization quantization;
  quantization.finds_largest = true;
  const PartitionedBlock block = quantized_layer({}, quantization);
  CHECK(count(block.forward, block.graph, "largest_of_") == 4);
  CHECK(count(block.forward, block.graph, "quantize_") == 4);
  CHECK(count(block.backward, block.graph, "transpose_") == 0);
  CHECK(block.parameter_copy_bytes == 12 * kHidden * kHidden);
}

TEST_CASE("narrow parameters take the place of 16-bit ones") {
  Quantization quantization = delayed_on_hopper();
  const double parameters = quantized_layer({}, quantization).parameter_bytes;
  quantization.narrow_parameters = true;
  const PartitionedBlock block = quantized_layer({}, quantization);
  CHECK(parameters - block.parameter_bytes == 12 * kHidden * kHidden);
  CHECK(block.parameter_copy_bytes == 12 * kHidden * kHidden);  // the transposed ones
  CHECK(count(block.update, block.graph, "transpose_") == 4);
  // Without a cache the copies are made in every forward pass.
  quantization.caches_parameters = false;
  CHECK(quantized_layer({}, quantization).update.empty());
}

TEST_CASE("sequence parallelism gathers narrow operands and scatters wide results") {
  Strategy strategy;
  strategy.tensor = 4;
  strategy.sequence_parallel = true;
  for (const bool fused : {true, false}) {
    Quantization quantization = delayed_on_hopper();
    quantization.gathers_tokens = true;
    quantization.fused_normalization = fused;
    const PartitionedBlock wide = quantized_layer(strategy, std::nullopt);
    const PartitionedBlock narrow = quantized_layer(strategy, quantization);
    for (auto steps : {&PartitionedBlock::forward, &PartitionedBlock::backward}) {
      const double gathered = collective_bytes(wide.*steps, CollectiveKind::all_gather);
      CHECK(gathered > 0);
      CHECK(collective_bytes(narrow.*steps, CollectiveKind::all_gather) == doctest::Approx(gathered / 2));
      CHECK(collective_bytes(narrow.*steps, CollectiveKind::reduce_scatter) ==
            collective_bytes(wide.*steps, CollectiveKind::reduce_scatter));
    }
    // Four operands are gathered before weight gradients: transposed when whole, by every rank.
    CHECK(count(narrow.backward, narrow.graph, "transpose_") == 4);
    for (const BlockStep& step : narrow.backward) {
      const bool transposes =
          step.kind == BlockStep::Kind::kernel && narrow.graph.op(step.op).name.starts_with("transpose_");
      if (transposes) CHECK(local(narrow, step, "sequence") == 64);
    }
  }
}

TEST_CASE("full recomputation quantizes again") {
  Strategy strategy;
  strategy.recompute = Recompute::full;
  Quantization quantization;
  quantization.finds_largest = true;
  const PartitionedBlock block = quantized_layer(strategy, quantization);
  CHECK(block.kept_bytes == 2 * kTokens * kHidden);
  CHECK(count(block.recompute, block.graph, "quantize_") == 4);
  CHECK(count(block.recompute, block.graph, "largest_of_") == 4);
}

}  // namespace quantized_products_test
