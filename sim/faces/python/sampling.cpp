#include "python/sampling.hpp"

#include "base/error.hpp"

namespace mirfak::python {

std::optional<SpreadOptions> sampling_of(const SampleChoice& choice) {
  if (choice.samples == 0) {
    if (choice.seed) fail_input({}, "seed needs samples", "say how many iterations, such as samples=1000");
    return std::nullopt;
  }
  check_samples(choice.samples);
  SpreadOptions out;
  out.samples = choice.samples;
  out.seed = choice.seed;
  out.antithetic = choice.antithetic;
  return out;
}

}  // namespace mirfak::python
