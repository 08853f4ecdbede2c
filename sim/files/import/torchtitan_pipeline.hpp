#pragma once

#include "import/option_reader.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace mirfak {

// Returns the layers of each part of the model as torchtitan v0.2.2 splits it by default
// (generate_llm_fqn_per_model_part): the embedding counts as `first_less` layers of the first part, norm and output as
// `last_less` layers of the last part; the remaining layers go to the first parts. Empty if torchtitan refuses.
std::vector<std::int64_t> torchtitan_parts(std::int64_t layers, std::int64_t parts, std::int64_t first_less,
                                           std::int64_t last_less);

// Reads schedule, chunks, microbatches and layers of each part. `layers`: layers of the model, if they are known;
// `local_batch`: sequences per data rank.
void read_torchtitan_pipeline(OptionReader& options, std::optional<std::int64_t> layers, std::int64_t stages,
                              std::int64_t local_batch);
// Judges the same pipeline options for a model without pipeline stages.
void leave_torchtitan_pipeline(OptionReader& options);

}  // namespace mirfak
