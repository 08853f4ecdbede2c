#pragma once

#include "import/option_reader.hpp"
#include "import/program_facts.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace mirfak {

// What the names of Accelerate's settings begin with in a draft that holds those of several programs.
inline constexpr std::string_view kAcceleratePrefix = "accelerate:";

enum class HubSharding : std::uint8_t { none, fsdp, deepspeed };

// What Accelerate's configuration says beside what it put into the draft.
struct AccelerateSays {
  std::optional<HubSharding> sharding;       // none: it says nothing
  std::optional<std::int64_t> processes;     // GPUs in all
  std::optional<std::int64_t> accumulation;  // microbatches of a GPU in a step
  std::optional<std::string> precision;      // of scenarios
  std::int64_t model_ranks = 1;              // that hold one copy of the model together
  bool compiled = false;
  std::string deepspeed_file;  // a DeepSpeed JSON that it names
};

// Reads Accelerate's settings in the draft: machines, sharding and parallelism.
AccelerateSays read_accelerate(ImportDraft& draft, const ProgramFacts& facts);

}  // namespace mirfak
