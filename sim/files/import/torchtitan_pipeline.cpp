#include "import/torchtitan_pipeline.hpp"

#include "base/file_reference.hpp"
#include "schedule/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

namespace mirfak {

namespace {

constexpr std::string_view kPipeline = "parallelism.pipeline_parallel_";

std::string pipeline_key(std::string_view name) { return std::string(kPipeline).append(name); }

// Sets strategy.schedule; returns the chunks per stage that torchtitan takes by default.
std::int64_t read_schedule(OptionReader& options) {
  const Option name = options.option(pipeline_key("schedule"));
  const Option csv = options.option(pipeline_key("schedule_csv"));
  const std::string said = options.word(name);
  if (csv.is_none()) {
    options.leave(csv, "none");
    options.read(name.name);
  } else {
    const std::filesystem::path path = options.word(csv);
    const std::filesystem::path beside = std::filesystem::path(csv.setting->where.file).parent_path() / path;
    options.put(csv, "strategy.schedule", path.is_absolute() ? path.string() : beside.string());
    options.use(name, "the order stands in the CSV");
    if (said == "1F1B" || said == "GPipe") return 2;
  }
  return said == "1F1B" || said == "GPipe" || said == "PipelineScheduleSingle" ? 1 : 2;
}

std::int64_t layers_in(const Value& names) {
  return std::count_if(names.items.begin(), names.items.end(),
                       [](const Value& name) { return name.scalar.starts_with("layers."); });
}

bool are_equal(const std::vector<std::int64_t>& counts) {
  return std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end();
}

void put_chunks(OptionReader& options, const Option& because, std::int64_t chunks) {
  options.put(because, "strategy.virtual_pipeline", std::to_string(chunks));
}

void put_split(OptionReader& options, const Option& because, const std::vector<std::int64_t>& split) {
  if (!are_equal(split)) options.put(because, "strategy.layer_split", list_value(split, because.value.where));
}

// Reads [["tok_embeddings", "layers.0"], ["layers.1", "norm", "output"]].
void read_stated_parts(OptionReader& options, const Option& parts, std::int64_t stages) {
  if (parts.value.kind != Value::Kind::sequence) options.fail(parts, "a list of lists of modules");
  std::vector<std::int64_t> split;
  for (const Value& part : parts.value.items) split.push_back(layers_in(part));
  const auto count = static_cast<std::int64_t>(split.size());
  if (count == 0 || count % stages != 0) options.fail(parts, fmt::format("a multiple of {} parts", stages));
  put_chunks(options, parts, count / stages);
  put_split(options, parts, split);
  if (are_equal(split)) options.use(parts, "even");
  options.leave_part("split", "the parts are stated");
}

// Puts the derived split: if each end has at most one layer fewer, as account_for_..._in_pipeline_split; else as the
// layers of each part.
void put_derived_split(OptionReader& options, std::int64_t layers, std::int64_t parts) {
  const Option first = options.option(pipeline_key("first_stage_less_layers"));
  const Option last = options.option(pipeline_key("last_stage_less_layers"));
  const std::int64_t before = options.integer(first, 0, layers);
  const std::int64_t behind = options.integer(last, 0, layers);
  if (before <= 1 && behind <= 1 && (layers + before + behind) % parts == 0) {
    if (before == 1) options.put(first, "strategy.account_for_embedding_in_pipeline_split", "true");
    if (before == 0) options.use(first, "even");
    if (behind == 1) options.put(last, "strategy.account_for_loss_in_pipeline_split", "true");
    if (behind == 0) options.use(last, "even");
    return;
  }
  const std::vector<std::int64_t> split = torchtitan_parts(layers, parts, before, behind);
  if (split.empty()) {
    options.fail(options.option(pipeline_key("degree")),
                 fmt::format("stages that {} layers, with fewer at the ends, fill in {} parts", layers, parts));
  }
  put_split(options, last.setting != nullptr ? last : first, split);
  options.use(first, "decides the first part's layers");
  options.use(last, "decides the last part's layers");
}

void read_derived_parts(OptionReader& options, std::optional<std::int64_t> layers, std::int64_t stages,
                        std::int64_t chunks_by_default) {
  const Option each = options.option(pipeline_key("layers_per_stage"));
  if (!layers) {
    options.judge_part("split", OptionVerdict::doubt,
                       "the division of layers depends on the model, which is not known");
    return put_chunks(options, options.option(pipeline_key("schedule")), chunks_by_default);
  }
  if (each.is_none()) {
    options.leave(each, "none");
    put_chunks(options, options.option(pipeline_key("schedule")), chunks_by_default);
    return put_derived_split(options, *layers, stages * chunks_by_default);
  }
  const std::int64_t before = options.integer(options.option(pipeline_key("first_stage_less_layers")), 0, *layers);
  const std::int64_t behind = options.integer(options.option(pipeline_key("last_stage_less_layers")), 0, *layers);
  const std::int64_t of_part = options.integer(each, 1, *layers + before + behind);
  const std::int64_t parts = (*layers + before + behind + of_part - 1) / of_part;
  if (parts % stages != 0) {
    options.fail(each,
                 fmt::format("a number that divides the model into a multiple of {} parts, not {}", stages, parts));
  }
  put_chunks(options, each, parts / stages);
  put_derived_split(options, *layers, parts);
}

}  // namespace

std::vector<std::int64_t> torchtitan_parts(std::int64_t layers, std::int64_t parts, std::int64_t first_less,
                                           std::int64_t last_less) {
  const std::int64_t counted = layers + first_less + last_less;
  std::vector<std::int64_t> out;
  if (parts < 1 || parts > counted) return out;
  for (std::int64_t i = 0; i < parts; ++i) out.push_back(counted / parts + (i < counted % parts ? 1 : 0));
  out.front() -= first_less;
  out.back() -= last_less;
  if (std::any_of(out.begin(), out.end(), [](std::int64_t n) { return n < 0; })) out.clear();
  return out;
}

void read_torchtitan_pipeline(OptionReader& options, std::optional<std::int64_t> layers, std::int64_t stages,
                              std::int64_t local_batch) {
  const std::int64_t chunks = read_schedule(options);
  const Option micro = options.option(pipeline_key("microbatch_size"));
  options.read(micro.name);
  const std::int64_t size = options.count(micro.name);
  const Option local = options.option("training.local_batch_size");
  if (local_batch % size != 0) {
    options.fail(micro.setting != nullptr ? micro : local,
                 fmt::format("microbatches that divide the {} sequences of a data rank", local_batch));
  }
  options.use(local, fmt::format("{} microbatches of a data rank", local_batch / size));
  const Option parts = options.option("parallelism.module_fqns_per_model_part");
  if (!parts.is_none()) {
    read_stated_parts(options, parts, stages);
  } else {
    options.leave(parts, "none");
    read_derived_parts(options, layers, stages, chunks);
  }
  const Option overlap = options.option(pipeline_key("expert_parallel_overlap"));
  const bool dual = options.word(options.option(pipeline_key("schedule"))) == "DualPipeV";
  if (dual && options.count("parallelism.expert_parallel_degree") > 1) {
    options.read(overlap.name);
  } else {
    options.leave(overlap, "only with DualPipeV and expert-parallel ranks");
  }
}

void leave_torchtitan_pipeline(OptionReader& options) {
  for (const char* part : {"pipeline", "split"}) options.leave_part(part, "no pipeline stages");
}

}  // namespace mirfak
