// Tables of benchmarks have the rows that they promise. Times are whatever they are here.

#include "base/csv.hpp"
#include "measure_program.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

using namespace mirfak;
using namespace mirfak::test;

TEST_CASE("collectives are timed among groups of a machine, sends between two ranks of any number") {
  const ScratchFolder folder;
  const Finished finished = measure(4, "collectives --out measured --repeats 2 --most-mb 0.02", folder);
  REQUIRE_MESSAGE(finished.status == 0, finished.out << finished.err);
  const CsvTable table = CsvTable::from_file(folder.path() / "measured/collectives.csv");
  const std::size_t name = table.require("collective");
  const std::size_t gpus = table.require("n_gpus");
  const std::size_t nodes = table.require("n_nodes");
  const std::size_t bytes = table.require("bytes");
  const std::size_t time = table.require("time_us");
  std::map<std::string, std::set<std::int64_t>> groups;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::int64_t ranks = table.integer(row, gpus, 2, 4);
    groups[table.text(row, name)].insert(ranks);
    CHECK(table.integer(row, nodes, 1, 1) == 1);
    CHECK(table.integer(row, bytes, 1, 20000) % (16 * ranks) == 0);
    CHECK(table.number(row, time, 0, 1e9) > 0);
  }
  const std::set<std::int64_t> both = {2, 4};
  const std::set<std::int64_t> pair = {2};
  for (const char* collective : {"all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast"}) {
    CHECK(groups[collective] == both);
  }
  CHECK(groups["sendrecv"] == pair);
  CHECK(groups.size() == 6);
}
