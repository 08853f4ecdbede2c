// The forms that are made of Megatron-LM's arguments and torchtitan's settings, option lists, and launch scripts.

#include "base/error.hpp"
#include "launch/launch_arguments.hpp"
#include "scenario/scenario.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

const std::filesystem::path kData = std::filesystem::path(source_root());

constexpr const char* kFourNodes = "{type: hgx-h100, count: 4}";

Job job_on(const std::string& nodes, const std::string& model, const std::string& strategy,
           const std::string& training = "") {
  const std::string text = fmt::format(
      "model: {}\ncluster: {{nodes: [{}]}}\ntraining: {{global_batch: 256, sequence_length: 2048{}}}\nstrategy: "
      "{{{}}}\n",
      model, nodes, training, strategy);
  return parse_scenario(Document::from_text(text, "forms.yaml"), {kData / "models", kData / "hw_profiles"}).job;
}

std::string text_for(const Job& job, LaunchTarget target, Launcher launcher = Launcher::none) {
  return launch_text(launch_files(job, {target, launcher, kData / "hw_profiles"}));
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

void check_lines(const std::string& text, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) CHECK_MESSAGE(has_line(text, line), line, " is missing in\n", text);
}

std::string refused_key(const Job& job, LaunchTarget target, Launcher launcher = Launcher::none) {
  try {
    text_for(job, target, launcher);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::infeasible);
    return error.message().substr(0, error.message().find(": "));
  }
  return "written";
}

}  // namespace

TEST_CASE("Megatron-LM's YAML has the fields of its configurations in their sections") {
  const std::string text =
      text_for(job_on(kFourNodes, "mixtral-8x7b",
                      "tensor: 2, pipeline: 4, expert: 4, sequence_parallel: true, zero: 1, recompute: selective, "
                      "recompute_modules: [core_attn, mlp]"),
               LaunchTarget::megatron_yaml);
  CHECK(text.starts_with("# NVIDIA/Megatron-LM core_v0.19.0 (5be9626): "));
  check_lines(text, {"global_batch_size: 256", "use_distributed_optimizer: true",
                     "model_parallel:", "  tensor_model_parallel_size: 2", "  expert_model_parallel_size: 4",
                     "  bf16: true", "language_model:", "  num_moe_experts: 8", "  add_bias_linear: false",
                     "  activation_func: swiglu", "  recompute_modules: [core_attn,mlp]"});
  CHECK(refused_key(job_on(kFourNodes, "llama3-8b", "pipeline: 2, virtual_pipeline: 2"), LaunchTarget::megatron_yaml) ==
        "strategy.virtual_pipeline");
  CHECK(refused_key(job_on(kFourNodes, "llama3-8b", "tensor: 2", ", gradient_precision: bf16"),
                    LaunchTarget::megatron_yaml) == "training.gradient_precision");
}

TEST_CASE("Megatron-Bridge's overrides say what a recipe might have otherwise") {
  const std::string text =
      text_for(job_on(kFourNodes, "llama3-8b", "tensor: 2, pipeline: 4, layer_split: [7, 9, 9, 7], zero: 1"),
               LaunchTarget::megatron_bridge);
  check_lines(text, {"--recipe llama3_8b_pretrain_config", "--mode pretrain", "dataset.seq_length=2048",
                     "train.global_batch_size=256", "model.tensor_model_parallel_size=2",
                     "'model.pipeline_model_parallel_layout=Et*7|t*9|t*9|t*7L'", "model.sequence_parallel=false",
                     "model.recompute_granularity=null", "ddp.use_distributed_optimizer=true", "comm_overlap=null",
                     "mixed_precision=bf16_mixed"});
  CHECK(refused_key(job_on(kFourNodes, "gpt3-13b", "tensor: 2"), LaunchTarget::megatron_bridge) == "model");
  CHECK(refused_key(job_on(kFourNodes, "llama3-8b", "tensor: 2", ", precision: fp8-block"),
                    LaunchTarget::megatron_bridge) == "training.precision");
}

