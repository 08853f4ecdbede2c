#pragma once

#include "import/import_formats.hpp"
#include "import/option_reader.hpp"
#include "import/program_facts.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mirfak {

// Settings of a DeepSpeed configuration, understood into a draft that may hold settings of the program around it, too.
class DeepSpeedReader {
 public:
  // `prefix`: what the draft has in front of DeepSpeed's names. `around`: the program whose settings are read already
  // and which "auto" asks, "" for none.
  DeepSpeedReader(ImportDraft& draft, const ProgramFacts& facts, const ImportContext& context, std::string prefix,
                  std::string around);
  void read();

 private:
  // Of an option that says "auto", or nothing: what the program around it put under `key`.
  bool is_left_to_others(const Option& option, std::string_view key);
  std::optional<std::int64_t> size_of(std::string_view name, std::string_view key);
  // Puts it, unless the program around it says otherwise: then DeepSpeed does not start.
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
  std::int64_t model_ranks_ = 1;  // that hold one copy of the model together
};

bool is_deepspeed_json(const ImportFile& file);
// With a Hugging Face config.json, or a model file, among the files it says the model, too.
ImportDraft read_deepspeed_json(std::span<const ImportFile> files, const ImportContext& context);

inline constexpr ImportFormat kDeepSpeedJson = {
    "deepspeed-json", "DeepSpeed's configuration (ds_config.json), v0.19.5: \"zero_optimization\", ...",
    is_deepspeed_json, read_deepspeed_json};

// ZeRO 2 and 3 without overlap_comm, which predictions do not have: a note of what that would add.
void note_no_overlap(ImportDraft& draft, const Setting* said, std::int64_t stage);

// A setting that stands for the first of these files that says what the model is: config.json, or a model file.
std::optional<Setting> model_among(std::span<const ImportFile> files);
// Puts it, or an obstacle at the first file where the draft has none.
void take_model(std::span<const ImportFile> files, ImportDraft& draft);

}  // namespace mirfak
