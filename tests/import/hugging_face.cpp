#include "launch_files.hpp"
#include "support/frameworks.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>

#include <fstream>

namespace hugging_face_test {

using namespace mirfak;

namespace {

ImportDraft read_as(const char* format, const std::vector<ImportFile>& files, std::optional<std::int64_t> gpus = {}) {
  ImportContext context{import_sources()};
  context.gpus = gpus;
  return import_format(format).read(files, context);
}

const ImportFile kTrainer{"sft.yaml",
                          "model_name_or_path: meta-llama/Llama-3.1-8B\n"
                          "per_device_train_batch_size: 2\n"
                          "gradient_accumulation_steps: 4\n"
                          "gradient_checkpointing: true\n"
                          "bf16: true\n"
                          "optim: adamw_8bit\n"
                          "max_seq_length: 4096\n"
                          "learning_rate: 2.0e-5\n"
                          "output_dir: out\n"};

const ImportFile kFsdp{"fsdp.yaml",
                       "compute_environment: LOCAL_MACHINE\n"
                       "distributed_type: FSDP\n"
                       "fsdp_config:\n"
                       "  fsdp_sharding_strategy: HYBRID_SHARD\n"
                       "  fsdp_offload_params: false\n"
                       "  fsdp_state_dict_type: SHARDED_STATE_DICT\n"
                       "mixed_precision: bf16\n"
                       "num_machines: 4\n"
                       "num_processes: 32\n"};

std::size_t unknown_lines(const ImportDraft& draft) {
  std::size_t out = 0;
  for (const ImportLine& line : draft.lines()) {
    if (line.verdict == Verdict::unknown) MESSAGE(line.text, ": ", line.reason);
    if (line.verdict == Verdict::unknown) ++out;
  }
  return out;
}

}  // namespace

TEST_CASE("optimizers that project gradients are told by optim_args on how many dimensions") {
  const auto read_with = [](const std::string& lines) {
    return read_as("trainer", {{"sft.yaml", "model_name_or_path: meta-llama/Llama-3.1-8B\n" + lines}});
  };
  const ImportDraft stated =
      read_with("optim: galore_adamw_8bit\noptim_args: rank=64, update_proj_gap=100, scale=0.1\n");
  CHECK(said(stated, "training.optimizer") == "adam-8bit");
  CHECK(said(stated, "training.low_rank_gradients.rank") == "64");
  CHECK(said(stated, "training.low_rank_gradients.every") == "100");
  const ImportDraft plain = read_with("optim: galore_adafactor\n");
  CHECK(said(plain, "training.optimizer") == "adafactor");
  CHECK(said(plain, "training.low_rank_gradients.rank") == "128");
  CHECK(said(plain, "training.low_rank_gradients.every") == "200");
  CHECK(said(read_with("optim: adamw_torch\n"), "training.low_rank_gradients.rank").empty());
}

TEST_CASE("Trainer's settings alone are data parallelism on the given nodes") {
  const ImportDraft draft = read_as("trainer", {kTrainer}, 16);
  CHECK(formats_of(kTrainer) == std::vector<std::string>{"trainer"});
  CHECK(unknown_lines(draft) == 0);
  CHECK(said(draft, "model") == "llama3-8b");
  CHECK(said(draft, "training.global_batch") == "128");
  CHECK(said(draft, "training.optimizer") == "adam-8bit");
  CHECK(said(draft, "strategy.recompute") == "full");
  CHECK(said(draft, "strategy.zero") == "0");
  CHECK(scenario_of(draft, "hgx-h100", 2).job.strategy.data == 16);
}

TEST_CASE("Accelerate's FSDP and Trainer's settings together, in either order") {
  CHECK(formats_of(kFsdp) == std::vector<std::string>{"accelerate-yaml"});
  for (const bool trainer_first : {true, false}) {
    CAPTURE(trainer_first);
    const ImportDraft draft =
        trainer_first ? read_as("trainer", {kTrainer, kFsdp}) : read_as("accelerate-yaml", {kFsdp, kTrainer});
    CHECK(unknown_lines(draft) == 0);
    CHECK(draft.machine.gpus() == 32);
    CHECK(said(draft, "training.global_batch") == "256");
    CHECK(said(draft, "strategy.zero") == "3");
    CHECK(said(draft, "strategy.zero_group") == "8");
    CHECK(said(draft, "training.framework") == "huggingface-fsdp");
    CHECK(scenario_of(draft, "hgx-h100", 4).job.strategy.zero == 3);
  }
}

TEST_CASE("a DeepSpeed file beside Trainer's settings fills its auto from them") {
  const ImportFile zero{
      "zero3.json",
      "{\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}},\n"
      " \"bf16\": {\"enabled\": \"auto\"}, \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": \"auto\"}},\n"
      " \"train_micro_batch_size_per_gpu\": \"auto\", \"train_batch_size\": \"auto\",\n"
      " \"gradient_accumulation_steps\": \"auto\"}"};
  ImportFile trainer = kTrainer;
  trainer.text += "deepspeed: configs/zero3.json\n";
  trainer.text.replace(trainer.text.find("adamw_8bit"), 10, "adamw_torch");
  const ImportDraft draft = read_as("trainer", {trainer, zero}, 16);
  CHECK(unknown_lines(draft) == 0);
  CHECK(said(draft, "strategy.zero") == "3");
  CHECK(said(draft, "strategy.offload_optimizer") == "1");
  CHECK(said(draft, "training.precision") == "bf16");
  const Scenario scenario = scenario_of(draft, "hgx-h100", 2);
  CHECK(scenario.job.framework.is_like("deepspeed"));
  CHECK(said(draft, "training.framework") == "huggingface-deepspeed");
  CHECK(scenario.job.framework.fusion.attention ==
        std::vector<std::string>{"aotriton@cdna3", "aotriton@cdna4", "flash-2"});  // sdpa, nothing else said
  CHECK_THROWS_AS(read_as("trainer", {trainer}, 16), Error);                       // it names a file that is not given

  ImportFile other = zero;
  other.text.replace(other.text.find("\"auto\", \"train_batch"), 6, "8");
  try {
    read_as("trainer", {trainer, other}, 16);
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.where().text() == "zero3.json:3:36");
  }
}

