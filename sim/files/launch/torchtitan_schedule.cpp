// Division of a model into stages and order of their passes in torchtitan: torchtitan/distributed/pipeline_parallel.py
// and torch/distributed/pipelining/schedules.py.

#include "launch/launch_targets.hpp"
#include "launch/torchtitan_settings.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_file.hpp"
#include "strategy/rules.hpp"

#include <string>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

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
void add_order(LaunchOptions& out, const Job& job, TitanForm form, std::vector<LaunchFile>& files) {
  const Strategy& s = job.strategy;
  const Schedule& schedule = schedule_of(s.schedule);
  const PipelineShape shape = pipeline_shape(s, microbatches(s, job.training));
  require_expressible(!schedule.placement(shape).holds_twice(), "strategy.schedule",
                      "PyTorch holds a stage index on one rank only", "choose another schedule");
  require_expressible(schedule.looped, "strategy.schedule",
                      "torchtitan has parts of the model in the order of the ranks where a CSV says the passes",
                      "choose another schedule");
  const bool written = form == TitanForm::command;
  require_expressible(written || !schedule.path.empty(), "strategy.schedule",
                      fmt::format("PyTorch has no schedule {}", schedule.name),
                      "write it with 'mirfak schedule --format csv' and give the file's path");
  require_expressible(!schedule.needs_times, "strategy.schedule",
                      fmt::format("the order of {} follows from the times of the passes", schedule.name),
                      "write it with 'mirfak schedule --format csv' and give the file's path");
  out.value("parallelism.pipeline_parallel_schedule",
            s.virtual_pipeline > 1 ? "PipelineScheduleMulti" : "PipelineScheduleSingle");
  out.value("parallelism.pipeline_parallel_schedule_csv", written ? "schedule.csv" : schedule.path);
  if (written) files.push_back({"schedule.csv", schedule_csv(schedule, shape)});
}

}  // namespace

void add_torchtitan_pipeline(LaunchOptions& out, const Job& job, const OptionList& list, TitanForm form,
                             std::vector<LaunchFile>& files) {
  const Strategy& s = job.strategy;
  if (s.pipeline == 1) return;
  const Schedule& schedule = schedule_of(s.schedule);
  require_expressible(!schedule.in_groups || s.virtual_pipeline > 1, "strategy.schedule",
                      "torchtitan interleaves from 2 chunks of a stage on", "choose 1f1b");
  const bool named =
      list.find("parallelism.pipeline_parallel_schedule")->word_for(schedule_text(s.schedule)) != nullptr;
  if (!named) add_order(out, job, form, files);
  if (!s.layer_split.empty())
    return out.words("parallelism.module_fqns_per_model_part", modules_of_parts(s.layer_split));
  out.value("parallelism.pipeline_parallel_layers_per_stage", (job.model.layers + s.counted_as_layers()) / s.chunks());
}

}  // namespace mirfak
