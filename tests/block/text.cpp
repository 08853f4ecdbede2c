// parse(print(x)) = x, for the built-in blocks and for trees drawn at random.

#include "block/parser.hpp"
#include "block/printer.hpp"
#include "block_fixture.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

using namespace mirfak;
using namespace mirfak::block;

namespace {

std::vector<Block> parse_text(const std::string& text) {
  return BlockFile::from_text(test::block_file(text), "printed.yaml")->blocks();
}

// Draws trees that the parser can make.
class Trees {
 public:
  explicit Trees(unsigned seed) : random_(seed) {}

  Block block() {
    Block out;
    out.name = name();
    for (int i = upto(3); i > 0; --i) {
      Given given;
      given.name = name();
      if (one_in(4)) {
        given.block = name();
      } else if (one_in(2)) {
        given.size = size(2);
      }
      out.given.push_back(given);
    }
    for (int i = 1 + upto(4); i > 0; --i) out.body.push_back(statement(2));
    return out;
  }

 private:
  int upto(int most) { return static_cast<int>(random_() % static_cast<unsigned>(most + 1)); }
  bool one_in(int n) { return upto(n - 1) == 0; }
  std::string name() { return std::string(1, static_cast<char>('a' + upto(25))) + (one_in(3) ? "_1" : ""); }
  Label label() { return {name() + std::string(static_cast<std::size_t>(upto(2)), '\''), {}}; }
  std::vector<Label> labels() {
    std::vector<Label> out;
    for (int i = upto(3); i > 0; --i) out.push_back(label());
    return out;
  }
  std::vector<TagName> tags() {
    std::vector<TagName> out;
    for (int i = upto(2); i > 0; --i) out.push_back({name(), {}});
    return out;
  }

  Formula size(int depth) {
    using formula::Kind;
    using formula::Operation;
    Formula out;
    if (depth == 0 || one_in(2)) {
      if (one_in(2)) {
        out.kind = Kind::name;
        out.word = name();
      } else {
        out.number = upto(100) + (one_in(4) ? 0.25 : 0);
      }
      return out;
    }
    out.kind = one_in(2) ? Kind::sum : Kind::product;
    do out.parts = {size(depth - 1)};
    while (out.parts[0].kind == out.kind);  // a sum that begins with a sum is one sum
    for (int i = 1 + upto(1); i > 0; --i) {
      out.parts.push_back(size(depth - 1));
      const bool sum = out.kind == Kind::sum;
      out.parts.back().by =
          one_in(2) ? (sum ? Operation::add : Operation::multiply) : (sum ? Operation::subtract : Operation::divide);
    }
    return out;
  }

  Formula condition() {
    using formula::Operation;
    Formula left = size(1);
    if (one_in(7)) return left;
    Formula out;
    out.kind = formula::Kind::comparison;
    out.parts = {left};
    for (int i = 1 + upto(1); i > 0; --i) {
      out.parts.push_back(size(1));
      out.parts.back().by = static_cast<Operation>(static_cast<int>(Operation::equal) + upto(5));
    }
    return out;
  }

  Declaration declaration() {
    Declaration out;
    out.name = name();
    out.labels = labels();
    if (one_in(3)) out.format = one_in(2) ? "fp32" : "int64";
    return out;
  }

  Index index() {
    Index out;
    if (one_in(3)) {
      out.terms = {{1 + upto(3), {}, label()}, {one_in(2) ? -1 : 2, {}, label()}};
      if (one_in(2)) out.terms[0] = {1, name(), label()};
      out.offset = upto(4) - 2;
    } else {
      out.terms = {{1, {}, label()}};
    }
    return out;
  }

  std::vector<Item> items() {
    std::vector<Item> out;
    for (int i = 1 + upto(2); i > 0; --i) {
      Item item;
      if (one_in(3)) {
        item.option = name();
        item.value = size(2);
      } else if (one_in(4)) {
        item.value = Formula();
      } else {
        item.labels = {label()};
        if (one_in(3)) item.labels.push_back(label());
      }
      out.push_back(item);
    }
    return out;
  }

