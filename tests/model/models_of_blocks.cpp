// Models that are files alone, against the parameter counts that are published, and FLOPs derived by hand.

#include "model/blocks.hpp"

#include "base/error.hpp"
#include "block/measures.hpp"
#include "model/model_loader.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

namespace models_of_blocks_test {

using namespace mirfak;

namespace {

const std::filesystem::path folder = std::filesystem::path(source_root()) / "models";

ModelSpec load(const std::string& name) { return load_model(name, folder, {"test", 0, 0}); }

ModelSpec parse(const std::string& text) { return parse_model(Document::from_text(text, "tiny.yaml"), folder); }

BlockOptions options(const ModelSpec& model) {
  BlockOptions out;
  out.sequence = model.max_sequence;
  out.kv_heads = model.kv_heads;
  out.vocabulary = model.vocab;
  out.fused_attention = true;
  out.fusion.packed_tags = {"qkv", "fc1"};
  return out;
}

// The FLOPs of one sequence forward, through all blocks.
double forward_flop(const ModelSpec& model) {
  const BlockOptions with = options(model);
  double out =
      block::forward_flop(build_embedding_block(model, with)) + block::forward_flop(build_head_block(model, with));
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    out += block::forward_flop(build_layer_block(model, with, kind_of_layer(model, layer)));
  }
  return out;
}

void check_fault(const std::string& text, const std::string& words) {
  CAPTURE(text);
  try {
    parse(text);
    FAIL("this model has an error");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find(words) != std::string::npos);
  }
}

// Checks that a model has so many parameters, to the digits given.
void check_parameters(const std::string& name, double parameters, double precision) {
  CAPTURE(name);
  CHECK(std::abs(count_parameters(load(name)).total - parameters) <= precision / 2);
}

const std::string kTiny = "source: a test\nmax_sequence: 16\nsizes: {hidden: 8, heads: 2, ffn: 16, vocab: 32}\n";

}  // namespace

// torchvision's documentation of vit_l_16 (IMAGENET1K_V1) and vit_h_14 (IMAGENET1K_SWAG_LINEAR_V1): num_params.
TEST_CASE("ViT-L/16 and ViT-H/14 have the parameters of their makers") {
  CHECK(count_parameters(load("vit-l")).total == 304326632);
  CHECK(count_parameters(load("vit-h")).total == 632045800);
}

// torchvision's documentation of wide_resnet50_2 (IMAGENET1K_V2): num_params, and GFLOPS, which are multiplications; of
// wide_resnet101_8 and Alpa's models the names say the parameters (arXiv 2312.06902, OSDI'22).
TEST_CASE("wide residual networks have the parameters and the multiplications of their makers") {
  CHECK(count_parameters(load("wide-resnet50-2")).total == 68883240);
  CHECK(forward_flop(load("wide-resnet50-2")) / 2 == doctest::Approx(11.40e9).epsilon(0.005));
  check_parameters("wide-resnet101-8", 1.5e9, 0.1e9);
  check_parameters("wide-resnet-250m", 250e6, 10e6);
  check_parameters("wide-resnet-500m", 500e6, 20e6);
  check_parameters("wide-resnet-1b", 1e9, 0.1e9);
  check_parameters("wide-resnet-2b", 2e9, 0.1e9);
  check_parameters("wide-resnet-4b", 4e9, 0.1e9);
  check_parameters("wide-resnet-6.8b", 6.8e9, 0.2e9);
  check_parameters("wide-resnet-13b", 13e9, 1e9);
}

// The names say them (Alpa, OSDI'22).
TEST_CASE("GShard's mixtures have the parameters of their names") {
  const auto total = [](const std::string& name) { return count_parameters(load(name)).total; };
  CHECK(total("gshard-moe-380m") == doctest::Approx(380e6).epsilon(0.02));
  CHECK(total("gshard-moe-690m") == doctest::Approx(690e6).epsilon(0.02));
  CHECK(total("gshard-moe-1.3b") == doctest::Approx(1.3e9).epsilon(0.04));
  CHECK(total("gshard-moe-2.4b") == doctest::Approx(2.4e9).epsilon(0.02));
  CHECK(total("gshard-moe-10b") == doctest::Approx(10e9).epsilon(0.03));
  CHECK(total("gshard-moe-27b") == doctest::Approx(27e9).epsilon(0.02));
  CHECK(total("gshard-moe-70b") == doctest::Approx(70e9).epsilon(0.02));
}

