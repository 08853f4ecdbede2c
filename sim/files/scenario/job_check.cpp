#include "scenario/job_check.hpp"

#include "base/error.hpp"
#include "program/expert_load.hpp"
#include "program/quantization_of_job.hpp"
#include "program/replica_classes.hpp"
#include "scenario/sections.hpp"
#include "strategy/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace mirfak {

namespace {

constexpr std::int64_t kMaxPasses = std::int64_t{1} << 24;  // forward passes of one iteration; keeps memory bounded

// Reports a broken rule at the key that breaks it, even if that key has its default.
void check_rules(const Document& document, const Job& job) {
  const auto broken = first_violation({job.model, job.training, job.framework, job.strategy, job.cluster.gpus()});
  if (!broken) return;
  const Node place = locate(document, broken->key);
  const bool there = place.path() == broken->key;
  place.fail_infeasible(there ? broken->message : broken->key + ": " + broken->message, broken->hint);
}

void check_sizes(const Document& document, const Job& job) {
  const std::int64_t microbatch_count = microbatches(job.strategy, job.training);
  const std::int64_t chunks = std::int64_t{job.strategy.pipeline} * job.strategy.virtual_pipeline;
  if (microbatch_count > kMaxPasses / chunks) {
    locate(document, "training.global_batch")
        .fail_infeasible(
            fmt::format("{} microbatches through {} chunks are more than 2^24 passes", microbatch_count, chunks),
            "lower training.global_batch or raise strategy.micro_batch");
  }
}

// Returns the classes of replicas; replicas that cannot run fail because of the placement of ranks on nodes.
std::vector<ReplicaClass> read_replica_classes(const Document& document, const Job& job) {
  try {
    return replica_classes(job);
  } catch (const Error& error) {
    locate(document, "cluster.nodes").fail_infeasible(error.message(), error.hint());
  }
}

void check_hardware(const Document& document, const Job& job) {
  const std::vector<ReplicaClass> classes = read_replica_classes(document, job);
  for (int stage = 0; stage < job.strategy.pipeline; ++stage) {
    for (const ReplicaClass& alike : classes) {
      const GpuSpec& gpu = job.hardware_of(stage, alike.first()).hardware.gpu;
      const std::optional<FormatObstacle> obstacle = format_obstacle(gpu, job);
      if (!obstacle) continue;
      locate(document, obstacle->key).fail_infeasible(obstacle->message, "choose another precision or GPU");
    }
  }
}

const NodeGroup* without_host_bandwidth(const Cluster& cluster) {
  const auto groups = cluster.groups();
  const auto found = std::find_if(groups.begin(), groups.end(), [](const NodeGroup& group) {
    return !group.hardware.spec.host_memory_bandwidth.has_value();
  });
  return found == groups.end() ? nullptr : &*found;
}

void check_experts(const Document& document, const Job& job) {
  const std::optional<ExpertPopularity>& experts = job.cluster.perturbations().experts;
  if (!experts) return;
  const Node place = locate(document, "cluster.perturbations.experts");
  const MixtureOfExperts& mixture = job.model.mixture;
  if (mixture.experts == 0) place.fail_infeasible("the model has no experts", "leave experts out");
  if (!experts->measured()) return;
  if (static_cast<std::int64_t>(experts->tokens.size()) != mixture.experts) {
    place.fail_infeasible(
        fmt::format("tokens of {} experts, but the model has {}", experts->tokens.size(), mixture.experts),
        "state one number for each expert of a layer");
  }
  const std::vector<double> loads =
      experts->loads(static_cast<int>(mixture.experts), static_cast<int>(mixture.per_token));
  const auto most = std::max_element(loads.begin(), loads.end());
  const double limit = static_cast<double>(mixture.experts) / static_cast<double>(mixture.per_token);
  if (*most <= limit * (1 + 1e-9)) return;
  place.fail_infeasible(fmt::format("expert {} gets {:.4g} of all rows, but a token sends {} to {} different experts",
                                    most - loads.begin(), *most / static_cast<double>(mixture.experts),
                                    mixture.per_token, mixture.per_token),
                        fmt::format("none can get more than 1/{}", mixture.per_token));
}

// Drawn popularity has other experts full in every layer: what a capacity drops of them is not modelled.
void check_capacity(const Document& document, const Job& job) {
  if (job.training.expert_capacity_factor == 0 || !job.cluster.perturbations().draws_experts()) return;
  locate(document, "training.expert_capacity_factor")
      .fail_infeasible(
          "a capacity and experts' popularity that is drawn (cluster.perturbations.experts.skew) do not go "
          "together",
          "state measured tokens of experts, or leave one of them out");
}

// Checks that measured rows of experts fit into their rooms and pages: if they do not, every step runs once more, which
// no prediction has. Drawn popularity has another fullest rank in every layer.
void check_expert_room(const Document& document, const Job& job) {
  const Strategy& s = job.strategy;
  const std::optional<ExpertPopularity>& experts = job.cluster.perturbations().experts;
  if (s.expert_rank_capacity == 0 || !experts) return;
  const Node place = locate(document, "strategy.expert_rank_capacity");
  if (job.cluster.perturbations().draws_experts()) {
    place.fail_infeasible(
        "rooms of a fixed size and experts' popularity that is drawn (cluster.perturbations.experts.skew) do not go "
        "together",
        "state measured tokens of experts, or leave one of them out");
  }
  const double load = expert_load(job);
  const std::string rows = fmt::format("the rank with most gets {:.4g} times the rows of evenly chosen experts", load);
  if (load > s.expert_rank_capacity) {
    place.fail_infeasible(rows + ", so that every step would run once more",
                          fmt::format("choose {:.4g} or more", load));
  }
  if (s.expert_stash == 0 || load <= s.expert_stash + s.expert_stash_host) return;
  locate(document, "strategy.expert_stash")
      .fail_infeasible(rows + ", which pages have no room for, so that every step would run once more",
                       fmt::format("choose {:.4g} or more, or pages on the host for the rest", load));
}

// Checks that sequences have room for their images, in a model that takes images.
void check_images(const Document& document, const Job& job) {
  const SequenceImages& images = job.training.images;
  if (images == SequenceImages()) return;
  const Node place = locate(document, "training.images");
  if (job.model.image_tokens == 0) {
    place.fail_infeasible("the model has no tower for images", "leave images out, or choose a model with a tower");
  }
  const double most = images.counts.empty() ? images.mean : static_cast<double>(images.counts.back().images);
  const double room = static_cast<double>(job.training.sequence_length) / static_cast<double>(job.model.image_tokens);
  if (most <= room) return;
  place.fail_infeasible(fmt::format("{} images of {} tokens each do not fit into a sequence of {} tokens", most,
                                    job.model.image_tokens, job.training.sequence_length),
                        fmt::format("at most {} do: state fewer, or raise training.sequence_length", std::floor(room)));
}

// Checks that the frozen parts are parts of the model, and leave something to train.
void check_frozen(const Document& document, const Job& job) {
  const FrozenParts& frozen = job.training.frozen;
  if (!frozen.any()) return;
  const Node place = locate(document, "training.frozen");
  if (job.model.image_tokens == 0) {
    place.fail_infeasible("the model has no tower for images: it has one part", "leave frozen out");
  }
  const bool adapted = job.training.adapters.rank > 0;
  if (frozen.tower && frozen.decoder && (frozen.projector || adapted)) {
    place.fail_infeasible(adapted ? "adapters stand in the tower and in the decoder, and both are frozen"
                                  : "nothing of the model is left to train",
                          "leave a part out of frozen");
  }
  if (job.training.low_rank_gradients.any()) {
    place.fail_infeasible("frozen parts have no gradients that could be projected",
                          "leave out training.low_rank_gradients, or frozen");
  }
}

// Checks that the parts that are trained whole beside adapters are parts of the model, and are not frozen.
void check_whole(const Document& document, const Job& job) {
  const WholeParts& whole = job.training.adapters.whole;
  if (!whole.any()) return;
  const FrozenParts& frozen = job.training.frozen;
  const Node place = locate(document, "training.lora.whole");
  if ((whole.projector || whole.tower) && job.model.image_tokens == 0) {
    place.fail_infeasible("the model has no tower for images, and no projector", "name embedding or head, or none");
  }
  if ((whole.tower && frozen.tower) || (whole.projector && frozen.projector) ||
      ((whole.embedding || whole.head) && frozen.decoder)) {
    place.fail_infeasible("training.frozen has a part that is trained whole", "leave it out of one of them");
  }
  if ((whole.embedding || whole.head) && job.model.tied_embeddings) {
    place.fail_infeasible("word embeddings and head are one matrix, of which a copy that is trained makes two",
                          "choose a model without tied embeddings, or leave embedding and head out");
  }
}

}  // namespace

