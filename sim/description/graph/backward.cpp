// Reverse-mode differentiation of a block. For y = f(a, b), the gradient operators read dL/dy and what f saved,
// and write dL/da and dL/db. An einsum y = a b gives two einsums: da = dy b^T and db = a^T dy. Gradients of
// parameters are marked as weight gradients: schedules may run them later, and they accumulate over microbatches.

#include "graph/backward.hpp"

#include "graph/missing_gradients.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace mirfak {

namespace {

class Differentiator {
 public:
  Differentiator(OperatorGraph graph, const BackwardOptions& options) : graph_(std::move(graph)), options_(options) {}

  OperatorGraph run() {
    find_choices();
    const auto forward_count = static_cast<OperatorId>(graph_.operators.size());
    if (!has_gradients(graph_)) return std::move(graph_);
    for (const TensorId output : graph_.outputs) contribute(output, new_gradient(output));
    for (OperatorId id = forward_count - 1; id >= 0; --id) {
      const Operator op = graph_.op(id);  // a copy: differentiate() appends operators
      differentiated_ = id;
      const std::size_t first = graph_.operators.size();
      differentiate(op);
      for (std::size_t i = first; i < graph_.operators.size(); ++i) graph_.operators[i].tags = op.tags;
    }
    for (const TensorId input : graph_.inputs) graph_.input_gradients.push_back(gradient(input));
    return std::move(graph_);
  }

 private:
  // Finds results that no gradient goes back through.
  void find_choices() {
    for (const Operator& op : graph_.operators) {
      if (op.has_gradient) continue;
      for (const Operand& output : op.outputs) chosen_.insert(output.tensor);
    }
  }
  bool is_trained(TensorId id) const { return is_parameter(id) && !graph_.tensor(id).frozen; }
  bool is_parameter(TensorId id) const { return graph_.tensor(id).role == TensorRole::parameter; }
  bool wants_gradient(TensorId id) const {
    if (graph_.tensor(id).frozen) return false;
    if (graph_.tensor(id).role == TensorRole::activation) return !chosen_.contains(id);
    return std::find(graph_.inputs.begin(), graph_.inputs.end(), id) != graph_.inputs.end();
  }

  TensorId new_gradient(TensorId of) {
    Tensor tensor = graph_.tensor(of);
    tensor.name = "d_" + tensor.name;
    tensor.role = is_parameter(of) ? TensorRole::parameter_gradient : TensorRole::gradient;
    tensor.of = of;
    tensor.added_for_kernel = false;
    return graph_.add_tensor(std::move(tensor));
  }

  void contribute(TensorId to, TensorId gradient) { contributions_[to].push_back(gradient); }

  // Returns the whole gradient of a tensor, -1 if nothing depends on the tensor; a kernel adds several contributions.
  TensorId gradient(TensorId of) {
    std::vector<TensorId>& parts = contributions_[of];
    if (parts.empty()) return -1;
    while (parts.size() > 1) {
      const TensorId sum = new_gradient(of);
      const std::vector<TensorId> inputs = {parts[0], parts[1]};
      append("add_gradients_" + graph_.tensor(of).name, OperatorKind::elementwise, Phase::activation_gradient, inputs,
             {sum})
          .function = "add";
      parts.erase(parts.begin(), parts.begin() + 2);
      parts.insert(parts.begin(), sum);
    }
    return parts.front();
  }

  Operator& append(std::string name, OperatorKind kind, Phase phase, const std::vector<TensorId>& inputs,
                   const std::vector<TensorId>& outputs) {
    const OperatorId id = graph_.add_operator(std::move(name), kind, inputs, outputs);
    Operator& added = graph_.operators[static_cast<std::size_t>(id)];
    added.phase = phase;
    return added;
  }

