#include "base/text.hpp"
#include "base/yaml.hpp"
#include "import/imported_job.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak {

namespace {

void emit_section(std::string& out, const Value::Field& section, const std::map<std::string, std::string>& origins) {
  const auto origin = [&](const std::string& key) -> std::string {
    const auto found = origins.lower_bound(key);
    if (found == origins.end() || (found->first != key && !found->first.starts_with(key + "."))) return "";
    std::string text = found->second;
    std::replace(text.begin(), text.end(), '\n', ' ');
    return "  # " + excerpt(text, 160);
  };
  if (section.value.kind == Value::Kind::sequence) {
    out += section.key + ":\n";
    for (const Value& item : section.value.items) out += fmt::format("  - {}\n", emit_flow_yaml(item));
    return;
  }
  if (section.value.kind != Value::Kind::mapping) {
    out += fmt::format("{}: {}{}\n", section.key, emit_flow_yaml(section.value), origin(section.key));
    return;
  }
  out += fmt::format("{}:{}\n", section.key, origins.contains(section.key) ? origin(section.key) : "");
  for (const Value::Field& field : section.value.fields) {
    out += fmt::format("  {}: {}{}\n", field.key, emit_flow_yaml(field.value), origin(section.key + "." + field.key));
  }
}

}  // namespace

std::string imported_yaml(const ImportedJob& job) {
  std::string out = fmt::format("# Made by mirfak import of {}\n", excerpt(job.file, 200));
  for (const ImportObstacle& obstacle : job.draft.obstacles())
    out += fmt::format("# Not the whole training: {}\n", excerpt(obstacle.reason, 300));
  if (!job.refusal.empty()) out += fmt::format("# Does not run: {}\n", excerpt(job.refusal, 300));
  for (const Value::Field& section : job.scenario.root().fields) emit_section(out, section, job.draft.origins());
  return out;
}

}  // namespace mirfak
