#include "import/read_back.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "import/import_formats.hpp"
#include "launch/launch_program.hpp"
#include "model/transformer.hpp"
#include "scenario/resolved.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace mirfak {

namespace {

// Relative tolerance for rounding: the files state all numbers in full.
constexpr double kSame = 1e-9;

bool same_figure(double a, double b) { return std::abs(a - b) <= kSame * std::max(std::abs(a), std::abs(b)); }

double peak_memory(const IterationResult& result) {
  double out = 0;
  for (const StageResult& stage : result.stages) out = std::max(out, stage.memory.peak.total());
  return out;
}

struct Figures {
  double time_s = 0;
  double memory_bytes = 0;
};

// Returns the figures of a job; nullopt: the job cannot be simulated.
std::optional<Figures> figures_of(const Job& job) {
  try {
    const IterationResult result = simulate(job).result;
    return Figures{result.iteration_time_s, peak_memory(result)};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return std::nullopt;
  }
}

// Appends keys that differ in a section of two resolved scenarios: "strategy.zero: 3, read again 1".
void compare(const Value& one, const Value& other, std::vector<std::string>& out) {
  for (const Value::Field& section : one.fields) {
    const Value* again = other.find(section.key);
    for (const Value::Field& field : section.value.fields) {
      if (field.key == "tokens") continue;  // length of the training
      const Value* found = again == nullptr ? nullptr : again->find(field.key);
      const std::string value = line_of(field.value, false);
      const std::string instead = found == nullptr ? "not stated" : line_of(*found, false);
      if (value != instead)
        out.push_back(fmt::format("{}.{}: {}, read again {}", section.key, field.key, value, instead));
    }
    if (again == nullptr) continue;
    for (const Value::Field& field : again->fields) {
      if (field.key != "tokens" && section.value.find(field.key) == nullptr)
        out.push_back(
            fmt::format("{}.{}: not stated, read again {}", section.key, field.key, line_of(field.value, false)));
    }
  }
}

void compare_models(const ModelSpec& one, const ModelSpec& other, std::vector<std::string>& out) {
  const auto sizes_of = [](const ModelSpec& model) {
    BlockOptions options;
    options.kv_heads = model.kv_heads;
    options.vocabulary = model.vocab;
    LayerKind kind;
    kind.experts = model.mixture.experts > 0;
    kind.window = model.window.tokens;
    block::Sizes sizes = transformer_sizes(model, options, kind);
    const auto put = [&](const char* name, std::int64_t size) { sizes[name] = static_cast<double>(size); };
    put("layers", model.layers);
    put("first_dense", model.mixture.first_dense);
    put("every", model.mixture.every);
    put("groups", model.mixture.groups);
    put("groups_per_token", model.mixture.groups_per_token);
    put("full_every", model.window.full_every);
    put("full_first", model.window.full_first);
    put("prediction_layers", model.prediction_layers);
    return sizes;
  };
  const block::Sizes again = other.blocks.empty() ? sizes_of(other) : block::Sizes();
  for (const auto& [name, size] : sizes_of(one)) {
    const auto found = again.find(name);
    if (found == again.end() || found->second != size) {
      out.push_back(fmt::format("model: {} {:g}, read again {}", name, size,
                                found == again.end() ? "as blocks" : fmt::format("{:g}", found->second)));
    }
  }
}

// Adds the job's own order of passes to the scenario: it is written in a file next to the options, which does not exist
// on disk yet.
Value with_own_schedule(Value root, const Job& job) {
  const Value own = completed_strategy(job.strategy);
  const Value* schedule = own.find("strategy")->find("schedule");
  for (Value::Field& section : root.fields) {
    if (section.key != "strategy") continue;
    for (Value::Field& field : section.value.fields) {
      const bool file = field.key == "schedule" && field.value.scalar.ends_with(".csv");
      if (file && schedule != nullptr) field.value = *schedule;
    }
  }
  return root;
}

// Returns "1.2 times as long", or "0.31 % longer" where the number of times would read as 1.
std::string change_text(double ratio, std::string_view times, std::string_view more, std::string_view less) {
  constexpr double kNearlyOne = 0.1;
  if (std::abs(ratio - 1) >= kNearlyOne) return fmt::format("{:.3g} times {}", ratio, times);
  return fmt::format("{:.2g} % {}", 100 * std::abs(ratio - 1), ratio > 1 ? more : less);
}

// Returns the difference between the other job and this job in words; "": none.
std::string change(const std::optional<Figures>& figures, const std::optional<Figures>& again) {
  if (!figures) return {};
  if (!again) return "and does not run";
  std::string out;
  if (!same_figure(figures->time_s, again->time_s)) {
    out = "an iteration " + change_text(again->time_s / figures->time_s, "as long", "longer", "shorter");
  }
  if (!same_figure(figures->memory_bytes, again->memory_bytes)) {
    out += (out.empty() ? "" : ", ") +
           change_text(again->memory_bytes / figures->memory_bytes, "the memory", "more memory", "less memory");
  }
  return out;
}

std::vector<std::string> notes_of(const Job& job, std::span<const LaunchFile> files, const ScenarioSources& sources) {
  std::string why;
  const std::optional<Job> again = job_read_again(job, files, sources, why);
  if (!again)
    return {fmt::format("mirfak import does not read this as a job that it can simulate: {}", excerpt(why, 300))};
  const std::string how = figures_changed(job, *again);
  if (how.empty()) return {};
  std::vector<std::string> out = {
      fmt::format("What these options do not say of the scenario ({} with them alone):", how)};
  for (const std::string& one : job_differences(job, *again)) out.push_back("  " + excerpt(one, 300));
  return out;
}

// Adds comments after those at the beginning of a file, some of which a launcher reads.
void add_comments(std::string& text, const std::vector<std::string>& comments) {
  std::size_t at = 0;
  while (at < text.size() && text[at] == '#') at = std::min(text.find('\n', at), text.size() - 1) + 1;
  text.insert(at, comment_lines(comments));
}

}  // namespace