  void differentiate(const Operator& op) {
    std::vector<TensorId> output_gradients;
    for (const Operand& output : op.outputs) {
      const TensorId found = gradient(output.tensor);
      if (found >= 0) output_gradients.push_back(found);
    }
    if (output_gradients.empty() && op.kind != OperatorKind::cross_entropy) return;
    switch (op.kind) {
      case OperatorKind::einsum:
        return differentiate_einsum(op, output_gradients.front());
      case OperatorKind::gather:
        return differentiate_gather(op, output_gradients.front());
      case OperatorKind::attention:
        return differentiate_attention(op, output_gradients.front());
      case OperatorKind::scan:
        return differentiate_scan(op, output_gradients.front());
      case OperatorKind::view:
        return differentiate_view(op, output_gradients);
      default:
        return differentiate_pointwise(op, output_gradients);
    }
  }

  void differentiate_einsum(const Operator& op, TensorId dy) {
    for (std::size_t side = 0; side < 2; ++side) {
      const Operand& wanted = op.inputs[side];
      const Operand& other = op.inputs[1 - side];
      const bool weight = is_parameter(wanted.tensor);
      if (weight ? !is_trained(wanted.tensor) : !wants_gradient(wanted.tensor)) continue;
      const TensorId result = new_gradient(wanted.tensor);
      Operator& product =
          append(gradient_name(op, side), OperatorKind::einsum,
                 weight ? Phase::weight_gradient : Phase::activation_gradient, {dy, other.tensor}, {result});
      relabel(product.inputs[0], op.outputs[0]);
      relabel(product.inputs[1], other);
      relabel(product.outputs[0], wanted);
      product.linear = op.linear;
      product.keeps_gathered = op.keeps_gathered && weight;
      if (weight) {
        accumulate_weight_gradient(wanted.tensor, result);
      } else {
        contribute(wanted.tensor, result);
      }
    }
  }

  // Makes an operand read or written as in the forward operator.
  static void relabel(Operand& operand, const Operand& forward) {
    operand.labels = forward.labels;
    operand.windows = forward.windows;
  }

  // Relabels all operands of a gradient operator as in its forward operator. Gradients of results come first.
  void relabel_all(Operator& gradient, const Operator& forward) const {
    std::size_t next_result = 0;
    std::map<TensorId, std::size_t> next_use;
    const auto use_of = [&](TensorId id) -> const Operand* {
      std::size_t& next = next_use[id];
      while (next < forward.inputs.size() && forward.inputs[next].tensor != id) ++next;
      return next < forward.inputs.size() ? &forward.inputs[next++] : nullptr;
    };
    const auto result_of = [&](TensorId id) {
      return std::find_if(forward.outputs.begin(), forward.outputs.end(),
                          [id](const Operand& output) { return output.tensor == id; });
    };
    for (Operand& input : gradient.inputs) {
      const auto result = result_of(input.tensor);
      if (result != forward.outputs.end()) {
        relabel(input, *result);
      } else if (const Operand* use = use_of(input.tensor)) {
        relabel(input, *use);
      } else if (graph_.tensor(input.tensor).role == TensorRole::gradient) {
        while (next_result < forward.outputs.size() &&
               forward.outputs[next_result].labels.size() != input.labels.size()) {
          ++next_result;
        }
        if (next_result < forward.outputs.size()) relabel(input, forward.outputs[next_result++]);
      }
    }
    next_use.clear();
    for (Operand& output : gradient.outputs) {
      if (const Operand* use = use_of(graph_.tensor(output.tensor).of)) relabel(output, *use);
    }
  }

  // Returns "d_mlp_up" and "d_mlp_up_weight"; for a product of two activations "d_attention_scores_key".
  std::string gradient_name(const Operator& op, std::size_t side) const {
    if (is_parameter(op.inputs[side].tensor)) return "d_" + op.name + "_weight";
    if (is_parameter(op.inputs[1 - side].tensor)) return "d_" + op.name;
    return "d_" + op.name + "_" + graph_.tensor(op.inputs[side].tensor).name;
  }

