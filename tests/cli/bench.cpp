#include "program.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <set>

using namespace mirfak::test;
using nlohmann::json;

namespace {

json bench(std::vector<std::string> options) {
  options.insert(options.begin(), {"bench", "--format", "json"});
  const Finished finished = run(options);
  REQUIRE(finished.status == 0);
  return json::parse(finished.out);
}

}  // namespace

TEST_CASE("the hash of behaviour is the same on every run and number of threads") {
  const json one = bench({});
  const json many = bench({"--threads", "0"});
  CHECK(one.at("hash") == many.at("hash"));
  REQUIRE(one.at("cases").size() >= 12);
  std::set<std::string> names;
  for (std::size_t i = 0; i < one.at("cases").size(); ++i) {
    const json& a = one.at("cases")[i];
    const json& b = many.at("cases")[i];
    names.insert(a.at("name"));
    for (const char* key : {"name", "tasks", "events", "hash"}) CHECK(a.at(key) == b.at(key));
  }
  CHECK(names.size() == one.at("cases").size());
}

TEST_CASE("both executors give the same event stream") {
  const json result = bench({});
  const auto hash_of = [&](const std::string& name) {
    for (const json& entry : result.at("cases")) {
      if (entry.at("name") == name) return entry.at("hash").get<std::string>();
    }
    FAIL("no case named " << name);
    return std::string();
  };
  CHECK(hash_of("gpt3-13b gpipe") == hash_of("gpt3-13b gpipe, event queue"));
  CHECK(hash_of("gpt-1t 64 stages") == hash_of("gpt-1t 64 stages, event queue"));
}

TEST_CASE("the text ends with the hash of the JSON") {
  const std::string hash = bench({}).at("hash");
  const Finished finished = run({"bench"});
  CHECK(finished.status == 0);
  CHECK(finished.out.ends_with("\nhash " + hash + "\n"));
}
