#include "block/mentions.hpp"

#include "block/operators.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace mirfak::block {

namespace {

class Mentions {
 public:
  explicit Mentions(std::string_view size) : size_(size) {}

  bool in(const Block& block) {
    find_labels(block.body);
    return labels_.size() > 1 || any(block.given, [&](const Given& given) { return in(given.size); }) || in(block.body);
  }

 private:
  static bool any(const auto& list, const auto& holds) { return std::any_of(list.begin(), list.end(), holds); }

  bool in(const Formula& formula) const {
    return is_size(formula) || any(formula.parts, [&](const Formula& part) { return in(part); });
  }
  bool in(const std::optional<Formula>& formula) const { return formula && in(*formula); }
  bool is_size(const Formula& formula) const { return formula.kind == formula::Kind::name && formula.word == size_; }
  bool in(const Item& item) const {
    return in(item.value) || any(item.labels, [&](const Label& label) { return label.name == size_; });
  }
  bool in(const Index& index) const {
    return any(index.terms, [&](const Index::Term& term) { return term.size == size_; });
  }
  bool in(const Expression& expression) const {
    return (expression.kind == Expression::Kind::tensor && expression.name == size_) || fits_axes(expression) ||
           any(expression.parts, [&](const Expression& part) { return in(part); }) ||
           any(expression.indices, [&](const Index& index) { return in(index); }) ||
           any(expression.items, [&](const Item& item) { return in(item); }) ||
           any(expression.made, [&](const Item& item) { return in(item); }) ||
           any(expression.sizes, [&](const NamedSize& size) { return in(size.value); });
  }
  // Finds the labels of axes whose size is exactly this size.
  void find_labels(const std::vector<Statement>& body) {
    for (const Statement& statement : body) {
      for (const AxisLine& axis : statement.axes) {
        if (is_size(axis.size)) labels_.push_back(axis.label.name);
      }
      find_labels(statement.body);
      find_labels(statement.otherwise);
    }
  }
  bool is_fitted(const Item& item) const {
    return any(item.labels, [&](const Label& label) {
      const std::string unprimed = label.name.substr(0, label.name.find('\''));
      return std::find(labels_.begin(), labels_.end(), unprimed) != labels_.end();
    });
  }
  bool fits_axes(const Expression& expression) const {
    if (expression.kind != Expression::Kind::call) return false;
    const OperatorRow* row = find_operator(expression.name);
    if (row == nullptr) return false;
    const bool fits = row->form == OperatorRow::Form::split || row->form == OperatorRow::Form::concatenation ||
                      row->form == OperatorRow::Form::view;
    return fits && (any(expression.items, [&](const Item& item) { return is_fitted(item); }) ||
                    any(expression.made, [&](const Item& item) { return is_fitted(item); }));
  }

  bool in(const AxisLine& axis) const { return axis.size.kind != formula::Kind::name && in(axis.size); }
  bool in(const Statement& statement) const {
    return any(statement.axes, [&](const AxisLine& axis) { return in(axis); }) ||
           any(statement.parameters, [&](const Parameter& parameter) { return in(parameter.when); }) ||
           in(statement.expression) || in(statement.condition) || in(statement.count) || in(statement.body) ||
           in(statement.otherwise);
  }
  bool in(const std::vector<Statement>& body) const {
    return any(body, [&](const Statement& statement) { return in(statement); });
  }

  std::string_view size_;
  std::vector<std::string> labels_;
};

}  // namespace

bool mentions_beyond_axes(const Block& block, std::string_view size) { return Mentions(size).in(block); }

}  // namespace mirfak::block
