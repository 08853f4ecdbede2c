// Fusion of a forward graph by rules. Example, [bias?, dropout?, add] on the end of a layer's branch:
//
//   t = y + b;  u, mask = dropout(t);  out = u + x     ->     out, mask = bias+dropout+add(y, b, x)
//
// moves y, x, out and the mask; three kernels would also move t and u, twice each. Gradients: the gradient of x is the
// gradient of out itself, the gradient of y is made from it and the mask.

#include "graph/fusion.hpp"

#include "graph/packing.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace mirfak {

namespace {

bool is_parameter(const OperatorGraph& graph, const Operand& operand) {
  return graph.tensor(operand.tensor).role == TensorRole::parameter;
}

bool is_sum_with_parameter(const OperatorGraph& graph, const Operator& op) {
  return op.function == "add" && std::any_of(op.inputs.begin(), op.inputs.end(),
                                             [&](const Operand& input) { return is_parameter(graph, input); });
}

// True for sums over experts' rows: each expert has a bias of its own, which only the grouped product itself can add.
bool is_sum_over_rows(const OperatorGraph& graph, const Operator& op) {
  return graph.tensor(op.outputs.front().tensor).density < 1;
}

bool matches(const OperatorGraph& graph, const Operator& op, std::string_view word) {
  if (word.starts_with('@')) {
    const std::optional<Tag> tag = graph.find_tag(word.substr(1));
    return tag && op.tags.contains(*tag);
  }
  if (word == "bias") return is_sum_with_parameter(graph, op);
  if (word == "add") return op.function == "add" && !is_sum_with_parameter(graph, op);
  return op.function == word || name_of(op.kind) == word;
}

bool is_one_pass(OperatorKind kind) {
  return kind == OperatorKind::elementwise || kind == OperatorKind::normalization || kind == OperatorKind::softmax;
}

// True for views that split a tensor: a kernel that reads all parts can read the whole tensor.
bool is_split(const Operator& op) { return op.kind == OperatorKind::view && op.function == "split"; }

void add_once(std::vector<TensorId>& list, TensorId id) {
  if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
}

// The one operator that several operators become: its operands and results are those outside the group.
class JoinedKernel {
 public:
  // `parts`: the operators to join, in order; the last one gives the name. `leaving` of build(): results of the parts
  // that other operators read.
  JoinedKernel(const OperatorGraph& graph, const std::vector<OperatorId>& parts) : graph_(graph), parts_(parts) {}

  Operator build(const std::set<TensorId>& leaving, const FusedChain& rule) {
    Operator out = graph_.op(parts_.back());
    out.inputs.clear();
    out.outputs.clear();
    out.saved.clear();
    out.passes_gradient.clear();
    out.over = {};
    out.number = 0;
    out.adds_parameters = adds_parameters();
    out.kind = OperatorKind::elementwise;
    out.function.clear();
    out.passes = rule.passes;
    out.gradient_passes = rule.gradient_passes;
    out.launches = rule.launches;
    out.gradient_launches = rule.gradient_launches;
    out.kernels = rule.kernels;
    out.gradient_kernels = rule.gradient_kernels;
    for (const OperatorId id : parts_) append(graph_.op(id), leaving, out);
    for (const OperatorId id : parts_) {
      for (const TensorId saved : graph_.op(id).saved) save(saved, leaving, out);
    }
    for (const Operand& input : out.inputs) {
      if (out.outputs.size() == 1 + masks_ && passes_gradient(input.tensor))
        out.passes_gradient.push_back(input.tensor);
    }
    return out;
  }