  // Adds the product of this microbatch to the buffer of the iteration: in the GEMM, or in a kernel of its own.
  void accumulate_weight_gradient(TensorId parameter, TensorId product) {
    if (options_.fused_accumulation) {
      graph_.tensors[static_cast<std::size_t>(product)].bytes_per_element = options_.gradient_buffer_bytes;
      return;
    }
    const TensorId buffer = new_gradient(parameter);
    graph_.tensors[static_cast<std::size_t>(buffer)].bytes_per_element = options_.gradient_buffer_bytes;
    const double added = graph_.tensor(product).bytes_per_element + 2 * options_.gradient_buffer_bytes;
    Operator& sum = append("accumulate_" + graph_.tensor(parameter).name, OperatorKind::elementwise,
                           Phase::weight_gradient, {product, buffer}, {buffer});
    if (options_.accumulation_bytes > 0) sum.passes = options_.accumulation_bytes / added;
  }

  void differentiate_gather(const Operator& op, TensorId dy) {
    const TensorId table = op.inputs[0].tensor;
    if (!is_parameter(table)) {
      const TensorId whole = new_gradient(table);
      Operator& added =
          append("d_" + op.name, OperatorKind::scatter, Phase::activation_gradient, {dy, op.inputs[1].tensor}, {whole});
      added.over = op.over;
      relabel_all(added, op);
      return contribute(table, whole);
    }
    if (!is_trained(table)) return;
    Operator& added = append("d_" + op.name, OperatorKind::scatter, Phase::weight_gradient, {dy, op.inputs[1].tensor},
                             {new_gradient(table)});
    added.over = op.over;
    relabel_all(added, op);
  }

  void differentiate_attention(const Operator& op, TensorId dy) {
    std::vector<TensorId> inputs = {dy};
    inputs.insert(inputs.end(), op.saved.begin(), op.saved.end());
    std::vector<TensorId> results;
    constexpr std::size_t kOperands = 3;  // query, key, value; a fourth input is sinks, which are parameters
    for (std::size_t i = 0; i < kOperands; ++i) results.push_back(new_gradient(op.inputs[i].tensor));
    Operator& added = append("d_" + op.name, OperatorKind::attention, Phase::activation_gradient, inputs, results);
    added.gradient_of = differentiated_;
    for (std::size_t i = 0; i < kOperands; ++i) {
      added.outputs[i].labels = op.inputs[i].labels;
      added.inputs[i + 1].labels = op.inputs[i].labels;  // saved = query, key, value, ...
    }
    added.over = op.over;
    added.causal = op.causal;
    added.window = op.window;
    added.documents = op.documents;
    added.matmuls = op.matmuls * 2.5;  // recomputed scores, then dV, dP, dQ, dK
    for (std::size_t i = 0; i < kOperands; ++i) contribute(op.inputs[i].tensor, results[i]);
    if (op.inputs.size() <= kOperands || !is_trained(op.inputs.back().tensor)) return;
    append("d_" + op.name + "_sinks", OperatorKind::reduction, Phase::weight_gradient, {op.saved.back()},
           {new_gradient(op.inputs.back().tensor)});
  }

  // One call writes the gradients of all operands. For parameters (the decay) it writes one gradient for each step of a
  // token, with the layout of the step; an additional reduction sums these.
  void differentiate_scan(const Operator& op, TensorId dy) {
    std::vector<TensorId> inputs = {dy};
    inputs.insert(inputs.end(), op.saved.begin(), op.saved.end());
    std::vector<TensorId> results;
    for (const Operand& input : op.inputs) {
      if (!is_parameter(input.tensor)) results.push_back(new_gradient(input.tensor));
    }
    const std::size_t of_activations = results.size();
    std::vector<TensorId> parameters;
    for (const Operand& input : op.inputs) {
      if (!is_trained(input.tensor)) continue;
      parameters.push_back(input.tensor);
      results.push_back(new_gradient(op.inputs[1].tensor));
      graph_.tensors.back().name = "d_" + graph_.tensor(input.tensor).name + "_of_tokens";
    }
    Operator& added = append("d_" + op.name, OperatorKind::scan, Phase::activation_gradient, inputs, results);
    added.gradient_of = differentiated_;
    added.over = op.over;
    added.chunk = op.chunk;
    for (std::size_t i = 0; i < of_activations; ++i) contribute(graph_.tensor(results[i]).of, results[i]);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      append("d_" + op.name + "_parameters", OperatorKind::reduction, Phase::weight_gradient,
             {results[of_activations + i]}, {new_gradient(parameters[i])});
    }
  }

