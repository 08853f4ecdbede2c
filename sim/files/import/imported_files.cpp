#include "import/imported_files.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <utility>

namespace mirfak {

namespace {

std::vector<ImportFile> files_at(std::span<const std::string> paths) {
  if (paths.empty()) fail_input({}, "no files", "give the file that the training is started with");
  std::vector<ImportFile> out;
  for (const std::string& path : paths) out.push_back(read_import_file(path));
  return out;
}

std::vector<NodeChoice> nodes_of(const ImportWishes& wishes) {
  std::vector<NodeChoice> out;
  for (const std::string& node : wishes.nodes) out.push_back(node_choice(node));
  return out;
}

}  // namespace

ImportContext import_context(const ImportWishes& wishes, const ScenarioSources& sources) {
  ImportContext context{sources};
  for (const std::string& variable : wishes.environment) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || equals == 0)
      fail_input({"--env " + excerpt(variable), 0, 0}, "expected NAME=VALUE", "for example --env TP=4");
    context.environment[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  context.parameters = wishes.parameters;
  if (wishes.launch != 0) context.launch = wishes.launch;
  if (wishes.run != 0) context.run = wishes.run;
  return context;
}

ImportedJob import_files(std::span<const std::string> paths, const ImportWishes& wishes,
                         const ScenarioSources& sources) {
  const std::vector<ImportFile> files = files_at(paths);
  ImportRequest request;
  request.format = wishes.format;
  for (const std::string& path : wishes.cluster) request.cluster.push_back(read_import_file(path));
  request.nodes = nodes_of(wishes);
  return import_job(files, request, import_context(wishes, sources));
}

LoggedRun logged_run(std::span<const std::string> paths, const ImportWishes& wishes, const ScenarioSources& sources) {
  ImportContext context = import_context(wishes, sources);
  if (!wishes.nodes.empty()) context.gpus = gpus_of(sources.catalog, nodes_of(wishes));
  return read_logged_run(files_at(paths), context);
}

}  // namespace mirfak
