#pragma once

#include "strategy/strategy.hpp"
#include "strategy/training.hpp"

#include "model/model_spec.hpp"
#include "strategy/framework.hpp"

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

namespace mirfak {

// Which shapes (StageShape) the stages of one pipeline have.
enum class StageShapes : std::uint8_t {
  alike,    // all the same
  by_type,  // or those on each type of nodes their own (plan/shaped_layouts.hpp)
  fixed,    // those of StrategySpace::others, and where it says so their layers
};

// The values that each parameter of a strategy may take in a search; every combination that keeps the rules of
// strategy/rules.hpp is a strategy. Data parallel size is what the GPUs leave.
struct StrategySpace {
  std::vector<int> tensor;
  bool tensor_across_domains = false;  // else tensor groups stay where the scale-up link is
  std::vector<int> context;
  std::vector<int> expert;
  std::vector<int> expert_tensor;  // 1, or 0: as `tensor`
  std::vector<int> pipeline;
  StageShapes stages = StageShapes::alike;
  std::vector<int> virtual_pipeline;
  std::vector<ScheduleId> schedule;
  std::vector<int> micro_batch;
  std::vector<bool> sequence_parallel;
  std::vector<bool> overlap_tensor;
  std::vector<Recompute> recompute;
  std::vector<RecomputeMethod> recompute_method;
  // Of each chunk; 0: all layers of it. Only numbers below the layers of the largest chunk count, of groups up to
  // these.
  std::vector<int> recompute_layers;
  std::vector<int> zero;
  std::vector<bool> overlap_grad_reduce;
  std::vector<bool> overlap_param_gather;
  std::vector<double> offload_optimizer;
  // How many layers fewer than those between the first and the last chunk of the pipeline's ends may have: the first
  // stage's chunks and the last stage's, each on their own. 0: even splits alone.
  int uneven_layers = 0;
  // With several chunks: how many layers fewer the first chunk of the first stage and the last of the last may have
  // than their stages' others, each on its own; they may have none at all.
  int uneven_end_chunks = 0;
  Strategy others;  // what the search leaves as it is

  // One of the schedules that asks most of blocks: pairs of passes, else halves of backward passes, else whole passes.
  ScheduleId demanding_schedule() const;
  // Whether all schedules run whole passes one by one.
  bool plain() const;
  // Whether they do so in a loop of stages whose chunks the search chooses: what the closest bounds are for.
  bool loops() const;
  // Of a stage, at most, where every one of them has a layer at least.
  int max_chunks(std::int64_t layers, int stage_count) const;
};

// A list of a space, the field of strategies that takes its values (kStrategyFields), and what tells the two apart.
template <typename T>
struct SearchList {
  using Type = T;
  std::vector<T> StrategySpace::*values;
  T Strategy::*member;
  std::string_view zero = {};  // what 0 is called in a list; empty: it is no value, or a number
  int maximum = 0;             // of the list's values; 0: that of the field
};

// In the order in which searches are written.
inline constexpr std::tuple kSearchLists = {
    SearchList<int>{&StrategySpace::tensor, &Strategy::tensor},
    SearchList<int>{&StrategySpace::context, &Strategy::context},
    SearchList<int>{&StrategySpace::expert, &Strategy::expert},
    SearchList<int>{&StrategySpace::expert_tensor, &Strategy::expert_tensor, "tensor", 1},
    SearchList<int>{&StrategySpace::pipeline, &Strategy::pipeline, {}, strategy_limits::kLayers},
    SearchList<int>{&StrategySpace::virtual_pipeline, &Strategy::virtual_pipeline},
    SearchList<ScheduleId>{&StrategySpace::schedule, &Strategy::schedule},
    SearchList<int>{&StrategySpace::micro_batch, &Strategy::micro_batch},
    SearchList<bool>{&StrategySpace::sequence_parallel, &Strategy::sequence_parallel},
    SearchList<bool>{&StrategySpace::overlap_tensor, &Strategy::overlap_tensor},
    SearchList<Recompute>{&StrategySpace::recompute, &Strategy::recompute},
    SearchList<RecomputeMethod>{&StrategySpace::recompute_method, &Strategy::recompute_method},
    SearchList<int>{&StrategySpace::recompute_layers, &Strategy::recompute_layers, "all"},
    SearchList<int>{&StrategySpace::zero, &Strategy::zero},
    SearchList<bool>{&StrategySpace::overlap_grad_reduce, &Strategy::overlap_grad_reduce},
    SearchList<bool>{&StrategySpace::overlap_param_gather, &Strategy::overlap_param_gather},
    SearchList<double>{&StrategySpace::offload_optimizer, &Strategy::offload_optimizer},
};

// What a search looks through unless it is told otherwise: everything that the framework runs and that fits the model.
// Limits are written out in the resolved search section.
StrategySpace default_space(const ModelSpec& model, const TrainingSpec& training, const Framework& framework);

}  // namespace mirfak
