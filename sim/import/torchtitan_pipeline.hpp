#pragma once

#include "import/option_reader.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace mirfak {

// Layers of each part of the model as torchtitan v0.2.2 cuts it by itself (generate_llm_fqn_per_model_part): the
// embedding counts as `first_less` layers of the first part, norm and output as `last_less` of the last; layers that
// are left over go to the first parts. Empty where it refuses.
std::vector<std::int64_t> torchtitan_parts(std::int64_t layers, std::int64_t parts, std::int64_t first_less,
                                           std::int64_t last_less);

// Schedule, chunks, microbatches and layers of each part. `schedules`: names of mirfak's for torchtitan's; `layers`: of
// the model, where they are known; `local_batch`: sequences of a data rank.
void read_torchtitan_pipeline(OptionReader& options, const Value& schedules, std::optional<std::int64_t> layers,
                              std::int64_t stages, std::int64_t local_batch);
// The same options where there are no stages.
void leave_torchtitan_pipeline(OptionReader& options);

}  // namespace mirfak
