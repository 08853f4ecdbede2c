#include "plan/rule_filter.hpp"

#include "plan/state_choice.hpp"
#include "strategy/rule_field_names.hpp"
#include "strategy/state_rules.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace mirfak {

namespace {

RuleFieldSet set_of(std::initializer_list<RuleField> fields) {
  RuleFieldSet out;
  for (const RuleField field : fields) out.set(static_cast<std::size_t>(field));
  return out;
}

// Returns the fields that a pipeline of the tree leaves open.
RuleFieldSet state_fields() {
  return set_of({rule_field("zero"), rule_field("overlap_grad_reduce"), rule_field("overlap_param_gather"),
                 rule_field("offload_optimizer")});
}

// Returns the fields that a branch of the tree leaves open.
RuleFieldSet open_fields() {
  return state_fields() | set_of({rule_field("virtual_pipeline"), rule_field("schedule"),
                                  rule_field("recompute_layers"), rule_field("recompute_method")});
}

bool names_one_of(const RuleFieldSet& fields, std::string_view key) {
  const std::span<const formula::Name> names = rule_fields();
  const auto named = std::find_if(names.begin(), names.end(), [&](const formula::Name& of) { return of.name == key; });
  return named != names.end() && fields.test(static_cast<std::size_t>(named - names.begin()));
}

int gpus_per_node(const Cluster& cluster) {
  int fewest = cluster.gpus();
  for (const NodeGroup& group : cluster.groups()) fewest = std::min(fewest, group.hardware.spec.gpus);
  return fewest;
}

}  // namespace

bool open_in_branch(std::string_view key) {
  return key == "layer_split" || key == "replica_microbatches" || names_one_of(open_fields(), key);
}

bool open_in_pipeline(std::string_view key) { return names_one_of(state_fields(), key); }

RuleFilter::RuleFilter(const Job& job, const std::vector<formula::Condition>& rules, const Refusals& refusals)
    : job_(job), refusals_(refusals) {
  for (const formula::Condition& rule : rules) {
    const RuleFieldSet read = sources_of(rule);
    auto& level = (read & open_fields()).none()    ? of_branch_
                  : (read & state_fields()).none() ? of_pipeline_
                                                   : of_state_;
    level.push_back(&rule);
  }
}

bool RuleFilter::hold(const std::vector<const formula::Condition*>& rules, const Strategy& strategy,
                      const Cluster& cluster) const {
  if (rules.empty()) return true;
  const RuleFields fields =
      read_rule_fields({job_.model, job_.training, job_.framework, strategy, cluster.gpus()}, gpus_per_node(cluster));
  return std::all_of(rules.begin(), rules.end(),
                     [&](const formula::Condition* rule) { return rule->holds(fields.values()); });
}

bool RuleFilter::allows_branch(const Strategy& strategy, const Cluster& cluster) const {
  if (strategy.pipeline > job_.model.layers) return false;
  // Any split of layers is allowed, over as many chunks as there are stages.
  Strategy plain = strategy;
  plain.virtual_pipeline = 1;
  plain.schedule = Strategy().schedule;
  plain.layer_split.assign(static_cast<std::size_t>(plain.pipeline), 0);
  plain.layer_split.front() = static_cast<int>(job_.model.layers);
  // Any state and any number of recomputed layers are allowed.
  plain.recompute_layers = 0;
  plain.recompute_method = RecomputeMethod::block;
  StateChoice{plain.zero}.apply_to(plain);
  // Any share of the microbatches is allowed if replicas may differ.
  const std::int64_t count = job_.training.global_batch / plain.micro_batch;
  if (cluster.groups().size() > 1 && plain.zero < 2 && plain.expert == 1 && count % plain.data != 0 &&
      count > plain.data) {
    plain.replica_microbatches.assign(static_cast<std::size_t>(plain.data), 1);
    plain.replica_microbatches.front() += static_cast<int>(count) - plain.data;
  }
  return !first_violation({job_.model, job_.training, job_.framework, plain, cluster.gpus()}) &&
         hold(of_branch_, plain, cluster) && !(refusals_.of_branch && refusals_.of_branch(plain));
}

bool RuleFilter::allows_pipeline(const Strategy& strategy, const Cluster& cluster) const {
  // allows() checks stages that differ stage by stage.
  const bool valid = !strategy.stages.empty() ||
                     keeps_rules({job_.model, job_.training, job_.framework, strategy, cluster.gpus()}, false);
  return valid && hold(of_pipeline_, strategy, cluster) && !(refusals_.of_pipeline && refusals_.of_pipeline(strategy));
}

bool RuleFilter::allows(const Strategy& strategy, const Cluster& cluster) const {
  const RuleInput input{job_.model, job_.training, job_.framework, strategy, cluster.gpus()};
  const bool valid = strategy.stages.empty() ? keeps_rules(input, true) : !first_violation(input);
  return valid && hold(of_state_, strategy, cluster) && !(refusals_.of_strategy && refusals_.of_strategy(strategy));
}

}  // namespace mirfak
