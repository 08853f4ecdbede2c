#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak::block {

// What gradients read of an operator's forward pass, so what stays in memory until backward.
enum class Keeps {
  nothing,
  operands,
  result,
  mask,           // one byte an element
  operator_own,   // what its row of the table says
  no_derivative,  // no gradient can pass through it
  stops,          // none shall
};

// An operator of the language. The table is closed: what it lacks is composed of what it has, or stated as `custom`.
struct OperatorRow {
  enum class Form {
    elementwise,          // the result has the labels of its operands
    normalization,        // ... and runs over axes
    batch_normalization,  // ... of the sequences that a device has
    softmax,
    reduction,  // the result lacks the axes that it runs over
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
  std::size_t axes = 0;  // that stand behind the semicolon; of an arrow, left of it
  bool arrow = false;
  std::vector<std::string_view> options;  // ... and behind the axes
  std::size_t results = 1;
  Keeps keeps{};
  std::string_view use;      // how it is written
  std::string_view meaning;  // a sentence
  std::string_view kept;     // what stays for backward, in words
};

// In the order in which help and README list them.
std::span<const OperatorRow> operators();
// nullptr: there is none of that name.
const OperatorRow* find_operator(std::string_view name);
std::vector<std::string> operator_names();

}  // namespace mirfak::block
