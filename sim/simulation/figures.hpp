#pragma once

#include "base/figure.hpp"
#include "cluster/facility.hpp"
#include "simulation/iteration.hpp"

#include <span>
#include <vector>

namespace mirfak {

// The inputs of figures of an iteration.
struct FigureInputs {
  const IterationResult& result;
  const Facility& facility;
};

// A figure of an iteration.
struct IterationFigure : FigureOf<FigureInputs> {
  // A figure's change with the iteration's time, all else being equal: none, in proportion, or in inverse proportion.
  enum class OverTime : std::uint8_t { same, amount, rate };
  OverTime over_time = OverTime::same;
  bool stored = true;      // traces and sweeps have it
  bool measured = false;   // a measured trace has it too: it follows from the times of tasks and from the job
  bool facility = false;   // asked for where the cluster says anything of its facility
  bool elsewhere = false;  // JSON has it in a table: `activities`

  FigureValue value(const FigureInputs& inputs) const;
};

// All single figures of an iteration, in the order in which they are written. Tables, and where the result is from, are
// no figures: `stages`, `notes`, `prices`.
std::span<const IterationFigure> iteration_figures();
// Error(internal) for a key that no figure has.
const IterationFigure& iteration_figure(std::string_view key);

// The values of all figures. Those of the facility are known where `facility` says anything of it.
std::vector<FigureValue> figure_values(const IterationResult& result, const Facility& facility = {});
// The values of those figures that traces and sweeps store.
std::vector<FigureValue> stored_values(const IterationResult& result);
FigureValue figure_value(std::string_view key, const IterationResult& result, const Facility& facility = {});

// The same where the iteration took `seconds` and its fullest GPU's peak was `peak_bytes`: all that follows from these.
std::vector<FigureValue> figure_values_at(IterationResult result, const Facility& facility, double seconds,
                                          double peak_bytes);

}  // namespace mirfak
