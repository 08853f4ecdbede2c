// OpenRLHF's programs without generated answers.

#include "import/imported_job.hpp"
#include "launch_files.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace openrlhf_test {

using namespace mirfak;

namespace {

// Options as they were named up to 0.10.
const std::string old = "--pretrain meta-llama/Meta-Llama-3-8B --bf16 --flash_attn ";

ImportedJob launched(const std::string& command) { return imported({{"run.sh", "#!/bin/bash\n" + command + "\n"}}); }

ImportedJob openrlhf(const std::string& program, const std::string& options) {
  return launched("deepspeed --module openrlhf.cli." + program + " " + options);
}

IterationResult simulated(const ImportedJob& job) {
  REQUIRE(job.complete);
  return simulate(parse_scenario(job.scenario, import_sources()).job).result;
}

}  // namespace

// openrlhf 0.11.2 and v0.5.0: cli/train_*.py, utils/deepspeed/*.py.
TEST_CASE("OpenRLHF: the batch is that of all ranks, the reference a copy also beside adapters, ZeRO 2 if unsaid") {
  const ImportedJob plain = openrlhf("train_sft", old + "--train_batch_size 256 --micro_train_batch_size 2");
  CHECK(plain.complete);
  CHECK(said(plain.draft, "training.global_batch") == "256");
  CHECK(said(plain.draft, "strategy.micro_batch") == "2");
  CHECK(said(plain.draft, "training.sequence_length") == "2048");
  CHECK(said(plain.draft, "training.precision") == "bf16");
  CHECK(said(plain.draft, "strategy.zero") == "2");
  CHECK(said(plain.draft, "training.preferences").empty());
  CHECK(said(plain.draft, "training.lora").empty());
  const ImportedJob dpo = openrlhf("train_dpo",
                                   "--model.model_name_or_path meta-llama/Meta-Llama-3-8B "
                                   "--train.batch_size 256 --train.micro_batch_size 1 --ds.zero_stage 3 "
                                   "--ds.param_dtype bf16 --data.max_len 8192 --ds.packing_samples "
                                   "--model.gradient_checkpointing_enable --ds.adam_offload");
  CHECK(dpo.complete);
  CHECK(said(dpo.draft, "training.preferences") == "{answers: 2, reference: model}");
  CHECK(said(dpo.draft, "training.global_batch") == "256");
  CHECK(said(dpo.draft, "training.sequence_length") == "8192");
  CHECK(said(dpo.draft, "strategy.zero") == "3");
  CHECK(said(dpo.draft, "strategy.offload_optimizer") == "1");
  CHECK(said(dpo.draft, "strategy.recompute") == "full");
  const ImportedJob adapted = openrlhf("train_dpo", old + "--lora_rank 16 --zero_stage 3");
  CHECK(said(adapted.draft, "training.lora.rank") == "16");
  CHECK(said(adapted.draft, "training.preferences") == "{answers: 2, reference: model}");
  CHECK(said(adapted.draft, "training.sequence_length") == "512");
  CHECK(said(openrlhf("train_sft", old + "--lora_rank 0").draft, "training.lora").empty());
  // Constants of 4-bit weights are quantized, too (models/actor.py).
  CHECK(said(openrlhf("train_sft", old + "--lora_rank 8 --load_in_4bit").draft, "training.lora.base") == "nf4-double");
  const ImportedJob reward = openrlhf("train_rm", old);
  CHECK(reward.complete);
  CHECK(said(reward.draft, "strategy.micro_batch") == "1");
  CHECK(parse_scenario(reward.scenario, import_sources()).job.model.head.kind == HeadKind::labels_of_sequences);
  CHECK(said(openrlhf("train_kto", old).draft, "training.preferences") ==
        "{answers: 1, reference: model, mismatched: true}");
  // Eight ranks with microbatches of 8 make whole steps of 64.
  CHECK(said(openrlhf("train_sft", old + "--train_batch_size 100").draft, "training.global_batch") == "64");
  for (const std::string more : {"--ref_offload", "--ring_attn_size 2", "--ds_tensor_parallel_size 2",
                                 "--train_batch_size 32", "--param_dtype fp16", "--optim muon"}) {
    CAPTURE(more);
    const ImportedJob held = openrlhf("train_dpo", old + more);
    CHECK_FALSE(held.complete);
    CHECK_FALSE(first_obstacle(held).empty());
  }
  CHECK_FALSE(openrlhf("train_sft", old + "--ref_offload").complete);
}

