// Scripts that start a program on all nodes are read back whole: arguments, the files that they name, nodes and GPUs.

#include "emitted.hpp"
#include "import/imported_job.hpp"
#include "round_trip.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>

using namespace mirfak;

TEST_CASE("what is written for torchtitan's command line is read back as the same strategy") {
  check_read_back(LaunchTarget::torchtitan, Launcher::none, 500, drawn_torchtitan_job);
}

TEST_CASE("what is written as torchtitan's TOML is read back as the same strategy") {
  check_read_back(LaunchTarget::torchtitan_toml, Launcher::none, 500, drawn_torchtitan_job);
}

TEST_CASE("options of TRL and the configuration of Accelerate are read back as the same strategy") {
  check_read_back(LaunchTarget::accelerate, Launcher::none, 500, drawn_accelerate_job);
}

TEST_CASE(
    "files of LLaMA-Factory and axolotl, and the configuration of Accelerate, are read back as the same strategy") {
  check_read_back(LaunchTarget::llama_factory, Launcher::none, 250, drawn_accelerate_job);
  check_read_back(LaunchTarget::axolotl, Launcher::none, 250, drawn_accelerate_job);
}

TEST_CASE("scripts of Slurm and torchrun are read back as the same strategy on the same nodes") {
  struct Program {
    LaunchTarget target;
    std::function<std::string(std::mt19937&)> draw;
  };
  const std::vector<Program> programs = {
      {LaunchTarget::megatron, drawn_megatron_job},          {LaunchTarget::megatron_yaml, drawn_megatron_job},
      {LaunchTarget::megatron_bridge, drawn_megatron_job},   {LaunchTarget::torchtitan, drawn_torchtitan_job},
      {LaunchTarget::torchtitan_toml, drawn_torchtitan_job}, {LaunchTarget::deepspeed, drawn_deepspeed_job},
      {LaunchTarget::accelerate, drawn_accelerate_job},      {LaunchTarget::llama_factory, drawn_accelerate_job},
      {LaunchTarget::axolotl, drawn_accelerate_job}};
  for (const Program& program : programs) {
    CAPTURE(launch_targets()[static_cast<std::size_t>(program.target)].name);
    check_read_back(program.target, Launcher::slurm, 100, program.draw);
    check_read_back(program.target, Launcher::torchrun, 20, program.draw);
  }
}

TEST_CASE("the parts of a heterogeneous job come back as the types of nodes in their order") {
  const std::string job =
      "model: llama3-8b\n"
      "cluster: {nodes: [{type: hgx-h100, count: 2}, {type: dgx-a100-80g, count: 2}]}\n"
      "training: {global_batch: 256, sequence_length: 2048}\n"
      "strategy: {tensor: 8, pipeline: 2, layer_split: [20, 12]}\n";
  const std::optional<Scenario> before = drawn_scenario(job);
  REQUIRE(before);
  const auto files = written_files(before->job, LaunchTarget::megatron, Launcher::slurm);
  REQUIRE(files);
  const ImportFile script{"launch.sbatch", files->front().text};
  const ImportedJob read = import_job(std::span(&script, 1), {}, ImportContext{import_sources()});
  CHECK(read.draft.machine.gpus() == 32);
  CHECK(said(read.draft, "cluster.nodes") == "[{type: hgx-h100, count: 2}, {type: dgx-a100-80g, count: 2}]");
  CHECK(read.complete);
  check_same_strategy(before->job, parse_scenario(read.scenario, import_sources()).job);
}

TEST_CASE("parts of a heterogeneous job without a type are asked for") {
  const ImportFile script{"launch.sbatch",
                          "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH -A account\n#SBATCH --gpus-per-node=8\n"
                          "#SBATCH hetjob\n#SBATCH --nodes=1\n#SBATCH --gpus-per-node=8\n"
                          "srun --het-group=0-1 torchrun --nnodes 3 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "
                          "--num-attention-heads 32 --seq-length 2048 --micro-batch-size 1 --global-batch-size 48 "
                          "--padded-vocab-size 32000 --max-position-embeddings 2048\n"};
  const ImportedJob read = import_job(std::span(&script, 1), {}, ImportContext{import_sources()});
  CHECK_FALSE(read.complete);
  REQUIRE(read.draft.obstacles().size() == 1);
  CHECK(read.draft.obstacles()[0].reason ==
        "part 1 of the job does not say of which type its nodes are: say --nodes TYPE:COUNT for each part, in their "
        "order");
}