  Expression expression(int depth) {
    Expression out;
    const int kind = depth == 0 ? upto(1) : upto(6);
    out.kind = static_cast<Expression::Kind>(kind);
    switch (out.kind) {
      case Expression::Kind::tensor:
        out.name = name();
        for (int i = upto(3); i > 0; --i) out.indices.push_back(index());
        break;
      case Expression::Kind::number:
        out.number = upto(9) + 0.5;
        break;
      case Expression::Kind::call:
        out.name = name();
        for (int i = 1 + upto(2); i > 0; --i) out.parts.push_back(expression(depth - 1));
        if (one_in(2)) out.items = items();
        if (!out.items.empty() && one_in(3)) {
          out.arrow = true;
          out.made = items();
        }
        break;
      case Expression::Kind::use:
        out.name = name();
        for (int i = upto(2); i > 0; --i) out.parts.push_back(expression(depth - 1));
        if (one_in(2)) out.sizes.push_back({name(), {}, size(1)});
        break;
      case Expression::Kind::contraction:
        for (int i = 2 + upto(1); i > 0; --i) out.parts.push_back(factor(depth - 1));
        break;
      case Expression::Kind::negate:
        out.parts = {expression(depth - 1)};
        break;
      default:
        out.by = std::array{formula::Operation::add, formula::Operation::subtract, formula::Operation::multiply,
                            formula::Operation::divide}
                     .at(static_cast<std::size_t>(upto(3)));
        out.parts = {expression(depth - 1), expression(depth - 1)};
        break;
    }
    const bool brackets = out.kind != Expression::Kind::tensor && out.kind != Expression::Kind::number;
    if (brackets && one_in(3)) out.result = labels();
    return out;
  }

  // Draws a factor, which stands in a juxtaposition without parentheses: no number, as numbers are multiplied with *.
  Expression factor(int depth) {
    Expression out = expression(depth);
    while (out.kind == Expression::Kind::number) out = expression(depth);
    return out;
  }

  Statement statement(int depth) {
    Statement out;
    const int kind = depth == 0 ? upto(4) : upto(8);
    out.kind = static_cast<Statement::Kind>(kind);
    const auto body = [&] {
      std::vector<Statement> inside;
      for (int i = 1 + upto(2); i > 0; --i) inside.push_back(statement(depth - 1));
      return inside;
    };
    switch (out.kind) {
      case Statement::Kind::axes:
        out.axes.push_back({label(), size(2), tags()});
        break;
      case Statement::Kind::input:
        out.tensors = {declaration(), declaration()};
        out.tensors.front().frozen = one_in(2);
        break;
      case Statement::Kind::parameters:
        for (int i = 1 + upto(1); i > 0; --i) out.parameters.push_back(parameter());
        break;
      case Statement::Kind::output:
        out.tags = {{name(), {}}};
        break;
      case Statement::Kind::definition:
      case Statement::Kind::next:
        for (int i = 1 + upto(1); i > 0; --i) out.tensors.push_back(declaration());
        out.expression = expression(3);
        out.tags = tags();
        break;
      case Statement::Kind::when:
        out.condition = condition();
        out.body = body();
        if (one_in(2)) out.otherwise = body();
        break;
      case Statement::Kind::repeat:
        out.count = size(1);
        out.carried = name();
        out.from = name();
        out.body = body();
        break;
      case Statement::Kind::adapt:
        out.tags = {{name(), {}}};
        out.count = size(1);
        break;
    }
    return out;
  }

  Parameter parameter() {
    Parameter out;
    out.tensor = declaration();
    out.linear = one_in(2);
    out.frozen = one_in(3);
    out.tags = tags();
    if (one_in(3)) out.tied_to = name() + "." + name();
    if (one_in(3)) out.when = condition();
    return out;
  }

  std::mt19937 random_;
};

}  // namespace

TEST_CASE("printed blocks of the library read back as the same blocks") {
  for (const std::string& name : test::library().names()) {
    CAPTURE(name);
    const block::DefinitionPointer found = test::library().find(name, {});
    const std::vector<Block>& blocks = found->file->blocks();
    CHECK(parse_text(print(blocks)) == blocks);
  }
}

TEST_CASE("any tree that is printed reads back as the same tree") {
  for (unsigned seed = 0; seed < 500; ++seed) {
    Trees trees(seed);
    const std::vector<Block> blocks = {trees.block()};
    const std::string text = print(blocks);
    CAPTURE(seed);
    CAPTURE(text);
    REQUIRE(parse_text(text) == blocks);
  }
}

TEST_CASE("a line further right continues a statement, a comment ends with its line") {
  const std::string one = "block t(f):\n  axes h=f\n  input x[h]  # a comment\n  out[h] = x + relu(x)\n";
  const std::string broken = "block t(f):\n  axes h=f\n\n  input\n      x[h]\n  out[h] =\n     x\n     + relu(x)\n";
  CHECK(parse_text(one) == parse_text(broken));
}
