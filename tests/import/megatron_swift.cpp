// ms-swift's megatron sft says Megatron Core's options in Megatron-LM's names, with defaults of its own.

#include "import/megatron_swift.hpp"

#include "import/imported_job.hpp"
#include "import/program_facts.hpp"
#include "launch_files.hpp"
#include "scenario/scenario.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace megatron_swift_test {

using namespace mirfak;

namespace {

ImportedJob sft(const std::string& options, const std::string& nodes = "hgx-h100:1") {
  return imported(
      {{"run.sh",
        "#!/bin/bash\nNPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B --dataset data.jsonl#500 --max_length 4096 " +
            options + "\n"}},
      nodes);
}

const ImportLine* line_with(const ImportedJob& job, const std::string& text) {
  static std::vector<ImportLine> lines;
  lines = job.draft.lines();
  const auto at =
      std::find_if(lines.begin(), lines.end(), [&](const ImportLine& line) { return line.text.starts_with(text); });
  return at == lines.end() ? nullptr : &*at;
}

}  // namespace

TEST_CASE("megatron sft has a distributed optimizer, selective recomputation and a batch of 16 by itself") {
  const ImportedJob job = sft("");
  CHECK(job.complete);
  CHECK(said(job.draft, "model") == "qwen3-8b");
  CHECK(said(job.draft, "training.global_batch") == "16");
  CHECK(said(job.draft, "training.precision") == "bf16");
  CHECK(said(job.draft, "training.lora").empty());
  CHECK(said(job.draft, "strategy.zero") == "1");
  CHECK(said(job.draft, "strategy.recompute") == "selective");
  CHECK(said(job.draft, "strategy.recompute_modules") == "[core_attn]");
  CHECK(said(job.draft, "strategy.overlap_grad_reduce") == "false");
  CHECK(said(job.draft, "training.framework") ==
        "{like: megatron-core, fusion: {cross_entropy: true, attention: [flash-2, aiter], rotary: false}}");
  const std::vector<ImportLine> lines = job.draft.lines();
  const auto of_batch = std::find_if(lines.begin(), lines.end(), [](const ImportLine& line) {
    return line.key.find("training.global_batch") != std::string::npos;
  });
  REQUIRE(of_batch != lines.end());
  CHECK(of_batch->verdict == Verdict::assumed);
  CHECK(of_batch->reason.find("megatron sft") != std::string::npos);
  CHECK(std::none_of(lines.begin(), lines.end(),
                     [](const ImportLine& line) { return line.verdict != Verdict::assumed && !line.where.known(); }));
}

TEST_CASE("megatron sft's options count in place of its defaults") {
  const ImportedJob job = sft(
      "--tensor_model_parallel_size 2 --sequence_parallel true --use_distributed_optimizer false --micro_batch_size 2 "
      "--global_batch_size 64 --recompute_granularity none --attention_backend fused --apply_rope_fusion true "
      "--cross_entropy_loss_fusion false --max_length 8192 --pipeline_model_parallel_size 2 "
      "--virtual_pipeline_model_parallel_size 3 --microbatch_group_size_per_vp_stage 4 --fp16 true");
  CHECK(job.complete);
  CHECK(said(job.draft, "strategy.tensor") == "2");
  CHECK(said(job.draft, "strategy.sequence_parallel") == "true");
  CHECK(said(job.draft, "strategy.zero") == "0");
  CHECK(said(job.draft, "strategy.micro_batch") == "2");
  CHECK(said(job.draft, "strategy.recompute") == "none");
  CHECK(said(job.draft, "strategy.virtual_pipeline") == "3");
  CHECK(said(job.draft, "strategy.microbatch_group") == "4");
  CHECK(said(job.draft, "training.precision") == "fp16");
  CHECK(said(job.draft, "training.framework") ==
        "{like: megatron-core, fusion: {attention: [cudnn, aiter], rotary: true}}");
  const ImportedJob shards = sft("--use_megatron_fsdp true");
  CHECK(said(shards.draft, "strategy.zero") == "3");
  CHECK(said(shards.draft, "training.framework").find("megatron-fsdp") != std::string::npos);
  CHECK(said(sft("--use_megatron_fsdp true --data_parallel_sharding_strategy optim").draft, "strategy.zero") == "1");
  CHECK(said(sft("--optimizer muon").draft, "strategy.zero") == "0");
  CHECK(said(sft("--optimizer dist_muon").draft, "strategy.zero") == "1");
  CHECK(said(sft("--main_grads_dtype bf16 --use_precision_aware_optimizer true").draft,
             "training.gradient_precision") == "bf16");
  CHECK(said(sft("--fp8_format e4m3 --fp8_recipe blockwise").draft, "training.precision") == "fp8-block");
}

