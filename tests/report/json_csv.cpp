#include "report/json_csv.hpp"

#include "base/csv.hpp"
#include "report/result_json.hpp"
#include "support/example.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace mirfak;

TEST_CASE("objects are rows, keys columns in order of appearance; what is not there is empty, lists are left out") {
  const auto rows = nlohmann::ordered_json::parse(
      R"([{"a": 1, "b": null, "c": {"d": true, "e": [1]}, "list": [2]}, {"a": 0.1, "f": "x, \"y\""}])");
  CHECK(csv_of_json(rows) == "a,b,c.d,f\n1,,true,\n0.1,,,\"x, \"\"y\"\"\"\n");
  CHECK(csv_of_json(rows[0]) == "a,b,c.d\n1,,true\n");
}

TEST_CASE("a result's table has the names and the numbers of its JSON, to the last digit") {
  const auto json = result_json(example().simulation, 0.5);
  const CsvTable table = CsvTable::from_text(csv_of_json(json), "result.csv");
  REQUIRE(table.rows() == 1);
  for (const auto& item : json.items()) {
    const std::string& key = item.key();
    const auto& value = item.value();
    if (value.is_structured()) continue;
    CAPTURE(key);
    const std::size_t column = table.require(key);
    if (value.is_number()) CHECK(table.number(0, column, -1e300, 1e300) == value.get<double>());
    if (value.is_null()) CHECK(table.empty(0, column));
  }
  CHECK(table.number(0, table.require("activities.gemm_s"), 0, 1e9) == json["activities"]["gemm_s"].get<double>());
}
