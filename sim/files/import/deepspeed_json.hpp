#pragma once

#include "import/import_formats.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace mirfak {

// Reads settings of a DeepSpeed configuration in a draft, which may also hold settings of the surrounding program.
// `prefix`: the draft's prefix for DeepSpeed's names. `around`: the surrounding program, whose settings are already
// read and replace "auto"; "" for none.
void read_deepspeed(ImportDraft& draft, const ImportContext& context, std::string prefix = "", std::string around = "");

bool is_deepspeed_json(const ImportFile& file);

// Notes the time that ZeRO 2 and 3 without overlap_comm would add: predictions always overlap.
void note_no_overlap(ImportDraft& draft, const Setting* said, std::int64_t stage);

// Returns a setting for the first of these files that defines the model: config.json, or a model file.
std::optional<Setting> model_among(std::span<const ImportFile> files);
// Puts the model into the draft; if the draft has none, adds an obstacle at the first file.
void take_model(std::span<const ImportFile> files, ImportDraft& draft);

}  // namespace mirfak
