// Recursive descent over tokens: one function for each form of the README's page.

#include "block/parser.hpp"

#include "base/text.hpp"
#include "block/token.hpp"
#include "formula/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mirfak::block {

namespace {

constexpr std::array<std::string_view, 16> kReserved = {"block", "axes",   "input",  "output", "param", "use",
                                                        "when",  "else",   "repeat", "with",   "next",  "adapt",
                                                        "rank",  "linear", "frozen", "tie"};

struct Format {
  std::string_view name;
  double bytes;
};
constexpr std::array<Format, 10> kFormats = {{{"fp32", 4},
                                              {"tf32", 4},
                                              {"bf16", 2},
                                              {"fp16", 2},
                                              {"fp8", 1},
                                              {"int64", 8},
                                              {"int32", 4},
                                              {"int16", 2},
                                              {"int8", 1},
                                              {"bool", 1}}};

constexpr int kMaxDepth = 100;  // nesting of parentheses, when and repeat
constexpr int kMaxFactor = 1'000'000;

constexpr formula::Language kLanguage = {nullptr, kMaxDepth, "a size: a name, a number or a quotient",
                                         "')' after a size", "found the end of the text"};

class Parser : formula::Parser {
 public:
  explicit Parser(const Node& source) : formula::Parser(source, tokens_of(source), kLanguage) {}

  std::vector<Block> run() {
    std::vector<Block> blocks;
    while (now().kind != Token::Kind::end) blocks.push_back(read_block());
    if (blocks.empty()) fail("expected a block", "block name(size, ...): and its statements below");
    return blocks;
  }

  Formula run_size() {
    Formula size = read_size();
    end_line();
    if (now().kind != Token::Kind::end) expected("a size alone");
    return size;
  }

 private:
  void expect(std::string_view mark, std::string_view where) {
    if (!accept(mark)) expected(fmt::format("'{}' {}", mark, where));
  }
  void end_line() {
    if (now().kind == Token::Kind::newline) {
      take();
    } else if (now().kind != Token::Kind::dedent && now().kind != Token::Kind::end) {
      expected("the end of the line", "a statement goes on where its next line begins further right");
    }
  }

  std::string name(std::string_view what) {
    if (now().kind != Token::Kind::name) expected(std::string(what));
    if (is_reserved(now().text)) expected(std::string(what), fmt::format("'{}' is a word of the language", now().text));
    if (now().text.ends_with('\'')) expected(fmt::format("{}, which has no prime", what));
    return std::string(take().text);
  }

  // Blocks and their statements.

  Block read_block() {
    if (!accept_word("block")) expected("'block'", "a block begins with: block name(size, ...):");
    Block block;
    block.place = now().place;
    block.name = name("the name of the block");
    expect("(", "and what the block is given");
    if (!now().is(")")) {
      do block.given.push_back(read_given());
      while (accept(","));
    }
    expect(")", "or ',' after what a block is given");
    expect(":", "before the statements of a block");
    block.body = read_body();
    return block;
  }

  Given read_given() {
    Given given;
    const bool is_block = accept_word("block");
    given.place = now().place;
    given.name = name("the name of a size");
    if (is_block) {
      expect("=", "and the block that is used unless another is stated");
      given.block = name("the name of a block");
    } else if (accept("=")) {
      given.size = read_size();
    }
    return given;
  }

  std::vector<Statement> read_body() {
    const Depth depth(*this);
    if (now().kind == Token::Kind::newline) take();
    if (now().kind != Token::Kind::indent) expected("a line further right: what belongs to the colon");
    take();
    std::vector<Statement> body;
    while (now().kind != Token::Kind::dedent && now().kind != Token::Kind::end) body.push_back(read_statement());
    if (now().kind == Token::Kind::dedent) take();
    return body;
  }