std::string figures_changed(const Job& job, const Job& again) { return change(figures_of(job), figures_of(again)); }

std::vector<std::string> job_differences(const Job& job, const Job& again) {
  std::vector<std::string> out;
  compare_models(job.model, again.model, out);
  compare(completed_training(job.training), completed_training(again.training), out);
  compare(completed_strategy(job.strategy), completed_strategy(again.strategy), out);
  return out;
}

Job job_of_draft(const ImportDraft& draft, const Job& job, const std::string& file, const ScenarioSources& sources) {
  const Document document = Document::from_text("{}", file).with_root(with_own_schedule(draft.scenario(), job));
  return parse_scenario(document, job.cluster, sources).job;
}

std::optional<Job> job_read_again(const Job& job, std::span<const LaunchFile> files, const ScenarioSources& sources,
                                  std::string& why) {
  std::vector<ImportFile> read;
  read.reserve(files.size());
  for (const LaunchFile& file : files) read.push_back({file.name, file.text});
  ImportContext context{sources};
  context.gpus = job.cluster.gpus();
  try {
    const ImportFormat* format = format_of(read.front());
    if (format == nullptr) return why = "no reader of mirfak import knows such a file", std::nullopt;
    const ImportDraft draft = format->read(read, context);
    if (!draft.obstacles().empty()) return why = draft.obstacles().front().reason, std::nullopt;
    return job_of_draft(draft, job, read.front().name, sources);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return why = error.message(), std::nullopt;
  }
}

std::vector<LaunchFile> noted_launch_files(const Job& job, const LaunchRequest& request, const ScenarioSources& sources,
                                           const std::vector<std::string>& notes) {
  std::vector<LaunchFile> files = launch_files(job, request);
  std::vector<std::string> comments = notes;
  for (std::string& note : notes_of(job, files, sources)) comments.push_back(std::move(note));
  if (!comments.empty()) add_comments(files.front().text, comments);
  return files;
}

}  // namespace mirfak
