#include "base/text.hpp"

#include <doctest/doctest.h>

using namespace mirfak;

TEST_CASE("the beginning of a name is that name rather than one a few letters away") {
  const std::vector<std::string> names = {"hgx-a800", "dgx-a100-40g", "dgx-a100-80g", "h20", "h100-80g"};
  CHECK(nearest("dgx-a100", names) == "dgx-a100-40g");
  CHECK(nearest("hgx-a80", names) == "hgx-a800");  // one edit
  CHECK(nearest("h100", names) == "h100-80g");
}

TEST_CASE("the nearest name is one that is likely meant") {
  const std::vector<std::string> names = {"tensor", "pipeline", "virtual_pipeline", "zero"};
  CHECK(nearest("tensr", names) == "tensor");   // one letter missing
  CHECK(nearest("tesnor", names) == "tensor");  // two neighbours swapped: one edit
  CHECK(nearest("TENSOR", names) == "tensor");  // case does not count
  CHECK(nearest("pipelines", names) == "pipeline");
  CHECK(nearest("virtual_pipline", names) == "virtual_pipeline");
  CHECK(nearest("micro_batch", names) == "");
}

TEST_CASE("a short word is not replaced as a whole") {
  const std::vector<std::string> names = {"pp", "dp"};
  CHECK(nearest("x", names) == "");
  CHECK(nearest("xy", names) == "");
  CHECK(nearest("tp", names) == "pp");  // one of two letters; of equally near names the first
  CHECK(nearest("", names) == "");
}

TEST_CASE("hostile words cost nothing") {
  CHECK(nearest(std::string(100'000, 'a'), std::vector<std::string>(1000, "aaaa")) == "");
}

TEST_CASE("an excerpt is short, whole characters, and printable") {
  CHECK(excerpt("short") == "short");
  CHECK(excerpt("abcdef", 3) == "abc...");
  CHECK(excerpt("abcdef", 6) == "abcdef");
  CHECK(excerpt("ääää", 5) == "ää...");  // two bytes each: the fifth byte would be half of one
  CHECK(excerpt("a\x1b\n\x7f"
                "b") == "a???b");
  CHECK(excerpt("a\xff\xc3") == "a??");
}

TEST_CASE("lines count from one and lose their end") {
  const std::string text = "one\ntwo\r\n\nfour";
  CHECK(nth_line(text, 1) == "one");
  CHECK(nth_line(text, 2) == "two");
  CHECK(nth_line(text, 3) == "");
  CHECK(nth_line(text, 4) == "four");
  CHECK(nth_line(text, 5) == "");
  CHECK(nth_line(text, 0) == "");
  CHECK(nth_line(text, -1) == "");
  CHECK(nth_line("", 1) == "");
}

TEST_CASE("words are joined as a person would") {
  CHECK(join_or(std::vector<std::string>{}) == "");
  CHECK(join_or(std::vector<std::string>{"a"}) == "a");
  CHECK(join_or(std::vector<std::string>{"a", "b"}) == "a or b");
  CHECK(join_or(std::vector<std::string>{"a", "b", "c"}) == "a, b or c");
}

TEST_CASE("numbers in a row become ranges") {
  CHECK(ranges_text({0, 1, 2, 3, 7, 9, 10}) == "0-3, 7, 9-10");
  CHECK(ranges_text({5}) == "5");
  CHECK(ranges_text({}).empty());
}

TEST_CASE("letters of a name are small, and its words are split between letters, digits and signs") {
  CHECK(lower_case("LLaMA3.1-8B \xc3\x84") == "llama3.1-8b \xc3\x84");  // ASCII only
  CHECK(name_words("LLaMA3.1-8B") == std::vector<std::string>{"llama", "3", "1", "8", "b"});
}
