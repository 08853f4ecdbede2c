#pragma once

#include "recording/recording.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

// Kernels of one class: their number, the sum of their times, and the time during which at least one of them ran.
struct ClassTime {
  std::string name;
  std::size_t count = 0;
  Nanoseconds sum = 0;
  Nanoseconds busy = 0;
};

// Communication kernels of one name and one message, with the profiler's data on them.
struct CommunicationTime {
  std::string kernel;                              // name without its parameters
  const RecordedCollective* collective = nullptr;  // nullptr: no data
  std::size_t count = 0;
  Nanoseconds sum = 0;
  Nanoseconds shortest = 0;
  double median = 0;  // nanoseconds
  Nanoseconds longest = 0;
};

struct StepTime {
  const RecordedStep* step = nullptr;
  std::size_t kernels = 0;  // number of kernels without copies
  Nanoseconds busy = 0;     // time during which the GPU is busy, copies included
  Nanoseconds communication = 0;
  Nanoseconds other = 0;  // busy with anything but communication
  Nanoseconds first = 0;  // begin of the GPU's first work; 0 if it did nothing
  Nanoseconds last = 0;
};

// Rate at which the host issues the kernels of one pass: time between the starts of two successive launches of a step.
struct IssueTime {
  std::size_t count = 0;
  double median_s = 0;
  double mean_s = 0;
  double call_median_s = 0;  // the launching call alone
};

struct RecordingSummary {
  std::size_t kernels = 0;
  std::size_t copies = 0;
  Nanoseconds first_to_last = 0;
  Nanoseconds busy = 0;
  Nanoseconds communication = 0;
  Nanoseconds other = 0;
  Nanoseconds overlapped = 0;  // communication while something else runs
  Nanoseconds kernel_sum = 0;  // without copies
  std::size_t unlaunched = 0;  // kernels and copies whose launch was not recorded
  std::size_t with_shapes = 0;
  std::size_t communications = 0;
  std::size_t communications_described = 0;
  std::vector<ClassTime> classes;  // the longest first
  std::vector<CommunicationTime> communication_kernels;
  std::vector<StepTime> steps;
  IssueTime forward;
  IssueTime backward;

  Nanoseconds exposed() const { return communication - overlapped; }
};

// Summarizes a recording. The summary points into `recording`, which must outlive it.
RecordingSummary summarize(const Recording& recording);

// Returns the time during which at least one of the kernels that `counts` accepts was running.
Nanoseconds busy_time(const Recording& recording, const std::function<bool(const RecordedKernel&)>& counts);

// Intervals given by begin and end, from 0 on. covered() returns the time during which at least one of them lasts.
using Spans = std::vector<std::pair<double, double>>;
double covered(Spans spans);

}  // namespace mirfak
