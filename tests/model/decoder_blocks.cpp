// Parameters and floating-point operations of the blocks of models/blocks that families of decoders are made of, by
// hand. 1 sequence of 256 tokens unless stated; a product of n x k with k x m is 2nkm.
#include "block/measures.hpp"
#include "tests/block/block_fixture.hpp"

#include <doctest/doctest.h>

namespace decoder_blocks_test {

using namespace mirfak;

namespace {

constexpr double s = 256;

OperatorGraph built(const std::string& name, block::Sizes sizes) {
  sizes.try_emplace("batch", 1);
  sizes.try_emplace("sequence", s);
  block::CompileOptions options;
  options.fused_attention = true;
  return test::built_in(name, sizes, options);
}

}  // namespace

// 2 keys of 8 and 4 values of 16 a token. Weights: q and k 64 x 16 each, v, z and out 64 x 64 each, b and a 64 x 4
// each, taps of 4 for the 96 numbers of q, k and v, a bias and a rate of 4 each, a norm of 16.
TEST_CASE("gated delta rule") {
  const OperatorGraph graph =
      built("delta", {{"hidden", 64}, {"key_heads", 2}, {"value_heads", 4}, {"key_dim", 8}, {"value_dim", 16}});
  const double products = 2 * 64 * 16 + 3 * 64 * 64 + 2 * 64 * 4;
  CHECK(block::parameters(graph) == products + 4 * 96 + 8 + 16);
  // Each of 4 heads, with chunks of 64: 6 n c + 4 v c + 2/3 c c + 6 n v.
  const double rule = 4 * (6 * 8 * 64 + 4 * 16 * 64 + 2 * 64 * 64 / 3.0 + 6 * 8 * 16);
  CHECK(block::forward_flop(graph) == doctest::Approx(s * (2 * products + rule)).epsilon(1e-12));
}

// Sizes of Kimi-Linear's layer (its count, 2,304 wide): queries, keys, values and out 2304 x 4096, taps 4 x 12288, the
// rates' and the gate's narrow projections of 128, beta 2304 x 32, a bias of 4096, 32 rates, a norm of 128.
TEST_CASE("Kimi Delta Attention") {
  const OperatorGraph graph = built(
      "delta.kimi", {{"hidden", 2304}, {"key_heads", 32}, {"value_heads", 32}, {"key_dim", 128}, {"value_dim", 128}});
  const double products = 4 * 2304.0 * 4096 + 2 * (2304 * 128 + 128 * 4096) + 2304 * 32;
  CHECK(block::parameters(graph) == products + 4 * 12288 + 4096 + 32 + 128);
  const double rule = 32 * (10 * 128 * 64 + 2 * 64 * 64 / 3.0 + 6 * 128 * 128);
  CHECK(block::forward_flop(graph) == doctest::Approx(s * (2 * products + rule)).epsilon(1e-12));
}

// Five matrices of 64 x 64 and a norm of 64; in a chunk of 256 tokens each of 4 heads of 16 makes 4 c d + 4 d d.
TEST_CASE("lightning attention") {
  const OperatorGraph graph = built("delta.lightning", {{"hidden", 64}, {"key_heads", 4}, {"key_dim", 16}});
  CHECK(block::parameters(graph) == 5 * 64 * 64 + 64);
  CHECK(block::forward_flop(graph) == s * (2 * 5 * 64 * 64 + 4 * (4 * 256 * 16 + 4 * 16 * 16)));
}

// Into 2 x 128 and out of it, a step through a rank of 4, states of 16.
TEST_CASE("Mamba's selective scan, and a short convolution") {
  const OperatorGraph scan = built("mamba", {{"hidden", 64}, {"inner", 128}, {"state", 16}, {"step_rank", 4}});
  const double products = 3 * 64 * 128 + 128 * (4 + 2 * 16) + 4 * 128;
  CHECK(block::parameters(scan) == products + 128 * 4 + 128 + 128 + 128 * 16 + 128);
  CHECK(block::forward_flop(scan) == s * (2 * products + 9 * 128 * 16));
  const OperatorGraph convolution = built("mamba.short_convolution", {{"hidden", 64}});
  CHECK(block::parameters(convolution) == 4 * 64 * 64 + 3 * 64);
  CHECK(block::forward_flop(convolution) == s * 2 * 4 * 64 * 64);
}

// Attention of 4 heads of 16, of which 2 share a key; norms before and after attention and MLP; an MLP of 3 matrices.
TEST_CASE("norms before and after, and beside each other behind one norm") {
  const block::Sizes sizes = {{"hidden", 64}, {"heads", 4}, {"kv_heads", 2}, {"head_dim", 16},
                              {"ffn", 128},   {"rms", 1},   {"gated", 1}};
  const double matrices = 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128;
  block::Sizes both = sizes;
  both.insert({{"attention_post_norm", 1}, {"mlp_post_norm", 1}});
  CHECK(block::parameters(built("decoder", both)) == matrices + 4 * 64);
  block::Sizes beside = sizes;
  beside["parallel"] = 1;
  const OperatorGraph graph = built("decoder", beside);
  CHECK(block::parameters(graph) == matrices + 64);
  CHECK(block::forward_flop(graph) == s * 2 * matrices + 4 * s * s * 64);  // scores and context of all pairs
  beside["qk_norm"] = 3;
  beside["gate"] = 1;
  CHECK(block::parameters(built("decoder", beside)) == matrices + 64 + 64 + 32 + 64 * 64);
}

// 8 experts of 32 between 64 -> 16 -> 64, 2 a token; a router of 64 x 8; a shared expert of 48 and its gate.
TEST_CASE("experts on a narrower stream beside a gated shared one") {
  const OperatorGraph graph = built("decoder.experts", {{"hidden", 64},
                                                        {"experts", 8},
                                                        {"per_token", 2},
                                                        {"expert_ffn", 32},
                                                        {"shared_ffn", 48},
                                                        {"shared_gate", 1},
                                                        {"latent", 16},
                                                        {"ffn", 1},
                                                        {"squared_relu", 1}});
  const double every = 64 * 8 + 2 * 64 * 16 + 2 * 64 * 48 + 64;
  CHECK(block::parameters(graph) == every + 8 * 2 * 16 * 32);
  CHECK(block::active_parameters(graph) == every + 2 * 2 * 16 * 32);
  CHECK(block::forward_flop(graph) == s * 2 * (every + 2 * 2 * 16 * 32));
}

// 4 heads of the indexer, 8 wide, score all pairs of tokens: 9 operations a pair and head. Attention is then to 32
// tokens.
TEST_CASE("latent attention with an indexer") {
  const OperatorGraph graph = built("decoder.latent_attention", {{"hidden", 64},
                                                                 {"heads", 4},
                                                                 {"head_dim", 24},
                                                                 {"query_rank", 32},
                                                                 {"key_value_rank", 16},
                                                                 {"position_dim", 8},
                                                                 {"value_dim", 16},
                                                                 {"index_heads", 4},
                                                                 {"index_dim", 8},
                                                                 {"index_top", 32}});
  const double latent = 64 * 32 + 32 * 4 * 24 + 64 * 24 + 16 * 4 * 32 + 4 * 16 * 64;
  const double indexer = 32 * 4 * 8 + 64 * 8 + 64 * 4;
  CHECK(block::parameters(graph) == latent + 32 + 16 + indexer + 2 * 8);
  const Operator* const scores = test::find(graph, "asking.out");
  REQUIRE(scores != nullptr);
  CHECK(block::flop(graph, *scores) == s * s * 4 * 9);
  const Operator* const attention = test::find(graph, "context");
  REQUIRE(attention != nullptr);
  CHECK(attention->window == 32);
}

// 9 vectors of 32, 4 heads of 8, an MLP of 48; biases everywhere; four norms and norms of queries and keys.
TEST_CASE("a layer of a tower") {
  const block::Sizes sizes = {{"places", 9}, {"tower_hidden", 32}, {"tower_heads", 4}, {"tower_ffn", 48}};
  const OperatorGraph graph = built("vision.layer", sizes);
  const double matrices = 4 * 32 * 32 + 2 * 32 * 48;
  CHECK(block::parameters(graph) == matrices + 4 * 32 + 48 + 32 + 4 * 32);
  CHECK(block::forward_flop(graph) == 9 * 2 * matrices + 4 * 9 * 9 * 32);
  block::Sizes rms = sizes;
  rms.insert({{"tower_rms", 1},
              {"sandwich", 1},
              {"tower_qkv_bias", 0},
              {"tower_mlp_bias", 0},
              {"tower_qk_norm", 1},
              {"tower_gated", 1}});
  CHECK(block::parameters(built("vision.layer", rms)) == matrices + 32 * 48 + 4 * 32 + 2 * 8);
}

// Weights of 4 streams: 4 x 64 numbers to 24, twice; the products of streams with matrices of 4 x 4, twice.
TEST_CASE("residual streams that are mixed, and tokens pooled by four") {
  const block::Sizes sizes = {{"hidden", 64},     {"streams", 4},       {"heads", 4},       {"head_dim", 16},
                              {"query_rank", 32}, {"output_groups", 2}, {"output_rank", 8}, {"window", 16},
                              {"compress", 4},    {"overlap", 2},       {"index_heads", 2}, {"index_dim", 8},
                              {"index_top", 32},  {"experts", 8},       {"per_token", 2},   {"expert_ffn", 32},
                              {"shared_ffn", 48}, {"gated", 1},         {"rms", 1},         {"ffn", 1}};
  const OperatorGraph graph = built("deepseek_v4", sizes);
  const double mixing = 2 * (4 * 64 * 24 + 24 + 3);
  const double attention = 64 * 32 + 32 + 32 * 64 + 64 * 16 + 16 + 4 + 64 * 8 + 2 * 8 * 64;
  const double pools = 2 * 64 * 32 + 4 * 32 + 16;
  const double indexer = 32 * 2 * 8 + 64 * 2 + 2 * 64 * 16 + 4 * 16 + 8;
  const double experts = 64 * 8 + 3 * 64 * 48 + 8 * 3 * 64 * 32;
  CHECK(block::parameters(graph) == mixing + attention + pools + indexer + experts + 2 * 64);
  const Operator* const scores = test::find(graph, "attention.scored.out");
  REQUIRE(scores != nullptr);
  CHECK(block::flop(graph, *scores) == s * (s / 4) * 2 * 9);
  const Operator* const kept = test::find(graph, "attention_kept");
  REQUIRE(kept != nullptr);
  CHECK(block::flop(graph, *kept) == s * 2 * 4 * 4 * 64);
}

}  // namespace decoder_blocks_test
