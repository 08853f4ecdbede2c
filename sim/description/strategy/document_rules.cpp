#include "strategy/document_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace mirfak {

namespace {

constexpr const char* kKey = "strategy.context_tokens";

// Finds what does not go together with documents on ranks of their own: megatron/training/arguments.py (no stages, no
// CUDA graphs), megatron/core/transformer/multi_latent_attention.py, and what would make ranks meet that run unlike
// numbers of documents.
std::optional<Violation> goes_together(const RuleInput& in) {
  const Strategy& s = in.strategy;
  struct Other {
    bool given;
    const char* what;
    const char* hint;
  };
  const TrainingSpec& t = in.training;
  const Other others[] = {
      {s.pipeline > 1, "pipeline stages: the program has none with it", "set strategy.pipeline: 1"},
      {in.model.latent.key_value_rank > 0, "multi-head latent attention: the program has none with it", "leave it out"},
      {t.cuda_graphs.any(), "CUDA graphs: the program has none with it", "leave training.cuda_graphs out"},
      {s.micro_batch > 1, "several sequences in a microbatch: each document is one", "set strategy.micro_batch: 1"},
      {s.expert > 1, "experts over ranks: these would meet in passes of which they run unlike numbers",
       "set strategy.expert: 1"},
      {s.zero > 1, "ZeRO 2 and 3: ranks would meet in passes of which they run unlike numbers", "lower strategy.zero"},
      {s.context_heads > 1, "context ranks that divide heads in groups", "leave strategy.context_heads out"},
      {s.nanobatches > 1, "microbatches in parts", "leave strategy.nanobatches out"},
      {!s.stages.empty() || !s.replica_microbatches.empty(), "replicas or stages that differ",
       "leave strategy.stages and strategy.replica_microbatches out"},
      {in.model.image_tokens > 0, "a tower for images", "leave it out"},
      {t.local_steps.any(), "learners that step apart", "leave training.local_steps out"},
  };
  const auto found = std::find_if(std::begin(others), std::end(others), [](const Other& of) { return of.given; });
  if (found == std::end(others)) return std::nullopt;
  return Violation{kKey, fmt::format("it does not go together with {}", found->what), found->hint};
}

std::int64_t longest_document(const TrainingSpec& training) {
  if (training.documents.empty()) return training.sequence_length;
  return std::min(training.documents.back().tokens, training.sequence_length);
}

}  // namespace

std::optional<Violation> documents_are_spread(const RuleInput& in) {
  const Strategy& s = in.strategy;
  if (s.context_tokens == 0) return std::nullopt;
  if (!in.framework.parallelism.context_by_document) {
    return Violation{kKey, fmt::format("{} does not have it", in.framework.name),
                     "leave it out, or choose another training.framework"};
  }
  if (std::optional<Violation> broken = goes_together(in)) return broken;
  const int ranks = s.replicas();
  if (ranks < 2 || !std::has_single_bit(static_cast<unsigned>(ranks))) {
    return Violation{kKey,
                     fmt::format("documents take powers of two of the data and context ranks, which are {}", ranks),
                     "change strategy.data or strategy.context, so that their product is a power of two from 2 on"};
  }
  const std::int64_t longest = longest_document(in.training);
  if (longest <= std::int64_t{s.context_tokens} * ranks) return std::nullopt;
  return Violation{kKey,
                   fmt::format("a document of {} tokens does not fit on {} data and context ranks of {} tokens each",
                               longest, ranks, s.context_tokens),
                   fmt::format("raise it to {}", (longest + ranks - 1) / ranks)};
}

}  // namespace mirfak
