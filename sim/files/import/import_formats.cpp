#include "import/import_formats.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace mirfak {

std::span<const ImportFormat> import_formats() {
  static const std::array formats = {
      kMegatronTest,   kMegatronYaml,  kMegatronDeepSpeed, kMegatronArguments, kLaunchScript,
      kTorchtitanToml, kDeepSpeedJson, kAccelerateYaml,    kTrainerSettings,   kMegatronBridgeYaml,
      kNemoYaml,       kPrimusYaml,    kConfigCommand,     kLlamaFactory,      kAxolotl,
      kSwift,          kMegatronSwift, kTorchtune,         kMaxText,           kNanotron,
      kLitGpt,         kLlmFoundry,    kGptNeox,           kModelAlone,        kTrainingLog};
  return formats;
}

const ImportFile* file_named(std::span<const ImportFile> files, const std::string& path) {
  const auto name = [](const std::string& one) { return std::filesystem::path(one).filename(); };
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const ImportFile& file) { return name(file.name) == name(path); });
  return found == files.end() ? nullptr : &*found;
}

const ImportFile& required_file(std::span<const ImportFile> files, const std::string& path, const Location& where) {
  if (const ImportFile* found = file_named(files, path)) return *found;
  fail_input(where, fmt::format("{} is not among the files", excerpt(path)), "give it, too");
}

const ImportFormat* format_of(const ImportFile& file) {
  std::vector<const ImportFormat*> found;
  for (const ImportFormat& format : import_formats()) {
    if (format.recognises(file)) found.push_back(&format);
  }
  if (found.empty()) return nullptr;
  if (found.size() == 1) return found.front();
  std::vector<std::string> names;
  for (const ImportFormat* format : found) names.emplace_back(format->name);
  fail_input({file.name, 1, 1}, fmt::format("the file may be one of {}", join_or(names)),
             fmt::format("say which: --from {}", names.front()));
}

bool recognises_nothing(const ImportFile& /*file*/) { return false; }

}  // namespace mirfak
