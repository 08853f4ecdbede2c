#include "base/csv.hpp"

#include "failure.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <fstream>

using namespace mirfak;

TEST_CASE("a table has its header's columns, and rows of as many fields") {
  const CsvTable table = CsvTable::from_text("# source: a paper\nm,n , k\n1,2,3\n\n4,,6\n", "t.csv");
  CHECK(table.header() == std::vector<std::string>{"m", "n", "k"});
  REQUIRE(table.rows() == 2);
  CHECK(table.integer(0, table.require("k"), 0, 10) == 3);
  CHECK(table.empty(1, table.require("n")));
  CHECK(table.number(1, table.require("m"), 0, 10) == 4);
  CHECK_FALSE(table.find("x"));
}

TEST_CASE("quotes keep commas, line ends and doubled quotes") {
  const CsvTable table = CsvTable::from_text("a,b\r\n\"1,2\",\"he said \"\"so\"\"\nand left\"\r\n#3,x\n3,y", "t.csv");
  REQUIRE(table.rows() == 2);
  CHECK(table.text(0, 0) == "1,2");
  CHECK(table.text(0, 1) == "he said \"so\"\nand left");
  CHECK(table.text(1, 1) == "y");
  CHECK(table.where(1, 1).line == 5);
  CHECK(table.where(1, 1).column == 3);
}

TEST_CASE("a field is read back as it was written") {
  for (const std::string text : {"plain", "a,b", "a \"b\"", "two\nlines", "# no comment", ""}) {
    const CsvTable table = CsvTable::from_text("x,y\n" + csv_field(text) + ",1\n", "t.csv");
    REQUIRE(table.rows() == 1);
    CHECK(table.text(0, 0) == text);
  }
}

TEST_CASE("what is wrong is named with its line and column") {
  const auto failure = [](const std::string& text) { return failure_of([&] { CsvTable::from_text(text, "t.csv"); }); };
  CHECK(contains(failure(""), "t.csv:1:1: "));
  CHECK(contains(failure("a,a\n"), "t.csv:1:3: "));
  CHECK(contains(failure("a,\n"), "t.csv:1:3: "));
  CHECK(contains(failure("a,b\n1\n"), "t.csv:2:1: "));
  CHECK(contains(failure("a,b\n1,2,3\n"), "expected as many fields as the header has, 2, found 3"));
  CHECK(contains(failure("a,b\n1,\"2\n"), "t.csv:2:3: "));
  CHECK(contains(failure("a,b\n\"1\"2,3\n"), "t.csv:2:4: "));
  CHECK(contains(failure("a,b\n1,\xe9\n"), "t.csv:2:3: the byte 0xe9 is not UTF-8 text"));
  CHECK(contains(failure("a,b\n1,\x01\n"), "t.csv:2:3: the control character 0x01"));

  const CsvTable table = CsvTable::from_text("time_us,size\n-1,2.5\nnan,12x\n", "t.csv");
  CHECK(contains(failure_of([&] { table.number(0, 0, 0, 1e9); }), "t.csv:2:1: "));
  CHECK(contains(failure_of([&] { table.number(1, 0, 0, 1e9); }), "t.csv:3:1: "));
  CHECK(contains(failure_of([&] { table.number(1, 1, 0, 1e9); }), "size: expected a number, found '12x'"));
  CHECK(contains(failure_of([&] { table.integer(0, 1, 0, 9); }), "size: expected an integer, found 2.5"));
  CHECK(contains(failure_of([&] { table.require("time_ms"); }), "is 'time_us' meant for it?"));
  CHECK(contains(failure_of([&] { CsvTable::from_file("no/such/table.csv"); }), "no/such/table.csv"));
}

TEST_CASE("a table compressed by gzip is read as what it holds, and one that is cut off is refused with the line") {
  // "a,b\n1,2\n3,4\n"
  const std::string whole(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\xd4\x49\xe2\x32\xd4\x31\xe2\x32\xd6\x31\xe1\x02\x00\xe5\xe9\xd6\xce"
      "\x0c"
      "\x00\x00\x00",
      32);
  const ScratchFolder folder;
  const auto table_of = [&](const std::string& bytes) {
    std::ofstream(folder / "t.csv", std::ios::binary) << bytes;
    return CsvTable::from_file(folder / "t.csv");
  };
  CHECK(table_of(whole).text(1, 1) == "4");
  CHECK(contains(failure_of([&] { table_of(whole.substr(0, 20)); }), "cannot read this file: it is cut off"));
  std::string damaged = whole;
  damaged[24] = 'x';
  CHECK(contains(failure_of([&] { table_of(damaged); }), "cannot read this file: "));
}

TEST_CASE("a table of very many columns is refused where they become too many, at once") {
  std::string text = "c0";
  for (int i = 1; i < 1'000'000; ++i) text += ",c" + std::to_string(i);
  CHECK(contains(failure_of([&] { CsvTable::from_text(text, "t.csv"); }), "a table has at most 10000 columns"));
  std::string wide = "c0";
  for (int i = 1; i < 10'000; ++i) wide += ",c" + std::to_string(i);
  CHECK(CsvTable::from_text(wide, "t.csv").header().size() == 10'000);
}
