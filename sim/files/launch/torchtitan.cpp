// Sources of the valid combinations in torchtitan v0.2.2 and 0014ac2ca45a: distributed/pipeline_parallel.py,
// models/*/infra/parallelize.py, config/job_config.py and config/configs.py.

#include "launch/launch_targets.hpp"
#include "launch/option_writer.hpp"
#include "launch/torchtitan_settings.hpp"
#include "strategy/rules.hpp"

#include <cstdint>
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
  if (sharded) out.value("parallelism.fsdp_reshard_after_forward", s.zero == 3 ? "always" : "never");
}

void require_experts(const Job& job) {
  const Strategy& s = job.strategy;
  const bool whole = s.tensor_of_experts() > 1 || s.tensor == 1 || s.expert_span().tensor;
  require_expressible(job.model.mixture.experts == 0 || s.expert == 1 || whole, "strategy.expert",
                      "torchtitan cuts groups of whole experts out of whole tensor groups",
                      "choose a multiple of strategy.tensor");
}

// Adds recomputation of every n-th layer of a chunk, or of all layers.
void add_recomputation(LaunchOptions& out, const Job& job, TitanForm form) {
  const Strategy& s = job.strategy;
  if (s.recompute == Recompute::selective && form == TitanForm::toml) {
    out.value("activation_checkpoint.selective_ac_option", "op");
  }
  if (s.recompute != Recompute::full) return;
  const std::int64_t layers = job.model.layers / s.pipeline / s.virtual_pipeline;
  const bool even = s.layer_split.empty() && s.counted_as_layers() == 0;
  if (s.recompute_layers == 0 || (even && s.recompute_layers == layers)) return;
  require_expressible(form == TitanForm::toml, "strategy.recompute_layers",
                      "torchtitan's command line recomputes all layers or none", "leave it out");
  require_expressible(even && layers % s.recompute_layers == 0, "strategy.recompute_layers",
                      "torchtitan recomputes every n-th layer",
                      fmt::format("choose a divisor of the {} layers of a chunk", layers));
  out.value("activation_checkpoint.mode", "selective");
  out.value("activation_checkpoint.selective_ac_option", layers / s.recompute_layers);
}

}  // namespace

LaunchOptions torchtitan_settings(const Job& job, const OptionList& list, TitanForm form,
                                  std::vector<LaunchFile>& files) {
  require_possible(job, list);
  LaunchOptions out;
  const Strategy& s = job.strategy;
  out.value("training.local_batch_size", s.micro_batch * (s.pipeline > 1 ? microbatches(s, job.training) : 1));
  add_data(out, job);
  add_torchtitan_pipeline(out, job, list, form, files);
  require_experts(job);
  add_recomputation(out, job, form);
  out.value("compile.enable", s.overlap_tensor || job.framework.is_like("pytorch-fsdp-compiled"));
  if (form == TitanForm::command) out.words("compile.components", {"model", "loss"});
  return written_options(job, list, std::move(out));
}

}  // namespace mirfak
