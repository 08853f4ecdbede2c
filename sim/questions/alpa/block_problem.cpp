#include "alpa/block_problem.hpp"

#include "graph/backward.hpp"
#include "sharding/partition.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace mirfak::alpa {

namespace {

// Lists of steps that a device runs (PartitionedBlock); each list brings its operands anew.
enum class Pass { forward, recompute, backward, update };
constexpr std::array<Pass, 4> kPasses = {Pass::forward, Pass::recompute, Pass::backward, Pass::update};

// Gives equal values the same number.
template <typename T>
class Numbered {
 public:
  int number(const T& value) {
    const auto found = std::find(values_.begin(), values_.end(), value);
    if (found != values_.end()) return static_cast<int>(found - values_.begin());
    values_.push_back(value);
    return static_cast<int>(values_.size()) - 1;
  }
  const std::vector<T>& values() const { return values_; }

 private:
  std::vector<T> values_;
};

class ProblemWriter {
 public:
  ProblemWriter(const OperatorGraph& graph, const ShardingDecisions& decisions, const BlockPrices& prices,
                const PlanOptions& options)
      : graph_(graph),
        decisions_(decisions),
        prices_(prices),
        options_(options),
        activations_(plan_activations(graph, options.dropped)) {
    priced_.graph = graph;
  }

  ChoiceProblem write() {
    for (const ShardingDecision& decision : decisions_.decisions) {
      problem_.decisions.push_back({decision.name, std::vector<Cost>(decision.choices.size())});
    }
    for (std::size_t id = 0; id < graph_.operators.size(); ++id) {
      add_kernels(static_cast<OperatorId>(id));
      for (const Operand& output : graph_.operators[id].outputs) add_result(static_cast<OperatorId>(id), output);
    }
    add_operands();
    add_memory();
    if (options_.equal_compute || options_.all_devices) forbid_idle_devices();
    return std::move(problem_);
  }

 private:
  bool runs_in(OperatorId id, Pass pass) const {
    const Phase phase = graph_.op(id).phase;
    switch (pass) {
      case Pass::forward:
        return phase == Phase::forward;
      case Pass::recompute:
        return std::find(activations_.recomputed.begin(), activations_.recomputed.end(), id) !=
               activations_.recomputed.end();
      case Pass::backward:
        return phase == Phase::activation_gradient || phase == Phase::weight_gradient;
      case Pass::update:
        return phase == Phase::update;
    }
    return false;
  }
  // Returns the weight of a second of this pass in a microbatch.
  double weight(Pass pass) const { return pass == Pass::update ? 1.0 / options_.microbatches : 1; }
  double weight(OperatorId id) const {
    double sum = 0;
    for (const Pass pass : kPasses) sum += runs_in(id, pass) ? weight(pass) : 0;
    return sum;
  }

  int decider(OperatorId id) const { return decisions_.of_operator[static_cast<std::size_t>(id)]; }
  int decider_of_tensor(TensorId id) const { return decisions_.of_tensor[static_cast<std::size_t>(id)]; }
  ChoiceProblem::Decision& decision(int id) { return problem_.decisions[static_cast<std::size_t>(id)]; }
  int choices(int id) const { return static_cast<int>(problem_.decisions[static_cast<std::size_t>(id)].costs.size()); }

  double seconds(TensorId tensor, const Sharding& from, const Sharding& to) const {
    if (from == to) return 0;
    return seconds_of(reshard(graph_, tensor, from, to, prices_.mesh.mesh), prices_.mesh, prices_.collectives);
  }

  void add_kernels(OperatorId id) {
    const Operator& op = graph_.op(id);
    if (options_.equal_compute || op.kind == OperatorKind::view || op.part_of_kernel) return;
    BlockStep step;
    step.op = id;
    step.phase = op.phase;
    for (int choice = 0; choice < choices(decider(id)); ++choice) {
      const LabelSharding labels = decisions_.labels(graph_, id, choice);
      step.local.clear();
      for (std::size_t axis = 0; axis < graph_.axes.size(); ++axis) {
        step.local.push_back(part_of(graph_.axes[axis].extent, prices_.mesh.mesh.size(labels[axis])));
      }
      cost(decider(id), choice).seconds += weight(id) * prices_.kernels.price(priced_, step).seconds;
    }
  }
  Cost& cost(int of, int choice) { return decision(of).costs[static_cast<std::size_t>(choice)]; }

