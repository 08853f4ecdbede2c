#pragma once

#include "cluster/time_factors.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace mirfak {

// What makes one prediction less certain than another. Each concerns a share of an iteration.
enum class Uncertainty : std::uint8_t {
  always,                // everything, by the whole iteration
  borrowed,              // kernels and collectives on hardware without measured tables of its own
  tensor_communication,  // many short collectives that nothing hides
  experts,               // layers with experts, whose software changes from release to release
};
inline constexpr std::size_t kUncertainties = 4;
using UncertaintyShares = std::array<double, kUncertainties>;  // of the iteration, in [0, 1]

std::string_view name_of(Uncertainty uncertainty);  // for people
std::string_view key_of(Uncertainty uncertainty);   // for files

// How far machines and frameworks are from their profiles, and single runs from what such a machine shows on average:
// standard deviations of logarithms. What a user's own runs are weighed against (calibration/factor_fit.hpp).
struct FactorSpread {
  FactorVector factors{};
  double run = 0;
  double quantile = 1;  // RangeWidths::level of the measurements lie within so many deviations

  bool known() const { return run > 0; }
  friend bool operator==(const FactorSpread&, const FactorSpread&) = default;
};

// How far measured peaks of memory lie from predicted ones, of what the framework allocates: ln(measured / predicted)
// of RangeWidths::level of them is between -below and above.
struct MemoryWidths {
  double below = 0;
  double above = 0;

  bool known() const { return below > 0 || above > 0; }
  friend bool operator==(const MemoryWidths&, const MemoryWidths&) = default;
};

// How far measured iterations lie from predicted ones: ln(measured / predicted) of `level` of them is between
// -sum(share * below) and sum(share * above). Fitted to measured runs (validation/range_fit.hpp).
struct RangeWidths {
  double level = 0;  // share of measurements that lie inside; 0: nothing is known
  UncertaintyShares below{};
  UncertaintyShares above{};
  MemoryWidths memory;
  FactorSpread own_runs;

  bool known() const { return level > 0; }
  friend bool operator==(const RangeWidths&, const RangeWidths&) = default;
};

// Between which times measurements of such iterations lie, in seconds.
struct PredictionRange {
  double low_s = 0;
  double high_s = 0;
};
PredictionRange prediction_range(double predicted_s, const UncertaintyShares& shares, const RangeWidths& widths);

// `ranges.yaml` in a folder such as hw_profiles/ (format: its README.md). Nothing is known where the folder has none.
// Error(input) at file:line:column for a file that does not say every width.
RangeWidths read_range_widths(const std::filesystem::path& folder);

}  // namespace mirfak
