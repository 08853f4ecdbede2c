#include "import/megatron_deepspeed.hpp"

#include "import/argument_words.hpp"
#include "import/deepspeed_json.hpp"
#include "import/json_file.hpp"
#include "import/option_reader.hpp"
#include "import/program_facts.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kJsonPrefix = "deepspeed:";

// Returns the start of a JSON after the arguments, on a line of its own.
std::size_t json_start(const std::string& text) {
  const std::size_t at = text.find("\n{");
  return at == std::string::npos ? text.size() : at + 1;
}

// Returns the JSON after empty lines, so that its places are those of the whole text.
std::string with_lines_in_front(const std::string& text, std::size_t start) {
  const auto lines =
      static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(start), '\n'));
  return std::string(lines, '\n') + text.substr(start);
}

// Chooses the framework: Megatron-DeepSpeed itself keeps the optimizer on the GPUs, sharded at most; any more is
// DeepSpeed's.
void choose_framework(ImportDraft& draft, const ProgramFacts& facts) {
  const Value* strategy = draft.scenario().find("strategy");
  const Value* zero = strategy == nullptr ? nullptr : strategy->find("zero");
  const bool deep = zero != nullptr && (zero->scalar == "2" || zero->scalar == "3");
  const bool offloads = strategy != nullptr && strategy->find("offload_optimizer") != nullptr;
  if (!deep && !offloads) return;
  draft.assume("training.framework", facts.section("framework").scalar,
               "ZeRO 2, ZeRO 3 and offload are DeepSpeed's own");
}

}  // namespace

ImportDraft import_megatron_deepspeed(std::vector<Setting> settings, const MegatronRun& run,
                                      std::span<const ImportFile> files, const ImportContext& context) {
  const auto json = std::find_if(files.begin(), files.end(), is_deepspeed_json);
  if (json != files.end()) {
    for (Setting& setting : settings_of(parse_json_file(json->text, json->name, context.environment))) {
      setting.name.insert(0, kJsonPrefix);
      settings.push_back(std::move(setting));
    }
  }
  ImportDraft draft(std::move(settings));
  read_megatron_settings(draft, run, context);
  const Setting* config = draft.find("--deepspeed-config");
  if (json != files.end()) {
    read_deepspeed(draft, context, std::string(kJsonPrefix), "the command line");
    if (config != nullptr) draft.use(*config, "read, too");
    choose_framework(draft, ProgramFacts(context.sources, "deepspeed"));
  } else if (config != nullptr) {
    draft.obstruct(config->where, "the stage of ZeRO and its offload stand in this file: give it, too");
  }
  return draft;
}

bool is_megatron_deepspeed(const ImportFile& file) {
  const std::size_t first = file.text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || (file.text[first] != '-' && file.text[first] != '#')) return false;
  if (file.text.starts_with("#!")) return false;
  return file.text.find("\n--num-layers ") != std::string::npos &&
         file.text.find("\n--deepspeed\n") != std::string::npos;
}

static ImportDraft read_megatron_deepspeed(std::span<const ImportFile> files, const ImportContext& context) {
  const ImportFile& file = files.front();
  const std::size_t start = json_start(file.text);
  std::vector<ImportFile> beside(files.begin() + 1, files.end());
  if (start < file.text.size()) beside.insert(beside.begin(), {file.name, with_lines_in_front(file.text, start)});
  return import_megatron_deepspeed(settings_of_arguments(words_of_text(file.text.substr(0, start), file.name)),
                                   {"pretrain_gpt.py", {file.name, 1, 1}}, beside, context);
}

const ImportFormat kMegatronDeepSpeed = {
    "megatron-deepspeed",
    "Megatron-DeepSpeed's arguments ('--deepspeed' among them), with their JSON after them or in a file of its own",
    is_megatron_deepspeed, read_megatron_deepspeed};

}  // namespace mirfak