 private:
  void append(const Operator& part, const std::set<TensorId>& leaving, Operator& out) {
    for (const Operand& input : part.inputs) {
      const auto same = [&](const Operand& known) {
        return known.tensor == input.tensor && known.labels == input.labels;
      };
      if (made_by_.contains(input.tensor) || std::any_of(out.inputs.begin(), out.inputs.end(), same)) continue;
      out.inputs.push_back(input);
    }
    const std::size_t results = is_split(part) ? part.outputs.size() : 1;
    for (std::size_t i = 0; i < part.outputs.size(); ++i) {
      const Operand& output = part.outputs[i];
      if (i < results) made_by_[output.tensor] = &part;
      if (i >= results) ++masks_;
      if (i < results && !leaving.contains(output.tensor)) continue;
      // The result comes before masks and statistics.
      const auto place = i < results && masks_ > 0 ? out.outputs.begin() : out.outputs.end();
      out.outputs.insert(place, output);
    }
    if (is_split(part) || part.function == "concat") need_whole(part, out);
    if (part.kind == OperatorKind::view) return;
    out.has_gradient = out.has_gradient && part.has_gradient;
    if (part.kind != OperatorKind::elementwise) out.kind = part.kind;
    for (const Axis axis : part.over) {
      if (!out.over.contains(axis)) out.over.push_back(axis);
    }
    out.function += (out.function.empty() ? "" : "+") + part.function;
  }

  // Makes the axes whole along which a part splits or joins a tensor: otherwise devices that hold all of one part would
  // each add it to a sum.
  static void need_whole(const Operator& part, Operator& out) {
    const bool split = is_split(part);
    const std::vector<Operand>& whole = split ? part.inputs : part.outputs;
    const std::vector<Operand>& parts = split ? part.outputs : part.inputs;
    for (const auto& [own, other] : {std::pair(&whole, &parts), std::pair(&parts, &whole)}) {
      for (const Operand& operand : *own) {
        for (const Axis axis : operand.labels) {
          const bool kept = std::any_of(other->begin(), other->end(),
                                        [axis = axis](const Operand& of) { return of.labels.contains(axis); });
          if (!kept && !out.over.contains(axis)) out.over.push_back(axis);
        }
      }
    }
  }

  // Saves the tensors that gradients of the parts read: tensors that leave the kernel, else the operands from which an
  // inner tensor is recomputed.
  void save(TensorId id, const std::set<TensorId>& leaving, Operator& out) const {
    const auto inside = made_by_.find(id);
    if (inside == made_by_.end() || leaving.contains(id)) return add_once(out.saved, id);
    for (const Operand& input : inside->second->inputs) {
      if (!is_parameter(graph_, input)) save(input.tensor, leaving, out);
    }
  }

  // True if only the first part reads parameters, and adds them.
  bool adds_parameters() const {
    bool first = true;
    for (const OperatorId id : parts_) {
      const Operator& part = graph_.op(id);
      if (part.kind == OperatorKind::view) continue;
      const bool reads = std::any_of(part.inputs.begin(), part.inputs.end(),
                                     [&](const Operand& input) { return is_parameter(graph_, input); });
      if (reads && !(first && part.adds_parameters)) return false;
      first = false;
    }
    return true;
  }

  // True if every path from an operand to the result passes the gradient on unchanged.
  bool passes_gradient(TensorId id) const {
    bool read = false;
    for (const OperatorId part_id : parts_) {
      const Operator& part = graph_.op(part_id);
      const bool reads = std::any_of(part.inputs.begin(), part.inputs.end(),
                                     [id](const Operand& input) { return input.tensor == id; });
      if (!reads) continue;
      const auto& passed = part.passes_gradient;
      if (std::find(passed.begin(), passed.end(), id) == passed.end()) return false;
      const bool last = part_id == parts_.back();
      if (!last && !passes_gradient(part.outputs.front().tensor)) return false;
      read = true;
    }
    return read;
  }

  const OperatorGraph& graph_;
  const std::vector<OperatorId>& parts_;
  std::map<TensorId, const Operator*> made_by_;  // by result, without masks
  std::size_t masks_ = 0;
};

class Fuser {
 public:
  Fuser(OperatorGraph graph, const FusionRules& rules) : graph_(std::move(graph)), rules_(rules) {}

