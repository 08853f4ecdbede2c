#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak::block {

// Tensors of an operator's forward pass that gradients read and that therefore stay in memory until backward.
enum class Keeps {
  nothing,
  operands,
  result,
  mask,           // one byte per element
  operator_own,   // as described in the operator's row of the table
  no_derivative,  // no gradient can pass through it
  stops,          // no gradient is to pass through it
};

// An operator of the language. The table is closed: other operators are composed of these, or stated as `custom`.
struct OperatorRow {
  enum class Form {
    elementwise,          // the result has the labels of the operands
    normalization,        // like elementwise, and runs over axes
    batch_normalization,  // like normalization, over the sequences that a device has
    softmax,
    reduction,  // the result lacks the axes that the operator runs over
    rotary,
    dropout,
    attention,
    gather,
    cross_entropy,
    route,
    dispatch,
    combine,
    scan,
    split,
    concatenation,
    view,
    custom,
  };
  std::string_view name;
  Form form{};
  std::size_t min_operands = 1;
  std::size_t max_operands = 1;
  std::size_t axes = 0;  // number of axes after the semicolon; with an arrow, left of the arrow
  bool arrow = false;
  std::vector<std::string_view> options;  // options after the axes
  Keeps keeps{};
  std::string_view use;      // syntax of a call
  std::string_view meaning;  // one sentence
  std::string_view kept;     // tensors kept for backward, in words
};

// Returns the operators in the order in which help and README list them.
std::span<const OperatorRow> operators();
// Returns nullptr if no operator has the name.
const OperatorRow* find_operator(std::string_view name);
std::vector<std::string> operator_names();

}  // namespace mirfak::block