// Hugging Face, google-t5/t5-3b and google-t5/t5-11b: the parameters of T5ForConditionalGeneration.
TEST_CASE("T5-3b and T5-11b have the parameters of their makers") {
  CHECK(count_parameters(load("t5-3b")).total == 2851598336);
  CHECK(count_parameters(load("t5-11b")).total == 11307321344);
}

// arXiv 2405.21060, table 9 (130M, 370M, 780M, 1.3B, 2.7B) and section 9.2.3 (the hybrid: 2.7B), to the digits given.
TEST_CASE("T5-3b: rank 8 beside all products of attention, those of cross-attention too, packed or not") {
  const ModelSpec model = load("t5-3b");
  for (const bool packed : {true, false}) {
    BlockOptions with = options(model);
    if (!packed) with.fusion.packed_tags.clear();
    with.adapters = {8, 0, true, true, false, false};
    double trained = 0;
    for (std::int64_t layer = 0; layer < model.layers; ++layer) {
      const OperatorGraph block = build_layer_block(model, with, kind_of_layer(model, layer));
      for (TensorId id = 0; id < static_cast<TensorId>(block.tensors.size()); ++id) {
        const Tensor& tensor = block.tensor(id);
        if (tensor.role == TensorRole::parameter && !tensor.frozen) trained += static_cast<double>(block.elements(id));
      }
    }
    // An attention of 24 encoder layers, two of 24 decoder layers: hidden 1,024, 32 heads of 128. Packed, a product has
    // one adapter: of self-attention q, k and v, of cross-attention q alone, and k and v.
    constexpr double kIn = 8 * 1024.0;
    constexpr double kOut = 8 * 4096.0;
    const double self = packed ? kIn + 3 * kOut : 3 * (kIn + kOut);
    const double cross = packed ? 2 * kIn + 3 * kOut : 3 * (kIn + kOut);
    const double output = kIn + kOut;
    CHECK(trained == 24 * (self + output) + 24 * (self + cross + 2 * output));
  }
}

TEST_CASE("Mamba-2 and its hybrid with attention have the parameters of their makers") {
  check_parameters("mamba2-130m", 130e6, 10e6);
  check_parameters("mamba2-370m", 370e6, 10e6);
  check_parameters("mamba2-780m", 780e6, 10e6);
  check_parameters("mamba2-1.3b", 1.3e9, 0.1e9);
  check_parameters("mamba2-2.7b", 2.7e9, 0.1e9);
  check_parameters("mamba2attn-2.7b", 2.7e9, 0.1e9);
  CHECK(load("mamba2attn-2.7b").layers == 64);
  check_parameters("nemotron-3-nano-30b-a3b", 31.6e9, 0.05e9);  // arXiv 2512.20848
  CHECK(load("nemotron-3-nano-30b-a3b").layers == 52);
}

// Width 2h = 5120 in 80 heads of 64, one group, a state of 128, chunks of 256. Of a token and layer: products with
// h (2 * 2h + 2 * 128 + 80) and 2h h weights, and the scan's 256 * 128 + 5120 * 256 + 2 * 128 * 5120.
TEST_CASE("FLOPs of Mamba-2 2.7B") {
  const double h = 2560;
  const double projections = h * (4 * h + 256 + 80) + 2 * h * h;
  const double scan = 256 * 128 + 2 * h * 256 + 2 * 128 * 2 * h;
  const double head = h * 50288;
  CHECK(forward_flop(load("mamba2-2.7b")) ==
        doctest::Approx(2 * 2048 * (64 * (projections + scan) + head)).epsilon(1e-12));
}

