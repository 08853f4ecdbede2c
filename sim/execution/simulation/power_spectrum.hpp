#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mirfak {

// A line in the spectrum of a periodic power: it holds amplitude_w cos(2 pi frequency_hz t + phase). The power swings
// by twice the amplitude at this frequency.
struct PowerLine {
  double frequency_hz = 0;
  double amplitude_w = 0;
};

// Band in which power systems have modes that a load can excite: from swings between areas of a grid to the torsion of
// the shafts of generators (arXiv 2508.14318).
inline constexpr double kLowestLine_hz = 0.05;
inline constexpr double kHighestLine_hz = 20;

// Returns the lines of the band that a periodic power has, by ascending frequency: multiples of 1 / period. `means_w`:
// means over equal intervals of one period. The mean over an interval of length h weakens a line of frequency f by
// sin(pi f h) / (pi f h), and this is taken back; so lines are right as far as the power holds no lines beyond half the
// rate of the intervals. Lines beyond this half rate are absent.
std::vector<PowerLine> power_spectrum(std::span<const double> means_w, double period_s);

// Returns the strongest of some lines, strongest first; equal ones by ascending frequency.
std::vector<PowerLine> strongest(std::vector<PowerLine> lines, std::size_t count);

}  // namespace mirfak
