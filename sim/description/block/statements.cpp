// Statements, in order: each defines its tensors once, and reads only tensors defined above it. Therefore no graph has
// a cycle.

#include "base/text.hpp"
#include "block/compiler.hpp"
#include "block/parser.hpp"
#include "block/printer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mirfak::block {

namespace {

constexpr std::int64_t kMaxRepetitions = 1000;
constexpr std::int64_t kMaxAdapterRank = 1'000'000;

bool is_whole_format(const std::string& format) { return format.starts_with("int") || format == "bool"; }

}  // namespace

Compiler::Compiler(GraphInProgress& shared, const Definition& definition, Sizes sizes, std::string prefix)
    : shared_(shared),
      definition_(definition),
      sizes_(definition.source(), std::move(sizes)),
      prefix_(std::move(prefix)) {}

void Compiler::compile_whole() {
  whole_ = true;
  run(definition_.block->body);
  if (outputs_.empty() && tensors_.contains("out")) {
    outputs_ = {"out"};
    output_places_ = {tensors_.at("out").place};
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    shared_.graph.outputs.push_back(leaving({outputs_[i], output_places_[i]}));
  }
  const bool ends_in_loss =
      std::any_of(tensors_.begin(), tensors_.end(), [](const auto& entry) { return entry.second.statistics; });
  if (shared_.graph.outputs.empty() && !ends_in_loss) {
    fail(definition_.block->place, fmt::format("nothing leaves the block {}", definition_.block->name),
         "define out[...], state output y, or end in cross_entropy");
  }
  check_used({});
}

TensorId Compiler::leaving(const TagName& name) {
  Expression tensor;
  tensor.kind = Expression::Kind::tensor;
  tensor.name = name.name;
  tensor.place = name.place;
  const Value value = evaluate_tensor(tensor, false);
  if (value.absent) fail(name.place, fmt::format("'{}' leaves, but does not exist here", name.name));
  if (const auto cut = shared_.cut.find(value.tensor); cut != shared_.cut.end()) {
    fail(name.place, fmt::format("{} has no derivative, and '{}' leaves the block", cut->second, name.name));
  }
  return value.tensor;
}

Value Compiler::compile_use(const std::vector<Value>& values, const Expression& use, Compiler& caller) {
  values_ = &values;
  caller_ = &caller;
  run(definition_.block->body);
  if (next_input_ != values.size()) {
    caller.fail(use.place, fmt::format("the block {} reads {} tensor{}, found {}", definition_.block->name, next_input_,
                                       next_input_ == 1 ? "" : "s", values.size()));
  }
  const auto out = tensors_.find("out");
  if (out == tensors_.end()) {
    caller.fail(use.place, fmt::format("the block {} makes no tensor: it defines no out", definition_.block->name));
  }
  out->second.used = true;
  check_used({});
  return out->second.value;
}

void Compiler::run(const std::vector<Statement>& body) {
  for (const Statement& statement : body) run(statement);
}

void Compiler::run(const Statement& statement) {
  switch (statement.kind) {
    case Statement::Kind::axes:
      return bind_axes(statement);
    case Statement::Kind::input:
      return declare_inputs(statement);
    case Statement::Kind::parameters:
      return declare_parameters(statement);
    case Statement::Kind::output:
      for (const TagName& tensor : statement.tags) {
        outputs_.push_back(tensor.name);
        output_places_.push_back(tensor.place);
      }
      return;
    case Statement::Kind::definition:
      return define(statement);
    case Statement::Kind::when:
      return run(sizes_.holds(*statement.condition) ? statement.body : statement.otherwise);
    case Statement::Kind::repeat:
      return repeat(statement);
    case Statement::Kind::next:
      fail(statement.place, "next stands within repeat only", "repeat n with y = x:");
    case Statement::Kind::adapt:
      shared_.adapters.rank = sizes_.count(*statement.count, 1, kMaxAdapterRank);
      shared_.adapters.tags.push_back(statement.tags.front().name);
      return;
  }
}

namespace {

constexpr std::string_view kOfImages = "images";  // marks axes whose elements exist once for each image of a sequence

}  // namespace

void Compiler::bind_axes(const Statement& statement) {
  for (const AxisLine& axis : statement.axes) {
    if (axis.label.name.ends_with('\'')) {
      fail(axis.label.place, "a primed label is as large as the label without a prime", "state that one alone");
    }
    if (bound_.contains(axis.label.name))
      fail(axis.label.place, fmt::format("the axis '{}' is bound already", axis.label.name));
    Bound bound;
    bound.size = print(axis.size);
    bound.stated = axis.size;
    bound.place = axis.label.place;
    bound.divided_by = division_of(axis.label.name, axis.size);
    for (const TagName& tag : axis.tags) {
      std::vector<std::string> names = parallelism_names();
      const auto found = std::find(names.begin(), names.end(), tag.name);
      if (tag.name == kOfImages) {
        bound.of_images = true;
        bound.divided_by = Parallelism::none;
        continue;
      }
      if (found == names.end()) {
        names.emplace_back(kOfImages);
        fail(tag.place, fmt::format("no parallelism is called '{}'", tag.name),
             did_you_mean(tag.name, names, "expected " + join_or(names)));
      }
      if (shared_.options.divisions.contains(axis.label.name)) continue;
      bound.divided_by = static_cast<Parallelism>(found - names.begin());
    }
    sizes_.extent(axis.size);
    bound_[axis.label.name] = std::move(bound);
  }
}

