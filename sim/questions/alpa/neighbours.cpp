#include "alpa/neighbours.hpp"

#include "alpa/basics.hpp"
#include "plan/state_choice.hpp"
#include "strategy/rule_fields.hpp"
#include "strategy/rules.hpp"

#include <algorithm>
#include <initializer_list>

namespace mirfak::alpa {

namespace {

class Neighbours {
 public:
  Neighbours(const Job& job, const SearchSpec& spec, const Strategy& strategy)
      : job_(job), spec_(spec), space_(spec.space), from_(strategy) {}

  std::vector<Strategy> list() {
    change_passes();
    change_state();
    change_layers();
    if (from_.stages.empty()) {
      change_chunks();
      change_groups();
    }
    return std::move(out_);
  }

 private:
  template <typename T>
  void each(const std::vector<T>& values, T Strategy::*member) {
    for (const T value : values) {
      Strategy other = from_;
      other.*member = value;
      add(other);
    }
  }
  // Adds the strategies with the values next to the strategy's own in a list.
  template <typename T>
  void beside(const std::vector<T>& values, T Strategy::*member) {
    const auto at = std::find(values.begin(), values.end(), from_.*member);
    for (const std::ptrdiff_t step : {-1, 1}) {
      const std::ptrdiff_t place = at - values.begin() + step;
      if (at == values.end() || place < 0 || place >= static_cast<std::ptrdiff_t>(values.size())) continue;
      Strategy other = from_;
      other.*member = values[static_cast<std::size_t>(place)];
      add(other);
    }
  }

  void change_passes() {
    beside(space_.micro_batch, &Strategy::micro_batch);
    for (const int factor : {2, 4}) {
      for (const int sequences : {from_.micro_batch * factor, from_.micro_batch / factor}) {
        Strategy other = from_;
        other.micro_batch = sequences;
        add(other);
      }
    }
    each(space_.sequence_parallel, &Strategy::sequence_parallel);
    each(space_.overlap_tensor, &Strategy::overlap_tensor);
    each(space_.nanobatches, &Strategy::nanobatches);
    each(space_.communication_sms, &Strategy::communication_sms);
    for (const Recompute recompute : space_.recompute) {
      Strategy other = from_;
      other.recompute = recompute;
      other.recompute_layers = has(space_.recompute_layers, 0) ? 0 : from_.recompute_layers;
      other.recompute_method = space_.recompute_method.front();
      add(other);
    }
    if (from_.recompute == Recompute::none) return;
    each(space_.recompute_method, &Strategy::recompute_method);
    const std::int64_t longest = (job_.model.layers + from_.chunks() - 1) / from_.chunks();
    const auto all = static_cast<int>(longest);
    const int now = from_.recompute_layers == 0 ? all : from_.recompute_layers;
    for (const RecomputeMethod method : space_.recompute_method) {
      for (const int layers : {0, 1, 2, 3, now / 2, now - 1, now + 1}) {
        Strategy other = from_;
        other.recompute_method = method;
        other.recompute_layers = layers;
        if (has(space_.recompute_layers, layers)) add(other);
      }
    }
  }

  void change_state() {
    for (const std::vector<StateChoice>& choices : state_choices(space_, job_.framework)) {
      for (const StateChoice& choice : choices) {
        Strategy other = from_;
        choice.apply_to(other);
        add(other);
      }
    }
  }

  // Moves one layer from a stage to the next, or to the one before.
  void change_layers() {
    if (from_.virtual_pipeline > 1 || from_.pipeline == 1) return;
    std::vector<int> split = from_.layer_split;
    if (split.empty()) {
      if (job_.model.layers % from_.pipeline != 0) return;
      split.assign(static_cast<std::size_t>(from_.pipeline), static_cast<int>(job_.model.layers / from_.pipeline));
    }
    for (std::size_t stage = 0; stage + 1 < split.size(); ++stage) {
      for (const int moved : {-1, 1}) {
        Strategy other = from_;
        other.layer_split = split;
        other.layer_split[stage] += moved;
        other.layer_split[stage + 1] -= moved;
        if (other.layer_split[stage] > 0 && other.layer_split[stage + 1] > 0) add(other);
      }
    }
  }

  void change_chunks() {
    for (const ScheduleId schedule : space_.schedule) {
      for (const int chunks : {1, 2, 3, 4, from_.virtual_pipeline * 2, from_.virtual_pipeline + 1}) {
        if (!has(space_.virtual_pipeline, chunks)) continue;
        Strategy other = from_;
        other.schedule = schedule;
        other.virtual_pipeline = chunks;
        if (chunks != from_.virtual_pipeline) other.layer_split.clear();
        add(other);
      }
    }
  }

  void change_groups() {
    each(space_.expert, &Strategy::expert);
    each(space_.expert_tensor, &Strategy::expert_tensor);
    for (int Strategy::*const more : {&Strategy::tensor, &Strategy::data, &Strategy::pipeline}) {
      for (int Strategy::*const fewer : {&Strategy::tensor, &Strategy::data, &Strategy::pipeline}) {
        if (more == fewer || from_.*fewer % 2 != 0) continue;
        Strategy other = from_;
        other.*more *= 2;
        other.*fewer /= 2;
        if (other.pipeline != from_.pipeline) other.layer_split.clear();
        add(other);
      }
    }
  }

  void add(const Strategy& strategy) {
    if (strategy == from_ || !may_run(job_, spec_, strategy)) return;
    if (std::find(out_.begin(), out_.end(), strategy) == out_.end()) out_.push_back(strategy);
  }

  const Job& job_;
  const SearchSpec& spec_;
  const StrategySpace& space_;
  const Strategy& from_;
  std::vector<Strategy> out_;
};

}  // namespace

bool may_run(const Job& job, const SearchSpec& spec, const Strategy& strategy) {
  const StrategySpace& space = spec.space;
  const bool inside = has(space.micro_batch, strategy.micro_batch) && has(space.pipeline, strategy.pipeline) &&
                      has(space.zero, strategy.zero) && has(space.expert, strategy.expert) &&
                      (!strategy.stages.empty() || has(space.tensor, strategy.tensor));
  if (!inside) return false;
  int domain = job.cluster.gpus();
  for (const NodeGroup& group : job.cluster.groups()) domain = std::min(domain, group.hardware.spec.scale_up_domain);
  if (strategy.tensor > domain && !space.tensor_across_domains) return false;
  const RuleInput input = {job.model, job.training, job.framework, strategy, job.cluster.gpus()};
  if (first_violation(input)) return false;
  if (spec.rules.empty()) return true;
  const RuleFields fields = read_rule_fields(input, job.cluster.groups().front().hardware.spec.gpus);
  return std::all_of(spec.rules.begin(), spec.rules.end(),
                     [&](const formula::Condition& rule) { return rule.holds(fields.values()); });
}

std::vector<Strategy> neighbours(const Job& job, const SearchSpec& spec, const Strategy& strategy) {
  return Neighbours(job, spec, strategy).list();
}

}  // namespace mirfak::alpa
