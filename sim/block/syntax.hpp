// What the text of a block says, as a tree. The forms are those of the README's page.
#pragma once

#include "block/place.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mirfak::block {

// A size: heads / kv_heads, 2 * hidden, 128. A quotient of an axis must be exact.
struct Size {
  enum class Kind { number, name, add, subtract, multiply, divide };
  Kind kind = Kind::number;
  Place place;
  double number = 0;
  std::string name;
  std::vector<Size> parts;  // of an operation: two

  friend bool operator==(const Size&, const Size&) = default;
};

// bias, kv_heads < heads: a size alone holds unless it is 0.
struct Condition {
  Size left;
  std::string comparison;  // "" : left alone; or == != < <= > >=
  Size right;

  friend bool operator==(const Condition&, const Condition&) = default;
};

struct Label {
  std::string name;  // primes included: "s'"
  Place place;

  friend bool operator==(const Label&, const Label&) = default;
};

// How an operand's axis is counted: by one label, or by a sum of labels with factors and an offset, 2 * i + p - 1. What
// lies outside the axis reads as zero.
struct Index {
  struct Term {
    int factor = 1;
    std::string size;  // in place of the factor: stride*i, where it is a size of the block
    Label label;
    friend bool operator==(const Term&, const Term&) = default;
  };
  std::vector<Term> terms;  // of a plain label one, with factor 1
  int offset = 0;

  bool plain() const {
    return terms.size() == 1 && terms.front().factor == 1 && terms.front().size.empty() && offset == 0;
  }
  friend bool operator==(const Index&, const Index&) = default;
};

// What stands behind the semicolon of an operator: labels (some that belong together), or an option.
struct Item {
  Place place;
  std::vector<Label> labels;
  std::string option;  // causal=1, window=w; of a bare value ""
  std::optional<Size> value;

  friend bool operator==(const Item&, const Item&) = default;
};

struct NamedSize {
  std::string name;
  Place place;
  Size value;
  friend bool operator==(const NamedSize&, const NamedSize&) = default;
};

struct Expression {
  enum class Kind {
    tensor,       // x, x[b s' h]
    number,       // 0.5
    call,         // softmax(x; s')
    use,          // use mlp(x, ffn=f)
    contraction,  // x[b s h] w[h f]
    add,
    subtract,
    multiply,
    divide,
    negate,
  };
  Kind kind{};
  Place place;
  std::string name;  // of a tensor, an operator or a block
  double number = 0;
  std::vector<Expression> parts;
  std::vector<Index> indices;  // of a tensor: its axes in this use; empty: as it is defined
  std::vector<Item> items;     // of a call, left of an arrow or without one
  std::vector<Item> made;      // ... right of it
  bool arrow = false;
  std::vector<NamedSize> sizes;  // of a use
  // Of anything in parentheses with labels behind them: the labels of its result.
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
  std::string format;   // fp32, int64, ...; "": that of the training
  bool frozen = false;  // of an input: data, which has no gradient

  friend bool operator==(const Declaration&, const Declaration&) = default;
};

struct Parameter {
  Declaration tensor;
  bool linear = false;  // a weight of a linear layer: recipes quantize its products
  bool frozen = false;
  std::vector<TagName> tags;
  std::string tied_to;  // "embed.table": a parameter of another block that this one is, too
  std::optional<Condition> when;

  friend bool operator==(const Parameter&, const Parameter&) = default;
};

struct AxisLine {
  Label label;
  Size size;
  std::vector<TagName> tags;  // @tensor: which parallelism divides it
  friend bool operator==(const AxisLine&, const AxisLine&) = default;
};

// A line of a block.
struct Statement {
  enum class Kind {
    axes,
    input,
    parameters,
    output,      // output y memory: the streams that leave, where it is not `out` alone
    definition,  // a[b s h] = ...
    when,
    repeat,  // repeat n with y = x:
    next,    // next y[b s h] = ...: what the next repetition starts from
    adapt,   // adapt @qkv rank r: two products of low rank beside every product with a weight of that tag
  };
  Kind kind{};
  Place place;
  std::vector<AxisLine> axes;
  std::vector<Declaration> tensors;  // inputs; of a definition its left side
  std::vector<Parameter> parameters;
  Expression expression;               // of a definition
  std::vector<TagName> tags;           // of a definition and of adapt; the names of outputs
  std::optional<Condition> condition;  // of when
  std::optional<Size> count;           // of repeat; the rank of adapt
  std::string carried;                 // repeat with carried = from
  Place carried_place;
  std::string from;
  Place from_place;
  std::vector<Statement> body;
  std::vector<Statement> otherwise;

  friend bool operator==(const Statement&, const Statement&) = default;
};

// What a block is given: a size, with what it is unless stated; or a block that it uses.
struct Given {
  std::string name;
  Place place;
  std::optional<Size> size;
  std::string block;  // block mlp = gated_mlp: the one used unless stated

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
