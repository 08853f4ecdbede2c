#pragma once

#include <string>
#include <vector>

namespace mirfak {

// Training in which several copies of a job, the learners, step apart and are joined now and then: DiLoCo (arXiv
// 2311.08105), streamed (arXiv 2501.18512) and decoupled (arXiv 2604.21428), or replicas that come and go (torchft).
// The job is one learner. Every `every` steps a learner exchanges the change of its parameters with the others, and an
// outer optimizer steps. With every = 1 gradients are exchanged, and there is no outer optimizer.
struct LocalSteps {
  int learners = 1;
  int every = 1;                  // steps between two exchanges of the same parameters
  int fragments = 1;              // parts of the parameters, whose exchanges are spread over these steps
  int delay = 0;                  // steps that go on while a fragment is exchanged
  std::string exchange = "fp32";  // name of an ExchangeFormat
  double bandwidth = 0;           // bytes/s of one learner to the others; 0: all network ports of its nodes
  double latency_s = 0;           // time of a message between two learners
  bool state_on_device = false;   // parameters as last joined and outer momentum; false: in the memory of the host

  bool any() const { return learners > 1; }
  bool has_outer_state() const { return any() && every > 1; }

  friend bool operator==(const LocalSteps&, const LocalSteps&) = default;
};

// Format in which learners exchange changes of parameters.
struct ExchangeFormat {
  std::string name;
  double bytes = 0;  // bytes of one parameter; scales of narrow formats are left out
};
const std::vector<ExchangeFormat>& exchange_formats();
const ExchangeFormat& exchange_format_of(const LocalSteps& of);

}  // namespace mirfak
