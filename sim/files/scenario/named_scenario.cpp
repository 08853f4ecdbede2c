#include "scenario/named_scenario.hpp"

#include "base/key_path.hpp"
#include "base/named_files.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace mirfak {

Document scenario_named_by(const Document& file, const Node& scenario) {
  if (scenario.is_mapping()) return file.with_root(scenario.value());
  refuse_named_file(scenario);
  const std::filesystem::path path = std::filesystem::path(file.name()).parent_path() / scenario.as_string();
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    scenario.fail(fmt::format("there is no scenario file '{}'", excerpt(path.string())),
                  "a relative path counts from the folder of this file");
  }
  return Document::from_file(path);
}

void set_keys(Document& scenario, const Node& keys) {
  Mapping section(keys);
  for (const Value::Field& field : section.node().value().fields) {
    const Location& where = field.value.key_where;
    scenario.assign(KeyPath(field.key, where), field.value, where);
  }
}

}  // namespace mirfak
