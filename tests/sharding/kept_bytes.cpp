// The activation memory of a GPT layer, arXiv 2205.05198, table 2: 16 bits, unfused attention, dropout, with
// s tokens, b sequences, h hidden, a heads and t tensor-parallel ranks.

#include "blocks_fixture.hpp"

#include <doctest/doctest.h>

#include <tuple>

using namespace mirfak;
using namespace mirfak::test;

namespace {

struct Case {
  int tensor;
  bool sequence_parallel;
  Recompute recompute;
  double (*expected)(double t, double attention);  // in units of s b h; attention = 5 a s / h
};

}  // namespace

TEST_CASE("kept bytes per layer equal the published formulas") {
  const Case cases[] = {
      {1, false, Recompute::none, [](double, double attention) { return 34 + attention; }},
      {4, false, Recompute::none, [](double t, double attention) { return 10 + 24 / t + attention / t; }},
      {4, true, Recompute::none, [](double t, double attention) { return (34 + attention) / t; }},
      {4, false, Recompute::selective, [](double t, double) { return 10 + 24 / t; }},
      {4, true, Recompute::selective, [](double t, double) { return 34 / t; }},
      {1, false, Recompute::full, [](double, double) { return 2.0; }},
      {4, false, Recompute::full, [](double, double) { return 2.0; }},
      {4, true, Recompute::full, [](double t, double) { return 2 / t; }},
  };
  for (const auto& [heads, hidden, sequence] :
       {std::tuple(8, 128, 64), std::tuple(16, 256, 512), std::tuple(96, 12288, 2048)}) {
    ModelSpec model = small_gpt();
    model.heads = model.kv_heads = heads;
    model.hidden = hidden;
    model.head_dim = hidden / heads;
    model.ffn = std::int64_t{4} * hidden;
    model.max_sequence = sequence;
    for (const Case& c : cases) {
      Strategy strategy;
      strategy.tensor = c.tensor;
      strategy.data = 2;
      strategy.sequence_parallel = c.sequence_parallel;
      strategy.recompute = c.recompute;
      INFO("tensor " << c.tensor << " sequence_parallel " << c.sequence_parallel);
      const double unit = sbh(model, options_for(model, strategy), strategy);
      const double attention = 5.0 * heads * sequence / hidden;
      CHECK(sharded_layer(model, strategy).kept_bytes ==
            doctest::Approx(unit * c.expected(c.tensor, attention)).epsilon(1e-12));
    }
  }
}

TEST_CASE("flash attention keeps no scores: the 5 a s / h term is gone, one fp32 number per token and head remains") {
  const ModelSpec model = small_gpt();
  Strategy strategy;
  const double unit = sbh(model, options_for(model, strategy), strategy);
  const double statistics = 4.0 * static_cast<double>(model.heads) * 64 * 2;
  CHECK(sharded_layer(model, strategy, true).kept_bytes == doctest::Approx(34 * unit + statistics).epsilon(1e-12));
}
