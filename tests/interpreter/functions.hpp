#pragma once

#include <optional>
#include <string_view>

namespace mirfak::interpreter {

// Functions of one number (sim/description/block/README.md has the table). nullopt: no such function.
std::optional<double> function_of(std::string_view name, double number, double x);
// The derivative of a function, from the operand or, where the language keeps that, from the result alone.
// `x` and `y`: null where it was not kept. nullopt where neither says enough.
std::optional<double> derivative_of(std::string_view name, double number, const double* x, const double* y);

}  // namespace mirfak::interpreter
