#include "base/suggestion.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace mirfak;

namespace {

std::vector<std::string> many() {
  std::vector<std::string> out = {"hgx-h100", "aws-p5", "azure-nd-h100-v5", "dgx-a100-80g"};
  for (int i = 0; i < 60; ++i) out.push_back("other-" + std::to_string(i));
  return out;
}

}  // namespace

TEST_CASE("a likely misspelling is asked for") { CHECK(suggestion("hgx-h10", many()) == "did you mean 'hgx-h100'?"); }

TEST_CASE("few known words are listed, of many the likest five") {
  CHECK(suggestion("xyzzy", std::vector<std::string>{"tensor", "pipeline"}) == "expected tensor or pipeline");
  CHECK(suggestion("xyzzy", std::vector<std::string>{}).empty());
  const std::string hint = suggestion("H100", many());
  CHECK(hint.starts_with("expected one of 64, such as hgx-h100, "));
  CHECK(hint.find("azure-nd-h100-v5") != std::string::npos);
  CHECK(hint.size() < 120);
}

TEST_CASE("suggestions are in the order of their likeness, and a part of several names is no misspelling of one") {
  std::vector<std::string> known = many();
  known.insert(known.end(), {"h100-nvl-8", "hgx-h100-96g"});
  CHECK(suggestion("h100", known).starts_with("expected one of 66, such as hgx-h100, h100-nvl-8, hgx-h100-96g"));
  CHECK(suggestion("hgx-h10", known) == "did you mean 'hgx-h100'?");
}

TEST_CASE("names without separators, or without some of their parts, are found") {
  const std::vector<std::string> nodes = {"rtx-2080-8", "rtx-2080-ti-8", "rtx-4090-pcie-8", "dgx-a100-80g", "hgx-h100"};
  CHECK(suggestion("rtx4090-8", nodes) == "did you mean 'rtx-4090-pcie-8'?");
  CHECK(suggestion("RTX 2080 8", nodes) == "did you mean 'rtx-2080-8'?");
  CHECK(suggestion("a100-80g", nodes) == "did you mean 'dgx-a100-80g'?");
  CHECK(suggestion("hgx-b100", nodes) == "did you mean 'hgx-h100'?");
}
