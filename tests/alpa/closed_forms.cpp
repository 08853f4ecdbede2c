// Blocks whose best sharding is known, with the volumes that the literature states. Devices are taken to compute
// equally long (PlanOptions::equal_compute), as Alpa takes them, so that the cost of a plan is its communication alone
// and the closed forms are sums of a few collectives.

#include "alpa/block_plan.hpp"
#include "block_texts.hpp"
#include "graph/backward.hpp"
#include "model/blocks.hpp"
#include "planning_fixture.hpp"
#include "sharding/partition.hpp"
#include "support/transformers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

using namespace mirfak;
using namespace mirfak::alpa;
using namespace mirfak::test;

namespace {

// A block on a logical mesh.
struct Site {
  Site(const Machine& machine, int rows, int columns, OperatorGraph block)
      : mesh(machine.mesh(rows, columns)),
        prices{machine.kernels(), machine.collectives(), mesh},
        graph(with_backward(std::move(block), {})) {
    options.equal_compute = true;
  }

  BlockPlan plan(const PlanLimits& limits = {}) const {
    std::optional<BlockPlan> found = plan_block(graph, prices, options, limits);
    REQUIRE(found.has_value());
    REQUIRE(found->proven);
    return *found;
  }
  double price(CollectiveKind kind, double bytes, MeshAxisSet over) const {
    return prices.collectives.price(kind, bytes, mesh.group(over)).seconds;
  }
  // The price of a parameter's gradient: that of the cheaper of both ways to bring the gradient to all devices.
  double reduction(double bytes, MeshAxisSet over) const {
    return std::min(price(CollectiveKind::all_reduce, bytes, over), price(CollectiveKind::reduce_scatter, bytes, over) +
                                                                        price(CollectiveKind::all_gather, bytes, over));
  }
  double all_reduce(double bytes, MeshAxisSet over) const { return price(CollectiveKind::all_reduce, bytes, over); }

  // Mesh axes that divide a label of an operator.
  MeshAxisSet divides(const BlockPlan& plan, const std::string& op, const std::string& axis) const {
    for (std::size_t id = 0; id < graph.operators.size(); ++id) {
      if (graph.operators[id].name == op) return plan.shardings.operators[id][index_of(graph.axis(axis))];
    }
    FAIL("no operator " << op);
    return {};
  }
  MeshAxisSet tensor_divides(const BlockPlan& plan, const std::string& tensor, const std::string& axis) const {
    for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
      const Tensor& found = graph.tensors[id];
      if (found.name != tensor) continue;
      for (std::size_t i = 0; i < found.axes.size(); ++i) {
        if (graph.info(found.axes[i]).name == axis) return plan.shardings.tensors[id].axes[i];
      }
    }
    FAIL("no tensor " << tensor);
    return {};
  }

  struct Count {
    int number = 0;
    double bytes = 0;
  };
  std::map<CollectiveKind, Count> count(const std::vector<BlockStep>& steps) const {
    std::map<CollectiveKind, Count> out;
    for (const BlockStep& step : steps) {
      if (step.kind != BlockStep::Kind::collective) continue;
      ++out[step.collective].number;
      out[step.collective].bytes += step.bytes;
    }
    return out;
  }
  PartitionedBlock lowered(const BlockPlan& plan) const {
    return partition(graph, mesh.mesh, plan.shardings, {}, options.dropped);
  }

  LogicalMesh mesh;
  BlockPrices prices;
  OperatorGraph graph;
  PlanOptions options;
};

const Machine& v100s() {
  static const Machine machine("aws-p3", 8);
  return machine;
}

constexpr MeshAxisSet kBoth = {kRows, kColumns};
constexpr MeshAxisSet kOverRows(kRows);
constexpr MeshAxisSet kOverColumns(kColumns);

block::Sizes layer_sizes(double batch, double sequence, double hidden) {
  return {{"batch", batch}, {"sequence", sequence},    {"hidden", hidden},
          {"heads", 32},    {"head_dim", hidden / 32}, {"ffn", 4 * hidden}};
}

}  // namespace