  Statement read_statement() {
    Statement statement;
    statement.place = now().place;
    if (accept_word("axes")) return read_axes(std::move(statement));
    if (accept_word("input")) return read_inputs(std::move(statement));
    if (accept_word("param")) return read_parameters(std::move(statement));
    if (accept_word("output")) return read_outputs(std::move(statement));
    if (accept_word("when")) return read_when(std::move(statement));
    if (accept_word("repeat")) return read_repeat(std::move(statement));
    if (accept_word("adapt")) return read_adapt(std::move(statement));
    statement.kind = Statement::Kind::definition;
    if (accept_word("next")) statement.kind = Statement::Kind::next;
    return read_definition(std::move(statement));
  }

  Statement read_axes(Statement statement) {
    statement.kind = Statement::Kind::axes;
    do {
      AxisLine axis;
      axis.label = read_label();
      expect("=", "and the size of the axis");
      axis.size = read_size();
      while (now().is("@")) axis.tags.push_back(read_tag());
      statement.axes.push_back(std::move(axis));
    } while (now().kind == Token::Kind::name);
    end_line();
    return statement;
  }

  Statement read_inputs(Statement statement) {
    statement.kind = Statement::Kind::input;
    do {
      statement.tensors.push_back(read_declaration());
      statement.tensors.back().frozen = accept_word("frozen");
    } while (now().kind == Token::Kind::name);
    end_line();
    return statement;
  }

  Statement read_outputs(Statement statement) {
    statement.kind = Statement::Kind::output;
    do {
      const Place place = now().place;
      statement.tags.push_back({name("the name of a tensor that leaves the block"), place});
    } while (now().kind == Token::Kind::name);
    end_line();
    return statement;
  }

  Statement read_parameters(Statement statement) {
    statement.kind = Statement::Kind::parameters;
    do statement.parameters.push_back(read_parameter());
    while (now().kind == Token::Kind::name);
    end_line();
    return statement;
  }

  Parameter read_parameter() {
    Parameter parameter;
    parameter.tensor = read_declaration();
    while (true) {
      if (accept_word("linear")) {
        parameter.linear = true;
      } else if (accept_word("frozen")) {
        parameter.frozen = true;
      } else if (now().is("@")) {
        parameter.tags.push_back(read_tag());
      } else if (accept_word("tie")) {
        parameter.tied_to = name("the block whose parameter this one is");
        expect(".", "and the name of the parameter");
        parameter.tied_to += "." + name("the name of the parameter");
      } else if (accept_word("when")) {
        parameter.when = read_condition();
      } else {
        return parameter;
      }
    }
  }

  Declaration read_declaration() {
    Declaration tensor;
    tensor.place = now().place;
    tensor.name = name("the name of a tensor");
    tensor.labels = read_labels("the labels of its axes");
    if (now().kind == Token::Kind::name && bytes_of_format(now().text) > 0) tensor.format = take().text;
    return tensor;
  }

  TagName read_tag() {
    expect("@", "before a tag");
    TagName tag;
    tag.place = now().place;
    tag.name = name("a tag");
    return tag;
  }

  Statement read_when(Statement statement) {
    statement.kind = Statement::Kind::when;
    statement.condition = read_condition();
    expect(":", "after the condition");
    statement.body = read_body();
    if (accept_word("else")) {
      expect(":", "after else");
      statement.otherwise = read_body();
    }
    return statement;
  }

  Statement read_repeat(Statement statement) {
    statement.kind = Statement::Kind::repeat;
    statement.count = read_size();
    if (!accept_word("with")) expected("'with' and the tensor that goes from one repetition to the next");
    statement.carried_place = now().place;
    statement.carried = name("the name of a tensor");
    expect("=", "and the tensor that it is at first");
    statement.from_place = now().place;
    statement.from = name("the name of a tensor");
    expect(":", "before what is repeated");
    statement.body = read_body();
    return statement;
  }