TEST_CASE("torchtitan's command line: a configuration, options, and a CSV of an order without a name") {
  const Job job = job_on(kFourNodes, "llama3-8b", "pipeline: 4, zero: 3, schedule: zb-h1, micro_batch: 2",
                         ", framework: torchtitan");
  const std::vector<LaunchFile> files =
      launch_files(job, {LaunchTarget::torchtitan, Launcher::none, kData / "hw_profiles"});
  REQUIRE(files.size() == 2);
  CHECK(files[1].name == "schedule.csv");
  CHECK(files[1].text.starts_with("0F0,"));
  check_lines(files[0].text,
              {"--module llama3", "--config llama3_8b", "--training.local_batch_size 32",
               "--parallelism.pipeline_parallel_schedule PipelineScheduleSingle",
               "--parallelism.pipeline_parallel_schedule_csv schedule.csv", "--training.disable_cuda_graphs",
               "--compile.enable", "--compile.no-enable_async_tensor_parallel", "--compile.components model,loss",
               "activation-checkpoint:none"});
  const std::string split =
      text_for(job_on(kFourNodes, "llama3-8b", "pipeline: 2, layer_split: [2, 30], zero: 3", ", framework: torchtitan"),
               LaunchTarget::torchtitan);
  CHECK(split.find("--parallelism.module_fqns_per_model_part tok_embeddings,layers.0,layers.1 layers.2,") !=
        std::string::npos);
  const auto refused = [](const std::string& strategy, const std::string& more = "", const char* model = "llama3-8b") {
    return refused_key(job_on(kFourNodes, model, strategy, ", framework: torchtitan" + more), LaunchTarget::torchtitan);
  };
  CHECK(refused("zero: 3, recompute: full, recompute_layers: 8") == "strategy.recompute_layers");
  CHECK(refused("zero: 3", ", precision: fp8-current") == "training.precision");
  CHECK(refused("pipeline: 4, zero: 3, schedule: zb-auto") == "strategy.schedule");
  CHECK(refused("pipeline: 4, zero: 3, schedule: dualpipe") == "strategy.schedule");
  CHECK(refused("zero: 3", "", "qwen3-30b-a3b") == "model");
}

TEST_CASE("an option that the project does not list is never written") {
  const ScratchFolder folder;
  std::filesystem::copy(kData / "hw_profiles" / "launch", folder.path() / "launch",
                        std::filesystem::copy_options::recursive);
  const std::filesystem::path list = folder.path() / "launch" / "options" / "megatron.yaml";
  std::string text = read_text_file(list);
  const std::size_t line = text.find("\n  --max-position-embeddings:");
  REQUIRE(line != std::string::npos);
  text.erase(line, text.find('\n', line + 1) - line);
  std::ofstream(list) << text;
  try {
    launch_files(job_on(kFourNodes, "llama3-8b", "tensor: 2"), {LaunchTarget::megatron, Launcher::none, folder.path()});
    FAIL_CHECK("expected an error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::internal);
    CHECK(error.message() == "megatron.yaml does not list the option --max-position-embeddings");
  }
}

TEST_CASE("replicas with microbatches of their own are refused, and not left out") {
  Job job = job_on(kFourNodes, "llama3-8b", "tensor: 8, data: 4");
  job.strategy.replica_microbatches = {65, 63, 64, 64};
  CHECK(refused_key(job, LaunchTarget::megatron) == "strategy.replica_microbatches");
}

TEST_CASE("a script of Slurm says nodes, GPUs and the rank of each node") {
  const std::string text =
      text_for(job_on(kFourNodes, "llama3-8b", "tensor: 2"), LaunchTarget::megatron, Launcher::slurm);
  check_lines(text,
              {"#!/bin/bash", "#SBATCH --nodes=4", "#SBATCH --ntasks-per-node=1", "#SBATCH --gpus-per-node=8",
               "# nodes 0 to 3: hgx-h100", "export CUDA_DEVICE_MAX_CONNECTIONS=1", "  --tensor-model-parallel-size 2",
               "srun --cpu-bind=none bash -c 'torchrun --nnodes 4 --nproc-per-node 8 --node-rank \"$SLURM_PROCID\" "
               "--master-addr "
               "\"$MASTER_ADDR\" --master-port \"$MASTER_PORT\" pretrain_gpt.py \"$@\"' launch \"${arguments[@]}\""});
}

TEST_CASE("nodes of several types are parts of a heterogeneous job, in the order of the ranks") {
  const Job job = job_on("{type: hgx-h100, count: 2}, {type: dgx-a100-80g, count: 2}", "llama3-8b",
                         "tensor: 8, pipeline: 2, layer_split: [20, 12]");
  const std::string text = text_for(job, LaunchTarget::megatron, Launcher::slurm);
  check_lines(text, {"#SBATCH --constraint=hgx-h100", "#SBATCH hetjob", "#SBATCH --constraint=dgx-a100-80g",
                     "# nodes 0 to 1: hgx-h100", "# nodes 2 to 3: dgx-a100-80g"});
  CHECK(text.find("hgx-h100") < text.find("#SBATCH hetjob"));
  CHECK(text.find("srun --het-group=0-1 --cpu-bind=none bash -c") != std::string::npos);
  CHECK(text.find("SLURM_JOB_NODELIST_HET_GROUP_0") != std::string::npos);
  check_lines(text_for(job, LaunchTarget::megatron, Launcher::torchrun), {"# nodes 2 to 3: dgx-a100-80g"});
}