TEST_CASE("an MLP: data or tensor parallelism, whichever communicates less, by the number of microbatches") {
  // 1023 tokens cannot be divided. Data parallelism reduces both gradients once an iteration, tensor parallelism a
  // result forward and a gradient backward for every microbatch.
  const double batch = 8;
  const double tokens = 1023;
  std::set<std::string> chosen;
  for (const double hidden : {1024.0, 4096.0}) {
    for (const int microbatches : {1, 4, 16, 64, 256}) {
      CAPTURE(hidden);
      CAPTURE(microbatches);
      Site site(v100s(), 1, 8,
                compiled(kMlpText, {{"batch", batch}, {"sequence", tokens}, {"hidden", hidden}, {"ffn", 4 * hidden}}));
      site.options.microbatches = microbatches;
      site.options.decisions.divides_state = false;
      const double activation = 2 * batch * tokens * hidden;
      const double weight = 2 * 4 * hidden * hidden;
      const double data = 2 * site.all_reduce(weight, kOverColumns) / microbatches;
      const double tensor = 2 * site.all_reduce(activation, kOverColumns);
      const BlockPlan plan = site.plan();
      CHECK(plan.cost.seconds == doctest::Approx(std::min(data, tensor)).epsilon(1e-9));
      const bool divides_tokens = data < tensor;
      CHECK(site.divides(plan, "out", divides_tokens ? "batch" : "ffn") == kOverColumns);
      chosen.insert(divides_tokens ? "data" : "tensor");
    }
  }
  CHECK(chosen.size() == 2);
}

TEST_CASE("a transformer layer, data parallel: gradients of all parameters, nothing else") {
  Site site(v100s(), 2, 4, compiled(kLayerText, layer_sizes(8, 1023, 1024)));
  site.options.microbatches = 64;
  site.options.decisions.repeats = true;
  const BlockPlan plan = site.plan();
  const PartitionedBlock block = site.lowered(plan);
  CHECK(site.count(block.forward).empty());
  CHECK(site.count(block.backward).empty());
  const double h = 1024;
  double elements = 0;
  for (const ParameterShard& shard : block.parameters) {
    CHECK(shard.gradient_partial == kBoth);
    elements += shard.elements;
  }
  CHECK(elements == 4 * h * h + 8 * h * h + 2 * h + 4 * h);  // attention, MLP, two norms, one bias
  const double expected = (4 * site.reduction(2 * h * h, kBoth) + 2 * site.reduction(2 * 4 * h * h, kBoth) +
                           2 * site.all_reduce(2 * h, kBoth) + site.all_reduce(2 * 4 * h, kBoth)) /
                          64;
  CHECK(plan.cost.seconds == doctest::Approx(expected).epsilon(1e-9));
}

TEST_CASE("a transformer layer, tensor parallel: Megatron-LM's volume (arXiv 1909.08053)") {
  // One sequence of 1023 tokens: heads and the inner axis of the MLP are all that 8 devices can divide.
  Site site(v100s(), 1, 8, compiled(kLayerText, layer_sizes(1, 1023, 4096)));
  site.options.decisions.repeats = true;
  const BlockPlan plan = site.plan();
  const double activation = 2.0 * 1023 * 4096;
  const PartitionedBlock block = site.lowered(plan);
  const auto forward = site.count(block.forward);
  REQUIRE(forward.size() == 1);
  CHECK(forward.at(CollectiveKind::all_reduce).number == 2);
  CHECK(forward.at(CollectiveKind::all_reduce).bytes == 2 * activation);
  // Backward, two for the layer: one of the MLP's input; here q, k and v are three products, each of which finds a part
  // of the gradient of the attention's, so that side takes three where Megatron-LM's packed product takes one.
  const auto backward = site.count(block.backward);
  REQUIRE(backward.size() == 1);
  CHECK(backward.at(CollectiveKind::all_reduce).number == 1 + 3);
  CHECK(backward.at(CollectiveKind::all_reduce).bytes == 4 * activation);
  CHECK(plan.cost.seconds == doctest::Approx(6 * site.all_reduce(activation, kOverColumns)).epsilon(1e-9));
  CHECK(site.tensor_divides(plan, "wo", "heads") == kOverColumns);
  CHECK(site.tensor_divides(plan, "w1", "ffn") == kOverColumns);
  CHECK(site.tensor_divides(plan, "w2", "ffn") == kOverColumns);
}

TEST_CASE("a layer as Megatron-LM packs it: two all-reduces of b s h forward, two backward") {
  ModelSpec model;
  model.hidden = 4096;
  model.heads = model.kv_heads = 32;
  model.head_dim = 128;
  model.ffn = 4 * 4096;
  model.max_sequence = 1023;
  model = with_blocks(std::move(model));
  BlockOptions options;
  options.sequence = 1023;
  options.kv_heads = 32;
  options.fusion = usual_fusion();
  Site site(v100s(), 1, 8, build_layer_block(model, options));
  site.options.decisions.repeats = true;
  const PartitionedBlock block = site.lowered(site.plan());
  for (const auto* pass : {&block.forward, &block.backward}) {
    const auto found = site.count(*pass);
    REQUIRE(found.size() == 1);
    CHECK(found.at(CollectiveKind::all_reduce).number == 2);
    CHECK(found.at(CollectiveKind::all_reduce).bytes == 2 * 2.0 * 1023 * 4096);
  }
}

