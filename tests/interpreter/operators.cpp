// Operator by operator: the gradient of each one of the block language, in a block of its own.

#include "graph/backward.hpp"
#include "interpreter/derivative_check.hpp"
#include "tests/block/block_fixture.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using namespace mirfak::interpreter;
using namespace mirfak::test;

namespace {

// `statements` read x[b s h] and y[b s h], the parameters w[h] and v[s h], and define out[b s h].
void check(const std::string& statements, const std::string& more_axes = "", const std::string& inputs = "") {
  CAPTURE(statements);
  const std::string text = "block small(hidden):\n  axes b=batch s=sequence h=hidden " + more_axes +
                           "\n  input x[b s h] y[b s h] " + inputs + "\n  param w[h] v[s h]\n  " + statements +
                           "\n  out[b s h] = z + x * y + x * w + y * v\n";
  const OperatorGraph graph = with_backward(compiled(text, {{"hidden", 6}}), {});
  check_derivatives(statements, graph, Meaning(graph));
}

}  // namespace

TEST_CASE("functions of one tensor") {
  for (const char* function : {"relu", "squared_relu", "gelu", "silu", "sigmoid", "tanh", "softplus", "exp", "square",
                               "abs", "clamp", "sin", "cos", "cast"}) {
    check("z[b s h] = " + std::string(function) + "(x)");
    check("z[b s h] = " + std::string(function) + "(x + w) * y");
  }
  for (const char* function : {"log", "sqrt", "rsqrt"}) {
    check("z[b s h] = " + std::string(function) + "(x * x + 1)");
  }
}

TEST_CASE("functions that jump have no gradient") {
  for (const char* function : {"round", "sign"}) {
    check("z[b s h] = y * stop(" + std::string(function) + "(x * y))");
  }
}

TEST_CASE("arithmetic, with numbers, broadcasts and parameters") {
  for (const char* expression : {"x + y",
                                 "x - y",
                                 "x * y",
                                 "x / (y * y + 1)",
                                 "3 * x",
                                 "x / 4",
                                 "2 / (x * x + 1)",
                                 "1 - x",
                                 "x - 1",
                                 "0 - x",
                                 "x * w",
                                 "w * x",
                                 "x * v",
                                 "x - w",
                                 "w - x",
                                 "x / (w * w + 1)",
                                 "w / (x * x + 1)",
                                 "x * (w + v)",
                                 "x + w + v",
                                 "sum(x; s) + y",
                                 "sum(x; b s) * y + v",
                                 "mean(x; h) * y",
                                 "max(x; h) - y",
                                 "max(x * y; s) * v",
                                 "max(x; s) + y",
                                 "max(x; s) * y",
                                 "max(x * y; s) + v",
                                 "x * x",
                                 "softmax(x; h)",
                                 "softmax(x * y; s) * y",
                                 "layer_norm(x, w, w; h)",
                                 "layer_norm(x; h) * y",
                                 "rms_norm(x; s h) * y",
                                 "rms_norm(x * y, v; s h)",
                                 "rotary(x; h) * y",
                                 "dropout(x * y; 0.3)"}) {
    check("z[b s h] = " + std::string(expression));
  }
}

TEST_CASE("products and what moves elements") {
  check("p[b s s'] = x[b s h] y[b s' h]\n  z[b s h] = p[b s s'] x[b s' h]");
  check("z[b s h] = x[b s h] y[b s' h] x[b s' h]");
  check("(p[b s i], q[b s j]) = split(x; h -> i, j)\n  z[b s h] = concat(sin(q), p; h) * y", "i=2 j=4");
  check("p[b t h] = view(x * y; s -> t)\n  z[b s h] = view(sin(p); t -> s)", "t=8");
  check("p[b i j h] = view(x * y; s -> i j)\n  z[b s h] = view(p * p; i j -> s)", "i=2 j=4");
  check("z[b s h] = x[b s+p-2 h] k[h p]", "p=3", "k[h p]");
  check("z[b s h] = x[b 2*s+p-2 h] k[h p] + y", "p=3", "k[h p]");
  check("z[b s h] = x[b s+p-1 g] k[p g h]", "p=3 g=hidden", "k[p g h]");
  check("z[b s h] = gather(y[b s' h], ids; s') * x", "", "ids[b s] int64");
  check("z[b s h] = attention(x, y[b s' h], x[b s' h] * y[b s' h]; s, s', causal)");
  check("z[b s h] = attention(x, y[b s' h], x[b s' h]; s, s', causal, window=3)");
}
