// The shell of pages: one file, which nothing in its data can break out of, and which loads nothing.

#include "page/page.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

using namespace mirfak;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kHostile = "</script><script>alert(1)</script><!-- </title> </noscript> ]]> & \" ' \xff";

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Json data_of(const std::string& page) {
  const std::string begin = "id=\"mirfak-data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

}  // namespace

TEST_CASE("a page is one whole document with a policy that allows its own style and script only") {
  const std::string page = page_html("A title", "search", {{"result", {{"a", 1}}}, {"text", "report\n"}});
  CHECK(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
  CHECK(page.ends_with("</html>\n"));
  for (const char* once : {"<html", "</html>", "<head>", "</head>", "<body>", "</body>", "<title>", "<h1>", "<main>",
                           "<noscript>", "</noscript>", "<style>", "</style>"}) {
    CAPTURE(once);
    CHECK(count(page, once) == 1);
  }
  CHECK(count(page, "<script") == 2);
  CHECK(count(page, "</script>") == 2);
  CHECK(page.find("default-src 'none'; style-src " + page_style_source() + "; script-src " + page_script_source()) !=
        std::string::npos);
  CHECK(page.find("<pre class=\"report\">report\n</pre>") != std::string::npos);
  CHECK(data_of(page) == Json{{"kind", "search"}, {"units", units_json()}, {"result", {{"a", 1}}}});
}

TEST_CASE("no text in the data is read as markup") {
  const std::string page = page_html(kHostile, "simulate", {{"name", kHostile}, {"text", kHostile}});
  CHECK(count(page, "<script") == 2);
  CHECK(count(page, "</script>") == 2);
  CHECK(count(page, "</title>") == 1);
  CHECK(count(page, "</noscript>") == 1);
  CHECK(page.find("<!--") == std::string::npos);
  const std::string name = data_of(page)["name"].get<std::string>();
  CHECK(name.starts_with("</script><script>alert(1)</script><!-- </title> </noscript> ]]> & \" ' "));
}

TEST_CASE("style and script are plain ASCII and know no address but a name of SVG") {
  for (const std::string_view asset : {page_style(), page_script()}) {
    CHECK(asset.size() > 1000);
    CHECK(std::all_of(asset.begin(), asset.end(), [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
    for (const char* elsewhere :
         {"https:", "//www.", "@import", "src=", "fetch(", "XMLHttpRequest", "WebSocket", "eval(", "innerHTML"}) {
      CAPTURE(elsewhere);
      CHECK(count(asset, elsewhere) == (std::string_view(elsewhere) == "//www." && asset == page_script() ? 1 : 0));
    }
    CHECK(count(asset, "http") == count(asset, "\"http://www.w3.org/2000/svg\""));
    CHECK(count(asset, "url(") == count(asset, "url(#"));
    CHECK(count(asset, "</") == 0);
  }
}
