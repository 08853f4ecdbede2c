#pragma once

#include "capture/captured_program.hpp"
#include "simulation/facility_use.hpp"
#include "simulation/power_figures.hpp"
#include "simulation/prediction_range.hpp"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mirfak {

// Division of the time of a captured rank's GPU; the parts add up to the iteration.
struct CapturedTimes {
  double gemm_s = 0;           // products and convolutions
  double attention_s = 0;      // fused attention
  double memory_bound_s = 0;   // all other kernels
  double optimizer_s = 0;      // kernels of the optimizer's phase
  double communication_s = 0;  // communication while no kernel runs
  double host_s = 0;           // nothing runs, as the host has not issued the next work yet
  double waiting_s = 0;        // nothing runs, as other ranks or streams are not ready
};

// A part of CapturedTimes, with the label and the key that an iteration's figure of the same part has.
struct CapturedTimePart {
  const char* label;
  const char* key;
  double CapturedTimes::*seconds;
};
std::span<const CapturedTimePart> captured_time_parts();  // in the order of CapturedTimes

struct CapturedRankResult {
  std::int64_t rank = 0;
  std::string gpu;  // type of its GPU
  CapturedTimes times;
  double hidden_communication_s = 0;  // communication while kernels run
  double host_work_s = 0;             // all of the host's work
  double clock = 1;                   // mean over its kernels
  double allocated_bytes = 0;         // peak within PyTorch's allocator
  double graph_bytes = 0;             // kept by CUDA graphs besides
  double reserved_bytes = 0;          // peak of what the allocator holds
  double memory_bytes = 0;            // reserved, and what lies outside of the allocator
  double needed_bytes = 0;            // allocated, kept by graphs, and outside of the allocator
  double capacity_bytes = 0;          // memory of its GPU
  bool fits = true;                   // what is needed fits, once the allocator has returned what it holds free
  double flop = 0;                    // of all kernels, attention over all pairs of tokens
  double energy_j = 0;                // of its GPU
  std::int64_t stands_for = 1;        // ranks that did the same, itself included
};

// Work of one kind on one rank: calls of an operator with the same tensors in the same place of the program, where
// layers of a list count as one place ("layers.*").
struct CapturedWork {
  std::string name;  // "aten::mm", "all_reduce"
  std::string tensors;
  std::string module;
  std::string line;  // of the program that calls the module, "model.py:57"; empty: not known
  CapturePhase phase{};
  bool communicates = false;
  std::size_t calls = 0;
  double seconds = 0;  // of the GPU, or of communication
  double flop = 0;
  double bytes = 0;
};

struct CaptureResult {
  double iteration_s = 0;
  PredictionRange range;              // in which measurements of the step lie; {0, 0}: not known
  UncertaintyShares uncertain{};      // shares of the step that the range is made of
  double platform_bytes = 0;          // outside of the allocator
  bool fits = true;                   // all ranks do
  std::size_t fullest = 0;            // index of `ranks`: needs the largest share of its GPU's memory
  double flop = 0;                    // of a rank, mean
  std::int64_t gpus = 0;              // one for each rank of the job, captured or not
  double energy_j = 0;                // of these GPUs
  EnergyRange energy;                 // in which measurements of it lie
  std::optional<PowerFigures> power;  // of their power over time; nothing: not asked for (simulate() asks)
  double host_power_w = 0;            // of the nodes that they are in, without GPUs
  FacilityUse facility;               // of the nodes that they are in
  std::optional<double> cost_usd;     // of these GPUs for the iteration; nullopt: no price is known for some GPU
  std::uint64_t events = 0;           // that the engine handled
  CapturedTimes mean;                 // over ranks
  std::vector<CapturedRankResult> ranks;
  std::int64_t longest = 0;           // the rank whose kernels take longest: `work` and `modules` are its
  std::vector<CapturedWork> work;     // most seconds first
  std::vector<CapturedWork> modules;  // the same, added up over operators
  std::vector<std::string> notes;
};

// The range has the widths of `pricing`. Captured steps count as software that as many sources have measured as
// OperatorTable::measured says, and their exposed communication as measured by none. A step that the slowest known host
// would bound has no range, and a note.
//
// Ranks that are not in the capture have the energy of the captured ones, on average. Of nodes that hold ranks the
// facility counts all of the host.
CaptureResult capture_result(const Capture& capture, const CapturePricing& pricing, const CapturedProgram& executed);

}  // namespace mirfak
