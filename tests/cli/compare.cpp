#include "program.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

using namespace mirfak::test;
using nlohmann::json;

namespace {

const std::string kOptionsFile = "scenarios/options/llama3-70b-clouds.yaml";

std::vector<std::string> compare(std::vector<std::string> options) {
  options.insert(options.begin(), {"compare", kOptionsFile});
  return options;
}

}  // namespace

TEST_CASE("the shipped options run, the same on any number of threads, and what does not says why") {
  const Finished finished = run(compare({"--format", "json"}));
  REQUIRE(finished.status == 0);
  CHECK(finished.out == run(compare({"--format", "json", "--jobs", "1"})).out);
  const json result = json::parse(finished.out);
  std::size_t running = 0;
  for (const json& option : result.at("options")) {
    running += option.at("runs") ? 1 : 0;
    CHECK(option.at("reason").is_null() == option.at("runs").get<bool>());
    if (!option.at("runs")) continue;
    CHECK(option.at("cost_low_usd") <= option.at("cost_usd"));
    CHECK(option.at("cost_usd") <= option.at("cost_high_usd"));
    CHECK(option.at("co2_kg") > 0);
  }
  CHECK(running == 9);
  CHECK(result.at("options").size() == 10);
}

TEST_CASE("a table in which nothing is in time is told, with status 3") {
  const Finished finished = run_shell("sed 's/deadline_days: 120/deadline_days: 1/' " + kOptionsFile +
                                          " > late.yaml && mirfak compare late.yaml; "
                                          "status=$?; rm -f late.yaml; exit $status",
                                      ScratchFolder().path());
  CHECK(finished.status == 3);
  CHECK(finished.out.find("TOO LATE") != std::string::npos);
  CHECK(finished.err.find("no option runs and is done in time") != std::string::npos);
}

TEST_CASE("the page stands by itself, and is there although a terminal got the table") {
  const ScratchFolder folder;
  const Finished finished = run(Invocation{compare({"--report", "table.html"}), folder.path()});
  REQUIRE(finished.status == 0);
  const std::string page = read_text(folder.path() / "table.html");
  CHECK(page.starts_with("<!DOCTYPE html>"));
  CHECK(page.ends_with("</html>\n"));
  CHECK(std::count(page.begin(), page.end(), '\n') > 20);
}
