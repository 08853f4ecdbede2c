#include "report/job_text.hpp"

#include "base/units.hpp"
#include "schedule/schedule.hpp"
#include "simulation/laws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

std::string recompute_text(Recompute recompute) {
  switch (recompute) {
    case Recompute::none:
      return "no recomputation";
    case Recompute::selective:
      return "selective recomputation";
    case Recompute::full:
      break;
  }
  return "full recomputation";
}

// Returns the shapes of stages, "tp 4 dp 2, 2 x (tp 2 dp 4)". Neighbours of the same shape are named once.
std::string shapes_text(const Strategy& strategy) {
  const std::vector<StageShape>& stages = strategy.stages;
  std::string out;
  for (auto from = stages.begin(); from != stages.end();) {
    const auto to = std::find_if(from, stages.end(), [&](const StageShape& of) { return !(of == *from); });
    const std::string shape = fmt::format("tp {} dp {}{}", from->tensor, from->data,
                                          from->expert > 1 ? fmt::format(" ep {}", from->expert) : "");
    out += (out.empty() ? "" : ", ") + (to - from == 1 ? shape : fmt::format("{} x ({})", to - from, shape));
    from = to;
  }
  return out;
}

// Returns the sizes of a strategy: "tp 4, pp 2, dp 2".
std::string sizes_text(const Strategy& s) {
  if (!s.stages.empty()) return fmt::format("pp {} of their own shape: {}", s.pipeline, shapes_text(s));
  std::string out = fmt::format("tp {}, ", s.tensor);
  if (s.context > 1) {
    out += fmt::format("cp {} ({}{}), ", s.context,
                       s.context_heads > 1 ? fmt::format("heads over {}, ", s.context_heads) : "",
                       context_communication_names()[static_cast<std::size_t>(s.context_communication)]);
  }
  if (s.context_tokens > 0) out += fmt::format("cp by document, {} tokens a rank, ", s.context_tokens);
  if (s.expert > 1) {
    out +=
        fmt::format("ep {} ({}), ", s.expert, expert_dispatcher_names()[static_cast<std::size_t>(s.expert_dispatcher)]);
    if (s.tensor > 1) out += fmt::format("etp {}, ", s.tensor_of_experts());
  }
  out += fmt::format("pp {}, ", s.pipeline);
  if (s.virtual_pipeline > 1) out += fmt::format("vpp {}, ", s.virtual_pipeline);
  return out + fmt::format("dp {}", s.data);
}

}  // namespace

std::string model_text(const ModelSpec& model) {
  const ParameterCount count = count_parameters(model);
  const std::string prediction =
      count.prediction > 0 ? fmt::format(" and {} of multi-token prediction", format_count(count.prediction)) : "";
  return fmt::format("{}, {} parameters{}, {} layers, hidden {}", model.name, format_count(count.total), prediction,
                     model.layers, model.hidden);
}

std::string cluster_text(const Cluster& cluster) {
  std::string out;
  for (const NodeGroup& group : cluster.kinds()) {
    const NodeHardware& hardware = group.hardware;
    const int shared = hardware.spec.ranks_per_gpu;
    const double clock = hardware.spec.clock_hz;
    const std::string gpus = fmt::format("{} {}{}{}", hardware.spec.gpus_of_kind() / shared, hardware.gpu.title,
                                         shared > 1 ? fmt::format(", {} ranks on each", shared) : "",
                                         clock > 0 ? fmt::format(" at {:g} MHz", clock / kMegahertz) : "");
    if (group.nodes() == 0) {
      out.insert(out.size() - 1, " + " + gpus);
    } else {
      out += fmt::format("{}{} x {} ({})", out.empty() ? "" : " + ", group.count, hardware.spec.name, gpus);
    }
  }
  return out + fmt::format(", {} fabric", cluster.fabric().title());
}

std::string offload_text(double share) {
  const std::string what = "the optimizer on the host";
  return share == 1 ? what : fmt::format("{:g} % of {}", 100 * share, what);
}

namespace {

std::string offloaded_modules_text(const ModuleSet& modules) {
  std::string names;
  for (std::size_t i = 0; i < offload_module_names().size(); ++i) {
    if (modules.test(i)) names += (names.empty() ? "" : ", ") + offload_module_names()[i];
  }
  return "inputs of (" + names + ")";
}

}  // namespace