  Statement read_adapt(Statement statement) {
    statement.kind = Statement::Kind::adapt;
    statement.tags.push_back(read_tag());
    if (!accept_word("rank")) expected("'rank' and the rank of the adapters");
    statement.count = read_size();
    end_line();
    return statement;
  }

  Statement read_definition(Statement statement) {
    if (accept("(")) {
      do statement.tensors.push_back(read_declaration());
      while (accept(","));
      expect(")", "or ',' after the tensors that are defined");
    } else {
      if (now().kind == Token::Kind::name && !is_reserved(now().text) && !ahead().is("[")) fail_statement();
      statement.tensors.push_back(read_declaration());
    }
    expect("=", "and what the tensor is");
    statement.expression = read_sum();
    while (now().is("@")) statement.tags.push_back(read_tag());
    end_line();
    return statement;
  }

  // Fails at a line that begins with no word of the language and defines nothing.
  [[noreturn]] void fail_statement() const {
    const std::vector<std::string> words = {"axes",   "input", "output", "param", "when",
                                            "repeat", "next",  "adapt",  "else"};
    expected("a statement", did_you_mean(now().text, words, "a tensor is defined with its labels: y[b s h] = ..."));
  }

  // Labels.

  Label read_label() {
    if (now().kind != Token::Kind::name || is_reserved(now().text)) expected("a label");
    Label label;
    label.place = now().place;
    label.name = take().text;
    return label;
  }

  std::vector<Label> read_labels(std::string_view what) {
    expect("[", fmt::format("and {}", what));
    std::vector<Label> labels;
    while (!now().is("]")) labels.push_back(read_label());
    take();
    return labels;
  }

  std::vector<Index> read_indices() {
    expect("[", "before labels");
    std::vector<Index> indices;
    while (!now().is("]")) indices.push_back(read_index());
    take();
    return indices;
  }

  int read_small_number() {
    const Place at = now().place;
    const double value = number();
    const int small = value <= kMaxFactor ? static_cast<int>(value) : -1;
    if (small != value) source_.fail_at(at.offset, fmt::format("expected a whole number up to {}", kMaxFactor));
    return small;
  }

  Index read_index() {
    Index index;
    int sign = 1;
    do {
      if (now().kind == Token::Kind::number) {
        const int factor = sign * read_small_number();
        if (accept("*")) {
          index.terms.push_back({factor, {}, read_label()});
        } else {
          index.offset += factor;
        }
      } else if (sign > 0 && ahead().is("*")) {
        const std::string size = name("a size");
        take();
        index.terms.push_back({1, size, read_label()});
      } else {
        index.terms.push_back({sign, {}, read_label()});
      }
      sign = now().is("-") ? -1 : 1;
    } while (accept("+") || accept("-"));
    if (index.terms.empty()) fail("a window without a label", "x[b 2*i+p-1 c]: positions of labels");
    return index;
  }

  // Sizes.

  Formula read_size() {
    const Depth depth(*this);
    return sum();
  }

  Formula read_condition() {
    const Depth depth(*this);
    return comparison();
  }

  Formula named() override {
    Formula out;
    out.kind = formula::Kind::name;
    out.place = now().place;
    out.word = name(kLanguage.operand);
    return out;
  }

  // Expressions.

  Expression read_sum() {
    const Depth depth(*this);
    return read_operations(formula::Kind::sum);
  }

  // Reads a sum, or a product with * and /.
  Expression read_operations(formula::Kind level) {
    const auto operand = [&] {
      return level == formula::Kind::sum ? read_operations(formula::Kind::product) : read_product();
    };
    Expression left = operand();
    while (true) {
      Expression out;
      out.kind = Expression::Kind::operation;
      out.by = formula::operation_of(now(), level);
      if (out.by == formula::Operation::none) return left;
      out.place = take().place;
      out.parts.push_back(std::move(left));
      out.parts.push_back(operand());
      left = std::move(out);
    }
  }

