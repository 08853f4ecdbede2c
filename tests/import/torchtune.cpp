// torchtune's recipes: YAML whose components are built by functions of Python, and the command that runs one.

#include "import/torchtune.hpp"

#include "import/imported_job.hpp"
#include "import/program_facts.hpp"
#include "launch_files.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

namespace torchtune_test {

using namespace mirfak;

namespace {

constexpr const char* kFull =
    "output_dir: out\n"
    "tokenizer:\n"
    "  _component_: torchtune.models.llama3.llama3_tokenizer\n"
    "  path: tokenizer.model\n"
    "  max_seq_len: 4096\n"
    "model:\n"
    "  _component_: torchtune.models.llama3_1.llama3_1_8b\n"
    "checkpointer:\n"
    "  _component_: torchtune.training.FullModelHFCheckpointer\n"
    "  output_dir: ${output_dir}\n"
    "  model_type: LLAMA3\n"
    "dataset:\n"
    "  _component_: torchtune.datasets.alpaca_dataset\n"
    "  packed: false\n"
    "seed: null\n"
    "shuffle: true\n"
    "batch_size: 2\n"
    "epochs: 1\n"
    "optimizer:\n"
    "  _component_: torch.optim.AdamW\n"
    "  fused: true\n"
    "  lr: 2e-5\n"
    "loss:\n"
    "  _component_: torchtune.modules.loss.LinearCrossEntropyLoss\n"
    "max_steps_per_epoch: null\n"
    "gradient_accumulation_steps: 4\n"
    "device: cuda\n"
    "dtype: bf16\n"
    "enable_activation_checkpointing: true\n"
    "compile: false\n";

std::string script(const std::string& command) { return "#!/bin/bash\n" + command + "\n"; }

ImportedJob run(const std::string& recipe, const std::string& changes = "", const std::string& nodes = "hgx-h100:1") {
  return imported(
      {{"run.sh", script(fmt::format("tune run --nproc_per_node 8 {} --config full.yaml {}", recipe, changes))},
       {"full.yaml", kFull}},
      nodes);
}

std::string with_adapters(const std::string& more = "") {
  std::string text = kFull;
  text.replace(text.find("llama3_1_8b"), 11, "lora_llama3_1_8b\n  lora_attn_modules: ['q_proj', 'v_proj']\n" + more);
  return text;
}

}  // namespace

// 2 sequences in each of 4 steps on 8 GPUs. All is kept in bf16: 8.03e9 parameters, gradients, and two moments are 8
// bytes each, divided over 8 GPUs.
TEST_CASE("torchtune's full recipe shards everything in bf16") {
  const ImportedJob job = run("full_finetune_distributed");
  CHECK(job.complete);
  CHECK(said(job.draft, "model") == "llama3-8b");
  CHECK(said(job.draft, "training.sequence_length") == "4096");
  CHECK(said(job.draft, "training.global_batch") == "64");
  CHECK(said(job.draft, "training.precision") == "bf16");
  CHECK(said(job.draft, "training.first_moment") == "bf16");
  CHECK(said(job.draft, "strategy.micro_batch") == "2");
  CHECK(said(job.draft, "strategy.zero") == "3");
  CHECK(said(job.draft, "strategy.recompute") == "full");
  CHECK(said(job.draft, "training.framework").starts_with("{like: torchtune, memory: {loss_copy_bytes: 0"));
  const Scenario scenario = parse_scenario(job.scenario, import_sources());
  CHECK(scenario.job.strategy.data == 8);
  const MemoryUse use = simulate(scenario.job).result.stages.front().memory.peak;
  const double eighth = 8.03e9 / 8;
  CHECK(use.parameters == doctest::Approx(2 * eighth).epsilon(0.01));
  CHECK(use.gradients == doctest::Approx(2 * eighth).epsilon(0.01));
  CHECK(use.optimizer == doctest::Approx(4 * eighth).epsilon(0.01));
}

// 6.74e9 parameters over 8 GPUs: 8 bytes of each are 6.74 GB, and copies of gradients in fp32 for the step would
// be 3.37 GB more. One layer is gathered with its gradient, and embedding and head (0.26e9 parameters) are.
TEST_CASE("the step of torchtune's optimizer copies no gradients to fp32") {
  const ImportedJob job = run("full_finetune_distributed",
                              "model=torchtune.models.llama2.llama2_7b tokenizer.max_seq_len=128 batch_size=1");
  const MemoryUse peak = simulate(parse_scenario(job.scenario, import_sources()).job).result.stages.front().memory.peak;
  CHECK(peak.total() - peak.platform < 6.74e9 + 3e9);
}

TEST_CASE("words behind the file change torchtune's configuration: keys, components, removed keys") {
  const ImportedJob job = run("full_finetune_distributed",
                              "batch_size=1 tokenizer.max_seq_len=8192 optimizer=bitsandbytes.optim.AdamW8bit ~compile "
                              "model=torchtune.models.qwen2_5.qwen2_5_7b_instruct dtype=bf16 clip_grad_norm=1.0 "
                              "custom_sharded_layers=[tok_embeddings,output]");
  CHECK(job.complete);
  CHECK(said(job.draft, "model") == "qwen2.5-7b");
  CHECK(said(job.draft, "training.sequence_length") == "8192");
  CHECK(said(job.draft, "training.global_batch") == "32");
  CHECK(said(job.draft, "training.optimizer") == "adam-8bit");
  CHECK(said(job.draft, "training.first_moment").empty());
  CHECK(said(job.draft, "training.framework").find("optimizer_traffic_bytes: 32") != std::string::npos);
  CHECK(said(job.draft, "training.framework").find("root_unit: false") != std::string::npos);
  CHECK_THROWS_AS(run("full_finetune_distributed", "~nothing"), Error);
  CHECK_THROWS_AS(run("full_finetune_distributed", "--batch_size 1"), Error);
}

TEST_CASE("torchtune's ranks: tensor and context ranks, shards and replicas") {
  const ImportedJob tensor = run("full_finetune_distributed",
                                 "tensor_parallel_dim=2 tensor_parallel_plan._component_="
                                 "torchtune.models.llama3.base_llama_tp_plan context_parallel_dim=2 batch_size=1");
  CHECK(tensor.complete);
  CHECK(said(tensor.draft, "strategy.tensor") == "2");
  CHECK(said(tensor.draft, "strategy.sequence_parallel") == "true");
  CHECK(said(tensor.draft, "strategy.context") == "2");
  CHECK(said(tensor.draft, "strategy.context_communication") == "all-gather");
  CHECK(said(tensor.draft, "strategy.data") == "2");
  CHECK(said(tensor.draft, "training.global_batch") == "8");
  const ImportedJob hybrid =
      run("full_finetune_distributed", "data_parallel_replicate_dim=2 fsdp_reshard_after_forward=false", "hgx-h100:2");
  CHECK(said(hybrid.draft, "strategy.zero") == "2");
  CHECK(said(hybrid.draft, "strategy.zero_group") == "8");
  CHECK(said(run("full_finetune_distributed", "fsdp_cpu_offload=true").draft, "strategy.offload_parameters") == "true");
  CHECK_FALSE(
      run("full_finetune_distributed", "tensor_parallel_dim=2 tensor_parallel_plan._component_=my.plan").complete);
}

// q and v alone: mirfak's adapters of query, key and value together. 32 layers, every third: 10.
TEST_CASE("torchtune's adapters, recomputation, compiler and 8 bits") {
  const auto lora = [](const std::string& text, const std::string& changes = "") {
    return imported(
        {{"run.sh",
          script("tune run --nnodes 1 --nproc_per_node 8 lora_finetune_distributed --config lora.yaml " + changes)},
         {"lora.yaml", text}});
  };
  const ImportedJob plain = lora(with_adapters("  lora_rank: 16\n  apply_lora_to_mlp: true\n"));
  CHECK(plain.complete);
  CHECK(said(plain.draft, "training.lora.rank") == "16");
  CHECK(said(plain.draft, "training.lora.targets") == "[qkv, fc1, fc2]");
  CHECK(said(plain.draft, "training.lora.base").empty());
  CHECK(said(lora(with_adapters()).draft, "training.lora.rank") == "8");
  CHECK(said(lora(with_adapters("  quantize_base: true\n  use_dora: true\n")).draft, "training.lora.base") ==
        "nf4-double");
  CHECK(said(lora(with_adapters(), "model=torchtune.models.llama3_1.qlora_llama3_1_8b").draft, "training.lora.base") ==
        "nf4-double");
  CHECK_FALSE(lora(kFull).complete);
  CHECK_FALSE(run("full_finetune_distributed", "model=torchtune.models.llama3_1.lora_llama3_1_8b").complete);
  const ImportedJob third = run("full_finetune_distributed",
                                "enable_activation_checkpointing=false ac_mode=selective ac_option=3 compile=true");
  CHECK(said(third.draft, "strategy.recompute") == "full");
  CHECK(said(third.draft, "strategy.recompute_layers") == "10");
  CHECK(said(third.draft, "training.framework").starts_with("{like: torchtune-compiled"));
  CHECK(said(run("full_finetune_distributed", "ac_mode=full").draft, "strategy.recompute") == "none");
  CHECK(said(run("full_finetune_distributed", "enable_fp8_training=true").draft, "training.precision") ==
        "fp8-current");
  CHECK(said(run("full_finetune_distributed", "enable_fp8_training=true fp8_recipe_name=rowwise").draft,
             "training.precision") == "fp8-rowwise");
  const ImportedJob wide = run("full_finetune_distributed", "dtype=fp32");
  CHECK(said(wide.draft, "training.precision") == "fp32");
  CHECK(said(wide.draft, "training.first_moment").empty());
}

TEST_CASE("recipes that compare answers have a frozen copy, or adapters that are switched off") {
  const std::string loss = "loss._component_=torchtune.rlhf.loss.DPOLoss loss.beta=0.1";
  const ImportedJob whole = run("full_dpo_distributed", loss);
  CHECK(first_obstacle(whole).empty());
  CHECK(said(whole.draft, "training.preferences") == "{answers: 2, reference: model}");
  const ImportedJob low =
      run("lora_dpo_distributed",
          loss +
              " model._component_=torchtune.models.llama3_1.lora_llama3_1_8b model.lora_attn_modules=[q_proj] "
              "model.lora_rank=16");
  CHECK(first_obstacle(low).empty());
  CHECK(said(low.draft, "training.preferences") == "{answers: 2, reference: adapters-off}");
  CHECK_FALSE(first_obstacle(run("full_dpo_distributed")).empty());
}

TEST_CASE("torchtune's other recipes, files that are not here and unknown components are refused or held back") {
  for (const char* recipe : {"grpo_full_finetune_distributed", "qat_distributed", "knowledge_distillation_distributed",
                             "generate", "ppo_full_finetune_single_device", "my_recipe.py"}) {
    CAPTURE(recipe);
    CHECK_THROWS_AS(run(recipe), Error);
  }
  CHECK_THROWS_AS(imported({{"run.sh", script("tune run full_finetune_distributed --config llama3_1/8B_full")}}),
                  Error);
  CHECK_THROWS_AS(imported({{"run.sh", script("tune download meta-llama/Llama-3.1-8B")}}), Error);
  for (const char* change :
       {"model=torchtune.models.llama3_2_vision.llama3_2_vision_11b", "optimizer=my.Optimizer", "loss=my.Loss",
        "device=npu", "~tokenizer.max_seq_len", "data_parallel_shard_dim=1 data_parallel_replicate_dim=8"}) {
    CAPTURE(change);
    const ImportedJob job = run("full_finetune_distributed", change);
    CHECK_FALSE(job.complete);
    CHECK_FALSE(first_obstacle(job).empty());
  }
  for (const char* change : {"dtype=fp16", "batch_size=none", "data_parallel_shard_dim=0", "ac_mode=some"}) {
    CAPTURE(change);
    CHECK_THROWS_AS(run("full_finetune_distributed", change), Error);
  }
}

TEST_CASE("a file of torchtune's is read alone, and one device by its recipe") {
  const ImportedJob alone = imported({{"full.yaml", kFull}});
  CHECK(alone.format->name == "torchtune-yaml");
  CHECK(alone.complete);
  CHECK(alone.draft.notes.back().reason.find("no command says which recipe runs") != std::string::npos);
  const ImportedJob single =
      imported({{"run.sh", script("tune run full_finetune_single_device --config full.yaml optimizer_in_bwd=true")},
                {"full.yaml", kFull}});
  CHECK(said(single.draft, "strategy.zero") == "0");
  CHECK(said(single.draft, "strategy.data") == "1");
  CHECK(said(single.draft, "cluster.nodes") == "[{type: hgx-h100, count: 1, gpus: 1}]");
  CHECK(said(single.draft, "training.global_batch") == "8");
  const ImportedJob torch = imported(
      {{"run.sh",
        script("torchrun --nproc_per_node 8 recipes/full_finetune_distributed.py --config full.yaml batch_size=1")},
       {"full.yaml", kFull}});
  CHECK(torch.complete);
  CHECK(said(torch.draft, "training.global_batch") == "32");
}

TEST_CASE("each documented key of torchtune's recipes has a line that says what became of it") {
  const ProgramFacts facts(import_sources(), "torchtune");
  REQUIRE(facts.names().size() > 60);
  for (std::string name : facts.names()) {
    if (name.ends_with(".*")) name.replace(name.size() - 1, 1, "some");
    CAPTURE(name);
    bool read_once = false;
    for (const char* value : {"true", "2", "none", "bf16", "allgather", "torch.optim.AdamW"}) {
      try {
        const std::vector<ImportLine> lines =
            run("full_finetune_distributed", fmt::format("{}={}", name, value)).draft.lines();
        const auto line = std::find_if(lines.begin(), lines.end(), [&](const ImportLine& one) {
          return one.text == fmt::format("{}={}", name, value);
        });
        REQUIRE(line != lines.end());
        CHECK(line->reason.find("not an option") == std::string::npos);
        CHECK(line->reason.find("of which predictions know nothing") == std::string::npos);
        read_once = true;
        break;
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::input);
      }
    }
    CHECK(read_once);
  }
}

TEST_CASE("torchtune's compiled layers are faster than PyTorch's own kernels") {
  const auto seconds = [](const std::string& change) {
    const ImportedJob job = run("full_finetune_distributed", change);
    return simulate(parse_scenario(job.scenario, import_sources()).job).result.iteration_time_s;
  };
  CHECK(seconds("compile=true") < seconds("compile=false"));
}

}  // namespace torchtune_test