TEST_CASE("a reward model of unknown shape: the model in its place has to have the head that scores") {
  const ImportedJob unknown = openrlhf("train_rm", "--pretrain my/model --bf16");
  CHECK_FALSE(unknown.complete);
  const auto& notes = unknown.draft.notes;
  CHECK(std::any_of(notes.begin(), notes.end(), [](const ImportObstacle& note) {
    return note.reason.find("has to have that head, too") != std::string::npos;
  }));
}

// Both train by DeepSpeed's ZeRO 2 with the same options, compute all logits, and hold a whole reference on each
// device.
TEST_CASE("DPO of OpenRLHF, and of ms-swift with the same settings: the same iteration; TRL's has its loss in tiles") {
  const std::string sizes = " --max_length 2048 --per_device_train_batch_size 1 --gradient_accumulation_steps 4";
  const IterationResult open =
      simulated(openrlhf("train_dpo", old + "--max_len 2048 --micro_train_batch_size 1 --train_batch_size 32 "
                                            "--gradient_checkpointing --zero_stage 2"));
  const IterationResult swift = simulated(
      launched("NPROC_PER_NODE=8 swift rlhf --rlhf_type dpo --model meta-llama/Meta-Llama-3-8B --tuner_type full "
               "--deepspeed zero2 --attn_impl flash_attn" +
               sizes));
  CHECK(open.iteration_time_s == swift.iteration_time_s);
  CHECK(open.memory_peak_bytes == swift.memory_peak_bytes);
  CHECK(open.hardware_flop == swift.hardware_flop);
  const std::string deepspeed =
      R"({"zero_optimization": {"stage": 2, "overlap_comm": false}, "bf16": {"enabled": true}})";
  const IterationResult trl = simulated(
      imported({{"run.sh",
                 "#!/bin/bash\naccelerate launch --use_deepspeed --deepspeed_config_file ds.json trl/scripts/dpo.py "
                 "--model_name_or_path meta-llama/Meta-Llama-3-8B --attn_implementation flash_attention_2" +
                     sizes + "\n"},
                {"ds.json", deepspeed}}));
  // The backward pass of the tiles multiplies by the head again, and no logits stay.
  CHECK(trl.hardware_flop > swift.hardware_flop);
  CHECK(trl.memory_peak_bytes < swift.memory_peak_bytes);
  CHECK(trl.model_flop == swift.model_flop);
}

// The program takes logits for its loss, which Liger's loss in chunks would not have.
TEST_CASE("Liger's kernels of OpenRLHF are those of the layers: logits stay") {
  const std::string job = old + "--train_batch_size 64 --micro_train_batch_size 1 --max_len 4096 --zero_stage 2 ";
  const IterationResult plain = simulated(openrlhf("train_sft", job));
  const IterationResult liger = simulated(openrlhf("train_sft", job + "--use_liger_kernel"));
  CHECK(liger.iteration_time_s < plain.iteration_time_s);
  const IterationResult chunks = simulated(
      launched("NPROC_PER_NODE=8 swift sft --model meta-llama/Meta-Llama-3-8B --tuner_type full --deepspeed zero2 "
               "--attn_impl flash_attn --max_length 4096 --per_device_train_batch_size 1 "
               "--gradient_accumulation_steps 8 --gradient_checkpointing false --use_liger_kernel true"));
  // Logits of 4096 tokens and 128256 words in fp32 are 2.1 GB.
  CHECK(liger.memory_peak_bytes - chunks.memory_peak_bytes > 2e9);
}

}  // namespace openrlhf_test