TEST_CASE("a transformer layer on two nodes: data between them, tensor within (2-D)") {
  // 25 Gbit/s between nodes of 8 GPUs with NVLink. Two sequences: rows divide them, columns heads.
  for (const int microbatches : {1, 64}) {
    CAPTURE(microbatches);
    Site site(v100s(), 2, 8, compiled(kLayerText, layer_sizes(2, 1023, 4096)));
    site.options.microbatches = microbatches;
    site.options.decisions.repeats = true;
    site.options.decisions.divides_state = false;
    const BlockPlan plan = site.plan();
    const double activation = 2.0 * 1023 * 4096;  // of one sequence
    const double h = 4096;
    const PartitionedBlock block = site.lowered(plan);
    CHECK(site.count(block.forward).at(CollectiveKind::all_reduce).number == 2);
    CHECK(site.count(block.backward).at(CollectiveKind::all_reduce).number == 4);
    const double gradients = 4 * site.all_reduce(2 * h * h / 8, kOverRows) +
                             2 * site.all_reduce(2 * 4 * h * h / 8, kOverRows) + 2 * site.all_reduce(2 * h, kOverRows) +
                             site.all_reduce(2 * 4 * h / 8, kOverRows);
    CHECK(plan.cost.seconds ==
          doctest::Approx(6 * site.all_reduce(activation, kOverColumns) + gradients / microbatches).epsilon(1e-9));
    CHECK(site.divides(plan, "c", "batch") == kOverRows);
    CHECK(site.divides(plan, "c", "heads") == kOverColumns);
  }
}

TEST_CASE("ZeRO where memory asks for it, at the volumes of its paper (arXiv 1910.02054, section 7)") {
  // Data parallelism of a product whose state is 2 + 2 + 12 bytes a parameter.
  const std::string text =
      "block one(hidden):\n  axes b=batch s=sequence h=hidden i=hidden\n  input x[b s h]\n"
      "  param w[h i] linear\n  out[b s i] = x[b s h] w[h i]";
  const double h = 4096;
  const double parameters = h * h;
  Site site(v100s(), 1, 8, compiled(text, {{"batch", 64}, {"sequence", 511}, {"hidden", h}}));
  const auto planned = [&](double bytes_a_parameter) {
    PlanLimits limits;
    limits.in_flight = 0;
    limits.memory = bytes_a_parameter * parameters;
    return site.plan(limits);
  };
  const double weight = 2 * parameters;
  const double gather = site.price(CollectiveKind::all_gather, weight, kOverColumns);
  const double scatter = site.price(CollectiveKind::reduce_scatter, weight, kOverColumns);
  SUBCASE("nothing is divided without need") {
    const BlockPlan plan = planned(16.001);
    CHECK(plan.cost.seconds == doctest::Approx(site.reduction(weight, kOverColumns)).epsilon(1e-9));
  }
  SUBCASE("optimizer state and gradients (stages 1 and 2): one reduce-scatter and one all-gather, as an all-reduce") {
    for (const double bytes : {15.0, 3.8}) {
      const BlockPlan plan = planned(bytes);
      CHECK(plan.parameters.front().reduction != Reduction::whole);
      CHECK(plan.cost.seconds == doctest::Approx(scatter + gather).epsilon(1e-9));
      CHECK(plan.cost.state_bytes == doctest::Approx((2 + 14.0 / 8) * parameters));
    }
  }
  SUBCASE("parameters too (stage 3): half as much again") {
    const BlockPlan plan = planned(2.1);
    CHECK(plan.cost.seconds == doctest::Approx(scatter + 2 * gather).epsilon(1e-9));
    CHECK(plan.cost.state_bytes == doctest::Approx(16.0 / 8 * parameters));
  }
  SUBCASE("with gradient accumulation, gradients stay whole, or are scattered after every microbatch") {
    site.options.microbatches = 4;
    const BlockPlan state = planned(6);  // 2 + 2 + 12 / 8
    CHECK(state.parameters.front().reduction == Reduction::scattered);
    CHECK(state.cost.seconds == doctest::Approx((scatter + gather) / 4).epsilon(1e-9));
    const BlockPlan gradients = planned(4);  // 2 + 14 / 8
    CHECK(gradients.parameters.front().reduction == Reduction::every_pass);
    CHECK(gradients.cost.seconds == doctest::Approx(scatter + gather / 4).epsilon(1e-9));
  }
}

