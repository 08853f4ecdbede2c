// Shared declarations of the parts of the compiler. Private to the room.
#pragma once

#include "block/compile.hpp"
#include "block/operators.hpp"
#include "block/sizes.hpp"
#include "graph/adapters.hpp"

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak::block {

using LabelNames = std::vector<std::string>;

// A tensor as an expression uses it.
struct Value {
  TensorId tensor = -1;
  LabelNames labels;             // labels of the tensor's axes, in this use
  std::optional<double> number;  // a plain number instead of a tensor
  bool absent = false;           // a parameter that is left out because its `when` does not hold
  Place place;
  std::vector<Window> windows;
  LabelNames window_labels;  // step and tap of each window, in order
};

// Properties that a statement requires of the value of its expression.
struct Wanted {
  std::string name;    // name of the last operator and of its result
  LabelNames labels;   // labels of the result; may include labels that the result does not have
  bool known = false;  // true if the labels are stated
  std::string format;  // format of the result; "": the format of the training
};

// Returns the requirements for a part of an expression: the part is a step on the way to the whole.
Wanted part_of(const Wanted& wanted, const std::string& step);
// Returns the requirements for a part of an expression whose labels are not known.
Wanted unknown_part_of(const Wanted& wanted, const std::string& step);
// Returns the name of a step in the names of operators.
std::string step_name(const Expression& expression);
bool holds(const LabelNames& labels, const std::string& label);
// Returns the labels by which an operator reads a value: steps and taps instead of the axes that windows go over.
LabelNames labels_read(const Value& value);

// State that all blocks of one graph share.
struct GraphInProgress {
  OperatorGraph graph;
  CompileOptions options;
  AdapterRules adapters;                // stated by the text
  std::set<std::string> names;          // names of tensors and operators
  std::set<TensorId> integers;          // tensors of whole numbers, which carry no gradients
  std::map<TensorId, std::string> cut;  // tensors that no gradient can pass to, and the operator that made each
  std::set<TensorId> without_gradient;  // results that depend on nothing with a gradient
  int depth = 0;

  // Returns a name that is not used yet. `ending` "." makes a prefix for the contents of a block that is used: "mlp.".
  std::string fresh(const std::string& name, std::string_view ending = {});
  bool has_gradient(TensorId id) const { return !integers.contains(id) && !without_gradient.contains(id); }
};

// Compiles one block, or one use of it, into a graph.
class Compiler {
 public:
  Compiler(GraphInProgress& shared, const Definition& definition, Sizes sizes, std::string prefix);

  // Compiles the block as a whole graph: inputs become streams, `out` leaves.
  void compile_whole();
  // Compiles the block as a part of another block. `values`: its inputs, with the axes that its labels take.
  Value compile_use(const std::vector<Value>& values, const Expression& use, Compiler& caller);

 private:
  struct Bound {
    std::string size;  // text of the size: labels of the same size match
    std::optional<Formula> stated;
    std::optional<Axis> axis;
    Parallelism divided_by = Parallelism::none;
    bool of_images = false;
    Place place;
  };
  struct Defined {
    Value value;  // with labels as defined
    Place place;
    bool used = false;
    const Parameter* parameter = nullptr;
    bool input = false;
    bool statistics = false;  // a loss, which may stay unused
  };

  // statements.cpp
  void run(const std::vector<Statement>& body);
  void run(const Statement& statement);
  void bind_axes(const Statement& statement);
  void declare_inputs(const Statement& statement);
  void declare_parameters(const Statement& statement);
  void declare_parameter(const Parameter& parameter);
  void define(const Statement& statement);
  void define_several(const Statement& statement);
  void repeat(const Statement& statement);
  Value run_once(const Statement& repetition, const Value& start);
  void record(const Declaration& tensor, Value value);
  void check_new(const std::string& name, Place at) const;
  // Fails for a tensor that is not used. `outside`: tensors that later statements may still use.
  void check_used(const std::map<std::string, Defined>& outside) const;
  TensorId leaving(const TagName& name);

  // labels.cpp
  std::int64_t extent_of(const std::string& label, Place at);
  Axis axis_of(const std::string& label, Place at);
  Bound& bound(const std::string& label, Place at);
  bool same_size(const std::string& a, const std::string& b, Place at);
  AxisLabels axes_of(const LabelNames& labels, Place at);
  // Returns axes for `labels` of an operator whose labels are `all`. A primed label is an axis of its own only if
  // another label of `all` has the same name without primes.
  AxisLabels axes_among(const LabelNames& labels, const LabelNames& all, Place at);
  AxisLabels stored_axes(const LabelNames& labels, Place at) { return axes_among(labels, labels, at); }
  LabelNames names_of(const std::vector<Label>& labels);
  void bind_to(const std::string& label, Axis axis, Place at, const Compiler& caller, const std::string& callers_label);
  Parallelism division_of(const std::string& label, const Formula& size) const;
  std::string axis_name(const std::string& label, const Bound& bound) const;

  // expressions.cpp
  Value evaluate(const Expression& expression, const Wanted& wanted);
  Value evaluate_tensor(const Expression& expression, bool windows_allowed);
  Value evaluate_operation(const Expression& expression, const Wanted& wanted);
  Value evaluate_contraction(const Expression& expression, const Wanted& wanted);
  Value evaluate_use(const Expression& expression, const Wanted& wanted);
  // Returns the sizes that a use of a block gives to it: stated ones, those of the same name here, and those that all
  // blocks share.
  Sizes sizes_of_use(const Expression& expression, const Definition& used);
  // Gives the axes of a used block's result the labels `names`, as many as axes. Fails if extents differ.
  void take_axes(const Expression& use, const Definition& used, const LabelNames& names, const AxisLabels& axes);
  Value negate(const Expression& expression, const Wanted& wanted);
  Value product(const Value& left, const Value& right, const LabelNames& labels, const Wanted& wanted);
  void read_windows(const Expression& expression, Value& value);
  LabelNames union_of(const std::vector<Value>& values, const Wanted& wanted, Place at) const;

  // calls.cpp
  struct Call {
    const OperatorRow* row = nullptr;
    const Expression* expression = nullptr;
    std::vector<Value> operands;
    std::vector<LabelNames> axes;  // labels after the semicolon; with an arrow, left of the arrow
    std::vector<LabelNames> made;  // labels right of the arrow
    std::map<std::string, double, std::less<>> options;

    Place place() const { return expression->place; }
    double option(std::string_view name, double otherwise) const {
      const auto found = options.find(name);
      return found == options.end() ? otherwise : found->second;
    }
  };
  Value evaluate_call(const Expression& expression, const Wanted& wanted);
  std::vector<Value> evaluate_several(const Expression& expression, const std::vector<Declaration>& left);
  Call read_call(const Expression& expression, const Wanted& wanted);
  void read_options(const Expression& expression, const OperatorRow& row, Call& call);
  void read_option(const Item& item, const OperatorRow& row, Call& call);
  void check_axes(const Call& call, std::size_t operand) const;
  Value call_elementwise(const Call& call, const Wanted& wanted);
  LabelNames not_of_batch(const LabelNames& labels, Place at);
  Value call_running_over(const Call& call, const Wanted& wanted);
  Value call_reduction(const Call& call, const Wanted& wanted);
  Value dropout(const Value& x, const LabelNames& labels, const Wanted& wanted, double rate);
  Value call_attention(const Call& call, const Wanted& wanted);
  Value call_gather(const Call& call, const Wanted& wanted);
  Value call_cross_entropy(const Call& call, const Wanted& wanted);
  Value call_route(const Call& call, const Wanted& wanted);
  Value call_combine(const Call& call, const Wanted& wanted);
  Value call_scan(const Call& call, const Wanted& wanted);
  Value call_concatenation(const Call& call, const Wanted& wanted);
  Value call_view(const Call& call, const Wanted& wanted);
  Value call_custom(const Call& call, const Wanted& wanted);
  std::vector<Value> call_split(const Call& call, const std::vector<Declaration>& left);
  std::vector<Value> call_dispatch(const Call& call, const std::vector<Declaration>& left);
  void check_sinks(const Value& sinks, const Value& queries) const;
  Value unfused_attention(const Call& call, const Wanted& wanted);
  static Wanted operand_wanted(const Call& call, std::size_t operand, const Wanted& wanted);

  // emit.cpp
  TensorId add_tensor(const std::string& name, const LabelNames& labels, TensorRole role, double bytes, Place at);
  Value result(const Wanted& wanted, const LabelNames& labels, Place at);
  double bytes_of(const std::string& format) const;
  // Adds an operator, named after the first tensor that it makes.
  Operator& emit(OperatorKind kind, const std::vector<Value>& inputs, const std::vector<Value>& outputs,
                 const LabelNames& over = {});
  Value elementwise(const std::string& function, const std::vector<Value>& inputs, const LabelNames& labels,
                    Keeps keeps, const Wanted& wanted, Place at, const LabelNames& over = {});
  void inherit(const std::vector<Value>& inputs, const std::vector<Value>& outputs);
  void check_gradient(const Operator& op, const std::vector<Value>& inputs) const;
  Value second_result(const std::string& name, const LabelNames& labels, double bytes, Place at);
  void check_labels(const Value& value, const Wanted& wanted, Place at) const;

  const Tensor& tensor_of(const Value& value) const { return shared_.graph.tensor(value.tensor); }
  const Node& source() const { return definition_.source(); }
  [[noreturn]] void fail(Place at, std::string message, std::string hint = {}) const {
    source().fail_at(at.offset, std::move(message), std::move(hint));
  }

  GraphInProgress& shared_;
  const Definition& definition_;
  SizeValues sizes_;
  std::string prefix_;     // prefix of the block's names in the graph: "mlp."
  std::string statement_;  // the name that the statement defines, with its prefix
  std::map<std::string, Bound> bound_;
  std::map<std::string, Defined> tensors_;
  std::set<Axis> taken_;           // axes that labels of this block have
  std::vector<mirfak::Tag> tags_;  // tags of the current statement
  std::vector<std::string> outputs_;
  std::vector<Place> output_places_;
  bool whole_ = false;
  const std::vector<Value>* values_ = nullptr;  // inputs of a use
  std::size_t next_input_ = 0;
  Compiler* caller_ = nullptr;
};

}  // namespace mirfak::block
