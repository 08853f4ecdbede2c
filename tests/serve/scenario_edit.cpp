#include "serve/scenario_edit.hpp"

#include "base/error.hpp"
#include "base/yaml.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mirfak;
using mirfak::serve::edited;
using mirfak::serve::KeyEdit;

namespace {

const std::string kText =
    "# What it is.\n"
    "model: gpt3-175b  # 175 billion\n"
    "cluster:\n"
    "  nodes: [{type: dgx-a100-80g, count: 192}]\n"
    "strategy:\n"
    "  tensor: 8\n"
    "  recompute: 'full'\n";

std::string with(const std::string& key, const std::string& value) { return edited(kText, {{key, value}}, "scenario"); }
std::string without(const std::string& key) { return edited(kText, {{key, std::nullopt}}, "scenario"); }

std::string replaced(const std::string& from, const std::string& to) {
  std::string out = kText;
  return out.replace(out.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("a key changes in its place, and comments stay") {
  CHECK(with("model", "gpt3-13b") == replaced("gpt3-175b", "gpt3-13b"));
  CHECK(with("cluster.nodes[0].count", "48") == replaced("192", "48"));
  CHECK(with("cluster.nodes[0].type", "hgx-h100") == replaced("dgx-a100-80g", "hgx-h100"));
  CHECK(with("strategy.tensor", "4") == replaced("tensor: 8", "tensor: 4"));
}

TEST_CASE("a key that is not there is added behind the last of its section") {
  CHECK(with("cluster.nodes[0].gpus", "4") == replaced("count: 192", "count: 192, gpus: 4"));
  CHECK(edited("strategy:\n  tensor: 8\nmodel: a\n", {{"strategy.zero", "1"}}, "scenario") ==
        "strategy:\n  tensor: 8\n  zero: 1\nmodel: a\n");
  CHECK(edited("a:\n  b: 1\n  c: [1,  2]  # two\n", {{"a.d", "3"}}, "scenario") ==
        "a:\n  b: 1\n  d: 3\n  c: [1,  2]  # two\n");
  CHECK(edited("model: a", {{"training.precision", "fp8"}}, "scenario") == "model: a\ntraining:\n  precision: fp8\n");
}

TEST_CASE("a key is taken out with its line") {
  CHECK(without("strategy.tensor") == replaced("  tensor: 8\n", ""));
  CHECK(without("strategy.zero") == kText);
}

TEST_CASE("what does not fit into a line is written anew, and says the same") {
  const auto same = [](const std::string& text, const std::string& wanted) {
    CHECK(emit_yaml(parse_yaml(text, "a")) == emit_yaml(parse_yaml(wanted, "a")));
  };
  same(with("strategy.recompute", "none"), replaced("'full'", "none"));
  same(without("strategy"), kText.substr(0, kText.find("strategy:")));
  same(with("strategy.stages", "[{layers: 2}]"), replaced("tensor: 8\n", "tensor: 8\n  stages: [{layers: 2}]\n"));
  same(edited("a: &x 1\nb: *x\n", {{"a", "2"}}, "scenario"), "a: 2\nb: 1\n");
  same(edited("m\xc3\xa9: {tensor: 1}\n", {{"m\xc3\xa9.tensor", "2"}}, "scenario"), "m\xc3\xa9: {tensor: 2}\n");
  same(edited("text: |\n  tensor: 8\nstrategy: {tensor: 8}", {{"strategy.tensor", "1"}}, "scenario"),
       "text: |\n  tensor: 8\nstrategy: {tensor: 1}");
}

TEST_CASE("values are YAML, and never more than a value") {
  CHECK(with("model", "\"a: b\"").find("model: \"a: b\"") != std::string::npos);
  CHECK_THROWS_AS(with("model", "a\nb: c"), Error);
  CHECK_THROWS_AS(with("model", "[1"), Error);
  CHECK_THROWS_AS(with("cluster.nodes[7].count", "1"), Error);
  CHECK_THROWS_AS(with("model..", "1"), Error);
  CHECK_THROWS_AS(with("", "1"), Error);
  CHECK_THROWS_WITH_AS(with("mod\xff", "1"), doctest::Contains("UTF-8"), Error);
  CHECK_THROWS_AS(edited("a: [", {{"a", "1"}}, "scenario"), Error);
}