  OperatorGraph run() {
    for (const std::string& tag : rules_.packed_tags) pack_products(graph_, tag);
    for (const std::string& tag : rules_.group_tags) fuse_groups(tag);
    find_readers();
    fuse_chains();
    mark_epilogues();
    remove_unused_tensors();
    return std::move(graph_);
  }

 private:
  static constexpr OperatorId kNobody = -1;
  static constexpr OperatorId kSeveral = -2;

  OperatorId count() const { return static_cast<OperatorId>(graph_.operators.size()); }
  OperatorId reader(const Operand& result) const { return reader_[static_cast<std::size_t>(result.tensor)]; }

  void find_readers() {
    reader_.assign(graph_.tensors.size(), kNobody);
    for (std::size_t i = 0; i < graph_.operators.size(); ++i) {
      const Operator& op = graph_.operators[i];
      for (const Operand& input : op.inputs) {
        OperatorId& reader = reader_[static_cast<std::size_t>(input.tensor)];
        reader = reader == kNobody ? static_cast<OperatorId>(i) : kSeveral;
      }
    }
    for (const TensorId output : graph_.outputs) reader_[static_cast<std::size_t>(output)] = kSeveral;
  }

  // Puts the kernel at the place of the last part, where all operands of the other parts exist.
  void replace(const std::vector<OperatorId>& parts, Operator kernel) {
    graph_.operators[static_cast<std::size_t>(parts.back())] = std::move(kernel);
    removed_.insert(parts.begin(), parts.end() - 1);
  }

  void remove_replaced() {
    std::vector<Operator> left;
    for (OperatorId id = 0; id < count(); ++id) {
      if (!removed_.contains(id)) left.push_back(std::move(graph_.operators[static_cast<std::size_t>(id)]));
    }
    graph_.operators = std::move(left);
    removed_.clear();
  }

  // True for operators of one pass whose results after the first (masks) are read by gradients alone.
  bool may_join(const Operator& op) const {
    return is_one_pass(op.kind) && std::all_of(op.outputs.begin() + 1, op.outputs.end(),
                                               [&](const Operand& output) { return reader(output) == kNobody; });
  }

  // Fuses consecutive operators with the tag.
  void fuse_groups(const std::string& name) {
    const std::optional<Tag> tag = graph_.find_tag(name);
    if (!tag) return;
    std::vector<OperatorId> group;
    for (OperatorId id = 0; id <= count(); ++id) {
      const bool inside = id < count() && graph_.op(id).tags.contains(*tag) &&
                          (is_one_pass(graph_.op(id).kind) || graph_.op(id).kind == OperatorKind::view);
      if (inside) group.push_back(id);
      if (inside || group.empty()) continue;
      if (group.size() > 1) replace(group, JoinedKernel(graph_, group).build(leaving(group), {}));
      group.clear();
    }
    remove_replaced();
  }

  // Returns the results of the group that other operators read.
  std::set<TensorId> leaving(const std::vector<OperatorId>& group) const {
    std::set<TensorId> out(graph_.outputs.begin(), graph_.outputs.end());
    for (OperatorId id = 0; id < count(); ++id) {
      if (std::find(group.begin(), group.end(), id) != group.end()) continue;
      for (const Operand& input : graph_.op(id).inputs) out.insert(input.tensor);
    }
    return out;
  }

  // Returns the operators that a rule joins, beginning with `first`; empty if the rule does not apply. A kernel that
  // reads all parts of a tensor reads the tensor: the view that splits the tensor needs no word.
  std::vector<OperatorId> chain_from(OperatorId first, const FusedChain& rule) const {
    std::vector<OperatorId> chain;
    OperatorId next = first;
    const auto take = [&] {
      chain.push_back(next);
      next = reader(graph_.op(next).outputs.front());
    };
    for (std::string_view word : rule.words) {
      const bool optional = word.ends_with('?');
      if (optional) word.remove_suffix(1);
      if (next >= 0 && is_split(graph_.op(next))) take();
      const bool here = next >= 0 && may_join(graph_.op(next)) && matches(graph_, graph_.op(next), word) &&
                        !(word == "bias" && is_sum_over_rows(graph_, graph_.op(next)));
      if (!here && !optional) return {};
      if (here) take();
    }
    return reads_whole(chain) ? chain : std::vector<OperatorId>();
  }

