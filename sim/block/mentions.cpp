#include "block/mentions.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace mirfak::block {

namespace {

class Mentions {
 public:
  explicit Mentions(std::string_view size) : size_(size) {}

  bool in(const Block& block) const {
    return any(block.given, [&](const Given& given) { return in(given.size); }) || in(block.body) ||
           axes(block.body) > 1;
  }

 private:
  static bool any(const auto& list, const auto& holds) { return std::any_of(list.begin(), list.end(), holds); }

  bool in(const Size& size) const {
    if (size.kind == Size::Kind::name) return size.name == size_;
    return any(size.parts, [&](const Size& part) { return in(part); });
  }
  bool in(const std::optional<Size>& size) const { return size && in(*size); }
  bool in(const std::optional<Condition>& condition) const {
    return condition && (in(condition->left) || in(condition->right));
  }
  bool in(const Item& item) const {
    return in(item.value) || any(item.labels, [&](const Label& label) { return label.name == size_; });
  }
  bool in(const Index& index) const {
    return any(index.terms, [&](const Index::Term& term) { return term.size == size_; });
  }
  bool in(const Expression& expression) const {
    return (expression.kind == Expression::Kind::tensor && expression.name == size_) ||
           any(expression.parts, [&](const Expression& part) { return in(part); }) ||
           any(expression.indices, [&](const Index& index) { return in(index); }) ||
           any(expression.items, [&](const Item& item) { return in(item); }) ||
           any(expression.made, [&](const Item& item) { return in(item); }) ||
           any(expression.sizes, [&](const NamedSize& size) { return in(size.value); });
  }
  // Axes that are as large as the size.
  std::ptrdiff_t axes(const std::vector<Statement>& body) const {
    std::ptrdiff_t count = 0;
    for (const Statement& statement : body) {
      count += std::count_if(statement.axes.begin(), statement.axes.end(), [&](const AxisLine& axis) {
        return axis.size.kind == Size::Kind::name && axis.size.name == size_;
      });
      count += axes(statement.body) + axes(statement.otherwise);
    }
    return count;
  }

  bool in(const AxisLine& axis) const { return axis.size.kind != Size::Kind::name && in(axis.size); }
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
};

}  // namespace

bool mentions_beyond_axes(const Block& block, std::string_view size) { return Mentions(size).in(block); }

}  // namespace mirfak::block