  // Adds the collectives from the sharding that an operator produces to the sharding of the result.
  void add_result(OperatorId id, const Operand& output) {
    const Operator& op = graph_.op(id);
    const TensorRole role = graph_.tensor(output.tensor).role;
    if (role == TensorRole::parameter_gradient) {
      if (makes_parameter_gradient(graph_, op, output)) add_gradient(id, output);
      return;
    }
    const int maker = decider(id);
    const int owner = decider_of_tensor(output.tensor);
    if (maker == owner) {
      for (int choice = 0; choice < choices(maker); ++choice) {
        cost(maker, choice).seconds +=
            weight(id) * seconds(output.tensor, made(id, output, choice), lies(output.tensor, choice));
      }
      return;
    }
    Numbered<Sharding> from;
    Numbered<Sharding> to;
    ChoiceProblem::Transfer transfer = between(maker, owner, op.name + " -> " + graph_.tensor(output.tensor).name);
    for (int choice = 0; choice < choices(maker); ++choice)
      transfer.group.push_back(from.number(made(id, output, choice)));
    for (int choice = 0; choice < choices(owner); ++choice) {
      transfer.readers[0].form.push_back(to.number(lies(output.tensor, choice)));
    }
    fill(transfer, from.values().size(), to.values().size(), [&](std::size_t a, std::size_t b) {
      return Cost{weight(id) * seconds(output.tensor, from.values()[a], to.values()[b]), 0, 0};
    });
  }

  static ChoiceProblem::Transfer between(int source, int reader, std::string name) {
    ChoiceProblem::Transfer transfer;
    transfer.name = std::move(name);
    transfer.source = source;
    transfer.readers = {{reader, {}}};
    return transfer;
  }

  void fill(ChoiceProblem::Transfer& transfer, std::size_t groups, std::size_t forms,
            const std::function<Cost(std::size_t, std::size_t)>& price) {
    transfer.groups = static_cast<int>(groups);
    transfer.forms = static_cast<int>(forms);
    for (std::size_t group = 0; group < groups; ++group) {
      for (std::size_t form = 0; form < forms; ++form) transfer.costs.push_back(price(group, form));
    }
    problem_.transfers.push_back(std::move(transfer));
  }

  Sharding made(OperatorId id, const Operand& output, int choice) const {
    return result_sharding(graph_.op(id), output, decisions_.labels(graph_, id, choice));
  }
  Sharding wanted(OperatorId id, const Operand& input, int choice) const {
    return operand_sharding(input, decisions_.labels(graph_, id, choice));
  }
  Sharding lies(TensorId id, int choice) const { return decisions_.sharding(graph_, id, choice); }

  // Adds the gradient of a parameter, reduced once an iteration or after each pass.
  void add_gradient(OperatorId id, const Operand& output) {
    const TensorId parameter = graph_.tensor(output.tensor).of;
    const int owner = decider_of_tensor(parameter);
    const std::vector<Reduction>& reductions = decisions_.decisions[static_cast<std::size_t>(owner)].reductions;
    Numbered<Sharding> from;
    ChoiceProblem::Transfer transfer = between(decider(id), owner, "gradient of " + graph_.tensor(parameter).name);
    for (int choice = 0; choice < choices(decider(id)); ++choice) {
      transfer.group.push_back(from.number(made(id, output, choice)));
    }
    for (int choice = 0; choice < choices(owner); ++choice) transfer.readers[0].form.push_back(choice);
    fill(transfer, from.values().size(), static_cast<std::size_t>(choices(owner)), [&](std::size_t a, std::size_t b) {
      return gradient_cost(parameter, from.values()[a], lies(parameter, static_cast<int>(b)), reductions[b]);
    });
  }

