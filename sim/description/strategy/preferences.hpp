#pragma once

#include <cstdint>

namespace mirfak {

// Source of the log-probabilities that a loss compares those of the trained model with.
enum class Reference : std::uint8_t {
  none,             // the loss compares nothing (ORPO, arXiv 2403.07691; SimPO, 2405.14734), or scores (reward models)
  model,            // a frozen copy of the model, which reads the same sequences (DPO, arXiv 2305.18290)
  adapters_off,     // the model itself without its adapters
  computed_before,  // one pass over all data in front of the training, which no iteration has
};

// Tuning by preferences: answers to one prompt are compared. A sample has so many sequences, all of which one forward
// and one backward pass read.
struct Preferences {
  int answers = 1;  // sequences of a sample
  Reference reference = Reference::none;
  // Model and reference also read as many sequences again, without gradients: prompts with answers to others, from
  // which the divergence of both is estimated (KTO, arXiv 2402.01306).
  bool mismatched = false;

  bool any() const { return answers > 1 || reference != Reference::none || mismatched; }
  bool reference_runs() const { return reference == Reference::model || reference == Reference::adapters_off; }
  // True if a microbatch has passes that only go forward.
  bool runs_forward_only() const { return reference_runs() || mismatched; }

  friend bool operator==(const Preferences&, const Preferences&) = default;
};

}  // namespace mirfak