  // True if a chain that reads a part of a tensor reads all parts.
  bool reads_whole(const std::vector<OperatorId>& chain) const {
    if (chain.empty() || is_split(graph_.op(chain.back()))) return false;
    return std::all_of(chain.begin(), chain.end(), [&](OperatorId id) {
      const std::vector<Operand>& parts = graph_.op(id).outputs;
      return !is_split(graph_.op(id)) || std::all_of(parts.begin(), parts.end(), [&](const Operand& part) {
        return std::find(chain.begin(), chain.end(), reader(part)) != chain.end();
      });
    });
  }

  void fuse_chains() {
    std::set<OperatorId> absorbed;
    for (OperatorId id = 0; id < count(); ++id) {
      if (absorbed.contains(id)) continue;
      for (const FusedChain& rule : rules_.chains) {
        const std::vector<OperatorId> chain = chain_from(id, rule);
        const bool taken =
            std::any_of(chain.begin(), chain.end(), [&](OperatorId part) { return absorbed.contains(part); });
        if (chain.empty() || taken) continue;
        const std::set<TensorId> result = {graph_.op(chain.back()).outputs.front().tensor};
        replace(chain, JoinedKernel(graph_, chain).build(result, rule));
        absorbed.insert(chain.begin(), chain.end());
        break;
      }
    }
    remove_replaced();
  }

  void mark_epilogues() {
    std::set<TensorId> products;
    for (Operator& op : graph_.operators) {
      if (op.kind == OperatorKind::einsum) products.insert(op.outputs.front().tensor);
      if (op.kind != OperatorKind::elementwise || !products.contains(op.inputs.front().tensor)) continue;
      op.part_of_kernel =
          op.part_of_kernel || std::any_of(rules_.epilogues.begin(), rules_.epilogues.end(),
                                           [&](const std::string& word) { return matches(graph_, op, word); });
    }
  }

  void remove_unused_tensors() {
    std::vector<TensorId> renamed(graph_.tensors.size(), -1);
    const auto use = [&](TensorId id) { renamed[static_cast<std::size_t>(id)] = 0; };
    for_each_id(use);
    std::vector<Tensor> left;
    for (std::size_t id = 0; id < renamed.size(); ++id) {
      if (renamed[id] < 0) continue;
      renamed[id] = static_cast<TensorId>(left.size());
      left.push_back(std::move(graph_.tensors[id]));
    }
    graph_.tensors = std::move(left);
    for_each_id([&](TensorId& id) { id = renamed[static_cast<std::size_t>(id)]; });
  }

  void for_each_id(const auto& visit) {
    for (Operator& op : graph_.operators) {
      for (std::vector<Operand>* operands : {&op.inputs, &op.outputs}) {
        for (Operand& operand : *operands) visit(operand.tensor);
      }
      for (std::vector<TensorId>* ids : {&op.saved, &op.passes_gradient}) {
        for (TensorId& id : *ids) visit(id);
      }
    }
    for (std::vector<TensorId>* ids : {&graph_.inputs, &graph_.outputs}) {
      for (TensorId& id : *ids) visit(id);
    }
  }

  OperatorGraph graph_;
  const FusionRules& rules_;
  std::vector<OperatorId> reader_;  // by tensor
  std::set<OperatorId> removed_;
};

}  // namespace

OperatorGraph fuse(OperatorGraph forward, const FusionRules& rules) { return Fuser(std::move(forward), rules).run(); }

}  // namespace mirfak
