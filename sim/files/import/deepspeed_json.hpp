#pragma once

#include "import/import_formats.hpp"
#include "import/option_reader.hpp"
#include "import/program_facts.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mirfak {

// Reads settings of a DeepSpeed configuration into a draft, which may also hold settings of the surrounding program.
class DeepSpeedReader {
 public:
  // `prefix`: the draft's prefix for DeepSpeed's names. `around`: the surrounding program, whose settings are already
  // read and replace "auto"; "" for none.
  DeepSpeedReader(ImportDraft& draft, const ProgramFacts& facts, const ImportContext& context, std::string prefix,
                  std::string around);
  void read();

 private:
  // True if the option states "auto", or nothing: then the surrounding program's value under `key` counts.
  bool is_left_to_others(const Option& option, std::string_view key);
  std::optional<std::int64_t> size_of(std::string_view name, std::string_view key);
  // Puts the value under `key`, unless the surrounding program states another value: then DeepSpeed does not start.
  void put(const Option& option, std::string_view key, const std::string& value, const std::string& reason = {});
  bool enabled(std::string_view name);

  void read_ranks();
  void read_sharding();
  void read_offload(std::int64_t stage);
  void read_overlap(std::int64_t stage);
  void read_groups(std::int64_t stage);
  void read_batch();
  void put_batch(std::optional<std::int64_t> known, std::optional<std::int64_t> steps);
  void read_precision();
  void read_optimizer();

  const ProgramFacts& facts_;
  const ImportContext& context_;
  OptionReader options_;
  std::string around_;
  std::int64_t model_ranks_ = 1;  // ranks that hold one copy of the model together
};

bool is_deepspeed_json(const ImportFile& file);
// Reads a DeepSpeed JSON. A Hugging Face config.json or a model file among the files gives the model.
ImportDraft read_deepspeed_json(std::span<const ImportFile> files, const ImportContext& context);

inline constexpr ImportFormat kDeepSpeedJson = {
    "deepspeed-json", "DeepSpeed's configuration (ds_config.json), v0.19.5: \"zero_optimization\", ...",
    is_deepspeed_json, read_deepspeed_json};

// Notes the time that ZeRO 2 and 3 without overlap_comm would add: predictions always overlap.
void note_no_overlap(ImportDraft& draft, const Setting* said, std::int64_t stage);

// Returns a setting for the first of these files that defines the model: config.json, or a model file.
std::optional<Setting> model_among(std::span<const ImportFile> files);
// Puts the model into the draft; if the draft has none, adds an obstacle at the first file.
void take_model(std::span<const ImportFile> files, ImportDraft& draft);

}  // namespace mirfak
