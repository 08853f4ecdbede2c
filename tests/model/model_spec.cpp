#include "model/model_spec.hpp"

#include "support/transformers.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using namespace mirfak::test;

namespace {

ModelSpec tiny() {
  ModelSpec model;
  model.layers = 3;
  model.hidden = 8;
  model.heads = 2;
  model.kv_heads = 2;
  model.head_dim = 4;
  model.ffn = 32;
  model.vocab = 100;
  model.max_sequence = 10;
  return with_blocks(std::move(model));
}

}  // namespace

TEST_CASE("a GPT layer has 12 h^2 + 13 h parameters") {
  // h = 8: QKV 3*64 + 3*8, output 64 + 8, MLP 2*4*64 + 32 + 8, two norms 4*8.
  const ParameterCount count = count_parameters(tiny());
  CHECK(count.layer == 216 + 72 + 552 + 32);
  CHECK(count.layer == 12 * 64 + 13 * 8);
  CHECK(count.embedding == 100 * 8 + 10 * 8);
  CHECK(count.head == 2 * 8);
  CHECK(count.total == count.embedding + 3 * count.layer + count.head);
}

TEST_CASE("GPT-3 175B: 12 L h^2 (1 + 13/(12 h)) + (V + s) h, and the final norm") {
  ModelSpec model = with_blocks({});
  model.layers = 96;
  model.hidden = 12288;
  model.heads = model.kv_heads = 96;
  model.head_dim = 128;
  model.ffn = 49152;
  model.vocab = 51200;
  model.max_sequence = 2048;
  const double h = 12288;
  CHECK(count_parameters(model).total == 12 * 96 * h * h + 13 * 96 * h + (51200 + 2048) * h + 2 * h);
}

TEST_CASE("biases count where they are") {
  const double with_all = count_parameters(tiny()).layer;
  ModelSpec model = tiny();
  model.qkv_bias = false;
  CHECK(with_all - count_parameters(model).layer == 3 * 8);  // query, key, value
  model = tiny();
  model.linear_bias = false;
  CHECK(with_all - count_parameters(model).layer == 8 + 32 + 8);  // attention output, both MLP matrices
  model.activation = ActivationFunction::swiglu;
  const double gated_without = count_parameters(model).layer;
  model.linear_bias = true;
  CHECK(count_parameters(model).layer - gated_without == 8 + 2 * 32 + 8);
}

TEST_CASE("a gated MLP has three matrices") {
  ModelSpec model = tiny();
  model.linear_bias = false;
  const double plain = count_parameters(model).layer;
  for (const ActivationFunction gated : {ActivationFunction::swiglu, ActivationFunction::geglu}) {
    model.activation = gated;
    CHECK(count_parameters(model).layer - plain == 8 * 32);
  }
}

TEST_CASE("grouped queries shrink the key and value projections") {
  ModelSpec model = tiny();
  const double full = count_parameters(model).layer;
  model.kv_heads = 1;
  CHECK(full - count_parameters(model).layer == 2 * (8 * 4 + 4));  // key and value: one head of 4 less, and its bias
}

TEST_CASE("heads need not make up the hidden size") {
  ModelSpec model = tiny();
  const double usual = count_parameters(model).layer;
  model.head_dim = 8;  // queries of 16: QKV 8*48 + 48 instead of 8*24 + 24, output 16*8 instead of 8*8
  CHECK(count_parameters(model).layer - usual == 8 * 24 + 24 + 64);
}

TEST_CASE("RMS norm has half the weights of layer norm") {
  ModelSpec model = tiny();
  const ParameterCount layer_norm = count_parameters(model);
  model.normalization = Normalization::rms_norm;
  CHECK(layer_norm.layer - count_parameters(model).layer == 2 * 8);
  CHECK(layer_norm.head - count_parameters(model).head == 8);
}

TEST_CASE("only learned positions have parameters; an untied head and an embedding norm add theirs") {
  ModelSpec model = tiny();
  for (const PositionEncoding position : {PositionEncoding::none, PositionEncoding::rotary, PositionEncoding::alibi}) {
    model.position = position;
    CHECK(count_parameters(model).embedding == 800);
  }
  model.embedding_norm = true;
  CHECK(count_parameters(model).embedding == 800 + 2 * 8);
  model.tied_embeddings = false;
  CHECK(count_parameters(model).head == 2 * 8 + 800);
}

TEST_CASE("experts stand behind the dense layers, in every layer or in each second one") {
  ModelSpec model = tiny();
  model.layers = 8;
  model.mixture = {.experts = 4, .per_token = 2, .ffn = 16, .shared_ffn = 0, .first_dense = 3, .every = 1};
  const auto has_experts = [&](std::int64_t layer) { return kind_of_layer(model, layer).experts; };
  for (std::int64_t layer = 0; layer < 8; ++layer) CHECK(has_experts(layer) == (layer >= 3));
  CHECK(layer_kinds(model).size() == 2);
  CHECK_FALSE(layer_kinds(model)[0].experts);
  model.mixture.first_dense = 0;
  model.mixture.every = 2;
  for (std::int64_t layer = 0; layer < 8; ++layer) CHECK(has_experts(layer) == (layer % 2 == 1));
}

TEST_CASE("windows alternate with full attention") {
  ModelSpec model = tiny();
  model.window = {.tokens = 4, .full_every = 2};
  CHECK(kind_of_layer(model, 0).window == 4);
  CHECK(kind_of_layer(model, 1).window == 0);
  model.window.full_every = 0;
  CHECK(kind_of_layer(model, 1).window == 4);
}

TEST_CASE("experts: all count, and those that a token visits are active") {
  // h = 8, experts of 16 without biases: router 8*4, expert 2*8*16, shared 2*8*32.
  ModelSpec model = tiny();
  model.linear_bias = false;
  const double plain = 2 * 8 * 32;
  const ParameterCount dense = count_parameters(model);
  CHECK(dense.active == dense.total);
  model.mixture = {.experts = 4, .per_token = 2, .ffn = 16, .shared_ffn = 32, .first_dense = 1, .every = 1};
  const ParameterCount count = count_parameters(model);
  CHECK(count.total - dense.total == 2 * (8 * 4 + 4 * 256 + 512 - plain));
  CHECK(count.total - count.active == 2 * 2 * 256);
}

TEST_CASE("latent attention: down and up projections with a norm between, keys and values from one latent") {
  // h = 8, 2 heads of 4 + 2, values of 3, ranks 5 and 6.
  ModelSpec model = tiny();
  model.linear_bias = model.qkv_bias = false;
  model.normalization = Normalization::rms_norm;
  const double usual = count_parameters(model).layer - 4 * 8 * 8;
  model.head_dim = 6;
  model.latent = {.key_value_rank = 6, .query_rank = 5, .position_dim = 2, .value_dim = 3};
  const double queries = 8 * 5 + 5 + 5 * (2 * 6);
  const double keys = 8 * (6 + 2) + 6 + 6 * (2 * (4 + 3));
  CHECK(count_parameters(model).layer == usual + queries + keys + 2 * 3 * 8);
  model.latent.query_rank = 0;
  CHECK(count_parameters(model).layer == usual + 8 * (2 * 6) + keys + 2 * 3 * 8);
}
