#include "import/import_report.hpp"

#include "base/document_json.hpp"
#include "base/json_parts.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace mirfak {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kLeftOut = "left out";

std::string_view verdict_name(const ImportLine& line) {
  const bool left_out = line.verdict == Verdict::unknown && line.left_out;
  return left_out ? kLeftOut : kVerdictNames[static_cast<std::size_t>(line.verdict)];
}

std::string meaning(const ImportLine& line) {
  if (line.key.empty() || line.reason.empty()) return line.key + line.reason;
  return fmt::format("{} ({})", line.key, line.reason);
}

void add_lines(std::string& out, const std::vector<ImportLine>& lines, bool assumed) {
  for (const ImportLine& line : lines) {
    if ((line.verdict == Verdict::assumed) != assumed) continue;
    const std::string what = assumed ? meaning(line) : fmt::format("{}  {}", excerpt(line.text, 70), meaning(line));
    out += assumed ? fmt::format("  {}\n", what)
                   : fmt::format("  {:<11}{}  {}\n", verdict_name(line), line.where.text(), what);
  }
}

std::string counts(const std::vector<ImportLine>& lines) {
  const auto count = [&](std::string_view name) {
    return std::count_if(lines.begin(), lines.end(),
                         [=](const ImportLine& line) { return verdict_name(line) == name; });
  };
  std::string out;
  for (const std::string_view name : kVerdictNames) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count(name), name);
  }
  const auto left_out = count(kLeftOut);
  return left_out > 0 ? fmt::format("{}, {} {}", out, left_out, kLeftOut) : out;
}

Json location_json(const Location& where) {
  if (!where.known()) return nullptr;
  return {{"file", where.file}, {"line", where.line}, {"column", where.column}};
}

Json machine_json(const ImportedMachine& machine) {
  return {{"nodes", json_or_null(machine.nodes)},
          {"gpus_per_node", json_or_null(machine.gpus_per_node)},
          {"gpu", machine.gpu.empty() ? Json(nullptr) : Json(machine.gpu)}};
}

Json remarks_json(const std::vector<ImportObstacle>& remarks) {
  Json out = Json::array();
  for (const ImportObstacle& remark : remarks)
    out.push_back({{"where", location_json(remark.where)}, {"reason", remark.reason}});
  return out;
}

void add_remarks(std::string& out, const std::string& title, const std::vector<ImportObstacle>& remarks) {
  if (remarks.empty()) return;
  out += fmt::format("\n{}\n", title);
  for (const ImportObstacle& remark : remarks) {
    out += fmt::format("  {}{}\n", remark.where.known() ? remark.where.text() + ": " : "", remark.reason);
  }
}

}  // namespace

std::string import_text(const ImportedJob& job) {
  const std::vector<ImportLine> lines = job.draft.lines();
  std::string out = fmt::format("{}: {}\n\nSettings\n", job.file, job.format->sentence);
  add_lines(out, lines, false);
  out += "\nAssumed, as nobody says it\n";
  add_lines(out, lines, true);
  add_remarks(out, "Beside the settings", job.draft.notes);
  add_remarks(out, "Not simulated as it stands, because", job.draft.obstacles());
  out += fmt::format("\nScenario\n{}", imported_yaml(job));
  out += fmt::format("\n{}\n", counts(lines));
  if (job.complete) return out + "The layout is read, and it can be simulated.\n";
  return out + (job.refusal.empty() ? "The layout is read; see above what it takes to simulate it.\n"
                                    : fmt::format("The layout is read; it cannot run: {}\n", job.refusal));
}

Json import_json(const ImportedJob& job) {
  const std::vector<ImportLine> lines = job.draft.lines();
  Json out = Json::object();
  out["file"] = job.file;
  out["format"] = job.format->name;
  out["complete"] = job.complete;
  out["refusal"] = job.refusal.empty() ? Json(nullptr) : Json(job.refusal);
  out["machine"] = machine_json(job.draft.machine);
  out["scenario"] = document_json(job.scenario.root());
  Json rows = Json::array();
  for (const ImportLine& line : lines) {
    rows.push_back({{"verdict", verdict_name(line)},
                    {"where", location_json(line.where)},
                    {"text", line.text},
                    {"key", line.key},
                    {"reason", line.reason}});
  }
  out["lines"] = std::move(rows);
  out["notes"] = remarks_json(job.draft.notes);
  out["obstacles"] = remarks_json(job.draft.obstacles());
  return out;
}

}  // namespace mirfak
