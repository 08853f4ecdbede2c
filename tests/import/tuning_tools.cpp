// LLaMA-Factory, axolotl and GPT-NeoX say in their own words what the Trainer, and Megatron on DeepSpeed, are told.

#include "import/tuning_tools.hpp"

#include "import/imported_job.hpp"
#include "launch_files.hpp"
#include "simulation/iteration.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

namespace tuning_tools_test {

using namespace mirfak;

namespace {

constexpr const char* kFactory =
    "model_name_or_path: meta-llama/Meta-Llama-3-8B\n"
    "stage: sft\n"
    "do_train: true\n"
    "per_device_train_batch_size: 1\n"
    "gradient_accumulation_steps: 8\n"
    "bf16: true\n"
    "cutoff_len: 2048\n"
    "template: llama3\n"
    "dataset: alpaca\n";

}  // namespace

// A pair of rank 8 beside each of q, k, v, o, gate, up and down of 32 layers of Llama 3 8B: 8 x (2 x 8192 + 2 x 5120 +
// 3 x 18432) x 32 = 20,971,520.
TEST_CASE("LLaMA-Factory trains LoRA of rank 8 on all linear layers where nothing else is said") {
  for (const char* more :
       {"", "finetuning_type: lora\nlora_rank: 8\nlora_target: all\n",
        "finetuning_type: lora\nlora_target: q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj\n"}) {
    CAPTURE(more);
    const ImportedJob job = imported({{"sft.yaml", kFactory + std::string(more)}});
    CHECK(job.format->name == "llama-factory-yaml");
    CHECK(job.complete);
    CHECK(said(job.draft, "training.sequence_length") == "2048");
    CHECK(said(job.draft, "training.global_batch") == "64");
    CHECK(said(job.draft, "strategy.recompute") == "full");  // the program's default
    const Scenario scenario = parse_scenario(job.scenario, import_sources());
    const LowRankAdapters& adapters = scenario.job.training.adapters;
    CHECK(adapters.rank == 8);
    CHECK((adapters.query_key_value && adapters.attention_output && adapters.mlp_up && adapters.mlp_down));
    const std::int64_t layers = 32;
    const std::int64_t attention = 2 * (4096 + 4096) + 2 * (4096 + 1024);
    CHECK(8 * layers * (attention + 3 * (4096 + 14336)) == 20'971'520);
  }
}

TEST_CASE("LLaMA-Factory and axolotl tune by preferences: the method and the adapters say whose answers are compared") {
  struct Method {
    const char* settings;
    const char* says;
  };
  const auto check = [](const std::string& common, const std::vector<Method>& methods) {
    for (const Method& method : methods) {
      CAPTURE(method.settings);
      const ImportedJob job = imported({{"tune.yaml", common + method.settings}});
      CHECK(first_obstacle(job).empty());
      CHECK(said(job.draft, "training.preferences") == method.says);
      CHECK(parse_scenario(job.scenario, import_sources()).job.training.preferences.any());
    }
  };
  std::string factory = kFactory;
  factory.erase(factory.find("stage: sft\n"), 11);
  check(factory, {{"stage: dpo\npref_beta: 0.1\n", "{answers: 2, reference: adapters-off}"},
                  {"stage: dpo\nfinetuning_type: full\n", "{answers: 2, reference: model}"},
                  {"stage: dpo\nref_model: meta-llama/Meta-Llama-3-8B\n", "{answers: 2, reference: model}"},
                  {"stage: dpo\npref_loss: orpo\n", "{answers: 2, reference: none}"},
                  {"stage: kto\n", "{answers: 1, reference: adapters-off, mismatched: true}"}});
  const std::string axolotl =
      "base_model: meta-llama/Meta-Llama-3-8B\nsequence_len: 2048\nmicro_batch_size: 2\n"
      "gradient_accumulation_steps: 4\nbf16: true\n";
  check(axolotl, {{"rl: dpo\nrl_beta: 0.1\n", "{answers: 2, reference: model}"},
                  {"rl: ipo\nadapter: lora\nlora_r: 8\n", "{answers: 2, reference: adapters-off}"},
                  {"rl: dpo\nprecompute_ref_log_probs: true\n", "{answers: 2, reference: computed-before}"},
                  {"rl: simpo\n", "{answers: 2, reference: none}"},
                  {"rl: kto\n", "{answers: 1, reference: model, mismatched: true}"}});
  CHECK_FALSE(first_obstacle(imported({{"tune.yaml", axolotl + "rl: grpo\n"}})).empty());
}

TEST_CASE("what LLaMA-Factory trains otherwise is held back") {
  for (const char* more : {"stage: ppo\n", "stage: rm\n", "finetuning_type: freeze\n", "finetuning_type: oft\n",
                           "quantization_bit: 8\n", "use_unsloth: true\n", "use_mca: true\n", "pref_beta: 0.1\n"}) {
    CAPTURE(more);
    std::string text = kFactory;
    if (std::string(more).starts_with("stage")) text.erase(text.find("stage: sft\n"), 11);
    const ImportedJob job = imported({{"sft.yaml", text + more}});
    CHECK_FALSE(job.complete);
    CHECK_FALSE(first_obstacle(job).empty());
  }
  const ImportedJob few = imported({{"sft.yaml", std::string(kFactory) + "quantization_bit: 4\n"}});
  CHECK(few.complete);
  CHECK(said(few.draft, "training.lora.base") == "nf4-double");
  const ImportedJob single =
      imported({{"sft.yaml", std::string(kFactory) + "quantization_bit: 4\ndouble_quantization: false\n"}});
  CHECK(said(single.draft, "training.lora.base") == "nf4");
  const ImportedJob full = imported({{"sft.yaml", std::string(kFactory) + "finetuning_type: full\n"}});
  CHECK(full.complete);
  CHECK(said(full.draft, "training.lora").empty());
}

TEST_CASE("llamafactory-cli reads the file that it names, and its options") {
  const ImportFile settings{"sft.yaml", kFactory};
  for (const char* command : {"llamafactory-cli train sft.yaml", "accelerate launch src/train.py sft.yaml"})
    CHECK(imported({{"run.sh", fmt::format("#!/bin/bash\n{}\n", command)}, settings}).complete);
  const ImportedJob torch =
      imported({{"run.sh",
                 "#!/bin/bash\ntorchrun --nproc_per_node 8 src/train.py --stage sft --do_train True "
                 "--finetuning_type full --model_name_or_path meta-llama/Meta-Llama-3-8B --cutoff_len 4096 "
                 "--per_device_train_batch_size 2 --bf16\n"}});
  CHECK(torch.complete);
  CHECK(said(torch.draft, "training.sequence_length") == "4096");
  CHECK(said(torch.draft, "training.global_batch") == "16");
  CHECK_THROWS_AS(imported({{"run.sh", "#!/bin/bash\nllamafactory-cli train other.yaml\n"}, settings}), Error);
  CHECK_THROWS_AS(imported({{"run.sh", "#!/bin/bash\nllamafactory-cli chat sft.yaml\n"}, settings}), Error);
}

// Microbatches fill a batch of 16: 2 of 1 on 8 GPUs, 1 of 4.
TEST_CASE("swift sft trains LoRA of rank 8, and fills a batch of 16 sequences") {
  const auto swift = [](const std::string& options) {
    return imported(
        {{"run.sh", "#!/bin/bash\nswift sft --model Qwen/Qwen3-8B --dataset data.jsonl#500 more.json " + options}});
  };
  const ImportedJob plain = swift("--max_length 4096 --lora_alpha 32");
  CHECK(plain.complete);
  CHECK(said(plain.draft, "model") == "qwen3-8b");
  CHECK(said(plain.draft, "training.lora.rank") == "8");
  CHECK(said(plain.draft, "training.lora.dropout") == "0.05");
  CHECK(said(plain.draft, "training.precision") == "bf16");
  CHECK(said(plain.draft, "training.global_batch") == "16");
  CHECK(said(plain.draft, "strategy.recompute") == "full");
  CHECK(said(swift("--per_device_train_batch_size 4").draft, "training.global_batch") == "32");
  CHECK(said(swift("--gradient_accumulation_steps 4").draft, "training.global_batch") == "32");
  const ImportedJob few = swift("--quant_bits 4 --quant_method bnb --target_modules q_proj v_proj");
  CHECK(said(few.draft, "training.lora.base") == "nf4-double");
  CHECK(said(few.draft, "training.lora.targets") == "[qkv]");
}

TEST_CASE("ms-swift starts as many processes as NPROC_PER_NODE says") {
  const auto notes_of = [](const std::string& before) {
    const ImportedJob job = imported({{"run.sh", "#!/bin/bash\n" + before + " swift sft --model Qwen/Qwen3-8B\n"}});
    std::string out;
    for (const ImportObstacle& note : job.draft.notes) out += note.reason + "\n";
    return out;
  };
  CHECK(notes_of("").find("ms-swift starts one process") != std::string::npos);
  CHECK(notes_of("NPROC_PER_NODE=8").empty());
  CHECK(notes_of("NPROC_PER_NODE=4").find("the launch is of 4 GPUs (NPROC_PER_NODE=4, one node") != std::string::npos);
  CHECK(notes_of("NNODES=2 NPROC_PER_NODE=8").find("the launch is of 16 GPUs") != std::string::npos);
}

TEST_CASE("ms-swift's names of DeepSpeed's and FSDP's settings stand for files that it brings") {
  const auto swift = [](const std::string& options) {
    return imported({{"run.sh", "#!/bin/bash\nswift pt --model Qwen/Qwen3-8B --tuner_type full " + options}});
  };
  const ImportedJob third = swift("--deepspeed zero3");
  CHECK(third.complete);
  CHECK(said(third.draft, "strategy.zero") == "3");
  const auto of_weights = [](const ImportObstacle& note) {
    return note.reason.find("torch_dtype") != std::string::npos;
  };
  const auto& notes = third.draft.notes;
  CHECK(std::none_of(notes.begin(), notes.end(), of_weights));
  CHECK(said(swift("--deepspeed zero2_offload").draft, "strategy.offload_optimizer") == "1");
  CHECK(said(swift("--deepspeed zero3_offload").draft, "strategy.offload_parameters") == "true");
  const ImportedJob shards = swift("--fsdp fsdp2");
  CHECK(said(shards.draft, "strategy.zero") == "3");
  // Shards of FSDP are fp32 (accelerate); weights that each device holds alone stay as they were loaded.
  CHECK(std::none_of(shards.draft.notes.begin(), shards.draft.notes.end(), of_weights));
  const ImportedJob whole = swift("--per_device_train_batch_size 1");
  CHECK(std::any_of(whole.draft.notes.begin(), whole.draft.notes.end(), of_weights));
  CHECK(said(whole.draft, "training.first_moment") == "bf16");
  // The states of projected gradients have the type of the gradients.
  CHECK(said(swift("--use_galore true").draft, "training.first_moment").empty());
  const ImportedJob path = imported({{"run.sh",
                                      "#!/bin/bash\ndeepspeed swift/cli/sft.py --model Qwen/Qwen3-8B "
                                      "--tuner_type lora --model_name my-robot\n"}});
  CHECK(path.complete);
  CHECK(said(path.draft, "model") == "qwen3-8b");
  CHECK_THROWS_AS(swift("--deepspeed mine.json"), Error);
}

// LLaMA-Factory's hparams: rank 16 and 200 steps; ms-swift's: 128 and 50.
TEST_CASE("tools' own switch of GaLore, with their defaults") {
  const auto factory = [](const std::string& more) {
    return imported({{"sft.yaml",
                      "model_name_or_path: meta-llama/Llama-3.1-8B\nfinetuning_type: full\ncutoff_len: 1024\n"
                      "per_device_train_batch_size: 1\nbf16: true\n" +
                          more}});
  };
  const ImportedJob plain = factory("use_galore: true\n");
  CHECK(plain.complete);
  CHECK(said(plain.draft, "training.low_rank_gradients") == "{rank: 16, every: 200}");
  const ImportedJob stated = factory("use_galore: true\ngalore_rank: 64\ngalore_update_interval: 100\n");
  CHECK(said(stated.draft, "training.low_rank_gradients") == "{rank: 64, every: 100}");
  const ImportedJob layers = factory("use_galore: true\ngalore_layerwise: true\n");
  const std::vector<ImportLine> lines = layers.draft.lines();
  CHECK(std::any_of(lines.begin(), lines.end(),
                    [](const ImportLine& line) { return line.text.starts_with("galore_layerwise") && line.left_out; }));
  CHECK(said(factory("use_galore: false\ngalore_rank: 64\n").draft, "training.low_rank_gradients").empty());
  CHECK_THROWS_AS(factory("use_galore: true\ngalore_rank: none\n"), Error);
  CHECK_THROWS_AS(factory("use_galore: maybe\n"), Error);
  const ImportedJob swift =
      imported({{"run.sh", "#!/bin/bash\nswift sft --model Qwen/Qwen3-8B --tuner_type full --use_galore true\n"}});
  CHECK(said(swift.draft, "training.low_rank_gradients") == "{rank: 128, every: 50}");
}

// q-galore-torch: Adam in 8 bits, and projectors in bytes where the tool says so.
TEST_CASE("Q-GaLore of ms-swift and axolotl") {
  const auto swift = [](const std::string& more) {
    return imported({{"run.sh", "#!/bin/bash\nswift sft --model Qwen/Qwen3-8B --tuner_type full --use_galore true " +
                                    more + "\n"}});
  };
  const ImportDraft quantized = swift("--galore_quantization true --galore_proj_quant true").draft;
  CHECK(said(quantized, "training.low_rank_gradients") == "{rank: 128, every: 50, quantized_projectors: true}");
  CHECK(said(quantized, "training.optimizer") == "adam-8bit");
  CHECK(said(swift("--galore_quantization true").draft, "training.low_rank_gradients") ==
        "{rank: 128, every: 50, quantized_projectors: false}");
  CHECK(said(swift("--galore_proj_quant true").draft, "training.low_rank_gradients") == "{rank: 128, every: 50}");
  const auto axolotl = [](const std::string& more) {
    return imported({{"config.yml",
                      "base_model: NousResearch/Meta-Llama-3.1-8B\nsequence_len: 1024\nmicro_batch_size: 1\n"
                      "bf16: true\ndatasets: [{path: a, type: alpaca}]\noptimizer: " +
                          more}});
  };
  const ImportDraft whole = axolotl("q_galore_adamw8bit\nqgalore_rank: 64\n").draft;
  CHECK(said(whole, "training.low_rank_gradients") == "{rank: 64, every: 200, quantized_projectors: true}");
  CHECK(said(whole, "training.optimizer") == "adam-8bit");
  CHECK(said(axolotl("adamw_torch\nqgalore_rank: 64\n").draft, "training.low_rank_gradients").empty());
}

TEST_CASE("ms-swift's second copy of the parameters counts with DeepSpeed alone") {
  const auto swift = [](const std::string& options) {
    return imported({{"run.sh",
                      "#!/bin/bash\nNPROC_PER_NODE=8 NNODES=2 swift sft --model Qwen/Qwen3-8B --tuner_type full "
                      "--zero_hpz_partition_size 8 " +
                          options}},
                    "hgx-h100:2");
  };
  CHECK(said(swift("--deepspeed zero3").draft, "strategy.zero_second_group") == "8");
  CHECK(said(swift("").draft, "strategy.zero_second_group").empty());
}

TEST_CASE("a file of ms-swift's settings, and what it trains otherwise is held back") {
  const std::string file = "model: Qwen/Qwen3-8B\ntuner_type: full\nmax_length: 8192\n";
  const ImportedJob alone = imported({{"sft.yaml", file}});
  CHECK(alone.format->name == "ms-swift-yaml");
  CHECK(said(alone.draft, "training.lora").empty());
  const ImportedJob named =
      imported({{"run.sh", "#!/bin/bash\nswift sft --config sft.yaml --deepspeed zero1\n"}, {"sft.yaml", file}});
  CHECK(said(named.draft, "training.sequence_length") == "8192");
  CHECK(said(named.draft, "strategy.zero") == "1");
  for (const char* more : {"sequence_parallel_size: 2\n", "task_type: seq_cls\n", "freeze_parameters_ratio: 0.5\n",
                           "tuner_backend: unsloth\n", "quant_bits: 8\n", "torch_dtype: float16\n"}) {
    CAPTURE(more);
    const ImportedJob held = imported({{"sft.yaml", file + more}});
    CHECK_FALSE(held.complete);
    CHECK_FALSE(first_obstacle(held).empty());
  }
}

// swift 4.6.0: arguments/rlhf_args.py, rlhf_trainers/*.py.
TEST_CASE("swift rlhf: DPO where nothing else is said, a copy of whole models alone") {
  const auto swift = [](const std::string& options) {
    return imported({{"run.sh", "#!/bin/bash\nNPROC_PER_NODE=8 swift rlhf --model Qwen/Qwen3-8B --max_length 2048 " +
                                    options + "\n"}});
  };
  const auto compared = [&](const std::string& options) {
    const ImportedJob job = swift(options);
    CAPTURE(options);
    CHECK(job.complete);
    return said(job.draft, "training.preferences");
  };
  CHECK(compared("") == "{answers: 2, reference: adapters-off}");
  CHECK(
      said(imported({{"run.sh", "#!/bin/bash\ntorchrun --nproc_per_node 8 -m swift.cli.rlhf --model Qwen/Qwen3-8B\n"}})
               .draft,
           "training.preferences") == "{answers: 2, reference: adapters-off}");
  CHECK(compared("--rlhf_type dpo --tuner_type full --ref_model Qwen/Qwen3-8B --beta 0.1") ==
        "{answers: 2, reference: model}");
  CHECK(compared("--rlhf_type kto --tuner_type full") == "{answers: 1, reference: model, mismatched: true}");
  CHECK(compared("--rlhf_type kto --loss_type apo_zero_unpaired") == "{answers: 1, reference: adapters-off}");
  for (const char* alone : {"orpo", "simpo", "cpo"}) {
    CHECK(compared(std::string("--tuner_type full --rlhf_type ") + alone) == "{answers: 2, reference: none}");
  }
  const ImportedJob reward = swift("--rlhf_type rm --tuner_type full");
  CHECK(reward.complete);
  CHECK(parse_scenario(reward.scenario, import_sources()).job.model.head.kind == HeadKind::labels_of_sequences);
  CHECK(said(swift("--rlhf_type dpo").draft, "training.global_batch") == "16");
  // Several losses, of which --loss_weights makes one.
  CHECK(compared("--tuner_type full --loss_type sigmoid bco_pair sft --loss_weights 0.8 0.2 1.0") ==
        "{answers: 2, reference: model}");
  for (const char* more :
       {"--rlhf_type grpo", "--rlhf_type ppo", "--rlhf_type gkd", "--ref_adapters a", "--packing true",
        "--rlhf_type rm --reward_model a", "--ref_model Qwen/Qwen3-8B", "--rlhf_type orpo --ref_model Qwen/Qwen3-8B"}) {
    CAPTURE(std::string(more));
    CHECK_FALSE(swift(more).complete);
  }
}

// swift 4.6.0: model/model_meta.py, model/register.py. AutoModelForSequenceClassification has a matrix of num_labels
// rows: 3 x 1024 of Qwen3 0.6B, whose vocabulary's matrix is that of its embedding.
TEST_CASE("swift sft: labels of texts in the place of words, samples of several texts are held back") {
  const auto swift = [](const std::string& options) {
    return imported({{"run.sh", "#!/bin/bash\nNPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-0.6B --max_length 2048 " +
                                    options + "\n"}});
  };
  for (const char* task : {"--task_type seq_cls --num_labels 3", "--num_labels 3 --problem_type regression"}) {
    CAPTURE(task);
    const ImportedJob job = swift(task);
    CHECK(job.complete);
    const Head head = parse_scenario(job.scenario, import_sources()).job.model.head;
    CHECK(head.kind == HeadKind::labels_of_sequences);
    CHECK(head.labels == 3);
    CHECK(said(job.draft, "training.preferences").empty());
  }
  CHECK(parse_scenario(swift("--task_type causal_lm --num_labels 3").scenario, import_sources()).job.model.head.kind ==
        HeadKind::language);
  for (const char* more : {"--task_type seq_cls", "--task_type embedding --loss_type infonce", "--task_type reranker",
                           "--task_type generative_reranker"}) {
    CAPTURE(more);
    CHECK_FALSE(swift(more).complete);
    CHECK_FALSE(first_obstacle(swift(more)).empty());
  }
}

TEST_CASE("axolotl's settings are its own: bf16 may be auto, a batch of one is its default") {
  const std::string axolotl =
      "base_model: meta-llama/Meta-Llama-3-8B\nsequence_len: 8192\nbf16: auto\ntf32: false\ngradient_checkpointing: "
      "true\n"
      "datasets:\n  - path: tatsu-lab/alpaca\n    type: alpaca\noptimizer: adamw_torch\n";
  const ImportedJob full = imported({{"fft.yaml", axolotl}});
  CHECK(full.format->name == "axolotl-yaml");
  CHECK(full.complete);
  CHECK(said(full.draft, "training.precision") == "bf16");
  CHECK(said(full.draft, "training.global_batch") == "8");
  CHECK(said(full.draft, "training.lora").empty());
  const ImportedJob lora =
      imported({{"lora.yaml", axolotl + "adapter: lora\nlora_r: 32\nlora_target_linear: true\nmicro_batch_size: 2\n"}});
  CHECK(lora.complete);
  CHECK(said(lora.draft, "training.lora.rank") == "32");
  CHECK(said(lora.draft, "training.global_batch") == "16");
  const ImportedJob few = imported({{"q.yaml", axolotl + "adapter: qlora\nload_in_4bit: true\n"}});
  CHECK(few.complete);
  CHECK(said(few.draft, "training.lora.base") == "nf4-double");
  const ImportedJob reward = imported({{"rm.yaml", axolotl + "reward_model: true\n"}});
  CHECK(reward.complete);
  CHECK(said(reward.draft, "training.preferences") == "{answers: 2, reference: none}");
  CHECK(parse_scenario(reward.scenario, import_sources()).job.model.head.kind == HeadKind::labels_of_sequences);
  CHECK(said(imported({{"no.yaml", axolotl + "reward_model: false\n"}}).draft, "training.preferences").empty());
  // A model that the library states by a config.json. Two answers with scores cost less than two with all words.
  const std::string gemma = "base_model: google/gemma-2-2b\nsequence_len: 2048\nbf16: auto\n";
  const ImportedJob scores =
      imported({{"g.yaml", gemma + "reward_model: true\nnum_labels: 1\ncenter_rewards_coefficient: 0.01\n"}});
  CHECK(scores.complete);
  CHECK(said(scores.draft, "model.config.num_labels") == "1");
  const ImportedJob words = imported({{"g.yaml", gemma + "rl: orpo\n"}});
  const auto flop = [](const ImportedJob& job) {
    return simulate(parse_scenario(job.scenario, import_sources()).job).result.model_flop;
  };
  // Three products of each of 8 x 2 x 2048 tokens with the matrix of 256000 words of 2304 numbers.
  CHECK(flop(words) - flop(scores) == doctest::Approx(3 * 2.0 * 8 * 2 * 2048 * 256000 * 2304).epsilon(1e-3));
  for (const char* more :
       {"adapter: llama-adapter\n", "rl: grpo\n", "dp_replicate_size: 2\n", "reward_model: true\nrl: dpo\n",
        "reward_model: true\nnum_labels: 2\n", "process_reward_model: true\n"}) {
    CAPTURE(more);
    CHECK_FALSE(imported({{"other.yaml", axolotl + more}}).complete);
  }
}

// 256 GPUs of which 8 hold one copy: 32 data ranks, each with 8 microbatches of 4.
TEST_CASE("GPT-NeoX: the batch is micro batch, accumulation and data ranks") {
  const std::string neox =
      "{\"pipe_parallel_size\": 1, \"model_parallel_size\": 8, \"num_layers\": 48, \"hidden_size\": 8192,\n"
      "# with comments\n"
      "\"num_attention_heads\": 64, \"seq_length\": 4096, \"max_position_embeddings\": 4096, \"pos-emb\": \"rotary\",\n"
      "\"optimizer\": {\"type\": \"Adam\", \"params\": {\"lr\": 0.0001}}, \"zero_optimization\": {\"stage\": 1},\n"
      "\"train_micro_batch_size_per_gpu\": 4, \"gradient_accumulation_steps\": 8, \"bf16\": {\"enabled\": True}, }\n";
  const ImportedJob job = imported({{"neox.yml", neox}}, "hgx-h100:32");
  CHECK(job.format->name == "gpt-neox-yaml");
  CHECK(job.complete);
  CHECK(said(job.draft, "training.global_batch") == "1024");
  CHECK(said(job.draft, "strategy.tensor") == "8");
  CHECK(said(job.draft, "strategy.zero") == "1");
  CHECK(said(job.draft, "model.position") == "rotary");
  CHECK(said(job.draft, "model.ffn") == "32768");
  const Scenario scenario = parse_scenario(job.scenario, import_sources());
  CHECK(scenario.job.strategy.data == 32);
  for (const char* more : {"\"gpt_j_residual\": true}", "\"train_impl\": \"dpo\"}", "\"moe_num_experts\": 8}"}) {
    std::string text = neox;
    text.replace(text.rfind('}'), 1, more);
    CAPTURE(text);
    CHECK_FALSE(imported({{"neox.yml", text}}, "hgx-h100:32").complete);
  }
}

// int(32768 x 2 / 3) = 21845 of both halves, 10922 of one, in whole multiples of 256: 11008, Llama's.
TEST_CASE("GPT-NeoX: a gated MLP has two thirds of intermediate_size") {
  const ImportedJob job = imported(
      {{"llama.yml",
        "{\"pipe_parallel_size\": 1, \"model_parallel_size\": 1, \"num_layers\": 32, \"hidden_size\": 4096,\n"
        "\"intermediate_size\": 32768, \"activation\": \"swiglu\", \"mlp_multiple_of\": 256, \"norm\": \"rmsnorm\",\n"
        "\"num_attention_heads\": 32, \"seq_length\": 2048, \"max_position_embeddings\": 2048, \"no_weight_tying\": "
        "true,\n"
        "\"train_micro_batch_size_per_gpu\": 1, \"fp16\": {\"enabled\": true}, \"use_bias_in_mlp\": False}\n"}});
  CHECK(said(job.draft, "model.ffn") == "11008");
  CHECK(said(job.draft, "model.activation") == "swiglu");
  CHECK(said(job.draft, "model.normalization") == "rms_norm");
  CHECK(said(job.draft, "model.tied_embeddings") == "false");
  CHECK(said(job.draft, "training.precision") == "fp16");
}

}  // namespace tuning_tools_test
