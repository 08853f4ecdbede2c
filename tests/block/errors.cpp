// Every error says where, what was expected, and the nearest name. Line 1 of a text is line 3 of its file, and its
// columns begin two further right.

#include "block_fixture.hpp"

#include <doctest/doctest.h>

using namespace mirfak;

namespace {

const std::string kBegin = "block t(f):\n  axes b=batch s=sequence h=4 f=f\n  input x[b s h]\n";

struct Fault {
  int line = 0;  // of the text
  int column = 0;
  std::string words;  // of the message or the hint
};

void check_fault(const std::string& text, const Fault& fault, const block::Sizes& sizes = {{"f", 6}}) {
  CAPTURE(text);
  try {
    test::compiled(text, sizes);
    FAIL("this block has an error");
  } catch (const Error& error) {
    INFO(error.what());
    CHECK(error.kind() == ErrorKind::input);
    CHECK(error.where().file == "test.yaml");
    CHECK(error.where().line == fault.line + 2);
    CHECK(error.where().column == fault.column + 2);
    CHECK((error.message() + " " + error.hint()).find(fault.words) != std::string::npos);
  }
}

// The fault stands on the line behind the beginning.
void check_statement(const std::string& statement, int column, const std::string& words) {
  check_fault(kBegin + "  " + statement + "\n", {4, column + 2, words});
}

}  // namespace

TEST_CASE("an unknown axis") {
  check_statement("out[b s g] = x", 9, "unknown axis 'g'");
  check_statement("out[b s h] = softmax(x; k)", 25, "unknown axis 'k'");
  check_fault("block t(f):\n  axes tokens=8\n  input x[token]\n  out[tokens] = x\n", {3, 11, "did you mean 'tokens'?"});
}

TEST_CASE("a label that does not match") {
  check_statement("out[b s f] = x[b s f]", 20, "the label 'f' does not match: axis 3 of x is h=4, f is f");
  check_statement("out[b s] = relu(x)", 12, "the label 'h' of an operand is not in the result");
  check_statement("out[b s h f] = relu(x)", 1, "the label 'f' stands on the left");
  check_statement("out[b s s] = x", 9, "the label 's' stands here twice");
  check_statement("out[b s h] = x[b s]", 14, "x has 3 axes, here are 2 labels");
}

TEST_CASE("places that gather reads have no axis that it reads along") {
  check_fault(
      "block t():\n  axes b=batch s=sequence h=4\n  input x[b s h] ids[b s] int64\n  out[b h] = gather(x, ids; s)\n",
      {4, 24, "reads along 's'"}, {});
  check_fault(
      "block t():\n  axes b=batch s=sequence h=4\n  input x[b s h] ids[b s] int64\n  out[b h] = gather(x, ids; s)\n",
      {4, 24, "s' is another label"}, {});
}

TEST_CASE("sizes in conflict") {
  check_fault("block t(f):\n  axes h=f/4\n  input x[h]\n  out[h] = x\n", {2, 10, "f/4 is not exact: 6 / 4"});
  check_statement("(y[b s f], z[b s f]) = split(x; h -> f, f)", 24,
                  "sizes in conflict: the parts are 12 together, h is 4");
  check_statement("out[b f] = view(x; s h -> f)", 12, "sizes in conflict: 32 elements become 6");
  check_fault(
      kBegin + "  out[b s h] = use u(x)\n\nblock u(f):\n  axes c=3 k=f l=2\n  input y[l k c]\n  out[l k c] = y\n",
      {4, 22, "sizes in conflict: s of this operand is 8, the block u takes f = 6"});
}

TEST_CASE("a use before the definition, so every circle") {
  check_statement("y[b s h] = z + x\n  z[b s h] = y", 12, "'z' is not defined here");
  check_statement("out[b s h] = X", 14, "did you mean 'x'?");
  check_fault("block t(f):\n  axes h=f\n  input x[h]\n  out[h] = use t(x)\n", {4, 12, "the block 't' uses itself"});
}

