#include "import/slurm_lines.hpp"

#include "base/text.hpp"
#include "import/slurm_options.hpp"

#include <fmt/format.h>

#include <utility>

namespace mirfak {

namespace {

constexpr std::string_view kSbatch = "#SBATCH";

// Adds a setting for each option of a line; the option belongs to the component of the job in which it stands.
void take_options(const std::string& line, const Location& where, std::vector<SlurmRequest>& parts, SlurmLines& out) {
  std::vector<ArgumentWord> words = words_of_text(line, where.file);
  for (ArgumentWord& word : words) {
    word.where.line = where.line;
    word.where.column += where.column - 1;
  }
  std::size_t next = 0;
  for (SlurmOption& option : slurm_options(words, next)) {
    option.text = "#SBATCH " + option.text;
    Setting setting;
    setting.where = option.where;
    setting.name = "#SBATCH " + option.name;
    setting.text = option.text;
    setting.value = scalar_value(option.value, option.where);
    out.settings.push_back(std::move(setting));
    parts.back().take(option);
  }
  if (next < words.size())
    out.notes.push_back({words[next].where, fmt::format("'{}' is no option of sbatch", excerpt(words[next].text))});
}

ImportedMachine machine_of(const std::vector<SlurmRequest>& parts, bool task_gpu) {
  ImportedMachine out;
  for (const SlurmRequest& part : parts) {
    if (!part.said_by.empty()) out.said_by += (out.said_by.empty() ? "" : ", ") + part.said_by;
  }
  if (parts.size() == 1) {
    static_cast<ImportedNodes&>(out) = parts.front().nodes(task_gpu);
    return out;
  }
  for (const SlurmRequest& part : parts) out.parts.push_back(part.nodes(task_gpu));
  return out;
}

}  // namespace

SlurmLines slurm_lines(const std::string& text, const std::string& name) {
  SlurmLines out;
  std::vector<SlurmRequest> parts(1);
  bool begins = true;  // no command yet
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trimmed(std::string_view(text).substr(at, end - at), " \t\r");
    const bool in_first_column = at < text.size() && text[at] == '#';
    at = end + 1;
    ++number;
    if (line.starts_with("#!")) begins = true;
    if (!line.empty() && line[0] != '#') begins = false;
    const bool option = in_first_column && line.starts_with(kSbatch) && line.size() > kSbatch.size() &&
                        (line[kSbatch.size()] == ' ' || line[kSbatch.size()] == '\t');
    if (!option) continue;
    const Location where{name, number, static_cast<int>(kSbatch.size()) + 1};
    const std::string said(trimmed(line.substr(kSbatch.size()), " \t"));
    if (!begins) {
      out.notes.push_back(
          {where, fmt::format("sbatch reads no #SBATCH line after the first command: {} is left out", excerpt(said))});
    } else if (said == "hetjob" || said == "packjob") {
      Setting setting;
      setting.where = where;
      setting.name = setting.text = "#SBATCH " + said;
      setting.value = scalar_value("", where);
      out.settings.push_back(std::move(setting));
      parts.emplace_back();
    } else {
      take_options(std::string(line.substr(kSbatch.size())), where, parts, out);
    }
  }
  out.machine = machine_of(parts, false);
  out.of_tasks = machine_of(parts, true);
  for (const SlurmRequest& part : parts) out.notes.insert(out.notes.end(), part.notes.begin(), part.notes.end());
  // Options of one component of a heterogeneous job do not hold for the others.
  if (parts.size() == 1) out.environment = parts.front().environment();
  return out;
}

}  // namespace mirfak
