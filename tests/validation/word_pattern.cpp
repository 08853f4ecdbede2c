#include "validation/word_pattern.hpp"

#include "base/yaml.hpp"
#include "validation/value_template.hpp"

#include <doctest/doctest.h>

using namespace mirfak;

namespace {

WordPattern pattern(const std::string& text) {
  const Document document = Document::from_text(quoted_yaml(text), "map.yaml");
  return WordPattern::parse(Node(document));
}

const NameLookup kRow = [](const std::string& name) -> std::optional<std::string> {
  if (name == "n_layers") return "61";
  if (name == "rate") return "1600";
  if (name == "gpu") return "H100";
  return std::nullopt;
};

}  // namespace

TEST_CASE("words are compared whole, without regard to case") {
  CHECK(pattern("bf16").match("BF16"));
  CHECK_FALSE(pattern("A100").match("A1000"));
  CHECK_FALSE(pattern("full").match("not full"));
  CHECK_FALSE(pattern("full").match(""));
}

TEST_CASE("names in braces stand for numbers or texts") {
  const auto ports = pattern("{ports}x HDR{rate} per node").match("8x hdr200 per node");
  REQUIRE(ports);
  CHECK(*ports == Captures{{"ports", "8"}, {"rate", "200"}});
  CHECK_FALSE(pattern("{ports} x HDR").match("eight x HDR"));
  CHECK_FALSE(pattern("{ports} x HDR").match(" x HDR"));
  CHECK(pattern("{share}").match("0.331")->front().second == "0.331");
  CHECK_FALSE(pattern("{share}").match("0."));
  // Braces of a number take all its digits first, and fewer where the rest needs them.
  CHECK(pattern("{a}0").match("100")->front().second == "10");
  CHECK(pattern("layout={text:text}").match("layout=Et*4|(t*4|)*14tmL")->front().second == "Et*4|(t*4|)*14tmL");
  CHECK_FALSE(pattern("layout={text:text}").match("layout="));
}

TEST_CASE("a star stands for any text, none included") {
  CHECK(pattern("*llama*").match("LLaMA3-8B"));
  CHECK(pattern("*llama*").match("tinyllama"));
  CHECK(pattern("arXiv 2205.05198 *").match("arXiv 2205.05198 Table 5"));
  CHECK_FALSE(pattern("arXiv 2205.05198 *").match("see arXiv 2205.05198 Table 5"));
}

TEST_CASE("what is no pattern is refused at its character") {
  CHECK_THROWS_WITH_AS(pattern("8x {ports"), doctest::Contains("map.yaml:1:5: this brace is not closed"), Error);
  CHECK_THROWS_WITH_AS(pattern("{a} or {a}"), doctest::Contains("map.yaml:1:9: the name 'a' appears twice"), Error);
  CHECK_THROWS_WITH_AS(pattern("{a b}"), doctest::Contains("map.yaml:1:2"), Error);
  CHECK_THROWS_WITH_AS(pattern("{a:number}"), doctest::Contains("{name:text}"), Error);
  CHECK_THROWS_WITH_AS(pattern(""), doctest::Contains("expected a word"), Error);
}

TEST_CASE("templates are filled in, and compute with whole numbers") {
  CHECK(filled_in("{gpu}-{rate}", kRow) == "H100-1600");
  CHECK(filled_in("{rate / 200}", kRow) == "8");
  CHECK(filled_in("{n_layers / 2}", kRow) == "31");  // rounded up
  CHECK(filled_in("{n_layers * 4}", kRow) == "244");
  CHECK(filled_in("{rate / 200 * 3}", kRow) == "24");
  CHECK(filled_in("{n_layers - 1}", kRow) == "60");
  CHECK_FALSE(filled_in("{n_layers - 62}", kRow));
  CHECK(filled_in("{rate / n_layers}", kRow) == "27");  // 1600 / 61, rounded up
  CHECK(filled_in("plain", kRow) == "plain");
  std::string missing;
  CHECK_FALSE(filled_in("{tp}", kRow, &missing));
  CHECK(missing == "tp");
  CHECK_FALSE(filled_in("{rate / tp}", kRow, &missing));
  CHECK(missing == "tp");
  CHECK_FALSE(filled_in("{gpu * 2}", kRow));  // no number
}

TEST_CASE("braces that are no template are found") {
  for (const char* text : {"{", "}", "{}", "{a /2}", "{a / 0}", "{a + 1}", "{a / 99999999}", "{a / b /}", "{{a}}"}) {
    INFO(text);
    std::size_t fault = 99;
    CHECK_FALSE(template_names(text, &fault));
    CHECK(fault < 2);
  }
}
