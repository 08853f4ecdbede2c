#include "functions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace mirfak::interpreter {

namespace {

constexpr double kClamp = 0.75;  // clamp holds its operand between minus and plus this

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }  // of a normal distribution
double density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }

using Function = double (*)(double number, double of);

struct Row {
  std::string_view name;
  Function value;
  Function from_operand;  // the derivative, as a function of the operand; null: none
  Function from_result;   // ... of the result
};

const std::array<Row, 24> kRows = {{
    {"relu", [](double, double x) { return std::max(x, 0.0); }, nullptr,
     [](double, double y) { return y > 0 ? 1.0 : 0.0; }},
    {"squared_relu", [](double, double x) { return x > 0 ? x * x : 0.0; },
     [](double, double x) { return x > 0 ? 2 * x : 0.0; }, nullptr},
    {"gelu", [](double, double x) { return x * below(x); }, [](double, double x) { return below(x) + x * density(x); },
     nullptr},
    {"silu", [](double, double x) { return x * sigmoid(x); },
     [](double, double x) { return sigmoid(x) * (1 + x * (1 - sigmoid(x))); }, nullptr},
    {"sigmoid", [](double, double x) { return sigmoid(x); }, nullptr, [](double, double y) { return y * (1 - y); }},
    {"tanh", [](double, double x) { return std::tanh(x); }, nullptr, [](double, double y) { return 1 - y * y; }},
    {"softplus", [](double, double x) { return std::log1p(std::exp(x)); }, [](double, double x) { return sigmoid(x); },
     nullptr},
    {"exp", [](double, double x) { return std::exp(x); }, nullptr, [](double, double y) { return y; }},
    {"log", [](double, double x) { return std::log(x); }, [](double, double x) { return 1 / x; }, nullptr},
    {"sqrt", [](double, double x) { return std::sqrt(x); }, nullptr, [](double, double y) { return 0.5 / y; }},
    {"rsqrt", [](double, double x) { return 1 / std::sqrt(x); }, nullptr,
     [](double, double y) { return -0.5 * y * y * y; }},
    {"square", [](double, double x) { return x * x; }, [](double, double x) { return 2 * x; }, nullptr},
    {"abs", [](double, double x) { return std::abs(x); }, [](double, double x) { return x < 0 ? -1.0 : 1.0; }, nullptr},
    {"clamp", [](double, double x) { return std::clamp(x, -kClamp, kClamp); },
     [](double, double x) { return std::abs(x) < kClamp ? 1.0 : 0.0; }, nullptr},
    {"sin", [](double, double x) { return std::sin(x); }, [](double, double x) { return std::cos(x); }, nullptr},
    {"cos", [](double, double x) { return std::cos(x); }, [](double, double x) { return -std::sin(x); }, nullptr},
    {"inverse", [](double n, double x) { return n / x; }, nullptr, [](double n, double y) { return -y * y / n; }},
    {"round", [](double, double x) { return std::round(x); }, nullptr, nullptr},
    {"sign", [](double, double x) { return x > 0   ? 1.0
                                           : x < 0 ? -1.0
                                                   : 0.0; }, nullptr, nullptr},
    {"stop", [](double, double x) { return x; }, nullptr, nullptr},
    {"cast", [](double, double x) { return x; }, [](double, double) { return 1.0; },
     [](double, double) { return 1.0; }},
    {"copy", [](double, double x) { return x; }, [](double, double) { return 1.0; },
     [](double, double) { return 1.0; }},
    {"gather_heads", [](double, double x) { return x; }, [](double, double) { return 1.0; },
     [](double, double) { return 1.0; }},
    {"scale", [](double n, double x) { return n * x; }, [](double n, double) { return n; },
     [](double n, double) { return n; }},
}};

const Row* row_of(std::string_view name) {
  const auto found = std::find_if(kRows.begin(), kRows.end(), [&](const Row& row) { return row.name == name; });
  return found == kRows.end() ? nullptr : &*found;
}

}  // namespace

std::optional<double> function_of(std::string_view name, double number, double x) {
  const Row* row = row_of(name);
  if (row == nullptr) return std::nullopt;
  return row->value(number, x);
}

std::optional<double> derivative_of(std::string_view name, double number, const double* x, const double* y) {
  const Row* row = row_of(name);
  if (row == nullptr) return std::nullopt;
  if (row->from_result != nullptr && y != nullptr) return row->from_result(number, *y);
  if (row->from_operand != nullptr && x != nullptr) return row->from_operand(number, *x);
  // Linear functions need neither.
  const bool linear = row->from_operand != nullptr && row->from_result != nullptr;
  if (linear) return row->from_operand(number, 0);
  return std::nullopt;
}

}  // namespace mirfak::interpreter
