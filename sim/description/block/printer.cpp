#include "block/printer.hpp"

#include <fmt/format.h>

#include <string_view>

namespace mirfak::block {

namespace {

// Returns the precedence of an expression; a part that is looser than its place allows is put in parentheses.
formula::Kind binding_of(const Expression& expression) {
  using Kind = Expression::Kind;
  if (expression.kind == Kind::operation) return formula::sign_of(expression.by).kind;
  const bool product = expression.kind == Kind::contraction || expression.kind == Kind::negate;
  return product ? formula::Kind::negative : formula::Kind::name;
}

std::string labels_of(std::span<const Label> labels) {
  std::string out;
  for (const Label& label : labels) out += (out.empty() ? "" : " ") + label.name;
  return out;
}

std::string print_index(const Index& index) {
  std::string out;
  for (const Index::Term& term : index.terms) {
    const bool minus = term.factor == -1 && !out.empty();
    if (!out.empty() && term.factor > 0) out += "+";
    if (minus) out += "-";
    if (term.factor != 1 && !minus) out += fmt::format("{}*", term.factor);
    if (!term.size.empty()) out += term.size + "*";
    out += term.label.name;
  }
  if (index.offset != 0) out += fmt::format("{:+}", index.offset);
  return out;
}

std::string print_items(std::span<const Item> items) {
  std::string out;
  for (const Item& item : items) {
    if (!out.empty()) out += ", ";
    if (!item.option.empty()) out += item.option + "=";
    out += item.value ? print(*item.value) : labels_of(item.labels);
  }
  return out;
}

std::string print_parts(std::span<const Expression> parts) {
  std::string out;
  for (const Expression& part : parts) out += (out.empty() ? "" : ", ") + print(part);
  return out;
}

std::string print_part(const Expression& part, formula::Kind loosest) {
  const bool closed = part.result.has_value() || binding_of(part) <= loosest;
  return closed ? print(part) : "(" + print(part) + ")";
}

std::string print_operation(const Expression& expression) {
  using formula::Kind;
  if (expression.kind == Expression::Kind::negate) return "-" + print_part(expression.parts[0], Kind::negative);
  if (expression.kind == Expression::Kind::operation) {
    const Kind own = binding_of(expression);
    return fmt::format("{} {} {}", print_part(expression.parts[0], own), formula::sign_of(expression.by).text,
                       print_part(expression.parts[1], own == Kind::sum ? Kind::product : Kind::negative));
  }
  std::string out;
  for (const Expression& part : expression.parts) out += (out.empty() ? "" : " ") + print_part(part, Kind::name);
  return out;
}

std::string print_call(const Expression& expression) {
  std::string out = expression.name + "(" + print_parts(expression.parts);
  if (!expression.items.empty()) out += "; " + print_items(expression.items);
  if (expression.arrow) out += " -> " + print_items(expression.made);
  return out + ")";
}

std::string print_use(const Expression& expression) {
  std::string out = "use " + expression.name + "(" + print_parts(expression.parts);
  bool first = expression.parts.empty();
  for (const NamedSize& size : expression.sizes) {
    out += (first ? "" : ", ") + size.name + "=" + print(size.value);
    first = false;
  }
  return out + ")";
}

std::string print_bare(const Expression& expression) {
  switch (expression.kind) {
    case Expression::Kind::tensor: {
      if (expression.indices.empty()) return expression.name;
      std::string out;
      for (const Index& index : expression.indices) out += (out.empty() ? "" : " ") + print_index(index);
      return expression.name + "[" + out + "]";
    }
    case Expression::Kind::number:
      return fmt::format("{}", expression.number);
    case Expression::Kind::call:
      return print_call(expression);
    case Expression::Kind::use:
      return print_use(expression);
    default:
      return print_operation(expression);
  }
}

std::string print_declaration(const Declaration& tensor) {
  return tensor.name + "[" + labels_of(tensor.labels) + "]" + (tensor.format.empty() ? "" : " " + tensor.format) +
         (tensor.frozen ? " frozen" : "");
}

std::string print_tags(std::span<const TagName> tags) {
  std::string out;
  for (const TagName& tag : tags) out += " @" + tag.name;
  return out;
}

std::string print_parameter(const Parameter& parameter) {
  std::string out = print_declaration(parameter.tensor);
  if (parameter.linear) out += " linear";
  if (parameter.frozen) out += " frozen";
  out += print_tags(parameter.tags);
  if (!parameter.tied_to.empty()) out += " tie " + parameter.tied_to;
  if (parameter.when) out += " when " + print(*parameter.when);
  return out;
}

std::string print_body(std::span<const Statement> body, int level) {
  std::string out;
  for (const Statement& statement : body) out += print(statement, level);
  return out;
}

std::string print_definition(const Statement& statement) {
  std::string left;
  for (const Declaration& tensor : statement.tensors) left += (left.empty() ? "" : ", ") + print_declaration(tensor);
  if (statement.tensors.size() > 1) left = "(" + left + ")";
  return left + " = " + print(statement.expression) + print_tags(statement.tags) + "\n";
}

std::string print_header(const Block& block) {
  std::string out = "block " + block.name + "(";
  for (std::size_t i = 0; i < block.given.size(); ++i) {
    const Given& given = block.given[i];
    if (i > 0) out += ", ";
    if (!given.block.empty()) {
      out += "block " + given.name + "=" + given.block;
    } else {
      out += given.name + (given.size ? "=" + print(*given.size) : "");
    }
  }
  return out + "):\n";
}

}  // namespace

std::string print(const Formula& formula) {
  if (formula.kind == formula::Kind::number) return fmt::format("{}", formula.number);
  if (formula.kind == formula::Kind::name) return formula.word;
  std::string out;
  for (const Formula& part : formula.parts) {
    const std::string_view sign = formula::sign_of(part.by).text;
    out += formula.kind == formula::Kind::comparison && !sign.empty() ? fmt::format(" {} ", sign) : std::string(sign);
    out += part.kind < formula.kind ? print(part) : "(" + print(part) + ")";
  }
  return out;
}

std::string print(const Expression& expression) {
  std::string bare = print_bare(expression);
  if (!expression.result) return bare;
  const std::string labels = "[" + labels_of(*expression.result) + "]";
  const bool call = expression.kind == Expression::Kind::call || expression.kind == Expression::Kind::use;
  return (call ? bare : "(" + bare + ")") + labels;
}

std::string print(const Statement& statement, int level) {
  const std::string indent(static_cast<std::size_t>(2 * level), ' ');
  std::string out = indent;
  switch (statement.kind) {
    case Statement::Kind::axes:
      out += "axes";
      for (const AxisLine& axis : statement.axes) {
        out += " " + axis.label.name + "=" + print(axis.size) + print_tags(axis.tags);
      }
      return out + "\n";
    case Statement::Kind::input:
      out += "input";
      for (const Declaration& tensor : statement.tensors) out += " " + print_declaration(tensor);
      return out + "\n";
    case Statement::Kind::output:
      out += "output";
      for (const TagName& tensor : statement.tags) out += " " + tensor.name;
      return out + "\n";
    case Statement::Kind::parameters:
      out += "param";
      for (const Parameter& parameter : statement.parameters) out += " " + print_parameter(parameter);
      return out + "\n";
    case Statement::Kind::next:
      return out + "next " + print_definition(statement);
    case Statement::Kind::definition:
      return out + print_definition(statement);
    case Statement::Kind::when:
      out += "when " + print(*statement.condition) + ":\n" + print_body(statement.body, level + 1);
      if (!statement.otherwise.empty()) out += indent + "else:\n" + print_body(statement.otherwise, level + 1);
      return out;
    case Statement::Kind::repeat:
      return out + "repeat " + print(*statement.count) + " with " + statement.carried + " = " + statement.from + ":\n" +
             print_body(statement.body, level + 1);
    case Statement::Kind::adapt:
      return out + "adapt @" + statement.tags.front().name + " rank " + print(*statement.count) + "\n";
  }
  return out;
}

std::string print(std::span<const Block> blocks) {
  std::string out;
  for (const Block& block : blocks) {
    if (!out.empty()) out += "\n";
    out += print_header(block) + print_body(block.body, 1);
  }
  return out;
}

}  // namespace mirfak::block
