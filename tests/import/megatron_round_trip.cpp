#include "emitted.hpp"
#include "round_trip.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>

using namespace mirfak;

namespace {

// A drawn job whose experts have room for a fixed number of rows, and perhaps pages.
std::string drawn_job_of_rooms(std::mt19937& random) {
  std::string out =
      "model: qwen3-30b-a3b\ncluster: {nodes: [{type: hgx-b200, count: 4}]}\n"
      "training: {global_batch: 256, sequence_length: 2048, framework: megatron-core, precision: mxfp8, "
      "fp8_parameters: true}\n";
  out += fmt::format("strategy:\n  pipeline: {}\n  expert: {}\n  expert_dispatcher: hybridep\n  zero: {}\n",
                     drawn(random, {1, 2, 4}), drawn(random, {2, 4, 8}), drawn(random, {0, 1}));
  out += fmt::format("  expert_rank_capacity: {}\n", drawn(random, {"1", "1.25", "2"}));
  return out + drawn(random, {"", "  expert_stash: 1.1\n", "  expert_stash: 1.25\n",
                              "  expert_stash: 0.5\n  expert_stash_host: 0.75\n"});
}

}  // namespace

TEST_CASE("rooms and pages of experts are written for Megatron-LM and Megatron-Bridge, and read back") {
  for (const LaunchTarget target :
       {LaunchTarget::megatron, LaunchTarget::megatron_yaml, LaunchTarget::megatron_bridge}) {
    std::mt19937 random(29);
    int compared = 0;
    for (int i = 0; i < 60; ++i) {
      const std::optional<Scenario> before = drawn_scenario(drawn_job_of_rooms(random));
      if (!before) continue;
      const auto files = written_files(before->job, target);
      if (!files) continue;
      check_same_strategy(before->job, read_back_job(*files, "hgx-b200:4"));
      ++compared;
    }
    CHECK(compared > 20);
  }
}

TEST_CASE("what is written for Megatron-LM is read back as the same strategy") {
  check_read_back(LaunchTarget::megatron, Launcher::none, 500, drawn_megatron_job);
}

TEST_CASE("what is written as Megatron-LM's YAML is read back as the same strategy") {
  check_read_back(LaunchTarget::megatron_yaml, Launcher::none, 500, drawn_megatron_job);
}

TEST_CASE("what is written as overrides of Megatron-Bridge is read back as the same strategy") {
  check_read_back(LaunchTarget::megatron_bridge, Launcher::none, 500, drawn_megatron_job);
}
