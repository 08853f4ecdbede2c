// llama-cookbook's finetuning.py as its documentation starts it: FSDP or one GPU, adapters, weights in few bits.

#include "import/imported_job.hpp"
#include "launch_files.hpp"
#include "simulation/iteration.hpp"

#include <doctest/doctest.h>

#include <string>

namespace llama_cookbook_test {

using namespace mirfak;

namespace {

constexpr const char* kSharded =
    "torchrun --nnodes 1 --nproc_per_node 8 getting-started/finetuning/finetuning.py --enable_fsdp --model_name "
    "meta-llama/Llama-3.1-8B --dist_checkpoint_root_folder checkpoints --dist_checkpoint_folder tuned "
    "--use_fast_kernels";

ImportedJob run(const std::string& command) { return imported({{"run.sh", command + "\n"}}); }

IterationResult simulated(const ImportedJob& job) {
  return simulate(parse_scenario(job.scenario, import_sources()).job).result;
}

}  // namespace

TEST_CASE("llama-cookbook divides bf16 weights, gradients and moments among the GPUs, and recomputes") {
  const ImportedJob job = run(std::string(kSharded) + " --fsdp_config.pure_bf16");
  REQUIRE(job.complete);
  CHECK(said(job.draft, "model") == "llama3-8b");
  CHECK(said(job.draft, "training.global_batch") == "32");  // 4 by default on each of 8 GPUs
  CHECK(said(job.draft, "training.sequence_length") == "4096");
  CHECK(said(job.draft, "training.precision") == "bf16");
  CHECK(said(job.draft, "strategy.zero") == "3");
  CHECK(said(job.draft, "strategy.recompute") == "full");
  // Weights are bf16 as they are loaded: the option changes nothing.
  const IterationResult result = simulated(job);
  CHECK(result.iteration_time_s == simulated(run(kSharded)).iteration_time_s);
  // The peak is before the first gradients: 2 bytes of weight and 4 of moments for each of 8,030,261,248 / 8
  // parameters.
  const MemoryUse& memory = result.stages.front().memory.peak;
  CHECK(memory.gradients == 0);
  CHECK(memory.parameters + memory.optimizer == doctest::Approx(6 * 8'030'261'248.0 / 8).epsilon(0.001));
}

TEST_CASE("llama-cookbook recomputes under FSDP alone, unless its option says otherwise, wherever that stands") {
  const std::string off = " --fsdp_activation_checkpointing False";
  CHECK(said(run(kSharded + off).draft, "strategy.recompute") == "none");
  CHECK(said(run("torchrun --nproc_per_node 8 finetuning.py" + off +
                 " --enable_fsdp --model_name meta-llama/Llama-3.1-8B --batch_size_training 1")
                 .draft,
             "strategy.recompute") == "none");
  CHECK(said(run("python -m llama_recipes.finetuning --model_name meta-llama/Llama-3.1-8B --use_peft").draft,
             "strategy.recompute") == "none");
}

TEST_CASE("llama-cookbook on one GPU: adapters of rank 8 on q and v, weights in 4 or 8 bits; no training of several") {
  const std::string command =
      "python -m llama_recipes.finetuning --use_peft --peft_method lora --model_name meta-llama/Llama-3.1-8B "
      "--output_dir out --quantization ";
  for (const char* bits : {"4bit", "8bit"}) {
    const ImportedJob job = imported({{"run.sh", "#SBATCH --gpus=1\n" + command + bits + "\n"}});
    CHECK(said(job.draft, "training.lora.rank") == "8");
  }
  CHECK(first_obstacle(run("torchrun --nproc_per_node 8 finetuning.py --batch_size_training 2 --model_name "
                           "meta-llama/Llama-3.1-8B"))
            .find("each of 8 processes trains a model of its own") != std::string::npos);
}

}  // namespace llama_cookbook_test