TEST_CASE("the model of a DeepSpeed file is the config.json beside it, or nothing says it") {
  const ImportFile zero{
      "ds.json", "{\"zero_optimization\": {\"stage\": 2}, \"train_batch_size\": 64, \"bf16\": {\"enabled\": true}}"};
  const ImportDraft alone = read_as("deepspeed-json", {zero}, 16);
  CHECK(said(alone, "model").empty());
  CHECK(alone.obstacles().size() == 1);
  const ScratchFolder folder;
  const std::filesystem::path config = folder / "config.json";
  std::ofstream(config)
      << "{\"model_type\": \"llama\", \"hidden_size\": 2048, \"intermediate_size\": 8192, \"num_hidden_layers\": 16,\n"
         "\"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"vocab_size\": 128256,\n"
         "\"max_position_embeddings\": 4096, \"tie_word_embeddings\": true, \"hidden_act\": \"silu\"}";
  const ImportDraft draft = read_as("deepspeed-json", {zero, import_file(config)}, 16);
  CHECK(draft.obstacles().empty());
  const Scenario scenario = scenario_of(draft, "hgx-h100", 2);
  CHECK(scenario.job.model.layers == 16);
  CHECK(scenario.job.strategy.zero == 2);
  CHECK(scenario.job.strategy.micro_batch == 4);
}

TEST_CASE("adapters, and values that nobody takes") {
  ImportFile file = kTrainer;
  file.text += "use_peft: true\nlora_r: 8\nlora_target_modules: [q_proj, v_proj, down_proj]\n";
  const ImportDraft draft = read_as("trainer", {file}, 8);
  CHECK(said(draft, "training.lora.rank") == "8");
  CHECK(said(draft, "training.lora.targets") == "[fc2, qkv]");
  file.text += "fsdp: ${SHARD}\n";
  try {
    read_as("trainer", {file}, 8);
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.where().text() == "sft.yaml:13:7");
  }
}

TEST_CASE("parameters on the host: FSDP's by Accelerate or the Trainer, DeepSpeed's by its file") {
  ImportFile fsdp = kFsdp;
  fsdp.text.replace(fsdp.text.find("fsdp_offload_params: false"), 26, "fsdp_offload_params: true");
  fsdp.text.replace(fsdp.text.find("HYBRID_SHARD"), 12, "FULL_SHARD");
  ImportFile plain = kTrainer;
  plain.text.replace(plain.text.find("adamw_8bit"), 10, "adamw_torch");
  ImportFile trainer = plain;
  trainer.text += "fsdp: full_shard auto_wrap offload\n";
  ImportFile deep = plain;
  deep.text += "deepspeed: zero3.json\n";
  const ImportFile zero{"zero3.json",
                        "{\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}, "
                        "\"offload_param\": {\"device\": \"cpu\", \"pin_memory\": true}}}"};
  for (const ImportDraft& draft : {read_as("trainer", {plain, fsdp}, 32), read_as("trainer", {trainer}, 16),
                                   read_as("trainer", {deep, zero}, 16)}) {
    CHECK(unknown_lines(draft) == 0);
    CHECK(said(draft, "strategy.offload_parameters") == "true");
    CHECK(said(draft, "strategy.offload_optimizer") == "1");
    CHECK(scenario_of(draft, "hgx-h100", 4).job.strategy.offload_parameters);
  }
  const ImportFile disk{"zero3.json",
                        "{\"zero_optimization\": {\"stage\": 3, \"offload_param\": {\"device\": \"nvme\"}}}"};
  const ImportDraft on_disk = read_as("trainer", {deep, disk}, 16);
  CHECK(unknown_lines(on_disk) == 0);
  CHECK(said(on_disk, "strategy.offload_parameters") == "true");
  CHECK(said(on_disk, "strategy.parameters_on_disk") == "true");
}

