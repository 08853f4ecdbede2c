// Division of a model into stages and order of their passes in torchtitan: torchtitan/distributed/pipeline_parallel.py
// and torch/distributed/pipelining/schedules.py.

#include "launch/launch_targets.hpp"
#include "launch/torchtitan_settings.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_file.hpp"
#include "strategy/rules.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

namespace {

// Returns {{"tok_embeddings", "layers.0"}, {"layers.1", "norm", "output"}}.
std::vector<std::vector<std::string>> modules_of_parts(const std::vector<int>& split) {
  std::vector<std::vector<std::string>> parts;
  int layer = 0;
  for (std::size_t i = 0; i < split.size(); ++i) {
    std::vector<std::string> names;
    if (i == 0) names.emplace_back("tok_embeddings");
    for (int n = 0; n < split[i]; ++n) names.push_back(fmt::format("layers.{}", layer++));
    if (i + 1 == split.size()) names.insert(names.end(), {"norm", "output"});
    parts.push_back(std::move(names));
  }
  return parts;
}

// Returns the class of torch.distributed.pipelining for a schedule; "": no class has this order.
std::string_view class_named(const Schedule& schedule) {
  constexpr std::array<std::array<std::string_view, 2>, 5> kClasses = {{{"gpipe", "GPipe"},
                                                                        {"1f1b", "1F1B"},
                                                                        {"interleaved-1f1b", "Interleaved1F1B"},
                                                                        {"zb-v", "ZBVZeroBubble"},
                                                                        {"dualpipe-v", "DualPipeV"}}};
  for (const auto& [name, its_class] : kClasses) {
    if (schedule.path.empty() && schedule.name == name) return its_class;
  }
  return {};
}

// Adds an order of passes as a CSV. It runs as a schedule of one or several parts of the model on each rank, which lie
// in a loop.
void add_order(TitanSettings& out, const Job& job, TitanForm form, std::vector<LaunchFile>& files) {
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
  out.text("pipeline_parallel_schedule", s.virtual_pipeline > 1 ? "PipelineScheduleMulti" : "PipelineScheduleSingle");
  out.text("pipeline_parallel_schedule_csv", written ? "schedule.csv" : schedule.path);
  if (written) files.push_back({"schedule.csv", schedule_csv(schedule, shape)});
}

void add_parts(TitanSettings& out, const Job& job) {
  const Strategy& s = job.strategy;
  if (!s.layer_split.empty()) return out.groups("module_fqns_per_model_part", modules_of_parts(s.layer_split));
  out.value("pipeline_parallel_first_stage_less_layers", s.account_for_embedding_in_pipeline_split ? 1 : 0);
  out.value("pipeline_parallel_last_stage_less_layers", s.account_for_loss_in_pipeline_split ? 1 : 0);
  out.value("pipeline_parallel_layers_per_stage", (job.model.layers + s.counted_as_layers()) / s.chunks());
}

}  // namespace

void add_torchtitan_pipeline(TitanSettings& out, const Job& job, TitanForm form, std::vector<LaunchFile>& files) {
  const Strategy& s = job.strategy;
  out.value("pipeline_parallel_degree", s.pipeline);
  const bool gpipe = s.schedule == schedule_named("gpipe");
  require_expressible(s.pipeline > 1 || !gpipe || microbatches(s, job.training) == 1, "strategy.schedule",
                      "torchtitan accumulates gradients one microbatch after the other without stages", "choose 1f1b");
  if (s.pipeline == 1) return;
  const Schedule& schedule = schedule_of(s.schedule);
  const bool interleaved = schedule.in_groups;
  require_expressible(!interleaved || s.virtual_pipeline > 1, "strategy.schedule",
                      "torchtitan interleaves from 2 chunks of a stage on", "choose 1f1b");
  require_expressible(s.microbatch_group == 0 || s.microbatch_group == s.pipeline, "strategy.microbatch_group",
                      "torchtitan takes as many microbatches of a chunk as there are stages", "leave it out");
  const std::string_view its_class = class_named(schedule);
  if (its_class.empty()) {
    add_order(out, job, form, files);
  } else {
    out.text("pipeline_parallel_schedule", its_class);
  }
  out.value("pipeline_parallel_microbatch_size", s.micro_batch);
  add_parts(out, job);
}

}  // namespace mirfak
