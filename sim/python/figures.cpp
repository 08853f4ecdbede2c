#include "python/figures.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <string_view>

namespace mirfak::python {

namespace {

struct Meaning {
  std::string_view key;
  const char* sentence;
};

constexpr Meaning kMeanings[] = {
    {"iteration_time_s", "One optimizer step, in seconds."},
    {"iteration_time_low_s",
     "Seconds. From here to iteration_time_high_s lie 80 % of measured iterations that were predicted like this one; "
     "None: nothing is known."},
    {"iteration_time_high_s", "Seconds; see iteration_time_low_s."},
    {"tokens_per_s", "Tokens that the whole job trains on in a second."},
    {"tokens_per_s_per_gpu", "The same of one GPU, on average."},
    {"tflops_per_gpu", "model_flop over time and GPUs, in 1e12 FLOP/s, as papers count."},
    {"hardware_tflops_per_gpu", "hardware_flop over time and GPUs, in 1e12 FLOP/s."},
    {"mfu", "visible_flop over what the GPUs could do at their peak; at most 1."},
    {"hfu", "executed_flop over what the GPUs could do at their peak; at most 1."},
    {"gpus", "Number of GPUs."},
    {"model_flop",
     "FLOPs of an iteration of the whole job: three times the forward pass, attention over all pairs of tokens."},
    {"hardware_flop", "model_flop with recomputation."},
    {"visible_flop", "FLOPs as executed, without recomputation: kernels leave out what a mask hides."},
    {"executed_flop", "visible_flop with recomputation."},
    {"bubble_fraction", "Share of the iteration that a rank waits for others, mean over ranks."},
    {"gpu_of_others_s",
     "Seconds, of the bubble, that kernels of other ranks run on the GPU that they share with a rank, mean over "
     "ranks."},
    {"exposed_communication_s", "Seconds that kernels wait for communication, mean over ranks."},
    {"memory_peak_bytes", "Peak of the stage with the largest share of its memory, in bytes."},
    {"memory_peak_low_bytes",
     "Bytes. From here to memory_peak_high_bytes lie 80 % of measured peaks of what the framework allocates; None: "
     "nothing is known."},
    {"memory_peak_high_bytes", "Bytes; see memory_peak_low_bytes."},
    {"memory_capacity_bytes", "What that stage's GPUs have, in bytes."},
    {"energy_j", "Energy of all GPUs in an iteration, in joules."},
    {"average_power_w", "Power of all GPUs, in watts, on average over an iteration."},
    {"cost_usd_per_iteration", "USD; None: no price is known for some GPU."},
    {"training_time_s", "Seconds for training.tokens; None: the scenario has none."},
    {"training_iterations", "Iterations for training.tokens; None: the scenario has none."},
    {"training_energy_j", "Energy of all GPUs for training.tokens, in joules; None: the scenario has none."},
    {"training_cost_usd", "USD for training.tokens; None: the scenario has none, or no price is known."},
    {"events", "Ends of tasks and changes of their speed that the engine handled."},
};

}  // namespace

const char* meaning_of(const char* key) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.key == key) return meaning.sentence;
  }
  fail_internal(fmt::format("{}: nothing says what this figure means", key));
}

}  // namespace mirfak::python