void Compiler::check_new(const std::string& name, Place at) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return;
  fail(at, fmt::format("'{}' is defined already", name),
       "each tensor is defined once: give this one a name of its own");
}

void Compiler::declare_inputs(const Statement& statement) {
  for (const Declaration& tensor : statement.tensors) {
    check_new(tensor.name, tensor.place);
    Defined defined;
    defined.place = tensor.place;
    defined.input = true;
    const LabelNames labels = names_of(tensor.labels);
    const bool whole_numbers = is_whole_format(tensor.format);
    const bool given = values_ != nullptr;
    if (given) {
      if (next_input_ >= values_->size()) {
        fail(tensor.place, fmt::format("'{}' is read, but the use of {} gives {} tensors", tensor.name,
                                       definition_.block->name, values_->size()));
      }
      const Value& value = (*values_)[next_input_++];
      if (value.labels.size() != labels.size()) {
        caller_->fail(value.place,
                      fmt::format("the block {} reads {} with {} axes, this operand has {}", definition_.block->name,
                                  tensor.name, labels.size(), value.labels.size()));
      }
      for (std::size_t i = 0; i < labels.size(); ++i) {
        const Axis axis = shared_.graph.tensor(value.tensor).axes[i];
        Bound& own = bound(labels[i], tensor.place);
        if (own.axis && *own.axis == axis) continue;
        if (own.axis) {
          caller_->fail(value.place, fmt::format("the label '{}' of {} is two axes: {} is another", labels[i],
                                                 definition_.block->name, value.labels[i]));
        }
        bind_to(labels[i], axis, value.place, *caller_, value.labels[i]);
      }
      defined.value = value;
      defined.value.labels = labels;
    } else {
      defined.value.labels = labels;
      defined.value.place = tensor.place;
      defined.value.tensor = add_tensor(shared_.fresh(prefix_ + tensor.name), labels, TensorRole::input,
                                        bytes_of(tensor.format), tensor.place);
      if (whole_numbers) shared_.integers.insert(defined.value.tensor);
      shared_.graph.tensors[static_cast<std::size_t>(defined.value.tensor)].frozen = tensor.frozen;
      if (tensor.frozen) shared_.without_gradient.insert(defined.value.tensor);
      if (!tensor.frozen && !whole_numbers) shared_.graph.inputs.push_back(defined.value.tensor);
    }
    tensors_[tensor.name] = std::move(defined);
  }
}

void Compiler::declare_parameters(const Statement& statement) {
  for (const Parameter& parameter : statement.parameters) declare_parameter(parameter);
}

void Compiler::declare_parameter(const Parameter& parameter) {
  const Declaration& tensor = parameter.tensor;
  check_new(tensor.name, tensor.place);
  Defined defined;
  defined.place = tensor.place;
  defined.parameter = &parameter;
  defined.value.labels = names_of(tensor.labels);
  defined.value.place = tensor.place;
  defined.value.absent = parameter.when && !sizes_.holds(*parameter.when);
  defined.used = defined.value.absent;
  if (!defined.value.absent) {
    defined.value.tensor = add_tensor(shared_.fresh(prefix_ + tensor.name), defined.value.labels, TensorRole::parameter,
                                      bytes_of(tensor.format), tensor.place);
    Tensor& made = shared_.graph.tensors[static_cast<std::size_t>(defined.value.tensor)];
    made.frozen = parameter.frozen;
    made.tied = !parameter.tied_to.empty();
  }
  tensors_[tensor.name] = std::move(defined);
}

void Compiler::record(const Declaration& tensor, Value value) {
  check_new(tensor.name, tensor.place);
  Defined defined;
  defined.place = tensor.place;
  value.place = tensor.place;
  value.windows.clear();
  defined.value = std::move(value);
  tensors_[tensor.name] = std::move(defined);
}

void Compiler::define(const Statement& statement) {
  tags_.clear();
  if (caller_ != nullptr) tags_ = caller_->tags_;
  for (const auto& tag : statement.tags) tags_.push_back(shared_.graph.tag(tag.name));
  if (statement.tensors.size() > 1) return define_several(statement);
  const Declaration& left = statement.tensors.front();
  check_new(left.name, left.place);
  Wanted wanted;
  wanted.name = prefix_ + left.name;
  wanted.labels = names_of(left.labels);
  wanted.known = true;
  wanted.format = left.format;
  statement_ = wanted.name;
  Value value = evaluate(statement.expression, wanted);
  if (value.number)
    fail(statement.expression.place, "a number is no tensor", "numbers stand within expressions: 2 * x");
  if (value.absent)
    fail(statement.expression.place, "the defined tensor does not exist here, because its condition does not hold");
  check_labels(value, wanted, left.place);
  const bool reordered = value.labels != wanted.labels;
  const bool renamed = !(stored_axes(value.labels, left.place) == tensor_of(value).axes);
  if (reordered || renamed) {  // another name for the same elements
    const Value view = result(wanted, wanted.labels, left.place);
    emit(OperatorKind::view, {value}, {view});
    value = view;
  }
  record(left, value);
  const bool loss = statement.expression.kind == Expression::Kind::call && statement.expression.name == "cross_entropy";
  tensors_.at(left.name).statistics = loss;
  tags_.clear();
}