  // Concatenates the gradients of a tensor's parts into its gradient: a copy.
  void differentiate_view(const Operator& op, const std::vector<TensorId>& parts) {
    const TensorId whole = new_gradient(op.inputs[0].tensor);
    Operator& added = append("d_" + op.name, OperatorKind::elementwise, Phase::activation_gradient, parts, {whole});
    added.gradient_of = differentiated_;
    relabel_all(added, op);
    if (op.outputs.size() > 1) put_side_by_side(added);
    contribute(op.inputs[0].tensor, whole);
  }

  // Makes axes of parts whole on every device: otherwise devices that hold all of one part would each add it.
  static void put_side_by_side(Operator& copy) {
    for (const Operand& part : copy.inputs) {
      for (const Axis label : part.labels) {
        const bool own = !copy.outputs.front().labels.contains(label) && !copy.over.contains(label);
        if (own) copy.over.push_back(label);
      }
    }
  }

  // Adds one kernel that writes the gradients of all inputs except those that pass the gradient through. Gradients of
  // parameters (biases, norm weights) are sums over the tokens.
  void differentiate_pointwise(const Operator& op, const std::vector<TensorId>& output_gradients) {
    const auto passes = [&](TensorId id) {
      return std::find(op.passes_gradient.begin(), op.passes_gradient.end(), id) != op.passes_gradient.end();
    };
    std::vector<TensorId> read = output_gradients;
    read.insert(read.end(), op.saved.begin(), op.saved.end());
    std::vector<TensorId> results;
    std::vector<std::vector<Window>> windows;  // by result: its gradient is added to the elements that a window read
    Operand summed;                            // the tensor whose sum is a bias's gradient
    for (const Operand& input : op.inputs) {
      if (is_parameter(input.tensor) || !wants_gradient(input.tensor)) continue;
      const bool same = passes(input.tensor);
      const TensorId result =
          same ? summed_to(input, op.outputs.front(), output_gradients.front()) : new_gradient(input.tensor);
      if (!same) {
        results.push_back(result);
        windows.push_back(input.windows);
      }
      if (summed.tensor < 0) summed = {result, input.labels, {}};
      contribute(input.tensor, result);
    }
    if (!results.empty()) {
      // The gradient of a sum or of a choice is spread over the elements that it was made of.
      const OperatorKind kind = op.kind == OperatorKind::reduction ? OperatorKind::elementwise : op.kind;
      Operator& added = append("d_" + op.name, kind, Phase::activation_gradient, read, results);
      added.gradient_of = differentiated_;
      relabel_all(added, op);
      for (std::size_t i = 0; i < results.size(); ++i) added.outputs[i].windows = windows[i];
      added.over = op.over;
      added.custom = {op.custom.gradient_flop, op.custom.gradient_bytes, 0, 0};
      added.passes = op.gradient_passes > 0 ? op.gradient_passes : op.passes;
      added.launches = op.gradient_launches;
      added.kernels = op.gradient_kernels;
      // Rows are read twice: 10 bytes an element instead of 6.
      if (op.kind == OperatorKind::normalization && options_.norms == NormKernels::plain) added.passes *= 10.0 / 6;
    }
    const bool passed = std::all_of(op.inputs.begin(), op.inputs.end(), [&](const Operand& input) {
      return !is_parameter(input.tensor) || passes(input.tensor);
    });
    if (passed && !output_gradients.empty()) {
      summed = {output_gradients.front(), op.outputs.front().labels, {}};
    } else if (!op.adds_parameters) {
      summed = {};
    }
    sum_over_tokens(op, read, summed);
  }

