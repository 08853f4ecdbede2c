#pragma once

namespace mirfak {

// Figures of the power of all GPUs together over an iteration that repeats: of its means over intervals of
// kPowerFigureInterval_s. A grid sees these three, each as a limit of its own: the highest load, how fast the load
// changes, and how far it swings (arXiv 2508.14318 asks for limits on ramps, on the range of the load and on its
// frequencies).
struct PowerFigures {
  double peak_w = 0;            // the highest mean
  double swing_w = 0;           // the highest mean minus the lowest
  double max_ramp_w_per_s = 0;  // largest change, up or down, from one interval to the next, over their distance

  friend bool operator==(const PowerFigures&, const PowerFigures&) = default;
};

// Length of the intervals of PowerFigures, in seconds, or the nearest length that divides the iteration. It is half a
// period of a 50 Hz mains: a grid has no shorter unit of power.
inline constexpr double kPowerFigureInterval_s = 0.01;

}  // namespace mirfak