  bool at_factor() const {
    if (now().is("(")) return true;
    return now().kind == Token::Kind::name && (!is_reserved(now().text) || now().text == "use");
  }

  Expression read_product() {
    if (now().is("-")) {
      Expression out;
      out.kind = Expression::Kind::negate;
      out.place = take().place;
      const Depth depth(*this);
      out.parts.push_back(read_product());
      return out;
    }
    Expression first = read_factor();
    if (!at_factor()) return first;
    Expression out;
    out.kind = Expression::Kind::contraction;
    out.place = first.place;
    out.parts.push_back(std::move(first));
    while (at_factor()) out.parts.push_back(read_factor());
    return out;
  }

  Expression read_factor() {
    Expression out;
    out.place = now().place;
    if (accept("(")) {
      out = read_sum();
      expect(")", "or an operator");
      if (now().is("[")) out.result = read_labels("labels");
      return out;
    }
    if (now().kind == Token::Kind::number) {
      out.kind = Expression::Kind::number;
      out.number = number();
      return out;
    }
    if (accept_word("use")) return read_use(std::move(out));
    out.name = name("a tensor, a number or an operator");
    if (now().is("(") && now().touches) return read_call(std::move(out));  // x (y + z) multiplies
    out.kind = Expression::Kind::tensor;
    if (now().is("[")) out.indices = read_indices();
    return out;
  }

  Expression read_call(Expression out) {
    const Depth depth(*this);
    out.kind = Expression::Kind::call;
    take();
    if (!now().is(")") && !now().is(";")) {
      do out.parts.push_back(read_sum());
      while (accept(","));
    }
    if (accept(";")) {
      read_items(out.items);
      if (accept("->")) {
        out.arrow = true;
        read_items(out.made);
      }
    }
    expect(")", fmt::format("after what {} is given", out.name));
    if (now().is("[")) out.result = read_labels("labels");
    return out;
  }

  void read_items(std::vector<Item>& items) {
    do items.push_back(read_item());
    while (accept(","));
  }

  Item read_item() {
    Item item;
    item.place = now().place;
    if (now().kind == Token::Kind::name && ahead().is("=")) {
      item.option = name("an option");
      take();
      item.value = read_size();
      return item;
    }
    const bool value = now().kind == Token::Kind::number || now().is("(") || ahead().is("*") || ahead().is("/") ||
                       ahead().is("+") || ahead().is("-");
    if (value) {
      item.value = read_size();
      return item;
    }
    do item.labels.push_back(read_label());
    while (now().kind == Token::Kind::name && !is_reserved(now().text));
    return item;
  }

  Expression read_use(Expression out) {
    const Depth depth(*this);
    out.kind = Expression::Kind::use;
    out.name = name("the name of a block");
    if (accept(".")) out.name += "." + name("the name of a block of that file");
    expect("(", "and what the block reads");
    while (!now().is(")")) {
      if (now().kind == Token::Kind::name && ahead().is("=")) {
        NamedSize size;
        size.place = now().place;
        size.name = name("the name of a size");
        take();
        size.value = read_size();
        out.sizes.push_back(std::move(size));
      } else {
        if (!out.sizes.empty()) expected("a size", "tensors stand before sizes: use mlp(x, ffn=f)");
        out.parts.push_back(read_sum());
      }
      if (!accept(",")) break;
    }
    expect(")", "after what a block is given");
    if (now().is("[")) out.result = read_labels("labels");
    return out;
  }
};

}  // namespace

std::vector<Block> parse(const Node& source) { return Parser(source).run(); }

Formula parse_size(const Node& source) { return Parser(source).run_size(); }

bool is_reserved(std::string_view word) {
  return std::find(kReserved.begin(), kReserved.end(), word) != kReserved.end() || bytes_of_format(word) > 0;
}

double bytes_of_format(std::string_view name) {
  for (const Format& format : kFormats) {
    if (format.name == name) return format.bytes;
  }
  return 0;
}

}  // namespace mirfak::block
