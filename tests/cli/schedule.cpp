// mirfak schedule: orders of passes drawn, checked, written and read back.

#include "program.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace mirfak::test;

namespace {

// A file of 2 ranks and 3 microbatches in the folder.
std::string written_schedule(const ScratchFolder& folder) {
  std::string file = (folder.path() / "order.csv").string();
  REQUIRE(run({"schedule", "zb-h1", "--stages", "2", "--microbatches", "3", "--out", file}).status == 0);
  return file;
}

}  // namespace

TEST_CASE("schedule writes a file that it reads back with the same bubble") {
  const ScratchFolder folder;
  const std::string file = written_schedule(folder);
  const Finished named =
      run({"schedule", "zb-h1", "--stages", "2", "--microbatches", "3", "--times", "2,3,1", "--format", "json"});
  const Finished read = run({"schedule", file, "--times", "2,3,1", "--format", "json"});
  REQUIRE(named.status == 0);
  REQUIRE(read.status == 0);
  const auto a = nlohmann::json::parse(named.out);
  const auto b = nlohmann::json::parse(read.out);
  CHECK(a["stages"] == 2);
  CHECK(b["stages"] == 2);
  CHECK(b["microbatches"] == 3);
  CHECK(a["time_with_barrier"] == b["time_with_barrier"]);
  CHECK(a["by_stage"] == b["by_stage"]);
}

TEST_CASE("a file that keeps more than --max-in-flight is refused at the cell of the pass") {
  const ScratchFolder folder;
  const std::string file = (folder.path() / "order.csv").string();
  folder.write("order.csv", "# one ahead\n0F0, 0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  CHECK(run({"schedule", file, "--max-in-flight", "2"}).status == 0);
  const Finished less = run({"schedule", file, "--max-in-flight", "1"});
  CHECK(less.status == 3);
  CHECK_MESSAGE(less.err.find(file + ":2:6: stage 0 keeps more microbatches than 1 from 0F1 on") != std::string::npos,
                less.err);
}

TEST_CASE("sizes beside a file that has others are refused, not ignored") {
  const ScratchFolder folder;
  const std::string file = written_schedule(folder);
  CHECK(run({"schedule", file, "--stages", "2"}).status == 0);
  const Finished stages = run({"schedule", file, "--stages", "4"});
  CHECK(stages.status == 2);
  CHECK(stages.err.find("--stages: ") != std::string::npos);
  CHECK(stages.err.find("has 2") != std::string::npos);
  CHECK(run({"schedule", file, "--microbatches", "8"}).status == 2);
}
