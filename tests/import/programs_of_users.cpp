// Scripts as their users write them: programs of their own around the Trainer, programs that submit a command, and what
// templates leave to be filled in.

#include "base/error.hpp"
#include "import/shell_script.hpp"
#include "launch_files.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace programs_of_users_test {

using namespace mirfak;

namespace {

const std::string kTrainer =
    " --model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 2 --max_length 4096 --bf16 True ";

ImportedJob script(const std::string& command, std::vector<ImportFile> more = {}) {
  more.insert(more.begin(), {"run.sh", "#!/bin/bash\n" + command + "\n"});
  return imported(more);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool notes(const ImportedJob& job, const std::string& part) {
  return std::any_of(job.draft.notes.begin(), job.draft.notes.end(),
                     [&](const ImportObstacle& note) { return has(note.reason, part); });
}

std::string refusal(const std::string& command) {
  try {
    return first_obstacle(script(command));
  } catch (const Error& error) {
    return error.message();
  }
}

std::vector<std::string> words_of(const std::string& command) {
  const ShellRun run = run_shell("run.sh", command + "\n", {});
  std::vector<std::string> out;
  for (const ArgumentWord& word : run.commands.at(0).words) out.push_back(word.text);
  return out;
}

}  // namespace

TEST_CASE("a program that submits a command: what stands after -- is the training") {
  const ImportFile zero{"stage3.json",
                        R"({"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"})"};
  const std::string submits = "python submit.py --num_nodes 1 --gpus 8 --image mine -- ";
  const std::string launches =
      "accelerate launch --num_processes 8 --use_deepspeed --deepspeed_config_file stage3.json ";
  const ImportedJob job = script(submits + launches + "finetune.py" + kTrainer, {zero});
  CHECK(job.complete);
  CHECK(said(job.draft, "strategy.zero") == "3");
  CHECK(said(job.draft, "training.global_batch") == "16");
  CHECK(notes(job, "taken to start what stands after --"));
  CHECK(has(refusal(submits + launches + "finetune.py" + kTrainer), "stage3.json"));
  // The program behind it decides what is trained.
  CHECK(has(refusal(submits + "accelerate launch --num_processes 8 tune_dpo.py" + kTrainer), "two answers"));
  // An end of options without a launcher is the program's own.
  CHECK(script("torchrun --nproc_per_node 8 finetune.py" + kTrainer + "--output_dir out -- more").complete);
}

TEST_CASE("adapters of a program of one's own: a rank or a switch says that they are there") {
  const std::string own = "torchrun --nproc_per_node 8 train_lora.py" + kTrainer;
  const ImportedJob by_rank = script(own + "--lora_r 8 --lora_dropout 0.05 --q_lora False");
  CHECK(said(by_rank.draft, "training.lora.rank") == "8");
  CHECK(said(by_rank.draft, "training.lora.dropout") == "0.05");
  CHECK(said(by_rank.draft, "training.lora.base").empty());
  const ImportedJob by_switch = script(own + "--use_lora --lora_rank 64 --use_qlora");
  CHECK(said(by_switch.draft, "training.lora.rank") == "64");
  CHECK(has(said(by_switch.draft, "training.lora.base"), "nf4"));
  // Nobody knows the rank that the program has by itself.
  CHECK(has(refusal(own + "--use_lora"), "--set training.lora.rank=NUMBER"));
  CHECK(has(refusal("torchrun --nproc_per_node 8 train_lora.py" + kTrainer), "--set training.lora.rank=NUMBER"));
  CHECK(said(script(own + "--use_lora False --lora_r 8").draft, "training.lora.rank").empty());
  // Nor the bits of a program that is named after its few bits.
  const std::string few = "python qlora.py" + kTrainer + "--lora_r 64 --lora_modules all ";
  CHECK(said(script(few + "--bits 4 --double_quant").draft, "training.lora.base") == "nf4-double");
  CHECK(said(script(few + "--bits 8").draft, "training.lora.base") == "int8");
  CHECK(said(script(few + "--bits 16").draft, "training.lora.base").empty());
  CHECK(has(refusal(few), "--set training.lora.base"));
  // TRL's own scripts have adapters by --use_peft alone, of rank 16 unless they say another.
  const std::string tuning = "accelerate launch --num_processes 8 sft.py" + kTrainer;
  CHECK(said(script(tuning + "--lora_r 8").draft, "training.lora.rank").empty());
  CHECK(said(script(tuning + "--use_peft").draft, "training.lora.rank") == "16");
}

TEST_CASE("--deepspeed needs its file, whose name a variable may hide") {
  const std::string own = "deepspeed --num_gpus 8 finetune.py" + kTrainer;
  CHECK(has(refusal(own + "--deepspeed $CONFIG --gradient_checkpointing True"), "give the file"));
  CHECK(has(refusal(own + "--deepspeed --zero_stage 2"), "give the file"));
  const ImportFile zero{"ds.json", R"({"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"})"};
  CHECK(said(script(own + "--deepspeed $CONFIG", {zero}).draft, "strategy.zero") == "2");
}

TEST_CASE("a file of settings that sed makes of a template is read") {
  const ImportFile form{"template.json",
                        R"({"zero_optimization": {"stage": STAGE}, "train_micro_batch_size_per_gpu": "auto"})"};
  const std::string makes = "STAGE=2\nsed \"s/STAGE/$STAGE/\" template.json > ds.json\n";
  CHECK(said(script(makes + "deepspeed --num_gpus 8 finetune.py" + kTrainer + "--deepspeed ds.json", {form}).draft,
             "strategy.zero") == "2");
  // Another use of sed makes a file that is not known.
  const std::string prints = "sed -n \"s/STAGE/2/p\" template.json > ds.json\n";
  CHECK(!refusal(prints + "deepspeed --num_gpus 8 finetune.py" + kTrainer + "--deepspeed ds.json").empty());
}

TEST_CASE("a value that is not known stays so through eval, alone and behind a word") {
  const std::string begins = "N=$(count-gpus)\nrun=\"torchrun --nproc_per_node 8 finetune.py" + kTrainer;
  for (const std::string steps : {"--gradient_accumulation_steps $N", "--gradient_accumulation_steps 4$N"}) {
    CAPTURE(steps);
    CHECK(has(refusal(begins + steps + " --seed 1\"\neval $run"), "its value is not known"));
    CHECK(has(refusal(begins + "--seed 1 " + steps + "\"\neval $run"), "its value is not known"));
    CHECK(has(refusal(begins + steps + " --seed 1\"\nbash -c \"$run\""), "its value is not known"));
  }
}

TEST_CASE("what a template leaves to be filled in is a word, where bash would find no file") {
  const auto value = [](const std::string& text) {
    return words_of("X=" + text + "\ntorchrun a.py --x \"$X\"").back();
  };
  CHECK(value("<Specify path>") == "<Specify path>");
  CHECK(value("<Specify path and file prefix>_text_document") == "<Specify path and file prefix>_text_document");
  CHECK(value("<path (e.g., /data)>") == "<path (e.g., /data)>");
  CHECK(words_of("torchrun a.py --data-path <data> \\\n --lr 1") ==
        std::vector<std::string>{"torchrun", "a.py", "--data-path", "<data>", "--lr", "1"});
  CHECK(words_of("torchrun a.py --save=<dir>").back() == "--save=<dir>");
  // Redirections stay what they are.
  CHECK(words_of("torchrun a.py --x <in >out") == std::vector<std::string>{"torchrun", "a.py", "--x"});
  CHECK(words_of("torchrun a.py <in > out 2>&1").back() == "a.py");
  CHECK_THROWS_AS(words_of("torchrun a.py >"), Error);
  // A placeholder in the place of a number is refused there.
  CHECK(has(refusal("torchrun --nproc_per_node 8 finetune.py" + kTrainer + "--gradient_accumulation_steps <steps>"),
            "<steps>"));
}

TEST_CASE("values that nobody states: a variable, a parameter of the script, the output of a command") {
  const std::string start =
      "torchrun --nproc_per_node 8 finetune.py --per_device_train_batch_size 2 --max_length 2048 --bf16 True ";
  const auto hint = [&](const std::string& options) {
    try {
      script(start + options);
    } catch (const Error& error) {
      return error.hint();
    }
    return std::string();
  };
  CHECK(hint("--model_name_or_path $MODEL") == "say --env MODEL=VALUE");
  CHECK(hint("--model_name_or_path $2") == "say the script's parameters: --arg WORD for each of 2, in their order");
  CHECK(hint("--model_name_or_path $1/$SIZE") ==
        "say --env SIZE=VALUE, and the script's parameters: --arg WORD for each of 1, in their order");
  CHECK(hint("--model_name_or_path $(cat model)") ==
        "the output of commands is not known: write the value in place of the command");
}

TEST_CASE("nodes that a script leaves to its environment are those of --nodes") {
  const std::string command =
      "python3 -m verl.trainer.main_ppo data.train_batch_size=1024 data.max_prompt_length=512 "
      "data.max_response_length=1024 actor_rollout_ref.model.path=$HOME/models/Qwen2.5-7B-Instruct "
      "actor_rollout_ref.actor.ppo_mini_batch_size=256 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 "
      "actor_rollout_ref.rollout.n=4 trainer.n_gpus_per_node=8 trainer.nnodes=$NNODES";
  const ImportedJob job = imported({{"run.sh", "#!/bin/bash\n" + command + "\n"}}, "hgx-h100:2");
  CHECK(said(job.draft, "model") == "qwen2.5-7b");
  CHECK(said(job.draft, "cluster.nodes") == "[{type: hgx-h100, count: 2}]");
}

}  // namespace programs_of_users_test