  // Returns the gradient dy of `output` as the gradient of an input that passes it: dy itself, or its sum over the
  // labels along which the input was repeated.
  TensorId summed_to(const Operand& input, const Operand& output, TensorId dy) {
    if (AxisSet(output.labels).without(AxisSet(input.labels)).empty()) return dy;
    const TensorId sum = new_gradient(input.tensor);
    Operator& added =
        append("sum_" + graph_.tensor(sum).name, OperatorKind::reduction, Phase::activation_gradient, {dy}, {sum});
    relabel(added.inputs[0], output);
    relabel(added.outputs[0], input);
    return sum;
  }

  // Sums gradients of parameters over the labels that the parameters lack: sums of `summed`, if there is such a tensor,
  // else of the tensors that the gradient's kernel reads.
  void sum_over_tokens(const Operator& op, std::vector<TensorId> read, const Operand& summed) {
    if (summed.tensor >= 0) read = {summed.tensor};
    std::vector<TensorId> results;
    for (const Operand& input : op.inputs) {
      if (is_trained(input.tensor)) results.push_back(new_gradient(input.tensor));
    }
    if (results.empty()) return;
    const bool norm = op.kind == OperatorKind::normalization;
    const bool like_norms = norm && options_.norms != NormKernels::plain;
    Operator& sums =
        append("d_" + op.name + "_parameters", like_norms ? OperatorKind::normalization : OperatorKind::reduction,
               Phase::weight_gradient, read, results);
    relabel_all(sums, op);
    if (summed.tensor >= 0) {
      sums.inputs[0].labels = summed.labels;
    } else {
      sums.gradient_of = differentiated_;
    }
    sums.over = op.over;
    sums.part_of_kernel = norm ? options_.norms == NormKernels::fused : options_.fused_bias_sums;
  }

  OperatorGraph graph_;
  const BackwardOptions& options_;
  std::map<TensorId, std::vector<TensorId>> contributions_;
  std::set<TensorId> chosen_;
  OperatorId differentiated_ = -1;
};

bool is_forward_activation(const OperatorGraph& graph, TensorId id) {
  const TensorRole role = graph.tensor(id).role;
  return role == TensorRole::activation || role == TensorRole::input;
}

}  // namespace

OperatorGraph with_backward(OperatorGraph forward, const BackwardOptions& options) {
  return Differentiator(std::move(forward), options).run();
}

bool has_gradients(const OperatorGraph& graph) {
  const auto streams = [&](TensorId input) { return !graph.tensor(input).frozen; };
  return std::any_of(graph.inputs.begin(), graph.inputs.end(), streams) ||
         std::any_of(graph.tensors.begin(), graph.tensors.end(),
                     [](const Tensor& tensor) { return tensor.role == TensorRole::parameter && !tensor.frozen; });
}

int missing_gradients(const OperatorGraph& graph, const Operator& op, bool differentiated) {
  if (!differentiated) return 2;
  return static_cast<int>(std::count_if(op.inputs.begin(), op.inputs.end(),
                                        [&](const Operand& input) { return graph.tensor(input.tensor).frozen; }));
}

std::vector<Operand> unlisted_parameters(const OperatorGraph& graph, const Operator& gradient) {
  std::vector<Operand> out;
  if (gradient.gradient_of < 0 || gradient.phase != Phase::activation_gradient) return out;
  const Operator& forward = graph.op(gradient.gradient_of);
  const bool scaled = forward.kind == OperatorKind::normalization;
  const bool fused = forward.function.find('+') != std::string::npos;
  if (!scaled && !fused && forward.kind != OperatorKind::scan) return out;
  for (const Operand& input : forward.inputs) {
    const bool listed = std::any_of(gradient.inputs.begin(), gradient.inputs.end(),
                                    [&](const Operand& own) { return own.tensor == input.tensor; });
    if (!listed && graph.tensor(input.tensor).role == TensorRole::parameter) out.push_back(input);
    if (scaled && !fused && !out.empty()) break;  // the bias added after the weight is not read
  }
  return out;
}

