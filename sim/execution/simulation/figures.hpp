#pragma once

#include "base/figure.hpp"
#include "cluster/facility.hpp"
#include "simulation/iteration.hpp"

#include <span>
#include <vector>

namespace mirfak {

// Inputs from which the figures of an iteration are computed.
struct FigureInputs {
  const IterationResult& result;
  const Facility& facility;
};

// A figure of an iteration.
struct IterationFigure : FigureOf<FigureInputs> {
  // Change of a figure with the iteration's time, all else being equal: none, in proportion, or in inverse proportion.
  enum class OverTime : std::uint8_t { same, amount, rate };
  OverTime over_time = OverTime::same;
  bool stored = true;      // traces and sweeps have it
  bool measured = false;   // a measured trace has it too: it follows from task times and the job
  bool facility = false;   // asked for if the cluster says anything of its facility
  bool elsewhere = false;  // JSON has it in a table instead: `activities`

  FigureValue value(const FigureInputs& inputs) const;
};

// Returns all single figures of an iteration, in the order in which they are written. Tables, and the origin of the
// result, are no figures: `stages`, `notes`, `prices`.
std::span<const IterationFigure> iteration_figures();
// Returns the figure of a key. Error(internal) for a key that no figure has.
const IterationFigure& iteration_figure(std::string_view key);

// Returns the values of all figures. Figures of the facility are known if `facility` says anything of it.
std::vector<FigureValue> figure_values(const IterationResult& result, const Facility& facility = {});
// Returns the values of those figures that traces and sweeps store.
std::vector<FigureValue> stored_values(const IterationResult& result);
FigureValue figure_value(std::string_view key, const IterationResult& result, const Facility& facility = {});

// Returns the values of all figures if the iteration took `seconds` and the peak of its fullest GPU was `peak_bytes`;
// all figures that follow from these two change with them.
std::vector<FigureValue> figure_values_at(IterationResult result, const Facility& facility, double seconds,
                                          double peak_bytes);

}  // namespace mirfak
