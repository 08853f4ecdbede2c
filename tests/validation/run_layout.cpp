#include "validation/run_layout.hpp"

#include "fixture.hpp"

#include <doctest/doctest.h>

#include <numeric>

using namespace mirfak;

TEST_CASE("a pipeline layout is written out") {
  // Chunks of 4, then 14 of 4, then 1: 61 layers.
  const std::vector<int> layers = layers_of_pipeline_layout("Et*4|(t*4|)*14tmL");
  REQUIRE(layers.size() == 16);
  CHECK(layers.front() == 4);
  CHECK(layers[7] == 4);
  CHECK(layers.back() == 1);
  CHECK(std::accumulate(layers.begin(), layers.end(), 0) == 61);
  CHECK(layers_of_pipeline_layout("Et*3|(tt|)*2L") == std::vector<int>{3, 2, 2, 0});
}

TEST_CASE("text that is no layout, and repetitions without end, give none") {
  CHECK(layers_of_pipeline_layout("(t*4").empty());
  CHECK(layers_of_pipeline_layout("t)").empty());
  CHECK(layers_of_pipeline_layout("((((t*1000)*1000)*1000)*1000)").empty());
}

namespace {

std::vector<int> split_of(const char* layers, const std::vector<mirfak::test::Cell>& more = {}) {
  std::vector<mirfak::test::Cell> cells = {
      {"n_layers", layers}, {"tp", "1"}, {"pp", "12"}, {"n_gpus", "24"}, {"global_batch", "96"}};
  cells.insert(cells.end(), more.begin(), more.end());
  return mirfak::test::job_of(mirfak::test::row_with(cells)).strategy.layer_split;
}

}  // namespace

TEST_CASE("layers that do not divide are split as trainers do") {
  const std::vector<int> split = split_of("70");  // 72 with embedding and loss
  REQUIRE(split.size() == 12);
  CHECK(split.front() == 5);
  CHECK(split[1] == 6);
  CHECK(split.back() == 5);
  CHECK(split_of("72").empty());
  CHECK(split_of("71").back() == 5);
  CHECK(split_of("71").front() == 6);
  CHECK(split_of("75") == std::vector<int>{7, 7, 7, 6, 6, 6, 6, 6, 6, 6, 6, 6});
  // 10 layers in 12 chunks: embedding and loss stand alone.
  CHECK(split_of("10") == std::vector<int>{0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0});
  // A split that the row states goes before: 11 chunks of 6 and one of 9.
  const std::vector<int> stated = split_of("75", {{"flags", "Megatron-LM; pp_layout=E(tttttt|)*11t*9L"}});
  CHECK(stated.front() == 6);
  CHECK(stated.back() == 9);
}

TEST_CASE("balanced chunks have as much of the weights, the head's included") {
  // A layer has 4 6144^2 + 3 6144 24576 weights, the head as much as 0.52 of one: 48.5 of 12 chunks.
  const std::vector<int> split =
      split_of("48", {{"flags", "nanotron v0.5"}, {"ffn_hidden", "24576"}, {"head_dim", "96"}, {"micro_batch", "1"}});
  REQUIRE(split.size() == 12);
  CHECK(std::accumulate(split.begin(), split.end(), 0) == 48);
  CHECK(split.front() == 5);  // the fifth is the first beyond a twelfth
  CHECK(split.back() < 4);
}