  Cost gradient_cost(TensorId parameter, const Sharding& made, const Sharding& to, Reduction reduction) const {
    const GradientReduction plan = gradient_reduction(made, to, reduction);
    if (!plan.possible) return {std::numeric_limits<double>::infinity(), 0, 0};
    const double whole = elements(parameter, made);
    const double scattered = whole / static_cast<double>(prices_.mesh.mesh.size(plan.scattered));
    const auto price = [&](CollectiveKind kind, MeshAxisSet over, double bytes) {
      if (prices_.mesh.mesh.size(over) == 1) return 0.0;
      return prices_.collectives.price(kind, bytes, prices_.mesh.group(over)).seconds;
    };
    const double reduced = price(CollectiveKind::reduce_scatter, plan.scattered, whole * options_.state.reduced) +
                           price(CollectiveKind::all_reduce, plan.all_reduced, scattered * options_.state.reduced);
    const double gathered = price(CollectiveKind::all_gather, plan.gathered,
                                  elements(parameter, to) * graph_.tensor(parameter).bytes_per_element);
    const double passes = options_.microbatches;
    const bool at_once = reduction == Reduction::every_pass || options_.microbatches == 1;
    Cost out;
    out.seconds = (reduction == Reduction::every_pass ? reduced : reduced / passes) + gathered / passes;
    out.state_bytes =
        (at_once ? scattered : whole) * options_.state.gradient +
        elements(parameter, to) / static_cast<double>(prices_.mesh.mesh.size(plan.gathered)) * options_.state.optimizer;
    return out;
  }

  double elements(TensorId id, const Sharding& sharding) const {
    return local_bytes(graph_, id, sharding, prices_.mesh.mesh) / graph_.tensor(id).bytes_per_element;
  }

  // Adds the collectives from the sharding of tensors to the shardings that operators need, once for all operators of a
  // pass with the same need.
  void add_operands() {
    for (const Pass pass : kPasses) {
      std::deque<Operand> unlisted;
      std::map<TensorId, std::vector<std::pair<OperatorId, const Operand*>>> readers;
      for (std::size_t id = 0; id < graph_.operators.size(); ++id) {
        if (!runs_in(static_cast<OperatorId>(id), pass)) continue;
        for (const Operand& input : graph_.operators[id].inputs) {
          if (graph_.tensor(input.tensor).role == TensorRole::parameter_gradient) continue;  // lies as it was left
          readers[input.tensor].emplace_back(static_cast<OperatorId>(id), &input);
        }
        for (const Operand& parameter : unlisted_parameters(graph_, graph_.operators[id])) {
          unlisted.push_back(parameter);
          readers[parameter.tensor].emplace_back(static_cast<OperatorId>(id), &unlisted.back());
        }
      }
      for (const auto& [tensor, of] : readers) add_copies(tensor, pass, of);
    }
  }

  void add_copies(TensorId tensor, Pass pass, const std::vector<std::pair<OperatorId, const Operand*>>& readers) {
    const int owner = decider_of_tensor(tensor);
    // Forms needed by operators that follow the tensor itself; these are known for each choice of the tensor.
    std::vector<std::set<int>> own(static_cast<std::size_t>(choices(owner)));
    Numbered<Sharding> forms;
    ChoiceProblem::Transfer transfer;
    transfer.name = graph_.tensor(tensor).name;
    transfer.source = owner;
    bool followed = false;
    for (const auto& [id, operand] : readers) {
      const int reader = decider(id);
      std::vector<int> form;
      for (int choice = 0; choice < choices(reader); ++choice)
        form.push_back(forms.number(wanted(id, *operand, choice)));
      if (reader != owner) {
        transfer.readers.push_back({reader, std::move(form)});
        continue;
      }
      followed = true;
      for (std::size_t choice = 0; choice < own.size(); ++choice) own[choice].insert(form[choice]);
    }
    const auto price = [&](int choice, int form) {
      return weight(pass) * seconds(tensor, lies(tensor, choice), forms.values()[static_cast<std::size_t>(form)]);
    };
    for (std::size_t choice = 0; choice < own.size(); ++choice) {
      for (const int form : own[choice]) {
        cost(owner, static_cast<int>(choice)).seconds += price(static_cast<int>(choice), form);
      }
    }
    if (transfer.readers.empty()) return;
    Numbered<std::pair<Sharding, std::set<int>>> groups;
    std::vector<int> example;
    for (int choice = 0; choice < choices(owner); ++choice) {
      const int group =
          groups.number({lies(tensor, choice), followed ? own[static_cast<std::size_t>(choice)] : std::set<int>()});
      transfer.group.push_back(group);
      if (group == static_cast<int>(example.size())) example.push_back(choice);
    }
    fill(transfer, groups.values().size(), forms.values().size(), [&](std::size_t group, std::size_t form) {
      const bool paid = groups.values()[group].second.contains(static_cast<int>(form));
      return Cost{paid ? 0 : price(example[group], static_cast<int>(form)), 0, 0};
    });
  }