// A pair of rank 8 beside query, key and value, and beside the output of attention, of each of 36 layers.
TEST_CASE("megatron sft trains LoRA of rank 8 where it says so") {
  const ImportedJob all = sft("--tuner_type lora");
  CHECK(all.complete);
  CHECK(said(all.draft, "training.lora.rank") == "8");
  CHECK(said(all.draft, "training.lora.dropout") == "0.05");
  CHECK(said(all.draft, "training.lora.targets").empty());
  const ImportedJob few = sft("--train_type lora --lora_rank 16 --target_modules linear_qkv linear_proj");
  CHECK(said(few.draft, "training.lora.rank") == "16");
  CHECK(said(few.draft, "training.lora.targets") == "[qkv, proj]");
  CHECK(said(sft("--mcore_adapter earlier").draft, "training.lora.rank") == "8");
  const ImportedJob whole = sft("--lora_rank 16");
  CHECK(said(whole.draft, "training.lora").empty());
  REQUIRE(line_with(whole, "--lora_rank") != nullptr);
  CHECK(line_with(whole, "--lora_rank")->verdict == Verdict::no_effect);
}

// 61 layers on 16 stages: 4 on each of the first 15 and 1 on the last. The published model has a module that predicts
// one more token, which is trained only with mtp_num_layers.
TEST_CASE("megatron sft of a mixture divides its experts, and trains no module for more tokens unless it is told to") {
  const std::string settings =
      "model: deepseek-ai/DeepSeek-V3\ndataset: [a.jsonl]\nmax_length: 4096\npipeline_model_parallel_size: 16\n"
      "expert_model_parallel_size: 8\ndecoder_last_pipeline_num_layers: 1\nglobal_batch_size: 2048\n"
      "moe_expert_capacity_factor: 1.5\n";
  const ImportedJob job = imported({{"moe.yaml", settings}}, "hgx-h100:64");
  CHECK(job.format->name == "megatron-swift-yaml");
  CHECK(job.complete);
  CHECK(said(job.draft, "strategy.expert") == "8");
  CHECK(said(job.draft, "strategy.expert_tensor") == "1");
  CHECK(said(job.draft, "strategy.expert_dispatcher") == "alltoall");
  CHECK(said(job.draft, "training.expert_capacity_factor") == "1.5");
  CHECK(said(job.draft, "strategy.layer_split").ends_with("4, 4, 1]"));
  const Scenario none = parse_scenario(job.scenario, import_sources());
  CHECK(none.job.model.prediction_layers == 0);
  const ImportedJob more = imported({{"moe.yaml", settings + "mtp_num_layers: 1\n"}}, "hgx-h100:64");
  CHECK(said(more.draft, "model") == "deepseek-v3");
  // A model that the keys of its config.json state keeps what Transformers has of it.
  const ImportedJob other = imported({{"run.sh",
                                       "#!/bin/bash\nmegatron sft --model zai-org/GLM-4.5-Air --dataset d.jsonl "
                                       "--max_length 2048 --mtp_num_layers 1\n"}});
  CHECK(said(other.draft, "model") == "glm4.5-air");
  CHECK_FALSE(imported({{"moe.yaml", settings + "tuner_type: lora\nexpert_tensor_parallel_size: 2\n"}}, "hgx-h100:64")
                  .complete);
}