void Compiler::define_several(const Statement& statement) {
  for (const Declaration& tensor : statement.tensors) check_new(tensor.name, tensor.place);
  const std::vector<Value> values = evaluate_several(statement.expression, statement.tensors);
  for (std::size_t i = 0; i < values.size(); ++i) record(statement.tensors[i], values[i]);
  tags_.clear();
}

// Compiles a repetition: each run defines its tensors anew; only the carried tensor is passed on.
void Compiler::repeat(const Statement& statement) {
  const std::int64_t count = sizes_.count(*statement.count, 0, kMaxRepetitions);
  check_new(statement.carried, statement.carried_place);
  Expression from;
  from.kind = Expression::Kind::tensor;
  from.name = statement.from;
  from.place = statement.from_place;
  Value carried = evaluate_tensor(from, false);
  std::map<std::string, Defined> outside = tensors_;
  const std::string prefix = prefix_;
  for (std::int64_t i = 0; i < count; ++i) {
    prefix_ = fmt::format("{}{}.", prefix, i + 1);
    carried = run_once(statement, carried);
    check_used(outside);
    for (auto& [name, defined] : outside) defined.used = tensors_.at(name).used;
    tensors_ = outside;
  }
  prefix_ = prefix;
  Declaration last;
  last.name = statement.carried;
  last.place = statement.carried_place;
  record(last, carried);
}

Value Compiler::run_once(const Statement& repetition, const Value& start) {
  const std::string goes_on = repetition.carried + "'";
  Declaration first;
  first.name = repetition.carried;
  first.place = repetition.carried_place;
  record(first, start);
  for (const Statement& statement : repetition.body) {
    if (statement.kind != Statement::Kind::next) {
      run(statement);
      continue;
    }
    if (statement.tensors.size() != 1 || statement.tensors.front().name != repetition.carried) {
      fail(statement.place, fmt::format("the tensor that goes on is '{}'", repetition.carried));
    }
    Statement definition = statement;
    definition.kind = Statement::Kind::definition;
    definition.tensors.front().name = goes_on;
    define(definition);
  }
  const auto next = tensors_.find(goes_on);
  if (next == tensors_.end()) {
    fail(repetition.place, fmt::format("nothing says what '{}' is in the next repetition", repetition.carried),
         fmt::format("next {}[...] = ...", repetition.carried));
  }
  next->second.used = true;
  return next->second.value;
}

void Compiler::check_used(const std::map<std::string, Defined>& outside) const {
  const Defined* first = nullptr;
  std::string name;
  for (const auto& [of, defined] : tensors_) {
    if (defined.used || defined.statistics || outside.contains(of)) continue;
    if (first != nullptr && first->place.offset < defined.place.offset) continue;
    first = &defined;
    name = of;
  }
  if (first == nullptr) return;
  fail(first->place, fmt::format("'{}' is never used", name),
       first->parameter != nullptr ? "remove it, or state when it exists: w[h f] when bias"
                                   : "remove it, or state that it leaves: output y");
}

Sizes complete_sizes(const Definition& definition, const Sizes& stated, const Location& asked_at) {
  SizeValues sizes(definition.source(), {});
  const std::vector<std::string>& names = definition.sizes;
  for (const auto& [name, value] : stated) {
    const bool known =
        name == "batch" || name == "sequence" || std::find(names.begin(), names.end(), name) != names.end();
    if (!known) {
      fail_input(asked_at, fmt::format("the block {} takes no size '{}'", definition.block->name, excerpt(name)),
                 did_you_mean(name, names, "it takes " + join_or(names)));
    }
    sizes.set(name, value);
  }
  for (const Given& given : definition.block->given) {
    if (!given.block.empty() || sizes.has(given.name)) continue;
    if (!given.size) {
      definition.source().fail_at(
          given.place.offset,
          fmt::format("the size '{}' of the block {} is not stated", given.name, definition.block->name),
          fmt::format("--set {0}=..., or {0}: in the model file", given.name));
    }
    sizes.set(given.name, sizes.evaluate(*given.size));
  }
  return sizes.values();
}

OperatorGraph compile(const Definition& definition, const Sizes& sizes, const CompileOptions& options) {
  GraphInProgress shared;
  shared.options = options;
  shared.graph.name = definition.block->name;
  Compiler compiler(shared, definition, sizes, "");
  compiler.compile_whole();
  return with_adapters(std::move(shared.graph), shared.adapters);
}

}  // namespace mirfak::block