TEST_CASE("a mixture of experts: tokens divided, experts divided, rows exchanged all to all (GShard)") {
  Site site(v100s(), 1, 8,
            compiled(kMixtureText, {{"batch", 8},
                                    {"sequence", 1023},
                                    {"hidden", 1024},
                                    {"experts", 16},
                                    {"expert_ffn", 8192},
                                    {"per_token", 2}}));
  site.options.decisions.repeats = true;
  const BlockPlan plan = site.plan();
  const PartitionedBlock block = site.lowered(plan);
  CHECK(site.divides(plan, "y", "batch") == kOverColumns);
  CHECK(site.tensor_divides(plan, "w1", "e") == kOverColumns);
  CHECK(site.tensor_divides(plan, "w2", "e") == kOverColumns);
  // Rows of 2 of 16 experts a token: to their experts and back, forward and backward; the weights of rows likewise.
  const double rows = 2.0 * 1023 * 1024 * 2;  // a device's tokens, 16 bits
  for (const auto* pass : {&block.forward, &block.backward}) {
    const auto found = site.count(*pass);
    REQUIRE(found.contains(CollectiveKind::all_to_all));
    CHECK(found.size() == 1);
    int large = 0;
    for (const BlockStep& step : *pass) {
      if (step.kind == BlockStep::Kind::collective && step.bytes == doctest::Approx(rows)) ++large;
    }
    CHECK(large == 2);
  }
}

TEST_CASE("convolutions: the batch where images are large, channels where weights are") {
  const auto planned = [](double image, double channels) {
    Site site(v100s(), 1, 8,
              compiled(kConvolutionText, {{"batch", 8},
                                          {"sequence", 1},
                                          {"channels", channels},
                                          {"wide", channels},
                                          {"image", image},
                                          {"taps", 3}}));
    const BlockPlan plan = site.plan();
    const double weight = 2 * 9 * channels * channels;
    const double activation = 2 * 8 * image * image * channels;
    struct Result {
      MeshAxisSet batch;
      MeshAxisSet channels;  // of the input or of the result
      double seconds;
      double data;
      double reduced_image;
    };
    MeshAxisSet divided = site.divides(plan, "y", "wide");
    divided.insert(site.divides(plan, "y", "channels"));
    const double norm = site.all_reduce(2 * channels, kOverColumns);
    return Result{site.divides(plan, "y", "batch"), divided, plan.cost.seconds,
                  site.reduction(weight, kOverColumns) + norm, site.all_reduce(activation, kOverColumns)};
  };
  const auto early = planned(56, 64);
  CHECK(early.batch == kOverColumns);
  CHECK(early.seconds == doctest::Approx(early.data).epsilon(1e-9));
  // Late layers: one sum of an image's size, of the result over input channels or of the gradient over those put out.
  const auto late = planned(7, 2048);
  CHECK(late.channels == kOverColumns);
  CHECK(late.seconds == doctest::Approx(late.reduced_image).epsilon(1e-9));
  CHECK(late.seconds < late.data);
}

TEST_CASE("a norm: rows wherever they are, and a sum for its weight") {
  const std::string text =
      "block norm(hidden):\n  axes b=batch s=sequence h=hidden\n  input x[b s h]\n  param n[h]\n"
      "  out[b s h] = rms_norm(x, n; h)";
  Site site(v100s(), 2, 4, compiled(text, {{"batch", 64}, {"sequence", 4096}, {"hidden", 4096}}));
  site.options.equal_compute = false;
  site.options.decisions.repeats = true;
  const BlockPlan plan = site.plan();
  MeshAxisSet rows = site.divides(plan, "out", "batch");
  rows.insert(site.divides(plan, "out", "sequence"));
  CHECK(rows == kBoth);
  CHECK(site.count(site.lowered(plan).forward).empty());
  CHECK(site.lowered(plan).parameters.front().gradient_partial == kBoth);
}

TEST_CASE("an embedding: tokens divided where batches are many, the vocabulary where the table is large") {
  const auto planned = [](double batch, double vocabulary, int microbatches) {
    Site site(v100s(), 1, 8,
              compiled(kEmbeddingText, {{"batch", batch}, {"sequence", 127}, {"hidden", 1024}, {"vocab", vocabulary}}));
    site.options.microbatches = microbatches;
    const BlockPlan plan = site.plan();
    return site.divides(plan, "e", "vocab") == kOverColumns;
  };
  CHECK_FALSE(planned(64, 32768, 64));
  CHECK(planned(8, 262144, 1));
}