  void add_memory() {
    for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
      const auto id = static_cast<TensorId>(i);
      const int owner = decisions_.of_tensor[i];
      if (owner < 0) continue;
      const Tensor& tensor = graph_.tensors[i];
      const bool parameter =
          tensor.role == TensorRole::parameter || (tensor.role == TensorRole::parameter_copy && !tensor.passing);
      const bool kept = std::binary_search(activations_.kept.begin(), activations_.kept.end(), id);
      if (!parameter && !kept) continue;
      for (int choice = 0; choice < choices(owner); ++choice) {
        const double bytes = local_bytes(graph_, id, lies(id, choice), prices_.mesh.mesh);
        (kept ? cost(owner, choice).activation_bytes : cost(owner, choice).state_bytes) += bytes;
      }
    }
  }

  // Forbids choices that divide an operator over fewer devices than another choice does. Operators that follow a tensor
  // are too light to matter.
  void forbid_idle_devices() {
    std::set<int> of_tensors;
    for (std::size_t id = 0; id < graph_.tensors.size(); ++id) {
      if (graph_.tensors[id].role != TensorRole::parameter_gradient) of_tensors.insert(decisions_.of_tensor[id]);
    }
    for (std::size_t i = 0; i < decisions_.decisions.size(); ++i) {
      if (of_tensors.contains(static_cast<int>(i))) continue;
      std::vector<std::int64_t> devices;
      for (const LabelSharding& choice : decisions_.decisions[i].choices) {
        MeshAxisSet all;
        for (const MeshAxisSet axes : choice) all.insert(axes);
        devices.push_back(prices_.mesh.mesh.size(all));
      }
      const std::int64_t most = *std::max_element(devices.begin(), devices.end());
      for (std::size_t choice = 0; choice < devices.size(); ++choice) {
        if (devices[choice] < most)
          problem_.decisions[i].costs[choice].seconds = std::numeric_limits<double>::infinity();
      }
    }
  }

  const OperatorGraph& graph_;
  const ShardingDecisions& decisions_;
  const BlockPrices& prices_;
  const PlanOptions& options_;
  ActivationPlan activations_;
  PartitionedBlock priced_;
  ChoiceProblem problem_;
};

}  // namespace

GradientReduction gradient_reduction(const Sharding& made, const Sharding& parameter, Reduction reduction) {
  GradientReduction out;
  MeshAxisSet divides_parameter;
  for (std::size_t i = 0; i < parameter.axes.size(); ++i) {
    for (const MeshAxis axis : {kRows, kColumns}) {
      if (made.axes[i].contains(axis) && !parameter.axes[i].contains(axis)) return out;
      if (parameter.axes[i].contains(axis)) divides_parameter.insert(axis);
    }
  }
  // A gradient divided by a mesh axis along one axis of the parameter, while the parameter is divided by the same mesh
  // axis along another, was refused above, as the parameter's division lacks the former.
  out.possible = true;
  for (const MeshAxis axis : {kRows, kColumns}) {
    if (!made.partial.contains(axis)) continue;
    if (divides_parameter.contains(axis)) {
      out.scattered.insert(axis);
    } else if (reduction == Reduction::whole) {
      out.all_reduced.insert(axis);
    } else {
      out.scattered.insert(axis);
      out.gathered.insert(axis);
    }
  }
  return out;
}

ChoiceProblem block_problem(const OperatorGraph& graph, const ShardingDecisions& decisions, const BlockPrices& prices,
                            const PlanOptions& options) {
  return ProblemWriter(graph, decisions, prices, options).write();
}

}  // namespace mirfak::alpa