bool can_offload_optimizer(const Cluster& cluster) { return without_host_bandwidth(cluster) == nullptr; }

void check_offload(const Document& document, const Cluster& cluster) {
  const NodeGroup* lacking = without_host_bandwidth(cluster);
  if (lacking == nullptr) return;
  locate(document, "strategy.offload_optimizer")
      .fail(fmt::format("the profile of node {} has no host_memory_bandwidth, which an optimizer on the host takes its "
                        "time from",
                        lacking->hardware.spec.name),
            "add host_memory_bandwidth: [bytes/s, source] to the profile");
}

namespace {

// Checks that all nodes have disks whose rates are known, where state lies on them.
void check_disks(const Document& document, const Job& job) {
  const Strategy& s = job.strategy;
  if (!s.optimizer_on_disk && !s.parameters_on_disk) return;
  std::size_t entry = 0;  // entries after it
  for (const NodeGroup& group : job.cluster.kinds()) {
    const NodeSpec& spec = group.hardware.spec;
    if (group.nodes() == 0) continue;
    const std::size_t i = entry++;
    if (spec.disk_read_bandwidth && (spec.disk_write_bandwidth || !s.optimizer_on_disk)) continue;
    locate(document, s.optimizer_on_disk ? "strategy.optimizer_on_disk" : "strategy.parameters_on_disk")
        .fail(fmt::format("it is not known how fast the disks of node {} are", spec.name),
              fmt::format("state cluster.nodes[{}].disk_read_bandwidth and disk_write_bandwidth, bytes/s of all disks "
                          "of a node together",
                          i));
  }
}

// Checks that all ranks are alike, where documents go to any of them.
void check_documents(const Document& document, const Job& job) {
  if (job.strategy.context_tokens == 0) return;
  const Facility& facility = job.cluster.facility();
  const char* const other = !job.cluster.perturbations().empty()             ? "cluster.perturbations"
                            : job.cluster.shares_gpus()                      ? "ranks that share GPUs"
                            : facility.power_floor                           ? "cluster.power_floor"
                            : facility.staggered_replicas                    ? "cluster.staggered_replicas"
                            : read_replica_classes(document, job).size() > 1 ? "replicas on unlike nodes"
                                                                             : nullptr;
  if (other == nullptr) return;
  locate(document, "strategy.context_tokens")
      .fail_infeasible(
          fmt::format("it does not go together with {}: documents go to any rank, and all are alike", other),
          "leave one of them out");
}

}  // namespace

void check_job(const Document& document, const Job& job) {
  check_rules(document, job);
  check_sizes(document, job);
  check_hardware(document, job);
  check_experts(document, job);
  check_capacity(document, job);
  check_expert_room(document, job);
  check_images(document, job);
  check_frozen(document, job);
  check_whole(document, job);
  if (job.strategy.offload_optimizer > 0) check_offload(document, job.cluster);
  check_disks(document, job);
  check_documents(document, job);
}

}  // namespace mirfak
