// The syntax tree of the text of a block. The forms are those of the README's page.
#pragma once

#include "formula/formula.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mirfak::block {

// Sizes are formulas: heads / kv_heads, 2 * hidden, 128. A quotient that is the extent of an axis must be exact. So are
// conditions: bias, kv_heads < heads. A size alone holds unless it is 0.
using formula::Formula;
using formula::Place;
using formula::Token;

struct Label {
  std::string name;  // with primes: "s'"
  Place place;

  friend bool operator==(const Label&, const Label&) = default;
};

// Index of an operand's axis: one label, or a sum of labels with factors and an offset, 2 * i + p - 1. Elements outside
// the axis read as zero.
struct Index {
  struct Term {
    int factor = 1;
    std::string size;  // name of a size in place of the factor: stride*i
    Label label;
    friend bool operator==(const Term&, const Term&) = default;
  };
  std::vector<Term> terms;  // a plain label is one term with factor 1
  int offset = 0;

  bool plain() const {
    return terms.size() == 1 && terms.front().factor == 1 && terms.front().size.empty() && offset == 0;
  }
  friend bool operator==(const Index&, const Index&) = default;
};

// An item after the semicolon of an operator: labels (several that belong together), or an option.
struct Item {
  Place place;
  std::vector<Label> labels;
  std::string option;  // causal=1, window=w; "": a value without a name
  std::optional<Formula> value;

  friend bool operator==(const Item&, const Item&) = default;
};

struct NamedSize {
  std::string name;
  Place place;
  Formula value;
  friend bool operator==(const NamedSize&, const NamedSize&) = default;
};

struct Expression {
  enum class Kind {
    tensor,       // x, x[b s' h]
    number,       // 0.5
    call,         // softmax(x; s')
    use,          // use mlp(x, ffn=f)
    contraction,  // x[b s h] w[h f]
    operation,    // x + y, x - y, x * y, x / y
    negate,
  };
  Kind kind{};
  Place place;
  std::string name;  // name of a tensor, an operator or a block
  double number = 0;
  formula::Operation by{};  // for an operation
  std::vector<Expression> parts;
  std::vector<Index> indices;  // for a tensor: its axes in this use; empty: as it is defined
  std::vector<Item> items;     // for a call: items left of an arrow, or all items if there is no arrow
  std::vector<Item> made;      // for a call: items right of an arrow
  bool arrow = false;
  std::vector<NamedSize> sizes;  // for a use
  // Labels of the result, for an expression in parentheses with labels after them.
  std::optional<std::vector<Label>> result;

  friend bool operator==(const Expression&, const Expression&) = default;
};

struct TagName {
  std::string name;
  Place place;
  friend bool operator==(const TagName&, const TagName&) = default;
};

// A tensor where it is defined.
struct Declaration {
  std::string name;
  Place place;
  std::vector<Label> labels;
  std::string format;   // fp32, int64, ...; "": the format of the training
  bool frozen = false;  // for an input: data, which has no gradient

  friend bool operator==(const Declaration&, const Declaration&) = default;
};

struct Parameter {
  Declaration tensor;
  bool linear = false;  // a weight of a linear layer: recipes quantize its products
  bool frozen = false;
  std::vector<TagName> tags;
  std::string tied_to;  // "embed.table": the parameter of another block that this parameter is identical with
  std::optional<Formula> when;

  friend bool operator==(const Parameter&, const Parameter&) = default;
};

struct AxisLine {
  Label label;
  Formula size;
  std::vector<TagName> tags;  // @tensor: the parallelism that divides the axis
  friend bool operator==(const AxisLine&, const AxisLine&) = default;
};

// A line of a block.
struct Statement {
  enum class Kind {
    axes,
    input,
    parameters,
    output,      // output y memory: the streams that leave the block, unless only `out` leaves
    definition,  // a[b s h] = ...
    when,
    repeat,  // repeat n with y = x:
    next,    // next y[b s h] = ...: the start of the next repetition
    adapt,   // adapt @qkv rank r: two products of low rank next to every product with a weight of that tag
  };
  Kind kind{};
  Place place;
  std::vector<AxisLine> axes;
  std::vector<Declaration> tensors;  // inputs; for a definition its left side
  std::vector<Parameter> parameters;
  Expression expression;             // for a definition
  std::vector<TagName> tags;         // for a definition and for adapt; for outputs their names
  std::optional<Formula> condition;  // for when
  std::optional<Formula> count;      // for repeat; for adapt the rank
  std::string carried;               // repeat with carried = from
  Place carried_place;
  std::string from;
  Place from_place;
  std::vector<Statement> body;
  std::vector<Statement> otherwise;

  friend bool operator==(const Statement&, const Statement&) = default;
};

// A parameter of a block: a size with its default, or a block that the block uses.
struct Given {
  std::string name;
  Place place;
  std::optional<Formula> size;
  std::string block;  // block mlp = gated_mlp: the block used by default

  friend bool operator==(const Given&, const Given&) = default;
};

struct Block {
  std::string name;
  Place place;
  std::vector<Given> given;
  std::vector<Statement> body;

  friend bool operator==(const Block&, const Block&) = default;
};

}  // namespace mirfak::block
