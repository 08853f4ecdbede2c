#include "validation/measured_run.hpp"

#include <doctest/doctest.h>

using namespace mirfak;

namespace {

std::vector<MeasuredRun> read(const std::string& text) {
  return read_measured_runs(CsvTable::from_text(text, "runs.csv"));
}

}  // namespace

TEST_CASE("columns stand in any order, and empty cells are not stated") {
  const auto runs = read("n_gpus,gpu,tp,pp,s_per_iter_derived\n16,A100-80GB,,2,1.5\n");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].gpus == 16);
  CHECK(runs[0].gpu == "A100-80GB");
  CHECK_FALSE(runs[0].tensor);
  CHECK(runs[0].pipeline == 2);
  CHECK(runs[0].seconds == 1.5);
  CHECK(runs[0].where.line == 2);
}

TEST_CASE("seconds follow from a throughput") {
  // 64 x 2048 tokens at 1,024 tokens/s on each of 16 GPUs: 8 s.
  const auto runs = read("n_gpus,gpu,seq_len,global_batch,metric,value\n16,H100,2048,64,tokens_per_s_per_gpu,1024\n");
  REQUIRE(runs[0].seconds);
  CHECK(*runs[0].seconds == doctest::Approx(8));
  CHECK_FALSE(read("n_gpus,gpu,metric,value\n16,H100,mfu,0.5\n")[0].seconds);
}

TEST_CASE("memory: what was allocated, and runs that did not fit") {
  const auto runs =
      read("n_gpus,gpu,s_per_iter_derived,memory_allocated_gib,outcome\n8,A100,1,2.5,\n8,A100,,,out of memory\n");
  CHECK(runs[0].allocated_bytes == 2.5 * 1024 * 1024 * 1024);
  CHECK_FALSE(runs[0].out_of_memory);
  CHECK_FALSE(runs[1].allocated_bytes);
  CHECK(runs[1].out_of_memory);
}

TEST_CASE("layers of mixtures of experts may be none of a kind") {
  const auto runs = read("n_gpus,gpu,s_per_iter_derived,dense_layers,prediction_layers\n8,B200,1,1,0\n8,B200,1,,\n");
  CHECK(runs[0].dense_layers == 1);
  CHECK(runs[0].prediction_layers == 0);
  CHECK_FALSE(runs[1].dense_layers);
}

TEST_CASE("what is no number is refused at its place") {
  CHECK_THROWS_WITH_AS(read("n_gpus,gpu,s_per_iter_derived\n8,A100,1\nmany,A100,1\n"),
                       doctest::Contains("runs.csv:3:1: n_gpus: expected a number, found 'many'"), Error);
  CHECK_THROWS_WITH_AS(read("n_gpus,gpu,s_per_iter_derived\n8,A100,-1\n"), doctest::Contains("runs.csv:2:8"), Error);
  CHECK_THROWS_WITH_AS(read("n_gpus,gpus,metric,value\n"), doctest::Contains("no column 'gpu'"), Error);
}