TEST_CASE("Liger's kernels take the place of the framework file's, whatever shards") {
  ImportFile alone = kTrainer;
  alone.text += "use_liger_kernel: true\n";
  ImportFile sharded = alone;
  sharded.text += "fsdp: full_shard auto_wrap\n";
  const Framework liger = test::framework_named("huggingface-liger");
  for (const ImportFile& file : {alone, sharded}) {
    const ImportDraft draft = read_as("trainer", {file}, 16);
    CHECK(unknown_lines(draft) == 0);
    const Framework framework = scenario_of(draft, "hgx-h100", 2).job.framework;
    CHECK(framework.fusion.rules == liger.fusion.rules);
    CHECK(framework.fusion.cross_entropy);
    CHECK(framework.kernels.chunks_loss_by_width);
    CHECK(framework.memory.loss_overwrites_logits);
    CHECK(framework.memory.loss_copy_bytes == 0);
  }
}

// TRL's own loss, whatever other kernels are Liger's; the Trainer alone has none.
TEST_CASE("TRL computes the loss in tiles of 4096 tokens and 32768 classes") {
  const auto framework_of = [](const std::string& more) {
    ImportFile file = kTrainer;
    file.text += more;
    const ImportDraft draft = read_as("trainer", {file}, 16);
    CHECK(unknown_lines(draft) == 0);
    return scenario_of(draft, "hgx-h100", 2).job.framework;
  };
  for (const char* more :
       {"loss_type: nll\n", "loss_type: chunked_nll\n", "loss_type: nll\nuse_liger_kernel: true\n"}) {
    CAPTURE(more);
    const Framework framework = framework_of(more);
    CHECK(framework.kernels.loss_chunk_rows == 4096);
    CHECK(framework.kernels.loss_chunk_classes == 32768);
    CHECK(framework.kernels.recomputes_chunks);
    CHECK_FALSE(framework.kernels.chunks_loss_by_width);
    CHECK(framework.recompute.loss_softmax);
    CHECK(framework.memory.chunk_sum_bytes == 4);
  }
  CHECK(framework_of("").kernels.loss_chunk_rows == 0);
}

TEST_CASE("DoRA is an adapter with magnitudes") {
  ImportFile file = kTrainer;
  file.text += "use_peft: true\nlora_r: 8\nlora_target_modules: all-linear\nuse_dora: true\n";
  const ImportDraft draft = read_as("trainer", {file}, 16);
  CHECK(unknown_lines(draft) == 0);
  CHECK(said(draft, "training.lora.decomposed") == "true");
  CHECK(scenario_of(draft, "hgx-h100", 2).job.training.adapters.decomposed);
}

TEST_CASE("weights that a program loads in 16 bits have no copy in fp32 where each device holds all of them") {
  const auto trl = [](const std::string& more) {
    return imported({{"run.sh",
                      "#!/bin/bash\naccelerate launch --num_processes 8 trl/scripts/sft.py --bf16 true "
                      "--model_name_or_path Qwen/Qwen2.5-7B --max_length 2048 " +
                          more + "\n"}});
  };
  const auto framework = [&](const std::string& more) { return said(trl(more).draft, "training.framework"); };
  CHECK(framework("--torch_dtype bfloat16").find("optimizer_bytes: 8") != std::string::npos);
  CHECK(framework("--dtype bfloat16").find("optimizer_bytes: 8") != std::string::npos);
  CHECK(said(trl("--torch_dtype bfloat16").draft, "training.first_moment") == "bf16");
  for (const char* other :
       {"", "--torch_dtype float32", "--torch_dtype bfloat16 --use_peft", "--torch_dtype bfloat16 --fsdp full_shard"}) {
    CAPTURE(other);
    CHECK(framework(other).find("optimizer_bytes: 8") == std::string::npos);
    CHECK(said(trl(other).draft, "training.first_moment").empty());
  }
}

}  // namespace hugging_face_test
