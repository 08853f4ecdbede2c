#include "validation/run_layout.hpp"

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

TEST_CASE("layers that do not divide are split as trainers do") {
  MeasuredRun run;
  run.pipeline = 12;
  run.layers = 70;  // 72 with embedding and loss
  const std::vector<int> split = layer_split_of(run);
  REQUIRE(split.size() == 12);
  CHECK(split.front() == 5);
  CHECK(split[1] == 6);
  CHECK(split.back() == 5);

  run.layers = 72;
  CHECK(layer_split_of(run).empty());
  run.layers = 71;
  CHECK(layer_split_of(run).back() == 5);
  CHECK(layer_split_of(run).front() == 6);
  run.layers = 75;
  CHECK(layer_split_of(run) == std::vector<int>{7, 7, 7, 6, 6, 6, 6, 6, 6, 6, 6, 6});
}