std::string sequences_text(const TrainingSpec& training) {
  const int answers = training.preferences.answers;
  const char* plural = training.global_batch == 1 ? "" : "s";
  std::string out = answers > 1 ? fmt::format("{} sample{} of {} sequences", training.global_batch, plural, answers)
                                : fmt::format("{} sequence{}", training.global_batch, plural);
  out += fmt::format(" of {} tokens", training.sequence_length);
  if (training.images != SequenceImages()) {
    out += fmt::format(", {:.4g} image{} each{}", training.images.mean, training.images.mean == 1 ? "" : "s",
                       training.images.drawn() ? " on average" : "");
  }
  if (training.documents.empty()) return out;
  double tokens = 0;
  double count = 0;
  for (const DocumentCount& of : training.documents) {
    tokens += of.count * static_cast<double>(of.tokens);
    count += of.count;
  }
  return out + fmt::format(", packed with documents of {:.0f} on average", tokens / count);
}

std::string strategy_text(const Job& job) {
  const Strategy& s = job.strategy;
  std::string out = fmt::format("{}, {}, {}", sizes_text(s), schedule_of(s.schedule).name, recompute_text(s.recompute));
  if (s.partly_recomputed() > 0) out += fmt::format(" of {} layers a chunk", s.recompute_layers);
  if (s.recompute_method == RecomputeMethod::uniform) out += fmt::format(" in groups of {} layers", s.recompute_layers);
  if (s.offload_layers > 0) out += fmt::format(", activations of {} layers on the host", s.offload_layers);
  if (s.offload_modules.any()) out += ", " + offloaded_modules_text(s.offload_modules) + " on the host";
  if (s.expert_rank_capacity > 0)
    out += fmt::format(", room for {:g} times even experts' rows", s.expert_rank_capacity);
  if (s.expert_stash > 0) out += fmt::format(", kept in pages for {:g}", s.expert_stash);
  if (s.expert_stash_host > 0) out += fmt::format(" and on the host for {:g}", s.expert_stash_host);
  if (s.sequence_parallel) out += ", sequence parallel";
  if (s.scatter_gather == ScatterGather::on) out += ", scatter/gather between stages";
  if (s.scatter_gather == ScatterGather::off) out += ", no scatter/gather between stages";
  if (s.rank_order != RankOrder::pipeline_last) {
    out += fmt::format(", ranks {}", rank_order_names()[static_cast<std::size_t>(s.rank_order)]);
  }
  if (s.overlap_tensor) out += ", overlapped tensor communication";
  for (const auto& [part, frozen] :
       {std::pair("tower", job.training.frozen.tower), std::pair("projector", job.training.frozen.projector),
        std::pair("decoder", job.training.frozen.decoder)}) {
    if (frozen) out += fmt::format(", frozen {}", part);
  }
  const Preferences& preferences = job.training.preferences;
  if (preferences.mismatched) out += ", mismatched answers read again";
  if (preferences.reference == Reference::model) out += ", a frozen reference";
  if (preferences.reference == Reference::adapters_off) out += ", a reference without the adapters";
  if (s.zero > 0) out += fmt::format(", ZeRO {}", s.zero);
  if (s.offload_optimizer > 0) out += ", " + offload_text(s.offload_optimizer);
  if (s.optimizer_on_disk) out += s.overlap_disk ? "'s disks, which work beside its updates" : "'s disks";
  if (s.offload_parameters)
    out += s.parameters_on_disk ? ", parameters on the host's disks" : ", parameters on the host";
  if (s.zero_group > 0) out += fmt::format(" over groups of {}", s.zero_group);
  if (s.zero_second_group > 0)
    out += fmt::format(", a second copy of the parameters over groups of {}", s.zero_second_group);
  if (s.quantized_gathers) out += ", parameters gathered in 8 bits";
  if (s.quantized_reductions) out += ", gradients exchanged in 4 bits";
  if (s.weight_group() > 1) out += fmt::format(", weights over {} replicas", s.weight_group());
  if (s.expert_weight_group() > 1) out += fmt::format(", experts' weights over {}", s.expert_weight_group());
  if (s.registered_buffers) out += ", registered buffers";
  if (s.overlap_grad_reduce) out += ", overlapped gradient reduction";
  return out;
}

std::string notes_text(std::span<const std::string> notes) {
  std::string out = notes.empty() ? "" : "\nNotes\n";
  for (const std::string& note : notes) out += fmt::format("  {}\n", note);
  return out;
}

std::string notes_text(const Job& job, const IterationResult& result, std::span<const std::string> of_scenario) {
  std::vector<std::string> notes = notes_on(job, result);
  notes.insert(notes.end(), of_scenario.begin(), of_scenario.end());
  return notes_text(notes);
}

}  // namespace mirfak