TEST_CASE("megatron sft takes the type of weights from their config.json: 16 bits of the other kind for fp32") {
  const ScratchFolder folder;
  const auto with_type = [&](const std::string& type) {
    const std::string text = fmt::format(
        "{{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 1024, "
        "\"intermediate_size\": 2816, \"num_attention_heads\": 16, \"num_hidden_layers\": 8, \"vocab_size\": 32000, "
        "\"max_position_embeddings\": 4096, \"rms_norm_eps\": 1e-5, \"hidden_act\": \"silu\", \"torch_dtype\": "
        "\"{}\"}}",
        type);
    const auto path = folder.path() / "config.json";
    std::ofstream(path) << text;
    return imported({{"run.sh", "#!/bin/bash\nmegatron pt --model own --dataset d.jsonl --max_length 2048\n"},
                     {path.string(), text}});
  };
  CHECK(said(with_type("bfloat16").draft, "training.precision") == "bf16");
  CHECK(said(with_type("float32").draft, "training.precision") == "fp16");
  CHECK(said(with_type("float16").draft, "training.precision") == "fp16");
  CHECK(with_type("bfloat16").complete);
}

TEST_CASE("samples that no max_length cuts are as long as they are, packed ones as long as the model's longest") {
  const auto without = [](const std::string& options) {
    return imported({{"run.sh", "#!/bin/bash\nmegatron pt --model Qwen/Qwen3-8B --dataset d.jsonl " + options + "\n"}});
  };
  CHECK(first_obstacle(without("")).find("no max_length") != std::string::npos);
  CHECK(without("--packing true").complete);
  const ImportedJob packed = without("--packing true --packing_length 16384 --max_length 4096");
  CHECK(said(packed.draft, "training.sequence_length") == "16384");
  CHECK(said(without("--packing_length 16384 --max_length 4096").draft, "training.sequence_length") == "4096");
}

TEST_CASE("what megatron sft trains otherwise, or does not take, is held back") {
  for (const char* more : {"--rlhf_type dpo", "--task_type seq_cls", "--freeze_parameters_ratio 0.5",
                           "--tuner_type lora_llm", "--tuner_type lora --modules_to_save word_embeddings",
                           "--tuner_type lora --target_regex .*qkv", "--megatron_extra_kwargs '{\"num_layers\": 4}'",
                           "--quant_bits 4", "--per_device_train_batch_size 2", "--recompute_granularity full",
                           "--recompute_method uniform", "--tp_comm_overlap true", "--overlap_param_gather true",
                           "--tensor_model_paralel_size 2", "--optimizer muon --overlap_grad_reduce true"}) {
    CAPTURE(more);
    const ImportedJob job = sft(more);
    CHECK_FALSE(job.complete);
    CHECK_FALSE(first_obstacle(job).empty());
  }
  CHECK(sft("--rlhf_type None --task_type causal_lm --freeze_parameters_ratio 0").complete);
  for (const char* command : {"megatron sft --dataset d.jsonl", "megatron sft --model own/model --dataset d.jsonl",
                              "megatron rlhf --rlhf_type dpo --model Qwen/Qwen3-8B", "megatron export --model x"}) {
    CAPTURE(command);
    CHECK_THROWS_AS(imported({{"run.sh", fmt::format("#!/bin/bash\n{}\n", command)}}), Error);
  }
}

// A value that an option does not take is refused at its place, which is a reading, too.
TEST_CASE("each documented option of megatron sft has a line that says what became of it") {
  const ProgramFacts facts(import_sources(), "megatron-swift");
  REQUIRE(facts.names().size() > 380);
  for (const std::string& name : facts.names()) {
    CAPTURE(name);
    if (name == "model") continue;
    bool read_once = false;
    for (const char* value : {"true", "2", "adam"}) {
      try {
        const ImportedJob job = sft(fmt::format("--{} {}", name, value));
        const ImportLine* line = line_with(job, "--" + name);
        REQUIRE(line != nullptr);
        CHECK(line->reason.find("not an option") == std::string::npos);
        CHECK(line->reason.find("of which predictions know nothing") == std::string::npos);
        read_once = true;
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::input);
      }
    }
    CHECK(read_once);
  }
}

}  // namespace megatron_swift_test
