// Fusion of a forward graph by rules. Example, [bias?, dropout?, add] on the end of a layer's branch:
//
//   t = y + b;  u, mask = dropout(t);  out = u + x     ->     out, mask = bias+dropout+add(y, b, x)
//
// moves y, x, out and the mask where three kernels move t and u twice more. Its gradients: that of x is the gradient of
// out itself, that of y is made from it and the mask.

#include "graph/fusion.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace mirfak {

namespace {

bool is_sum_with_parameter(const OperatorGraph& graph, const Operator& op) {
  return op.function == "add" && std::any_of(op.inputs.begin(), op.inputs.end(), [&](const Operand& input) {
           return graph.tensor(input.tensor).role == TensorRole::parameter;
         });
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

void add_once(std::vector<TensorId>& list, TensorId id) {
  if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
}

// The operator that a chain of operators becomes.
class ChainKernel {
 public:
  ChainKernel(const OperatorGraph& graph, const std::vector<OperatorId>& chain) : graph_(graph), chain_(chain) {}

  Operator build(const FusedChain& rule) {
    Operator out = graph_.op(chain_.back());
    out.inputs.clear();
    out.passes = rule.passes;
    out.gradient_passes = rule.gradient_passes;
    for (const OperatorId id : chain_) append(graph_.op(id), out);
    out.saved.clear();
    for (const OperatorId id : chain_) {
      for (const TensorId saved : graph_.op(id).saved) save(saved, out);
    }
    out.passes_gradient.clear();
    for (const Operand& input : out.inputs) {
      if (passes_gradient(input.tensor)) out.passes_gradient.push_back(input.tensor);
    }
    return out;
  }

 private:
  bool is_inside(TensorId id) const { return made_by_.contains(id); }

  void append(const Operator& part, Operator& out) {
    const bool last = &part == &graph_.op(chain_.back());
    for (const Operand& input : part.inputs) {
      const auto same = [&](const Operand& known) {
        return known.tensor == input.tensor && known.labels == input.labels;
      };
      if (is_inside(input.tensor) || std::any_of(out.inputs.begin(), out.inputs.end(), same)) continue;
      out.inputs.push_back(input);
    }
    if (!last) {
      made_by_[part.outputs.front().tensor] = &part;
      out.outputs.insert(out.outputs.end(), part.outputs.begin() + 1, part.outputs.end());
      out.tags = common(out.tags, part.tags);
      out.has_gradient = out.has_gradient && part.has_gradient;
    }
    if (part.kind != OperatorKind::elementwise) {
      out.kind = part.kind;
      out.over = part.over;
    }
    if (!last) functions_ += part.function + "+";
    if (last) out.function = functions_ + part.function;
  }

  TagSet common(TagSet a, TagSet b) const {
    TagSet out;
    for (std::size_t i = 0; i < graph_.tags.size(); ++i) {
      const auto tag = static_cast<Tag>(i);
      if (a.contains(tag) && b.contains(tag)) out.insert(tag);
    }
    return out;
  }

  void save(TensorId id, Operator& out) const {
    if (!is_inside(id)) return add_once(out.saved, id);
    for (const Operand& input : made_by_.at(id)->inputs) {
      if (graph_.tensor(input.tensor).role != TensorRole::parameter) save(input.tensor, out);
    }
  }

  // Every way from an operand to the result passes the gradient on unchanged.
  bool passes_gradient(TensorId id) const {
    bool read = false;
    for (const OperatorId part_id : chain_) {
      const Operator& part = graph_.op(part_id);
      const bool reads = std::any_of(part.inputs.begin(), part.inputs.end(),
                                     [id](const Operand& input) { return input.tensor == id; });
      if (!reads) continue;
      const auto& passed = part.passes_gradient;
      if (std::find(passed.begin(), passed.end(), id) == passed.end()) return false;
      const bool last = part_id == chain_.back();
      if (!last && !passes_gradient(part.outputs.front().tensor)) return false;
      read = true;
    }
    return read;
  }

  const OperatorGraph& graph_;
  const std::vector<OperatorId>& chain_;
  std::map<TensorId, const Operator*> made_by_;  // results inside
  std::string functions_;
};

class Fuser {
 public:
  Fuser(OperatorGraph graph, const FusionRules& rules) : graph_(std::move(graph)), rules_(rules) {}

  OperatorGraph run() {
    for (const std::string& tag : rules_.packed_tags) pack(tag);
    find_readers();
    fuse_chains();
    mark_epilogues();
    remove_unused_tensors();
    return std::move(graph_);
  }

 private:
  static constexpr OperatorId kNobody = -1;
  static constexpr OperatorId kSeveral = -2;

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

  // One pass, whose results but the first (masks) are read by gradients alone.
  bool may_join(const Operator& op) const {
    return is_one_pass(op.kind) && std::all_of(op.outputs.begin() + 1, op.outputs.end(), [&](const Operand& output) {
             return reader_[static_cast<std::size_t>(output.tensor)] == kNobody;
           });
  }

  // The operators that a rule makes one, the first of them given; none where it does not apply.
  std::vector<OperatorId> chain_from(OperatorId first, const FusedChain& rule) const {
    std::vector<OperatorId> chain;
    OperatorId next = first;
    for (std::string_view word : rule.words) {
      const bool optional = word.ends_with('?');
      if (optional) word.remove_suffix(1);
      const bool here = next >= 0 && may_join(graph_.op(next)) && matches(graph_, graph_.op(next), word);
      if (!here && !optional) return {};
      if (!here) continue;
      chain.push_back(next);
      next = reader_[static_cast<std::size_t>(graph_.op(next).outputs.front().tensor)];
    }
    return chain;
  }

  void fuse_chains() {
    std::set<OperatorId> absorbed;
    for (OperatorId id = 0; id < static_cast<OperatorId>(graph_.operators.size()); ++id) {
      if (absorbed.contains(id)) continue;
      for (const FusedChain& rule : rules_.chains) {
        const std::vector<OperatorId> chain = chain_from(id, rule);
        const bool taken =
            std::any_of(chain.begin(), chain.end(), [&](OperatorId part) { return absorbed.contains(part); });
        if (chain.empty() || taken) continue;
        // At the place of the last, where all that the others read is there.
        Operator kernel = ChainKernel(graph_, chain).build(rule);
        graph_.operators[static_cast<std::size_t>(chain.back())] = std::move(kernel);
        absorbed.insert(chain.begin(), chain.end());
        removed_.insert(chain.begin(), chain.end() - 1);
        break;
      }
    }
    std::vector<Operator> left;
    for (std::size_t i = 0; i < graph_.operators.size(); ++i) {
      if (!removed_.contains(static_cast<OperatorId>(i))) left.push_back(std::move(graph_.operators[i]));
    }
    graph_.operators = std::move(left);
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

  // Products of the same operand with weights of a tag become one. Columns that all results have stay axes; the others
  // lie side by side along a new one, and a view parts them.
  void pack(const std::string& name) {
    const std::optional<Tag> tag = graph_.find_tag(name);
    if (!tag) return;
    for (std::size_t first = 0; first < graph_.operators.size(); ++first) {
      std::vector<std::size_t> alike;
      for (std::size_t i = first; i < graph_.operators.size(); ++i) {
        if (may_pack(graph_.operators[i], *tag) && reads_as(graph_.operators[i], graph_.operators[first]))
          alike.push_back(i);
      }
      if (alike.size() > 1 && alike.front() == first) pack_products(name, alike);
    }
  }

  bool may_pack(const Operator& op, Tag tag) const {
    return op.linear && op.tags.contains(tag) && op.inputs[0].windows.empty() &&
           graph_.tensor(op.inputs[1].tensor).role == TensorRole::parameter;
  }

  bool reads_as(const Operator& a, const Operator& b) const {
    if (b.kind != OperatorKind::einsum || a.inputs[0].tensor != b.inputs[0].tensor) return false;
    const Tensor& weight = graph_.tensor(a.inputs[1].tensor);
    const Tensor& other = graph_.tensor(b.inputs[1].tensor);
    return a.inputs[0].labels == b.inputs[0].labels && classify_labels(a).contracted == classify_labels(b).contracted &&
           divided_columns(a) == divided_columns(b) && weight.frozen == other.frozen &&
           weight.bytes_per_element == other.bytes_per_element;
  }

  // Columns that ranks may divide: no part of an axis on which different things lie side by side.
  AxisSet divided_columns(const Operator& op) const {
    AxisSet out;
    for (const Axis axis : classify_labels(op).columns) {
      if (graph_.divided_by(axis) != Parallelism::none) out.insert(axis);
    }
    return out;
  }

  void pack_products(const std::string& name, const std::vector<std::size_t>& alike) {
    const Operator first = graph_.operators[alike.front()];
    AxisLabels shared = classify_labels(first).columns;
    for (const std::size_t i : alike) {
      const AxisSet columns(classify_labels(graph_.operators[i]).columns);
      AxisLabels common;
      for (const Axis axis : shared) {
        if (columns.contains(axis)) common.push_back(axis);
      }
      shared = common;
    }
    std::int64_t width = 0;
    std::vector<TensorId> results;
    for (const std::size_t i : alike) {
      std::int64_t own = 1;
      for (const Axis axis : classify_labels(graph_.operators[i]).columns) {
        if (!shared.contains(axis)) own *= graph_.extent(axis);
      }
      width += own;
      results.push_back(graph_.operators[i].outputs.front().tensor);
    }
    std::string label = name + "_packed";
    while (graph_.find_axis(label)) label += "'";
    shared.push_back(graph_.add_axis({label, width, Parallelism::none, {}}));

    const EinsumLabels labels = classify_labels(first);
    Tensor weight = graph_.tensor(first.inputs[1].tensor);
    Tensor result = graph_.tensor(first.outputs[0].tensor);
    weight.name = name + "_weight";
    result.name = name + "_packed";
    weight.axes = labels.batch;
    result.axes = labels.batch;
    for (const Axis axis : labels.contracted) weight.axes.push_back(axis);
    for (const Axis axis : labels.rows) result.axes.push_back(axis);
    for (const Axis axis : shared) {
      weight.axes.push_back(axis);
      result.axes.push_back(axis);
    }
    Operator product = first;
    product.name = name + "_packed";
    product.inputs[1] = {graph_.add_tensor(weight), weight.axes, {}};
    product.outputs[0] = {graph_.add_tensor(result), result.axes, {}};
    const std::vector<TensorId> packed = {product.outputs[0].tensor};
    const OperatorId parted = graph_.add_operator("split_" + name, OperatorKind::view, packed, results);
    Operator view = std::move(graph_.operators[static_cast<std::size_t>(parted)]);
    view.tags = product.tags;
    graph_.operators.pop_back();
    for (auto i = alike.rbegin(); i != alike.rend(); ++i) {
      graph_.operators.erase(graph_.operators.begin() + static_cast<std::ptrdiff_t>(*i));
    }
    const auto place = graph_.operators.begin() + static_cast<std::ptrdiff_t>(alike.front());
    graph_.operators.insert(graph_.operators.insert(place, std::move(product)) + 1, std::move(view));
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
  std::vector<OperatorId> reader_;  // of each tensor
  std::set<OperatorId> removed_;
};

}  // namespace

OperatorGraph fuse(OperatorGraph forward, const FusionRules& rules) { return Fuser(std::move(forward), rules).run(); }

}  // namespace mirfak