// 197 places: 4 h^2 + 2 h f weights and 2 * 197 h for attention, of each place and layer; the patches, the classes.
TEST_CASE("FLOPs of ViT-L/16") {
  const double h = 1024;
  const double layer = 4 * h * h + 2 * h * 4096 + 2 * 197 * h;
  CHECK(forward_flop(load("vit-l")) == 2 * (197 * 24 * layer + 196 * 16 * 16 * 3 * h + h * 1000));
}

// 512 tokens in, 128 out; 32 heads of 128: width 4096. Attention inside 2 s width per token, across 2 * 512 width.
TEST_CASE("FLOPs of T5-3b") {
  const double h = 1024;
  const double f = 16384;
  const double width = 4096;
  const double encoder = 512 * (4 * h * width + 2 * h * f + 2 * 512 * width);
  const double decoder =
      128 * (4 * h * width + 2 * 128 * width + 2 * h * width + 2 * 512 * width + 2 * h * f) + 512 * 2 * h * width;
  CHECK(forward_flop(load("t5-3b")) == 2 * (24 * encoder + 24 * decoder + 128 * h * 32128));
}

TEST_CASE("a user's own MLP stands in llama's place for one, by path") {
  const ModelSpec plain = parse(kTiny + "blocks: [embedding, {use: llama, count: 2}, head]\n");
  CHECK(plain.layers == 2);
  CHECK(count_parameters(plain).layer == 4 * 8 * 8 + 3 * 8 * 16 + 2 * 8);
  check_fault(kTiny + "blocks: [embedding, {use: llama, mlp: ./none.yaml}, head]\n", "there is no block file");
}

TEST_CASE("what a model of blocks gets wrong is named with its place") {
  check_fault(kTiny + "blocks: [embedding, {use: lama, count: 2}, head]\n", "did you mean 'llama'?");
  check_fault(kTiny + "blocks: [embedding, head]\n", "expected a block that begins, layers, and a block that ends");
  check_fault(kTiny + "blocks: [{use: llama}, {use: llama}, head]\n", "llama reads a stream");
  check_fault(kTiny + "blocks: [embedding, {use: llama}, {use: llama}]\n", "a stream leaves llama");
  check_fault(kTiny + "blocks: [embedding, {use: llama, hidden: 4, heads: 1}, head]\n",
              "sizes in conflict: llama reads x[batch=1 sequence=16 hidden=4]");
  check_fault(kTiny + "blocks: [embedding, {use: llama, cuont: 2}, head]\n", "did you mean 'count'?");
  check_fault(
      "source: a test\nmax_sequence: 16\nsizes: {hidden: 8, heads: 2, fnn: 16, vocab: 32}\n"
      "blocks: [embedding, {use: llama}, head]\n",
      "the size 'ffn' of the block llama is not stated");
  check_fault(
      "source: a test\nmax_sequence: 16\nsizes: {hidden: 8, heads: 2, ffn: 16, vocab: 32, vocabb: 32}\n"
      "blocks: [embedding, {use: llama}, head]\n",
      "no block of the model takes the size 'vocabb'");
}

TEST_CASE("blocks that are written alike are one kind of layer") {
  const ModelSpec model = load("mamba2attn-2.7b");
  CHECK(layer_kinds(model).size() == 2);  // state space and attention
  CHECK(kind_of_layer(model, 9) == kind_of_layer(model, 56));
  CHECK(kind_of_layer(model, 0) == kind_of_layer(model, 63));
}

// Mixtral 8x7B as published, arXiv 2401.04088: llama with a mixture in place of its MLP. The size of a head, its groups
// and the experts reach the blocks that take them.
TEST_CASE("sizes reach the blocks that a block is given") {
  const ModelSpec model = parse(
      "source: a test\nmax_sequence: 32\nsizes: {hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocab: 32000, "
      "experts: 8, per_token: 2}\nblocks: [embedding, {use: llama, count: 32, mlp: mixture}, head]\n");
  CHECK(count_parameters(model).total == count_parameters(load("mixtral-8x7b")).total);
  CHECK(count_parameters(model).active == count_parameters(load("mixtral-8x7b")).active);
  CHECK(model.mixture.experts == 8);
  CHECK(model.kv_heads == 8);
}

}  // namespace models_of_blocks_test
