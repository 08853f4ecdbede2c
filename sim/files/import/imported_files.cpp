#include "import/imported_files.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <utility>

namespace mirfak {

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
  return context;
}

ImportedJob import_files(std::span<const std::string> paths, const ImportWishes& wishes,
                         const ScenarioSources& sources) {
  if (paths.empty()) fail_input({}, "no files", "give the file that the training is started with");
  std::vector<ImportFile> files;
  for (const std::string& path : paths) files.push_back(read_import_file(path));
  ImportRequest request;
  request.format = wishes.format;
  for (const std::string& path : wishes.cluster) request.cluster.push_back(read_import_file(path));
  for (const std::string& node : wishes.nodes) request.nodes.push_back(node_choice(node));
  return import_job(files, request, import_context(wishes, sources));
}

}  // namespace mirfak