ActivationPlan plan_activations(const OperatorGraph& graph, std::span<const TensorId> dropped) {
  std::set<TensorId> needed;
  const auto is_gradient = [](const Operator& op) { return op.phase != Phase::forward && op.phase != Phase::update; };
  if (std::none_of(graph.operators.begin(), graph.operators.end(), is_gradient)) return {};  // nothing runs again
  for (const Operator& op : graph.operators) {
    if (!is_gradient(op)) continue;
    for (const Operand& input : op.inputs) {
      if (is_forward_activation(graph, input.tensor)) needed.insert(input.tensor);
    }
  }
  const std::set<TensorId> not_kept(dropped.begin(), dropped.end());
  for (const TensorId output : graph.outputs) {
    if (not_kept.contains(output)) needed.insert(output);
  }

  ActivationPlan plan;
  for (auto id = static_cast<OperatorId>(graph.operators.size()) - 1; id >= 0; --id) {
    const Operator& op = graph.op(id);
    if (op.phase != Phase::forward) continue;
    const bool rerun = std::any_of(op.outputs.begin(), op.outputs.end(), [&](const Operand& output) {
      return needed.contains(output.tensor) && not_kept.contains(output.tensor);
    });
    if (!rerun) continue;
    plan.recomputed.push_back(id);
    for (const Operand& input : op.inputs) {
      if (is_forward_activation(graph, input.tensor)) needed.insert(input.tensor);
    }
  }
  std::reverse(plan.recomputed.begin(), plan.recomputed.end());
  std::copy_if(needed.begin(), needed.end(), std::back_inserter(plan.kept),
               [&](TensorId id) { return !not_kept.contains(id); });
  return plan;
}

std::vector<TensorId> tensors_under(const OperatorGraph& graph, std::string_view tag, Produced produced) {
  const std::optional<Tag> wanted = graph.find_tag(tag);
  if (!wanted) return {};
  std::set<TensorId> inside;
  std::set<TensorId> read_outside;
  for (const Operator& op : graph.operators) {
    if (op.phase != Phase::forward) continue;
    // Results of casts for narrow products are kept, whatever tag the product has.
    if (op.tags.contains(*wanted) && !op.auxiliary) {
      for (const Operand& output : op.outputs) inside.insert(output.tensor);
    } else if (produced == Produced::inside) {
      for (const Operand& input : op.inputs) read_outside.insert(input.tensor);
    }
  }
  std::vector<TensorId> out;
  std::set_difference(inside.begin(), inside.end(), read_outside.begin(), read_outside.end(), std::back_inserter(out));
  return out;
}

std::vector<TensorId> all_but_alternate_products(const OperatorGraph& graph) {
  std::set<TensorId> kept(graph.outputs.begin(), graph.outputs.end());
  bool keep = true;
  for (const Operator& op : graph.operators) {
    if (op.phase != Phase::forward) continue;
    const bool product = op.kind == OperatorKind::einsum && op.linear;
    if (op.kind == OperatorKind::attention || (product && keep)) {
      for (const Operand& output : op.outputs) kept.insert(output.tensor);
    }
    if (product) keep = !keep;
  }
  std::vector<TensorId> out = all_activations(graph);
  std::erase_if(out, [&](TensorId id) { return kept.contains(id); });
  return out;
}

std::vector<TensorId> all_but_outputs(const OperatorGraph& graph) {
  const std::set<TensorId> outputs(graph.outputs.begin(), graph.outputs.end());
  std::vector<TensorId> out = all_activations(graph);
  std::erase_if(out, [&](TensorId id) { return outputs.contains(id); });
  return out;
}

std::vector<TensorId> all_activations(const OperatorGraph& graph) {
  std::vector<TensorId> out;
  for (std::size_t id = 0; id < graph.tensors.size(); ++id) {
    if (graph.tensors[id].role == TensorRole::activation) out.push_back(static_cast<TensorId>(id));
  }
  return out;
}

}  // namespace mirfak
