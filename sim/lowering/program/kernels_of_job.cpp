#include "program/kernels_of_job.hpp"

#include "cost/attention_model.hpp"
#include "program/data_parallel.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

ExpertExchange exchange_of(const Job& job) {
  const MixtureOfExperts& mixture = job.model.mixture;
  return {job.strategy.expert_dispatcher, static_cast<double>(mixture.experts), static_cast<double>(mixture.per_token),
          static_cast<double>(mixture.groups), static_cast<double>(mixture.groups_per_token)};
}

BlockKernels block_kernels(const Job& job) {
  const Framework& framework = job.framework;
  BlockKernels kernels;
  kernels.fused_rotary = framework.fusion.rotary;
  kernels.chained_gelu = framework.kernels.chained_gelu && job.model.causal;  // an encoder has PyTorch's own gelu
  kernels.chained_rms_norm = framework.kernels.chained_rms_norm;
  kernels.norm_input_cast = framework.kernels.norm_input_cast;
  const bool narrow = bytes_per_element(job.precision()) < 4;
  const bool adapted = job.training.adapters.rank > 0;  // the frozen model is in 16 bits, as it is kept in memory
  kernels.casts_weights = framework.kernels.casts_weights && narrow && !adapted;
  kernels.wide_adapters = framework.adapters.wide && narrow && !data_parallel_plan(job).gathers_in_passes();
  kernels.scales_adapters = framework.adapters.scales;
  kernels.narrow_activation_input = job.training.fp8_activation_input;
  kernels.fused_cross_entropy = framework.fusion.cross_entropy;
  kernels.loss_recomputes_softmax = framework.recompute.loss_softmax;
  kernels.logit_metric_bytes = framework.kernels.logit_metric_bytes;
  const ExpertDispatcher dispatcher = job.strategy.expert_dispatcher;
  const bool splits_on_host = !job.training.cuda_graphs.iteration && job.strategy.expert_rank_capacity == 0;
  const bool exchanges = job.strategy.expert > 1;
  const bool sorts_again = dispatcher == ExpertDispatcher::all_to_all;
  kernels.rows_sorted = sorts_again && exchanges && job.model.mixture.experts > job.strategy.expert;
  if (exchanges && !sorts_again) {
    kernels.copies_per_token = copies_per_token(exchange_of(job), job.strategy.expert);
  } else {
    kernels.rows_padded = framework.kernels.pads_expert_rows && splits_on_host && job.recipe().narrow();
  }
  if (splits_on_host) {
    kernels.expert_bias = framework.kernels.expert_bias;
    kernels.expert_bias_gradient = framework.kernels.expert_bias_gradient;
  }
  return kernels;
}

std::shared_ptr<const KernelSurroundings> kernel_surroundings(const Job& job, const GpuSpec& gpu) {
  const KernelHabits& habits = job.framework.kernels;
  const std::string attention = attention_choice(gpu, job.attention_kernels()).wanted;
  const auto has = [](const std::vector<std::string>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const int ranks = job.strategy.context;
  const auto exchange = static_cast<std::size_t>(job.strategy.context_communication);
  KernelSurroundings around;
  for (const AttentionCopies& entry : habits.attention_copies) {
    const bool exchanges =
        entry.context.empty() || (ranks > 1 && entry.context == context_communication_names()[exchange]);
    if (exchanges && has(entry.attention, attention)) around.copies.push_back(entry);
  }
  around.fills_linear = has(habits.fills_results, "linear");
  around.fills_normalization = has(habits.fills_results, "normalization");
  around.fills_attention = has(habits.fills_results, "attention");
  around.fills_rotary = has(habits.fills_results, "rotary");
  around.fills_copies = has(habits.fills_results, "copies");
  around.ordered_attention = has(habits.ordered_attention, attention);
  if (around == KernelSurroundings()) return nullptr;
  around.context_ranks = ranks;
  around.gathers_keys = ranks > 1 && job.strategy.context_communication == ContextCommunication::all_gather;
  return std::make_shared<const KernelSurroundings>(std::move(around));
}

RowChunks loss_chunks(const Job& job) {
  const KernelHabits& habits = job.framework.kernels;
  RowChunks out;
  out.gradient_bytes = habits.chunk_gradient_bytes;
  if (block_kernels(job).casts_weights) out.weight_bytes = habits.chunk_weight_bytes;
  const auto divided = [](std::int64_t whole, std::int64_t parts) { return (whole + parts - 1) / parts; };
  const std::int64_t sequences = std::int64_t{job.strategy.micro_batch} * job.training.preferences.answers;
  const std::int64_t rows = job.training.sequence_length / job.strategy.context * sequences;
  if (job.training.loss_chunks > 0) {
    out.size = divided(rows, job.training.loss_chunks);
  } else if (habits.loss_chunk_rows > 0) {
    out.size = habits.loss_chunk_rows;
    out.tile = habits.loss_chunk_classes;
  } else if (habits.chunks_loss_by_width) {
    const std::int64_t wider = divided(job.model.vocab, job.model.hidden);
    out.size = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(divided(rows, wider))));
  }
  return out;
}

}  // namespace mirfak
