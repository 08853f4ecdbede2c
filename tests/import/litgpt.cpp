// litgpt's commands: options on the command line and in its YAML, models in the words of its Config.

#include "import/litgpt.hpp"

#include "import/imported_job.hpp"
#include "import/program_facts.hpp"
#include "launch_files.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

namespace litgpt_test {

using namespace mirfak;

namespace {

ImportFile script(const std::string& command) { return {"run.sh", "#!/bin/bash\n" + command + "\n"}; }

ImportedJob run(const std::string& command, const std::string& nodes = "hgx-h100:1") {
  return imported({script("litgpt " + command)}, nodes);
}

const std::string kLora = "finetune_lora checkpoints/meta-llama/Llama-3.1-8B --train.max_seq_length 2048 ";

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

double parameters_of(const ImportedJob& job) {
  return count_parameters(parse_scenario(job.scenario, import_sources()).job.model).total;
}

}  // namespace

// 512 sequences over 16 GPUs are 32 of each: 8 microbatches of 4. Shards stay within a node.
TEST_CASE("litgpt pretrain: FSDP within nodes, compiled, with litgpt's own defaults") {
  const ImportedJob job = run("pretrain pythia-160m --devices 8 --num_nodes 2 --precision bf16-true", "hgx-h100:2");
  CHECK(job.complete);
  CHECK(said(job.draft, "model.config.n_layer") == "12");
  CHECK(said(job.draft, "training.global_batch") == "512");
  CHECK(said(job.draft, "training.precision") == "bf16");
  CHECK(said(job.draft, "training.first_moment") == "bf16");
  CHECK(said(job.draft, "strategy.micro_batch") == "4");
  CHECK(said(job.draft, "strategy.data") == "16");
  CHECK(said(job.draft, "strategy.zero") == "3");
  CHECK(said(job.draft, "strategy.zero_group") == "8");
  CHECK(said(job.draft, "strategy.recompute") == "none");
  CHECK(said(job.draft, "training.framework").starts_with("{like: litgpt-compiled"));
  CHECK(has(said(job.draft, "training.framework"), "optimizer_traffic_bytes: 28"));
  const Scenario scenario = parse_scenario(job.scenario, import_sources());
  CHECK(scenario.job.training.sequence_length == 2048);
  CHECK(simulate(scenario.job).result.iteration_time_s > 0);
  CHECK(said(run("pretrain pythia-160m").draft, "strategy.data") == "8");  // devices: auto
  CHECK(said(run("pretrain pythia-160m").draft, "strategy.zero_group").empty());
  CHECK(said(run("pretrain pythia-160m --devices 1 --num_nodes 2", "hgx-h100:2").draft, "strategy.zero") == "0");
  CHECK(has(first_obstacle(run("pretrain pythia-160m --model_config own.yaml")), "a Config by its path"));
  CHECK(said(run("pretrain pythia-160m --train.global_batch_size 100").draft, "training.global_batch") == "96");
}

// Published counts: 162,322,944 (EleutherAI/pythia-160m), 6,738,415,616 (Llama 2), 8,030,261,248 (Llama 3.1),
// 6,921,720,704 (falcon-7b, tied, and 65,024 x 4544 more untied), 46,702,792,704 (Mixtral 8x7B), 7,615,616,512
// (Qwen2.5 7B, whose 152,064 rows litgpt has too), 7,298,617,344 (OLMo 2 7B, 100,352 rows).
TEST_CASE("litgpt's models have the parameters that are published, head and embedding apart") {
  const auto of = [](const std::string& name) { return parameters_of(run("pretrain " + name)); };
  CHECK(of("EleutherAI/pythia-160m") == 162'322'944);
  CHECK(of("Llama-2-7b-hf") == 6'738'415'616);
  CHECK(of("meta-llama/Meta-Llama-3.1-8B") == 8'030'261'248);
  CHECK(of("falcon-7b") == 6'921'720'704 + 65'024 * 4544.0);
  CHECK(of("Mixtral-8x7B-v0.1") == 46'702'792'704);
  CHECK(of("Qwen2.5-7B") == 7'615'616'512);
  CHECK(of("OLMo-2-1124-7B") == 7'298'617'344);
  CHECK(parameters_of(run("pretrain falcon-7b --train.tie_embeddings true")) == 6'921'720'704);
  CHECK(has(first_obstacle(run("pretrain Llama-3.1-9B")), "Llama-3.1-8B"));
}

TEST_CASE("every model of litgpt's config.py is one that mirfak can make") {
  const ProgramFacts facts(import_sources(), "litgpt");
  REQUIRE(facts.section("models").items.size() > 100);
  for (const Value& entry : facts.section("models").items) {
    const std::string name = entry.find("names")->items.front().scalar;
    CAPTURE(name);
    CHECK(parameters_of(run("pretrain " + name)) > 1e6);
  }
}

TEST_CASE("keys of another command count only with a value, as configuration files of litgpt's hub state them empty") {
  const std::string settings =
      "checkpoint_dir: checkpoints/meta-llama/Meta-Llama-3-8B\nprecision: bf16-true\ndevices: 4\ntrain:\n"
      "  global_batch_size: 64\n  micro_batch_size: 4\n  epochs: 1\n  max_seq_length: 512\n  max_tokens:\n"
      "  max_norm:\n  tie_embeddings:";
  const ImportedJob job = imported({{"full.yaml", settings + "\n"}});
  CHECK(job.complete);
  CHECK(said(job.draft, "training.global_batch") == "64");
  CHECK(has(first_obstacle(imported({{"full.yaml", settings + " true\n"}})), "refuses this key"));
}

TEST_CASE("litgpt finetune_full and finetune_lora: recomputation on several devices, types, adapters, few bits") {
  const ImportedJob full =
      run("finetune_full checkpoints/google/gemma-2b --devices 8 --train.max_seq_length 1024 "
          "--train.global_batch_size 64 --train.micro_batch_size 2");
  CHECK(full.complete);
  CHECK(said(full.draft, "strategy.recompute") == "full");
  CHECK(said(full.draft, "training.global_batch") == "64");
  CHECK(said(full.draft, "training.first_moment").empty());
  CHECK(said(full.draft, "training.lora.rank").empty());
  const ImportedJob lora = run(kLora + "--lora_r 16 --lora_mlp true --lora_projection true --precision bf16-true");
  CHECK(lora.complete);
  CHECK(lora.draft.machine.gpus() == 1);
  CHECK(said(lora.draft, "training.lora.rank") == "16");
  CHECK(said(lora.draft, "training.lora.dropout") == "0.05");
  CHECK(said(lora.draft, "training.lora.targets") == "[qkv, proj, fc1, fc2]");
  CHECK(said(lora.draft, "strategy.zero") == "0");
  CHECK(said(lora.draft, "training.global_batch") == "16");
  CHECK(said(lora.draft, "training.sequence_length") == "2048");
  const ImportedJob bits = run(kLora + "--quantize bnb.nf4-dq --precision bf16-true");
  CHECK(bits.complete);
  CHECK(said(bits.draft, "training.lora.base") == "nf4-double");
  CHECK(said(bits.draft, "training.lora.targets") == "[qkv]");
  CHECK(has(first_obstacle(run(kLora + "--quantize bnb.nf4 --precision bf16-true --devices 2")), "one device alone"));
  CHECK(has(first_obstacle(run(kLora + "--quantize bnb.nf4")), "not -mixed"));
  CHECK(said(run(kLora + "--precision 32-true").draft, "training.precision") == "tf32");
  CHECK(said(run(kLora + "--optimizer SGD").draft, "training.optimizer") == "sgd");
  CHECK(has(said(run(kLora).draft, "training.framework"), "casts_weights: true"));
}

TEST_CASE("litgpt's YAML: read alone, named by --config, and changed by options behind it") {
  const ImportFile file{"lora.yaml",
                        "checkpoint_dir: checkpoints/Qwen/Qwen2.5-7B\nout_dir: out\nprecision: bf16-true\n"
                        "quantize:\ndevices: 4\nnum_nodes: 1\nlora_r: 32\nlora_key: false\n"
                        "data:\n  class_path: litgpt.data.Alpaca2k\n  init_args: {mask_prompt: false}\n"
                        "train:\n  global_batch_size: 8\n  micro_batch_size: 1\n  epochs: 1\n  max_seq_length: 512\n"
                        "  min_lr: 6.0e-05\neval: {interval: 100}\nlogger_name: csv\nseed: 1337\n"
                        "optimizer:\n  class_path: torch.optim.AdamW\n  init_args: {lr: 0.0002, weight_decay: 0.0}\n"};
  const ImportedJob alone = imported({file});
  CHECK(alone.format->name == "litgpt-yaml");
  CHECK(said(alone.draft, "training.lora.rank") == "32");
  CHECK(said(alone.draft, "training.optimizer") == "adam");
  CHECK(said(alone.draft, "strategy.data") == "4");
  CHECK(alone.complete);
  CHECK(said(alone.draft, "cluster.nodes") == "[{type: hgx-h100, count: 1, gpus: 4}]");
  CHECK(has(alone.draft.notes.back().reason, "litgpt finetune_lora is taken"));
  for (const ImportLine& line : alone.draft.lines()) CHECK(line.verdict != Verdict::unknown);
  const ImportedJob changed =
      imported({script("litgpt finetune_lora --config lora.yaml --devices 8 --lora_r=8"), file});
  CHECK(changed.complete);
  CHECK(said(changed.draft, "training.lora.rank") == "8");
  CHECK(said(changed.draft, "strategy.data") == "8");
  // A checkpoint of one's own has its Config beside its weights.
  const ImportFile config{
      "model_config.yaml",
      "name: own\nn_layer: 4\nn_embd: 1024\nn_head: 8\nblock_size: 512\nvocab_size: 32000\n"
      "padded_vocab_size: 32000\nnorm_class_name: RMSNorm\nmlp_class_name: LLaMAMLP\n"
      "intermediate_size: 4096\nbias: false\nparallel_residual: false\nrope_adjustments: {factor: 8}\n"};
  const ImportedJob own = imported({script("litgpt finetune_lora out/own --config lora.yaml"), file, config});
  CHECK(own.complete == alone.complete);
  // 2 x 32,000 x 1024, and of 4 layers 4 x 1024^2 + 3 x 1024 x 4096 and two norms; one at the end.
  CHECK(parameters_of(own) == 2 * 32'000 * 1024.0 + 4 * (4 * 1048576.0 + 3 * 4194304.0 + 2048) + 1024);
}

TEST_CASE("litgpt's other commands, keys of another command and unknown ones are refused") {
  for (const char* command : {"finetune_adapter x", "finetune_adapter_v2 x", "generate x", "chat x", "finetune_qlora x",
                              "convert_to_litgpt x", "evaluate x", ""}) {
    CAPTURE(command);
    CHECK_THROWS_AS(run(command), Error);
  }
  CHECK(has(first_obstacle(run(kLora + "--train.max_norm 1.0")), "finetune_lora refuses this key"));
  CHECK(has(first_obstacle(run("pretrain pythia-160m --train.epochs 2")), "pretrain refuses this key"));
  CHECK(has(first_obstacle(run("pretrain pythia-160m --train.global_batch 2")), "train.global_batch_size"));
  CHECK(has(first_obstacle(run("pretrain pythia-160m --quantise bnb.nf4")), "quantize"));
  CHECK(has(first_obstacle(run("finetune_full checkpoints/a/pythia-160m")), "no train.max_seq_length"));
  CHECK(has(first_obstacle(run("pretrain pythia-160m --train.global_batch_size 4")), "no microbatch"));
  CHECK(has(first_obstacle(run("pretrain pythia-160m --optimizer mine.Best")), "an optimizer"));
  CHECK_FALSE(run("pretrain").complete);
  CHECK_THROWS_AS(run("pretrain $MODEL"), Error);  // not known without --env
  for (const char* options :
       {"--precision fp8", "--devices many", "--train.micro_batch_size 0", "--config none.yaml"}) {
    CAPTURE(options);
    CHECK_THROWS_AS(run(std::string("pretrain pythia-160m ") + options), Error);
  }
}

TEST_CASE("each key of litgpt's commands has a line that says what became of it") {
  const ProgramFacts facts(import_sources(), "litgpt");
  REQUIRE(facts.names().size() > 100);
  for (const std::string& name : facts.names()) {
    CAPTURE(name);
    if (name.starts_with("model_config.") || name == "config") continue;
    bool read_once = false;
    for (const char* value : {"1", "AdamW", "bf16-true", "bnb.nf4", "Llama-3.1-8B"}) {
      for (const std::string& command : {kLora + "--precision bf16-true ", std::string("pretrain pythia-160m ")}) {
        try {
          const std::vector<ImportLine> lines = run(fmt::format("{} --{} {}", command, name, value)).draft.lines();
          read_once = read_once || std::any_of(lines.begin(), lines.end(), [&](const ImportLine& line) {
                        return line.text == fmt::format("--{} {}", name, value) &&
                               (line.verdict != Verdict::unknown || line.left_out);
                      });
        } catch (const Error& error) {
          CHECK(error.kind() == ErrorKind::input);
        }
      }
      if (read_once) break;
    }
    CHECK(read_once);
  }
}

}  // namespace litgpt_test
