#pragma once

#include "import/import_formats.hpp"
#include "import/option_reader.hpp"
#include "import/program_facts.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace mirfak {

// Prefix of the names of Accelerate's settings in a draft that holds settings of several programs.
inline constexpr std::string_view kAcceleratePrefix = "accelerate:";

enum class HubSharding : std::uint8_t { none, fsdp, deepspeed };

// The statements of Accelerate's configuration, in addition to those that went into the draft.
struct AccelerateSays {
  std::optional<HubSharding> sharding;       // none: the configuration states none
  std::optional<std::int64_t> processes;     // GPUs in all
  std::optional<std::int64_t> accumulation;  // microbatches of one GPU per step
  std::optional<std::string> precision;      // in the words of scenarios
  std::int64_t model_ranks = 1;              // ranks that hold one copy of the model together
  bool compiled = false;
};

// Reads Accelerate's settings in the draft: machines, sharding and parallelism.
AccelerateSays read_accelerate(ImportDraft& draft, const ProgramFacts& facts, const ImportContext& context);

}  // namespace mirfak
