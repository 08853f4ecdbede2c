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

// Shapes (StageShape) of the stages of one pipeline.
enum class StageShapes : std::uint8_t {
  alike,    // all stages have the same shape
  by_type,  // stages are alike, or each type of nodes has its own shape (plan/shaped_layouts.hpp)
  fixed,    // shapes, and layers if given, are those of StrategySpace::others
};

// Values that each parameter of a strategy may take in a search; every combination that keeps the rules of
// strategy/rules.hpp is a strategy. The data-parallel size follows from the number of GPUs.
struct StrategySpace {
  std::vector<int> tensor;
  bool tensor_across_domains = false;  // false: tensor groups stay within a scale-up domain
  std::vector<int> context;
  std::vector<int> expert;
  std::vector<int> expert_tensor;  // 1, or 0: same as `tensor`
  std::vector<int> pipeline;
  StageShapes stages = StageShapes::alike;
  std::vector<int> virtual_pipeline;
  std::vector<ScheduleId> schedule;
  std::vector<int> micro_batch;
  std::vector<bool> sequence_parallel;
  std::vector<bool> overlap_tensor;
  std::vector<int> nanobatches = {1};
  std::vector<int> communication_sms = {0};  // 0: what the library of collectives chooses
  std::vector<Recompute> recompute;
  std::vector<RecomputeMethod> recompute_method;
  // Numbers of recomputed layers of each chunk; 0: all its layers. Only numbers below the layers of the chunk with most
  // layers count; sizes of groups up to its layers.
  std::vector<int> recompute_layers;
  std::vector<int> zero;
  std::vector<bool> overlap_grad_reduce;
  std::vector<bool> overlap_param_gather;
  std::vector<double> offload_optimizer;
  // Largest number of layers by which the first and the last stage's chunks may fall short of those in between, each
  // stage on its own. 0: even splits alone.
  int uneven_layers = 0;
  // Largest number of layers by which, with several chunks, the first chunk of the first stage and the last chunk of
  // the last stage may fall short of the others of their stage, each on its own; they may have no layers at all.
  int uneven_end_chunks = 0;
  Strategy others;  // fields that the search leaves unchanged

  // Returns one of the schedules that demand most of blocks: pairs of passes, else halves of backward passes, else
  // whole passes.
  ScheduleId demanding_schedule() const;
  // Returns true if all schedules run whole passes one by one.
  bool plain() const;
  // Returns true if all schedules run whole passes in a loop of stages whose chunks the search chooses: only then do
  // the closest bounds hold.
  bool loops() const;
  // Returns the largest number of chunks of a stage such that every chunk has at least one layer, or up to
  // `uneven_end_chunks` fewer at either end of the pipeline.
  int max_chunks(std::int64_t layers, int stage_count) const;
};

// A list of a space, the field of strategies that takes its values (kStrategyFields), and their differences.
template <typename T>
struct SearchList {
  using Type = T;
  std::vector<T> StrategySpace::*values;
  T Strategy::*member;
  std::string_view zero = {};  // name of 0 in a list; empty: 0 is no value, or a number
  int maximum = 0;             // largest value in the list; 0: that of the field
};

// Lists in the order in which searches are written.
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
    SearchList<int>{&StrategySpace::nanobatches, &Strategy::nanobatches},
    SearchList<int>{&StrategySpace::communication_sms, &Strategy::communication_sms, "library"},
    SearchList<Recompute>{&StrategySpace::recompute, &Strategy::recompute},
    SearchList<RecomputeMethod>{&StrategySpace::recompute_method, &Strategy::recompute_method},
    SearchList<int>{&StrategySpace::recompute_layers, &Strategy::recompute_layers, "all"},
    SearchList<int>{&StrategySpace::zero, &Strategy::zero},
    SearchList<bool>{&StrategySpace::overlap_grad_reduce, &Strategy::overlap_grad_reduce},
    SearchList<bool>{&StrategySpace::overlap_param_gather, &Strategy::overlap_param_gather},
    SearchList<double>{&StrategySpace::offload_optimizer, &Strategy::offload_optimizer},
};

// Returns the space that a search looks through by default: everything that the framework runs and that fits the model.
// Limits are written out in the resolved search section.
StrategySpace default_space(const ModelSpec& model, const TrainingSpec& training, const Framework& framework);

}  // namespace mirfak