TEST_CASE("an unused tensor") {
  check_statement("y[b s h] = relu(x)\n  out[b s h] = x", 1, "'y' is never used");
  check_statement("param w[h f]\n  out[b s h] = x", 7, "'w' is never used");
  check_fault("block t(f):\n  axes h=f\n  input x[h]\n  y[h] = x\n", {1, 7, "nothing leaves the block t"});
}

TEST_CASE("a second definition") {
  check_statement("x[b s h] = relu(x)", 1, "'x' is defined already");
  check_fault("block t(f):\n  axes h=f\n  axes h=f\n  input x[h]\n  out[h] = x\n",
              {3, 8, "the axis 'h' is bound already"});
}

TEST_CASE("an operator without derivative, where a gradient must pass") {
  check_statement("out[b s h] = relu(round(x))", 19, "round has no derivative");
  check_statement("out[b s h] = sign(x)", 1, "sign has no derivative");
  CHECK_NOTHROW(test::compiled(kBegin + "  out[b s h] = x * stop(round(x))\n", {{"f", 6}}));
}

TEST_CASE("an unknown operator, operand or option") {
  check_statement("out[b s h] = rellu(x)", 14, "did you mean 'relu'?");
  check_statement("out[b s h] = relu(x, x)", 14, "relu takes 1 operand, found 2");
  check_statement("out[b s h] = softmax(x)", 14, "softmax takes 1 axis after the semicolon");
  check_statement("out[b s h] = softmax(x; h, causel)", 28, "softmax has no axis or option 'causel' here");
  check_statement("out[b s h] = softmax(x; f)", 25, "softmax runs over 'f', which its operand does not have");
  check_statement("out[b s h] = dropout(x; rat=0.1)", 25, "did you mean 'rate'?");
}

TEST_CASE("a product that does not say what it sums over") {
  check_statement("out[b s h] = view(x[b s h] x[b s h]; h -> h)", 19, "which labels this product has is not said here");
  check_statement("out[b s] = x[b s h] x[b s' h]", 21, "the label 's'' is in one factor only");
}

TEST_CASE("an unknown size or block") {
  check_fault("block t(hidden):\n  axes h=hiden\n  input x[h]\n  out[h] = x\n", {2, 10, "did you mean 'hidden'?"},
              {{"hidden", 4}});
  check_statement("out[b s h] = use gated_mpl(x)", 14, "there is no block 'gated_mpl'");
  check_fault("block t(f, width):\n  axes h=f\n  input x[h]\n  out[h] = x\n",
              {1, 12, "the size 'width' of the block t"});
}

TEST_CASE("a syntax error") {
  check_statement("out[b s h] = x +", 17, "expected a tensor, a number or an operator, found the end of the line");
  check_statement("out[b s h = x", 11, "expected a label, found '='");
  check_statement("out[b s h] = (x", 16, "expected ')' or an operator, found the end of the line");
  check_statement("out[b s h] = x ? x", 16, "'?' has no meaning here");
  check_statement("whn f:\n    out[b s h] = x", 1, "did you mean 'when'?");
  check_fault("blok t():\n  axes h=4\n", {1, 1, "expected 'block', found 'blok'"});
  check_fault("block t(f):\n    axes h=f\n  input x[h]\n", {3, 3, "this line begins between two levels"});
}

TEST_CASE("a parameter that does not exist is missing from sums only") {
  const std::string text =
      "block t(f, bias=0):\n  axes h=f\n  input x[h]\n  param b[h] when bias\n  out[h] = relu(x + b)\n";
  CHECK(test::compiled(text, {{"f", 4}}).operators.size() == 1);
  CHECK(test::compiled(text, {{"f", 4}, {"bias", 1}}).operators.size() == 2);
  check_fault("block t(f, bias=0):\n  axes h=f\n  input x[h]\n  param b[h] when bias\n  out[h] = relu(x * b)\n",
              {5, 21, "'b' does not exist here"});
}
