#include "plan/strategy_space.hpp"

#include "schedule/schedule.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace mirfak {

namespace {

constexpr int kMaxTensor = 64;
constexpr int kMaxContext = 16;
constexpr int kMaxMicroBatch = 16;
constexpr int kMaxChunks = 16;
constexpr int kUnevenLayers = 2;

std::vector<int> divisors(std::int64_t of, std::int64_t max) {
  std::vector<int> out;
  for (std::int64_t i = 1; i <= std::min(of, max); ++i) {
    if (of % i == 0) out.push_back(static_cast<int>(i));
  }
  return out;
}

std::vector<int> up_to(std::int64_t max) {
  std::vector<int> out(static_cast<std::size_t>(std::max<std::int64_t>(1, max)));
  std::iota(out.begin(), out.end(), 1);
  return out;
}

std::vector<int> powers_of_two(int max) {
  std::vector<int> out;
  for (int i = 1; i <= max; i *= 2) out.push_back(i);
  return out;
}

std::vector<int> zero_stages(const Framework& framework) {
  std::vector<int> out;
  for (int stage = 0; stage <= framework.sharding.max_zero; ++stage) {
    if (stage != 1 || !framework.sharding.stage2_gathers_parameters) out.push_back(stage);
  }
  return out;
}

// Returns the sizes of a way to divide the model, of which a framework without that way has one.
std::vector<int> sizes_if(bool implemented, std::vector<int> sizes) {
  return implemented ? std::move(sizes) : std::vector<int>{1};
}

}  // namespace

StrategySpace default_space(const ModelSpec& model, const TrainingSpec& training, const Framework& framework) {
  StrategySpace space;
  const ParallelismHabits& has = framework.parallelism;
  space.tensor = sizes_if(has.tensor, divisors(model.heads, kMaxTensor));
  space.context = sizes_if(has.context, powers_of_two(kMaxContext));
  const bool experts = model.mixture.experts > 0;
  space.expert = sizes_if(has.expert && experts, divisors(model.mixture.experts, model.mixture.experts));
  space.expert_tensor = model.mixture.experts > 0 ? std::vector<int>{0, 1} : std::vector<int>{0};
  space.pipeline = sizes_if(has.pipeline, up_to(model.layers));
  space.virtual_pipeline = sizes_if(has.pipeline, up_to(std::min<std::int64_t>(kMaxChunks, model.layers)));
  space.schedule = {kDefaultSchedule, schedule_of_chunks(false)};
  space.micro_batch = divisors(training.global_batch, kMaxMicroBatch);
  space.sequence_parallel = {true, false};
  space.overlap_tensor = {false, true};
  space.nanobatches = has.nanobatches ? std::vector<int>{1, 2} : std::vector<int>{1};
  space.communication_sms = {0};
  space.recompute = {Recompute::none, Recompute::selective, Recompute::full};
  space.recompute_method = {RecomputeMethod::block};
  if (framework.recompute.groups) space.recompute_method.push_back(RecomputeMethod::uniform);
  space.recompute_layers = up_to(model.layers - 1);
  space.recompute_layers.insert(space.recompute_layers.begin(), 0);
  space.zero = zero_stages(framework);
  space.overlap_grad_reduce = {false, true};
  space.overlap_param_gather = {false, true};
  space.offload_optimizer = {0};
  // An optimizer that goes to the host with the parameters only is not looked for: parameters stay where they are
  // stated.
  const bool alone = framework.offload.max_zero > 0 && !framework.offload.together;
  if (alone && training.optimizer == Optimizer::adam) space.offload_optimizer.push_back(1);
  space.uneven_layers = kUnevenLayers;
  space.uneven_end_chunks = kUnevenLayers;
  return space;
}

ScheduleId StrategySpace::demanding_schedule() const {
  const auto demands = [](ScheduleId id) { return (schedule_of(id).pairs ? 2 : 0) + (schedule_of(id).splits ? 1 : 0); };
  const auto max = std::max_element(schedule.begin(), schedule.end(),
                                    [&](ScheduleId a, ScheduleId b) { return demands(a) < demands(b); });
  return max == schedule.end() ? kDefaultSchedule : *max;
}

bool StrategySpace::plain() const {
  return std::none_of(schedule.begin(), schedule.end(),
                      [](ScheduleId id) { return schedule_of(id).splits || schedule_of(id).pairs; });
}

bool StrategySpace::loops() const {
  return std::all_of(schedule.begin(), schedule.end(), [](ScheduleId id) {
    const Schedule& order = schedule_of(id);
    return !order.splits && !order.pairs && order.looped && order.chunks <= 1;
  });
}

int StrategySpace::max_chunks(std::int64_t layers, int stage_count) const {
  const bool interleaves =
      std::any_of(schedule.begin(), schedule.end(), [](ScheduleId id) { return schedule_of(id).in_groups; });
  int max = 1;
  for (const int chunks : virtual_pipeline) {
    const bool enough = std::int64_t{chunks} * stage_count <= layers + 2 * uneven_end_chunks;
    if (interleaves && enough) max = std::max(max, chunks);
  }
  return max;
}

}  // namespace mirfak
