#pragma once

#include "import/megatron_options.hpp"
#include "import/megatron_settings.hpp"
#include "import/program_facts.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace mirfak {

// The program of Megatron-LM that reads the options.
enum class MegatronProgram : std::uint8_t { gpt, bert, t5, hybrid };

// The state that the parts of the reader of Megatron-LM's options share; they run once, in the order of the functions
// below.
struct MegatronReading {
  ImportDraft& draft;
  MegatronOptions& options;
  const MegatronRun& run;
  const ProgramFacts& facts;
  std::optional<std::int64_t> gpus;  // total GPUs
  bool deepspeed = false;

  MegatronProgram program = MegatronProgram::gpt;
  std::int64_t layers = 0;  // 0: not stated
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;
  std::int64_t vocab = 0;  // padded
  std::int64_t experts = 0;
  std::int64_t sequence = 0;
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t context = 1;

  // Read an option of the table. The first returns the number that its key then has, 0 for none; `fallback` and `why`
  // replace the default of the table.
  std::int64_t count(std::string_view name);
  std::int64_t count(std::string_view name, std::int64_t fallback, const std::string& why = {});
  // Returns the number that a key of the scenario has so far, 0 for none.
  std::int64_t number_under(std::string_view key) const;
  std::optional<std::int64_t> replicas() const;  // data x context, if the number of GPUs is known
};

void read_megatron_parallelism(MegatronReading& reading);  // sizes of groups and microbatches
void read_megatron_model(MegatronReading& reading);
void read_megatron_hybrid(MegatronReading& reading);  // layers of a pattern: M, E, *, -
void read_megatron_encoder_decoder(MegatronReading& reading);
void read_megatron_pipeline(MegatronReading& reading);  // chunks, and the stages of the layers
void read_megatron_strategy(MegatronReading& reading);  // all other keys of the strategy
void read_megatron_training(MegatronReading& reading);
void read_megatron_framework(MegatronReading& reading);
void check_megatron_requirements(MegatronReading& reading);  // obstacles for combinations that the program refuses

}  // namespace mirfak
