#include "launch_files.hpp"

#include "base/key_path.hpp"
#include "base/yaml.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

std::vector<std::filesystem::path> launch_configs(const std::string& folder, const std::string& ending) {
  const std::filesystem::path top = source_root() + "/../shared/launch-configs/" + folder;
  std::vector<std::filesystem::path> out;
  if (!std::filesystem::exists(top)) return out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(top)) {
    if (entry.is_regular_file() && entry.path().string().ends_with(ending)) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

ImportFile import_file(const std::filesystem::path& path) { return {path.string(), read_text_file(path)}; }

const ScenarioSources& import_sources() {
  static const ScenarioSources sources(DataFolders{source_root() + "/models", source_root() + "/hw_profiles"});
  return sources;
}

const ImportFormat& import_format(std::string_view name) {
  const auto formats = import_formats();
  const auto at =
      std::find_if(formats.begin(), formats.end(), [&](const ImportFormat& format) { return format.name == name; });
  REQUIRE(at != formats.end());
  return *at;
}

std::vector<std::string> formats_of(const ImportFile& file) {
  std::vector<std::string> out;
  for (const ImportFormat& format : import_formats()) {
    if (format.recognises(file)) out.emplace_back(format.name);
  }
  return out;
}

Scenario scenario_of(const ImportDraft& draft, const std::string& nodes, int count) {
  Document document = Document::from_text("model: x", "imported.yaml").with_root(draft.scenario());
  document.override_value(fmt::format("cluster.nodes=[{{type: {}, count: {}}}]", nodes, count));
  return parse_scenario(document, import_sources());
}

std::string why_it_cannot_run(const std::function<ImportDraft(std::int64_t gpus)>& read, const std::string& nodes,
                              int gpus_of_node) {
  std::string why;
  for (int count = 1; count <= 128; count *= 2) {
    try {
      scenario_of(read(std::int64_t{count} * gpus_of_node), nodes, count);
      return "";
    } catch (const Error& error) {
      CHECK(error.kind() != ErrorKind::internal);
      why = error.message();
    }
  }
  return why;
}

std::string said(const ImportDraft& draft, std::string_view key) {
  const Value* at = &draft.scenario();
  const KeyPath path(key, {});
  for (const KeyPath::Step& step : path.steps()) {
    if (at->kind != Value::Kind::mapping) return "";
    at = at->find(step.key);
    if (at == nullptr) return "";
  }
  return emit_flow_yaml(*at);
}

ImportedJob imported(const std::vector<ImportFile>& files, const std::string& nodes) {
  ImportRequest request;
  request.nodes.push_back(node_choice(nodes));
  return import_job(files, request, ImportContext{import_sources()});
}

std::string first_obstacle(const ImportedJob& job) {
  return job.draft.obstacles().empty() ? "" : job.draft.obstacles().front().reason;
}

}  // namespace mirfak
