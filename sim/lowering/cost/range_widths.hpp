#pragma once

#include "cluster/cluster.hpp"
#include "cluster/time_factors.hpp"
#include "cost/measured_software.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace mirfak {

// Reasons for which one prediction is less certain than another. Each reason concerns a share of an iteration.
enum class Uncertainty : std::uint8_t {
  always,                // any prediction, with the whole iteration as its share
  borrowed,              // kernels and collectives on hardware without measured tables of its own
  tensor_communication,  // many short collectives that nothing hides
  experts,               // layers with experts, whose software changes from release to release
  unmeasured,            // software that few sources, or none, have measured on such GPUs
};
inline constexpr std::size_t kUncertainties = 5;
using UncertaintyShares = std::array<double, kUncertainties>;  // shares of the iteration, in [0, 1]

std::string_view name_of(Uncertainty uncertainty);  // for people
std::string_view key_of(Uncertainty uncertainty);   // for files

// Standard deviations of logarithms: `factors` of machines and frameworks from their profiles, and `run` of single runs
// from the average of their machine. A user's own runs are weighed against these (calibration/factor_fit.hpp).
struct FactorSpread {
  FactorVector factors{};
  double run = 0;
  double quantile = 1;  // number of deviations within which the share RangeWidths::level of measurements lies

  bool known() const { return run > 0; }
  friend bool operator==(const FactorSpread&, const FactorSpread&) = default;
};

// Distance of the device memory that a process takes (nvidia-smi) from its predicted peak: for a share of 80 % of the
// processes, ln(measured / predicted) of what depends on the model is between -below and above, and the bytes that
// software takes whatever the model lie between these bytes below and above their prediction.
struct DeviceMemoryWidths {
  double below = 0;
  double above = 0;
  double platform_below_bytes = 0;
  double platform_above_bytes = 0;

  bool known() const { return above > 0; }
  friend bool operator==(const DeviceMemoryWidths&, const DeviceMemoryWidths&) = default;
};

// Distance of measured memory peaks from predicted ones, for memory that the framework allocates: ln(measured /
// predicted) is between -below and above for a share RangeWidths::level of the peaks.
struct MemoryWidths {
  double below = 0;
  double above = 0;
  DeviceMemoryWidths device;

  bool known() const { return below > 0 || above > 0; }
  friend bool operator==(const MemoryWidths&, const MemoryWidths&) = default;
};

// Distance of measured power from predicted power, apart from what a longer or shorter iteration changes: for a share
// RangeWidths::level of the runs, ln(measured / predicted) of the mean power of all GPUs lies between -below and above,
// and so does that of the power of a host, of each part of it that is known, and of what a cluster does without.
struct PowerWidths {
  struct Sides {
    double below = 0;
    double above = 0;

    bool known() const { return below > 0 || above > 0; }
    friend bool operator==(const Sides&, const Sides&) = default;
  };
  Sides gpus;
  Sides hosts;

  friend bool operator==(const PowerWidths&, const PowerWidths&) = default;
};

// Distance of measured iterations from predicted ones that a power limit adds, where it throttles GPUs
// (GpuThrottle): `at_floor` where they slow down at the floor of the voltage, `halted` where they halt for a share of
// the time.
struct LimitWidths {
  PowerWidths::Sides at_floor;
  PowerWidths::Sides halted;

  friend bool operator==(const LimitWidths&, const LimitWidths&) = default;
};

// Distance of measured iterations from predicted ones: ln(measured / predicted) is between -sum(share * below) and
// sum(share * above) for a share `level` of them. Fitted to measured runs (validation/range_fit.hpp).
struct RangeWidths {
  double level = 0;  // share of measurements inside the range; 0: nothing is known
  UncertaintyShares below{};
  UncertaintyShares above{};
  MemoryWidths memory;
  PowerWidths power;
  LimitWidths limits;
  FactorSpread own_runs;
  // Sources that measured each framework; nullptr: nothing is known of it, and no prediction counts as unmeasured.
  // Shared, because jobs are copied often.
  std::shared_ptr<const MeasuredSoftware> measured;

  bool known() const { return level > 0; }
};

// Range in seconds in which measurements of an iteration lie.
struct PredictionRange {
  double low_s = 0;
  double high_s = 0;
};
PredictionRange prediction_range(double predicted_s, const UncertaintyShares& shares, const RangeWidths& widths);

// Shares of the predicted iteration that a host of the same kind may save and cost, because hosts pass transfers
// between GPUs on at unlike rates (LinkSpec::spread).
struct HostMargins {
  double shorter = 0;  // in [0, 1)
  double longer = 0;
};
// Returns the range of a run on any such host. Hosts err apart from all else, so distances of logarithms add up as
// squares.
PredictionRange between_hosts(PredictionRange range, double predicted_s, const HostMargins& hosts);

// Returns the range, wider by the widest that the GPUs' power limits add.
PredictionRange under_power_limits(PredictionRange range, const Cluster& cluster, const LimitWidths& widths);

// Reads `ranges.yaml` in a folder such as hw_profiles/ (format: its README.md). Returns unknown widths if the folder
// has no such file. Throws Error(input) at file:line:column for a file that does not state every width.
RangeWidths read_range_widths(const std::filesystem::path& folder);

}  // namespace mirfak
