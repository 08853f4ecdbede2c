#pragma once

#include "base/section.hpp"
#include "cost/range_widths.hpp"
#include "program/job.hpp"
#include "simulation/iteration.hpp"

#include <string>
#include <vector>

namespace mirfak {

// Returns the shares of `result`, an iteration of `job`, that each uncertainty concerns, on average over its ranks.
UncertaintyShares uncertainty_shares(const Job& job, const IterationResult& result);

// Returns the shares of `result` that hosts like those of `job` may save and cost: for the time that its ranks wait for
// collectives at the pace of a link in a node whose hosts were found to differ (LinkSpec::spread).
HostMargins host_margins(const Job& job, const IterationResult& result);

// Returns the range in which measurements of the iteration lie. On nodes that a user's own runs correct, the range
// follows from the uncertainty of the corrections and from the scatter of runs, else from the widths of the job. {0,
// 0}: not known.
PredictionRange range_of(const Job& job, const IterationResult& result);

// Returns notes on software that no source has measured on the GPUs of a job, a sentence for each architecture. Empty:
// every part was measured, or a user's own runs correct it.
std::vector<std::string> unmeasured_software(const Job& job);

// Returns a note for each type of GPU that its power limit throttles (GpuThrottle).
std::vector<std::string> throttled_gpus(const Cluster& cluster);

// Range in which a measured peak of the fullest GPU lies. The job's widths apply to what the framework allocates; the
// bytes of the platform are taken as they are. {0, 0}: not known.
struct MemoryRange {
  double low_bytes = 0;
  double high_bytes = 0;
};
MemoryRange memory_range(const Job& job, const IterationResult& result);

// Returns the probability that every stage of the iteration has the memory that it needs, as the job's widths have it:
// that of the stage that is least likely to fit, as stages err together; 0 if hosts lack memory. Below 0: not known.
double probability_of_fit(const Job& job, const IterationResult& result);

// Range in joules in which measurements of an iteration's energy lie. {0, 0}: not known.
struct EnergyRange {
  double low_j = 0;
  double high_j = 0;

  bool known() const { return high_j > 0; }
};
// Return the ranges of the energy of all GPUs, and of the whole machine: of the range of the time, in which a longer
// iteration draws the same power, and of the widths of powers (PowerWidths). Errors of time, GPUs and hosts are taken
// to be independent, so their logarithms, or their watts, add up as squares; hosts err alike. Energy that depends on
// the machine's alone, such as a facility's, has its range in proportion.
EnergyRange energy_range(const Job& job, const IterationResult& result);
EnergyRange machine_energy_range(const Job& job, const IterationResult& result);
// Returns the range of the energy of GPUs over `seconds` in a step of which only this and the time's range are known.
EnergyRange energy_range(double gpus_j, double seconds, const PredictionRange& time, const PowerWidths& widths);
// The same of means of powers, without the range of the time.
EnergyRange energy_range_by_power(const Job& job, const IterationResult& result);
EnergyRange machine_energy_range_by_power(const Job& job, const IterationResult& result);

// Returns the standard deviation of ln(measured / predicted) on nodes with this correction.
double range_deviation(const Correction& correction, const IterationResult& result);

// Returns a text such as "18.6 to 21.5 s"; `result` must have a range.
std::string range_text(const PredictionRange& range);
std::string range_text(const IterationResult& result);

// Returns a row for each uncertainty that concerns a share of an iteration, with the share and the widths that it adds,
// and a row for hosts if they have margins.
Table uncertainty_table(const UncertaintyShares& shares, const RangeWidths& widths, const HostMargins& hosts = {});

}  // namespace mirfak
