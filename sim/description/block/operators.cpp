#include "block/operators.hpp"

#include <algorithm>
#include <utility>

namespace mirfak::block {

namespace {

using Form = OperatorRow::Form;

// Operator that is written like `use`, with its name in front. `options`: those after the axes.
OperatorRow row(Form form, std::size_t min_operands, std::size_t max_operands, std::size_t axes, Keeps keeps,
                std::string_view use, std::string_view meaning, std::string_view kept,
                std::vector<std::string_view> options = {}) {
  const bool arrow = use.find("->") != std::string_view::npos;
  return {use.substr(0, use.find('(')), form,  min_operands, max_operands, axes, arrow,
          std::move(options),           keeps, use,          meaning,      kept};
}

OperatorRow function(Keeps keeps, std::string_view use, std::string_view meaning, std::string_view kept) {
  return row(Form::elementwise, 1, 1, 0, keeps, use, meaning, kept);
}

std::vector<OperatorRow> table() {
  return {
      function(Keeps::result, "relu(x)", "max(x, 0)", "the result"),
      function(Keeps::operands, "squared_relu(x)", "max(x, 0) squared", "x"),
      function(Keeps::operands, "gelu(x)", "x times the normal distribution's share below x", "x"),
      function(Keeps::operands, "silu(x)", "x sigmoid(x)", "x"),
      function(Keeps::result, "sigmoid(x)", "1 / (1 + exp(-x))", "the result"),
      function(Keeps::result, "tanh(x)", "hyperbolic tangent", "the result"),
      function(Keeps::operands, "softplus(x)", "log(1 + exp(x))", "x"),
      function(Keeps::result, "exp(x)", "exponential", "the result"),
      function(Keeps::operands, "log(x)", "natural logarithm", "x"),
      function(Keeps::result, "sqrt(x)", "square root", "the result"),
      function(Keeps::result, "rsqrt(x)", "1 / sqrt(x)", "the result"),
      function(Keeps::operands, "square(x)", "x x", "x"),
      function(Keeps::operands, "abs(x)", "magnitude", "x"),
      function(Keeps::operands, "clamp(x)", "x, held between two constants", "x"),
      function(Keeps::operands, "sin(x)", "sine", "x"),
      function(Keeps::operands, "cos(x)", "cosine", "x"),
      function(Keeps::nothing, "cast(x)", "x in the format that the statement states: y[b s] fp32 = cast(x)",
               "nothing"),
      function(Keeps::nothing, "mask(x)", "scores of tokens that may not be seen set to minus infinity", "nothing"),
      function(Keeps::no_derivative, "round(x)", "nearest whole number", "has no derivative"),
      function(Keeps::no_derivative, "sign(x)", "-1, 0 or 1", "has no derivative"),
      function(Keeps::stops, "stop(x)", "x, and no gradient passes", "nothing"),
      row(Form::rotary, 1, 1, 1, Keeps::nothing, "rotary(x; d)",
          "rotary position encoding: pairs of d turned by the token's position", "nothing"),
      row(Form::dropout, 1, 1, 0, Keeps::mask, "dropout(x; rate)",
          "x with a share of its elements set to zero; at rate 0 it is x", "a mask of one byte an element", {"rate"}),
      row(Form::normalization, 1, 3, 1, Keeps::operator_own, "layer_norm(x, weight, bias; h)",
          "x with mean 0 and variance 1 over h, times weight, plus bias", "x"),
      row(Form::normalization, 1, 2, 1, Keeps::operator_own, "rms_norm(x, weight; h)",
          "x over its root mean square over h, times weight", "x"),
      row(Form::batch_normalization, 3, 3, 1, Keeps::operator_own, "batch_norm(x, weight, bias; b i j)",
          "x with mean 0 and variance 1 over b, i and j of the sequences that a device has, times weight, plus bias",
          "x"),
      row(Form::softmax, 1, 1, 1, Keeps::result, "softmax(x; s')", "exp(x) over its sum over s'", "the result"),
      row(Form::reduction, 1, 1, 1, Keeps::nothing, "sum(x; h)", "sum over axes", "nothing"),
      row(Form::reduction, 1, 1, 1, Keeps::nothing, "mean(x; h)", "average over axes", "nothing"),
      row(Form::reduction, 1, 1, 1, Keeps::operands, "max(x; h)", "largest over axes", "x and the result"),
      row(Form::reduction, 1, 1, 1, Keeps::no_derivative, "argmax(x; v)", "where the largest stands",
          "has no derivative"),
      row(Form::attention, 3, 4, 2, Keeps::operator_own,
          "attention(q, k, v, sinks; s, s', causal, masked, window=w, dropout=rate)",
          "softmax(q k / sqrt(width)) v over the tokens s' of keys, in one kernel where the framework has one; "
          "`causal` sees earlier tokens only, `masked` none of those that pad a sequence, `window` the last w (0: "
          "all); `sinks`, which may be missing, are logits that each head has in addition to its scores",
          "q, k, v, the result and one fp32 number a query and head", {"causal", "masked", "window", "dropout"}),
      row(Form::gather, 2, 2, 1, Keeps::operator_own, "gather(table, ids; v)",
          "the rows of a table that ids point into along v", "ids"),
      row(Form::cross_entropy, 1, 2, 1, Keeps::operator_own, "cross_entropy(logits; v)",
          "the loss of a token: log of the sum of exponentials, minus the target's logit", "the softmax in fp32"),
      row(Form::route, 1, 2, 1, Keeps::result, "route(scores; c, k=per_token)",
          "weights of the k best of c for each token, in fp32", "the weights", {"k"}),
      row(Form::dispatch, 2, 2, 1, Keeps::operator_own, "dispatch(x, weights; c -> e, k=per_token)",
          "a row of x for each of the k experts that a token visits, sorted by expert, and the weights of these rows",
          "nothing of x", {"k"}),
      row(Form::combine, 1, 1, 1, Keeps::nothing, "combine(rows; e)", "the sum of a token's rows over its experts",
          "nothing"),
      row(Form::scan, 4, 6, 2, Keeps::operator_own, "scan(x, step, b, c, decay; s, n, chunk=256)",
          "state-space duality (arXiv 2405.21060): h' = exp(step decay) h + step b x, y = c h over tokens s, computed "
          "by chunks; x[.. s g r p] step[.. s g r] b[.. s g n] c[.. s g n]",
          "the operands", {"chunk"}),
      row(Form::split, 1, 1, 1, Keeps::nothing, "split(x; a -> b, c)", "the parts of an axis a=b+c, without a copy",
          "nothing"),
      row(Form::concatenation, 2, 8, 1, Keeps::nothing, "concat(x, y; a)", "operands one after the other along a=b+c",
          "nothing"),
      row(Form::view, 1, 1, 1, Keeps::nothing, "view(x; i j -> s)",
          "the same elements with axes merged, divided or renamed", "nothing"),
      row(Form::custom, 1, 8, 0, Keeps::operator_own,
          "custom(x, y; flop=.., bytes=.., gradient_flop=.., gradient_bytes=.., saved_bytes=..)[b s h]",
          "a kernel that is none of these, by formulas over sizes: work and memory traffic forward and backward",
          "saved_bytes in all", {"flop", "bytes", "gradient_flop", "gradient_bytes", "saved_bytes"}),
  };
}

}  // namespace

std::span<const OperatorRow> operators() {
  static const std::vector<OperatorRow> rows = table();
  return rows;
}

const OperatorRow* find_operator(std::string_view name) {
  const std::span<const OperatorRow> rows = operators();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const OperatorRow& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

std::vector<std::string> operator_names() {
  std::vector<std::string> out;
  for (const OperatorRow& row : operators()) out.emplace_back(row.name);
  return out;
}

}  // namespace mirfak::block
