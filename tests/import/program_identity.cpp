// Files and launches are told apart by names, options and keys: what trains nothing, or trains something else than a
// language model on its next token, is refused or held back with the name of what it seems to be.

#include "import/program_identity.hpp"

#include "import/imported_job.hpp"
#include "import/launch_programs.hpp"
#include "launch_files.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace program_identity_test {

using namespace mirfak;

namespace {

ImportedJob job_of(const std::string& name, const std::string& text, const std::vector<ImportFile>& beside = {},
                   const std::string& nodes = "hgx-h100:1") {
  std::vector<ImportFile> files = {{name, text}};
  files.insert(files.end(), beside.begin(), beside.end());
  ImportRequest request;
  request.nodes.push_back(node_choice(nodes));
  return import_job(files, request, ImportContext{import_sources()});
}

// "" where the file is read and can be simulated; else why not: the refusal, or the first obstacle.
std::string why_not(const std::string& name, const std::string& text, const std::vector<ImportFile>& beside = {}) {
  try {
    const ImportedJob job = job_of(name, text, beside);
    if (!job.draft.obstacles().empty()) return job.draft.obstacles().front().reason;
    return job.refusal;
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(error.where().known());
    return error.message();
  }
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

constexpr const char* kSizes =
    " --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048"
    " --micro-batch-size 1 --global-batch-size 16 --tensor-model-parallel-size 2 --bf16";

std::string script(const std::string& command) { return "#!/bin/bash\n" + command + "\n"; }

}  // namespace

TEST_CASE("Megatron-LM's servers, tests and converters train nothing, whatever options they take") {
  struct Launch {
    const char* program;
    const char* said;
  };
  for (const Launch& launch :
       {Launch{"tools/run_text_generation_server.py", "generates text"},
        Launch{"examples/inference/gpt/gpt_static_inference.py", "generates text"},
        Launch{"examples/post_training/modelopt/mmlu.py", "evaluates a model"},
        Launch{"tools/checkpoint/convert.py", "converts or exports"},
        Launch{"tools/preprocess_data.py", "prepares data"}, Launch{"my_generate.py", "generates text"},
        Launch{"eval_lambada.py", "evaluates a model"}}) {
    CAPTURE(launch.program);
    const std::string why =
        why_not("run.sh", script(fmt::format("torchrun --nproc_per_node 8 {}{}", launch.program, kSizes)));
    CHECK(has(why, launch.said));
    CHECK(has(why, "trains nothing"));
  }
  CHECK(why_not("run.sh", script(fmt::format("torchrun --nproc_per_node 8 pretrain_gpt.py{}", kSizes))).empty());
}

TEST_CASE("a script that converts first and trains then is read as the training") {
  const std::string two =
      script(fmt::format("python tools/checkpoint/convert.py --target-tensor-parallel-size 2\n"
                         "torchrun --nproc_per_node 8 pretrain_gpt.py{}",
                         kSizes));
  CHECK(why_not("run.sh", two).empty());
}

TEST_CASE("models of other kinds are held back by the program's name or by their options") {
  for (const char* command :
       {"pretrain_vlm.py", "pretrain_vision_classify.py", "pretrain_retro.py", "pretrain_ict.py", "train_rl.py",
        "pretrain_gpt.py --patch-size 14 --disable-vision-class-token", "pretrain_gpt.py --retro-add-retriever",
        "pretrain_gpt.py --skip-train", "pretrain_gpt.py --perform-rl-step", "train_dpo.py --train-iters 10"}) {
    CAPTURE(command);
    CHECK_FALSE(why_not("run.sh", script(fmt::format("torchrun --nproc_per_node 8 {}{}", command, kSizes))).empty());
  }
}

TEST_CASE("programs that only share some of Megatron-LM's options are not taken for it") {
  CHECK(has(why_not("run.sh", script("torchrun train.py --num_layers 8 --micro_batch_size 4 --model_name_or_path x "
                                     "--data_dir d --epochs 3")),
            "no reader knows"));
  // A program of another name is known by its options alone: nearly all of them are Megatron-LM's.
  const ImportedJob job = job_of("run.sh", script(fmt::format("torchrun --nproc_per_node 8 my_gpt.py{}", kSizes)));
  CHECK(job.complete);
  REQUIRE_FALSE(job.draft.notes.empty());
  CHECK(has(job.draft.notes.front().reason, "my_gpt.py is not known by its name"));
}

TEST_CASE("other trainers, servers and evaluations are refused by name") {
  struct Launch {
    const char* command;
    const char* is;
  };
  for (const Launch& launch :
       {Launch{"vllm serve meta-llama/Llama-3.1-8B --tensor-parallel-size 8", "vLLM"},
        Launch{"python -m vllm.entrypoints.openai.api_server --model x", "vLLM"},
        Launch{"python -m sglang.launch_server --model-path x --tp 8", "SGLang"},
        Launch{"lm_eval --model hf --tasks mmlu", "lm-evaluation-harness"},
        Launch{"megatron rlhf --rlhf_type dpo --model Qwen/Qwen3-8B", "ms-swift's tuning on Megatron by"},
        Launch{"deepspeed --module openrlhf.cli.train_kd --pretrain x", "OpenRLHF's distillation"},
        Launch{"deepspeed --module openrlhf.cli.train_prm --pretrain x", "scored at tokens of their own"},
        Launch{"python3 -m verl.model_merger merge --backend fsdp", "verl's preparation"},
        Launch{"torchrun --nproc-per-node=8 src/scripts/train/OLMo3/OLMo3-7B.py train x", "code of Python"},
        Launch{"xtuner train internlm2_chat_7b_qlora", "xtuner"},
        Launch{"deepspeed --module openrlhf.cli.train_ppo_ray --pretrain x", "OpenRLHF"},
        Launch{"python3 -m verl.experimental.agent_loop x=y", "verl's reinforcement learning"},
        Launch{"tune run --nproc_per_node 8 lora_finetune_distributed --config llama3/8B_lora", "torchtune"},
        Launch{"litgpt generate pythia-160m", "litgpt's generation"},
        Launch{"llmfoundry data_prep convert_dataset_hf --dataset c4", "llm-foundry's preparation"},
        Launch{"accelerate launch train_dreambooth_lora_sdxl.py --instance_data_dir d", "diffusers"},
        Launch{"deepspeed main.py --actor_model_name_or_path x --per_device_train_batch_size 4", "DeepSpeed-Chat"}}) {
    CAPTURE(launch.command);
    CHECK(has(why_not("run.sh", script(launch.command)), launch.is));
  }
}

TEST_CASE("files of settings of other programs are refused by name, at the key that tells") {
  struct File {
    const char* text;
    const char* is;
    int line;
  };
  for (const File& file :
       {File{"data:\n  train_files: x\nactor_rollout_ref:\n  model: {path: x}\n", "verl", 3},
        File{"model: {d_model: 8}\ndata_loader: {}\ntrain_module: {}\ntrainer: {}\n", "OLMo-core", 4},
        File{"model: x\nper_device_train_batch_size: 1\ntensor_parallel_degree: 8\n", "PaddleNLP", 3},
        File{"policy: {model_name: x}\ngrpo: {num_prompts_per_step: 8}\n", "NeMo-RL", 2},
        File{"model: x\ngpu_memory_utilization: 0.9\nmax_model_len: 4096\n", "vLLM", 2}}) {
    CAPTURE(file.text);
    try {
      job_of("settings.yaml", file.text);
      FAIL_CHECK("read");
    } catch (const Error& error) {
      CHECK(has(error.message(), file.is));
      CHECK(error.where().line == file.line);
    }
  }
}

TEST_CASE("TRL's programs say what is compared, and with which reference") {
  struct Launch {
    const char* command;
    const char* says;
  };
  for (const Launch& launch :
       {Launch{"trl dpo --beta 0.1 --max_prompt_length 512", "{answers: 2, reference: model}"},
        Launch{"accelerate launch examples/scripts/dpo.py --use_peft --loss_type ipo",
               "{answers: 2, reference: adapters-off}"},
        Launch{"trl dpo --precompute_ref_log_probs", "{answers: 2, reference: computed-before}"},
        Launch{"trl dpo --reference_free", "{answers: 2, reference: none}"},
        Launch{"trl kto", "{answers: 1, reference: model, mismatched: true}"},
        Launch{"trl kto --loss_type apo_zero_unpaired", "{answers: 1, reference: model}"},
        Launch{"accelerate launch run_orpo.py", "{answers: 2, reference: none}"},
        Launch{"trl cpo --loss_type simpo --simpo_gamma 0.5", "{answers: 2, reference: none}"},
        Launch{"trl reward --center_rewards_coefficient 0.01", "{answers: 2, reference: none}"}}) {
    CAPTURE(launch.command);
    const std::string model = " --model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 2";
    const ImportedJob job = job_of("run.sh", script(launch.command + model));
    CHECK(first_obstacle(job).empty());
    CHECK(said(job.draft, "training.preferences") == launch.says);
    CHECK(said(job.draft, "training.sequence_length") == "1024");
    const bool scores = std::string(launch.command).starts_with("trl reward");
    const Job read = parse_scenario(job.scenario, import_sources()).job;
    CHECK((read.model.head.kind == HeadKind::labels_of_sequences) == scores);
    CHECK(read.model.head.labels == (scores ? 1 : 0));
  }
}

TEST_CASE("training by preferences and rewards is held back, supervised tuning is not") {
  const std::string common =
      "model_name_or_path: meta-llama/Meta-Llama-3-8B\nper_device_train_batch_size: 2\nmax_length: 1024\nbf16: true\n";
  CHECK(why_not("sft.yaml", common).empty());
  CHECK(has(why_not("dpo.yaml", common + "beta: 0.01\n"), "reference model"));
  CHECK(has(why_not("dpo.yaml", common + "loss_type: sigmoid\n"), "compares or scores"));
  CHECK(has(why_not("grpo.yaml", common + "num_generations: 8\n"), "generated and scored"));
  CHECK(has(why_not("gkd.yaml", common + "teacher_model_name_or_path: x\n"), "second model"));
  CHECK(has(why_not("lora.yaml", common + "use_peft: true\nlora_modules_to_save: [lm_head, norm]\n"),
            "beside the adapters"));
  CHECK(why_not("qlora.yaml", common + "use_peft: true\nload_in_4bit: true\n").empty());
  CHECK(has(why_not("bits.yaml", common + "load_in_8bit: true\n"), "only by adapters"));
  CHECK(has(why_not("run.sh", script("accelerate launch examples/scripts/bco.py --model_name_or_path "
                                     "meta-llama/Meta-Llama-3-8B --per_device_train_batch_size 1")),
            "preferences"));
}

}  // namespace program_identity_test
