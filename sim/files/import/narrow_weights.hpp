#pragma once

#include "import/option_reader.hpp"

#include <optional>
#include <string>

namespace mirfak {

// Weights in 16 bits that are trained without a copy in fp32.
struct NarrowWeights {
  Option by;         // the option that says so; without a setting: the tool does it by itself
  std::string note;  // for the report
  bool sharded =
      false;  // under FSDP, too, which otherwise makes fp32 of what it shards (accelerate/utils/fsdp_utils.py)
};

// Returns how a program keeps the weights that it trains, by `narrow_weights` of the tool around Hugging Face's Trainer
// and of the Trainer's own facts (hw_profiles/launch/README.md); either may be null. nullopt: in fp32.
std::optional<NarrowWeights> narrow_weights(OptionReader& options, const Value& tool, const Value& trainer);

// Returns the framework with the habits of such weights, and sets the types of moments that follow their parameters.
Value with_narrow_weights(OptionReader& options, Value framework, const NarrowWeights& weights, const Value& trainer,
                          bool sharded);

}  // namespace mirfak
