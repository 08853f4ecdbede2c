// Sources of the valid combinations in torchtitan v0.2.2 and v0.3.0: distributed/pipeline_parallel.py,
// models/*/infra/parallelize.py, config/job_config.py and config/configs.py; of its stages and the order of their
// passes: torch/distributed/pipelining/schedules.py.

#include "launch/launch_targets.hpp"
#include "launch/option_writer.hpp"
#include "launch/torchtitan_settings.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_file.hpp"
#include "strategy/rules.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

// Adds data parallelism: sharded over `shards`, to which torchtitan adds the context ranks by itself, replicated across
// the shards.
void add_data(LaunchOptions& out, const Job& job) {
  const Strategy& s = job.strategy;
  const bool sharded = s.zero > 1 && s.shards() > 1;
  require_expressible(!sharded || s.shards() % s.context == 0, "strategy.zero_group",
                      "torchtitan shards over context ranks as a whole", "choose a multiple of strategy.context");
  const int shards = sharded ? s.shards() / s.context : 1;
  out.value("parallelism.data_parallel_replicate_degree", s.data / shards);
  out.value("parallelism.data_parallel_shard_degree", shards);
}

// Returns {"tok_embeddings,layers.0", "layers.1,norm,output"}.
std::vector<std::string> modules_of_parts(const std::vector<int>& split) {
  std::vector<std::string> parts;
  int layer = 0;
  for (std::size_t i = 0; i < split.size(); ++i) {
    std::string names = i == 0 ? "tok_embeddings" : "";
    for (int n = 0; n < split[i]; ++n) names += fmt::format("{}layers.{}", names.empty() ? "" : ",", layer++);
    if (i + 1 == split.size()) names += names.empty() ? "norm,output" : ",norm,output";
    parts.push_back(std::move(names));
  }
  return parts;
}

// Adds an order of passes as a CSV. It runs as a schedule of one or several parts of the model on each rank, which lie
// in a loop.
void add_order(LaunchOptions& out, const Job& job, bool by_command, std::vector<LaunchFile>& files) {
  const Strategy& s = job.strategy;
  const Schedule& schedule = schedule_of(s.schedule);
  const PipelineShape shape = pipeline_shape(s, microbatches(s, job.training));
  require_expressible(!schedule.placement(shape).holds_twice(), "strategy.schedule",
                      "PyTorch holds a stage index on one rank only", "choose another schedule");
  require_expressible(schedule.looped, "strategy.schedule",
                      "torchtitan has parts of the model in the order of the ranks where a CSV says the passes",
                      "choose another schedule");
  require_expressible(by_command || !schedule.path.empty(), "strategy.schedule",
                      fmt::format("PyTorch has no schedule {}", schedule.name),
                      "write it with 'mirfak schedule --format csv' and give the file's path");
  require_expressible(!schedule.needs_times, "strategy.schedule",
                      fmt::format("the order of {} follows from the times of the passes", schedule.name),
                      "write it with 'mirfak schedule --format csv' and give the file's path");
  out.value("parallelism.pipeline_parallel_schedule",
            s.virtual_pipeline > 1 ? "PipelineScheduleMulti" : "PipelineScheduleSingle");
  out.value("parallelism.pipeline_parallel_schedule_csv", by_command ? "schedule.csv" : schedule.path);
  if (by_command) files.push_back({"schedule.csv", schedule_csv(schedule, shape)});
}

// Adds the pipeline's settings that follow from several keys: an order of passes without a name, and the layers of each
// part of the model.
void add_pipeline(LaunchOptions& out, const Job& job, const OptionList& list, bool by_command,
                  std::vector<LaunchFile>& files) {
  const Strategy& s = job.strategy;
  if (s.pipeline == 1) return;
  const Schedule& schedule = schedule_of(s.schedule);
  require_expressible(!schedule.in_groups || s.virtual_pipeline > 1, "strategy.schedule",
                      "torchtitan interleaves from 2 chunks of a stage on", "choose 1f1b");
  const bool named =
      list.find("parallelism.pipeline_parallel_schedule")->word_for(schedule_text(s.schedule)).has_value();
  if (!named) add_order(out, job, by_command, files);
  if (!s.layer_split.empty())
    return out.words("parallelism.module_fqns_per_model_part", modules_of_parts(s.layer_split));
  out.value("parallelism.pipeline_parallel_layers_per_stage", (job.model.layers + s.counted_as_layers()) / s.chunks());
}

void require_experts(const Job& job) {
  const Strategy& s = job.strategy;
  const bool whole = s.tensor_of_experts() > 1 || s.tensor == 1 || s.expert_span().tensor;
  require_expressible(job.model.mixture.experts == 0 || s.expert == 1 || whole, "strategy.expert",
                      "torchtitan cuts groups of whole experts out of whole tensor groups",
                      "choose a multiple of strategy.tensor");
}

// Adds recomputation of every n-th layer of a chunk, or of all layers.
void add_recomputation(LaunchOptions& out, const Job& job, bool by_command) {
  const Strategy& s = job.strategy;
  if (s.recompute != Recompute::full) return;
  const std::int64_t layers = job.model.layers / s.pipeline / s.virtual_pipeline;
  const bool even = s.layer_split.empty() && s.counted_as_layers() == 0;
  if (s.recompute_layers == 0 || (even && s.recompute_layers == layers)) return;
  require_expressible(!by_command, "strategy.recompute_layers",
                      "torchtitan's command line recomputes all layers or none", "leave it out");
  require_expressible(even && layers % s.recompute_layers == 0, "strategy.recompute_layers",
                      "torchtitan recomputes every n-th layer",
                      fmt::format("choose a divisor of the {} layers of a chunk", layers));
  out.value("activation_checkpoint.mode", "selective");
  out.value("activation_checkpoint.selective_ac_option", layers / s.recompute_layers);
}

}  // namespace

LaunchOptions torchtitan_settings(const Job& job, const OptionList& list, bool by_command,
                                  std::vector<LaunchFile>& files) {
  require_possible(job, list);
  LaunchOptions out;
  const Strategy& s = job.strategy;
  out.value("training.local_batch_size", s.micro_batch * (s.pipeline > 1 ? microbatches(s, job.training) : 1));
  add_data(out, job);
  add_pipeline(out, job, list, by_command, files);
  require_experts(job);
  add_recomputation(out, job, by_command);
  out.value("compile.enable", s.overlap_tensor || job.framework.is_like("pytorch-fsdp-compiled"));
  if (by_command) out.words("compile.components", {"model", "loss"});
  return written_options(job, list, std::move(out));
}

}  // namespace mirfak
