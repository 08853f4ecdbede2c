// MaxText's command and YAML: names of models, axes of nodes and of their GPUs, policies of what is kept.

#include "import/maxtext.hpp"

#include "import/imported_job.hpp"
#include "import/program_facts.hpp"
#include "launch_files.hpp"
#include "scenario/scenario.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

namespace maxtext_test {

using namespace mirfak;

namespace {

ImportedJob read(const std::vector<ImportFile>& files, const std::string& nodes = "hgx-h100:2") {
  return imported(files, nodes);
}

ImportedJob train(const std::string& changes, const std::string& nodes = "hgx-h100:2") {
  return read({{"run.sh",
                "#!/bin/bash\npython3 -m MaxText.train MaxText/configs/base.yml run_name=r hardware=gpu "
                "dataset_type=synthetic " +
                    changes + "\n"}},
              nodes);
}

constexpr const char* kLlama =
    "model_name=llama2-7b per_device_batch_size=4 max_target_length=4096 ici_fsdp_parallelism=8 dcn_data_parallelism=2 "
    "attention=cudnn_flash_te remat_policy=minimal_with_context ";

ImportedJob llama(const std::string& more, const std::string& nodes = "hgx-h100:2") {
  return train(kLlama + more, nodes);
}

}  // namespace

// Two nodes of 8 GPUs: each node shards, and both hold a copy; 4 sequences on each of 16 GPUs.
TEST_CASE("MaxText shards in a node and copies over nodes, as its axes say") {
  const ImportedJob job = llama("");
  CHECK(job.complete);
  CHECK(said(job.draft, "model") == "llama2-7b");
  CHECK(said(job.draft, "training.sequence_length") == "4096");
  CHECK(said(job.draft, "training.global_batch") == "64");
  CHECK(said(job.draft, "strategy.micro_batch") == "4");
  CHECK(said(job.draft, "strategy.data") == "16");
  CHECK(said(job.draft, "strategy.zero") == "3");
  CHECK(said(job.draft, "strategy.zero_group") == "8");
  CHECK(said(job.draft, "strategy.recompute") == "selective");
  CHECK(said(job.draft, "strategy.recompute_modules") == "[layernorm]");
  CHECK(said(job.draft, "training.framework") == "{like: jax-fsdp, fusion: {attention: [cudnn]}}");
  parse_scenario(job.scenario, import_sources());
  // dcn_data_parallelism is what is left by default.
  CHECK(said(train("model_name=llama2-7b ici_fsdp_parallelism=8").draft, "strategy.zero_group") == "8");
  CHECK_FALSE(train("model_name=llama2-7b").complete);  // nothing says how many GPUs a node has
}

TEST_CASE("MaxText's tensor, context and expert axes divide what mirfak divides") {
  const ImportedJob tensor = train(
      "model_name=llama3-70b ici_tensor_parallelism=4 ici_fsdp_parallelism=2 dcn_fsdp_parallelism=2 "
      "dcn_data_parallelism=1 per_device_batch_size=1 gradient_accumulation_steps=2");
  CHECK(tensor.complete);
  CHECK(said(tensor.draft, "strategy.tensor") == "4");
  CHECK(said(tensor.draft, "strategy.sequence_parallel") == "false");
  CHECK(said(tensor.draft, "strategy.data") == "4");
  CHECK(said(tensor.draft, "strategy.zero_group").empty());
  CHECK(said(tensor.draft, "training.global_batch") == "32");
  CHECK(said(tensor.draft, "strategy.micro_batch") == "4");
  CHECK(said(tensor.draft, "strategy.recompute") == "full");
  const ImportedJob context = train(
      "model_name=llama3-8b ici_context_parallelism=2 ici_fsdp_parallelism=4 "
      "ici_tensor_sequence_parallelism=1 context_parallel_strategy=ring");
  CHECK(said(context.draft, "strategy.context") == "2");
  CHECK(said(context.draft, "strategy.context_communication") == "p2p");
  CHECK(said(context.draft, "strategy.data") == "8");
  CHECK(said(context.draft, "strategy.zero_group") == "8");
  const ImportedJob experts = train("model_name=mixtral-8x7b ici_expert_parallelism=8 ici_fsdp_parallelism=1");
  CHECK(experts.complete);
  CHECK(said(experts.draft, "strategy.expert") == "8");
  CHECK(said(experts.draft, "strategy.data") == "16");
  const ImportedJob copies = train("model_name=llama2-7b ici_fsdp_parallelism=1 ici_data_parallelism=8");
  CHECK(said(copies.draft, "strategy.zero") == "0");
  CHECK(said(train("model_name=llama2-7b ici_fsdp_parallelism=1 ici_data_parallelism=8 shard_optimizer_over_data=true")
                 .draft,
             "strategy.zero") == "1");
}

TEST_CASE("MaxText's formats, policies, kernels and sizes") {
  CHECK(said(llama("quantization=fp8").draft, "training.precision") == "fp8-delayed");
  CHECK(said(llama("quantization=te_mxfp8").draft, "training.precision") == "mxfp8");
  CHECK(said(llama("weight_dtype=bfloat16").draft, "training.second_moment") == "bf16");
  CHECK(said(llama("weight_dtype=bfloat16").draft, "training.framework").find("optimizer_bytes: 8") !=
        std::string::npos);
  CHECK(said(llama("mu_dtype=bfloat16").draft, "training.first_moment") == "bf16");
  CHECK(said(llama("remat_policy=minimal").draft, "strategy.recompute_modules") == "[layernorm, core_attn]");
  CHECK(said(llama("remat_policy=save_dot_except_mlp").draft, "strategy.recompute_modules") ==
        "[layernorm, core_attn, mlp]");
  CHECK(said(llama("remat_policy=none").draft, "strategy.recompute") == "none");
  CHECK(said(llama("attention=dot_product").draft, "training.framework") ==
        "{like: jax-fsdp, fusion: {attention: []}}");
  const ImportedJob tiled = llama("num_vocab_tiling=8");
  CHECK(said(tiled.draft, "training.loss_chunks") == "8");
  parse_scenario(tiled.scenario, import_sources());
  CHECK(said(llama("opt_type=sgd").draft, "training.optimizer") == "sgd");
  const ImportedJob fewer = llama("base_num_decoder_layers=8 override_model_config=true");
  CHECK(fewer.complete);
  CHECK(said(fewer.draft, "model.layers") == "8");
  CHECK(said(fewer.draft, "model.hidden") == "4096");
  const ImportedJob own = train("base_emb_dim=1024 base_num_query_heads=8 base_num_kv_heads=8 ici_fsdp_parallelism=8");
  CHECK(own.complete);
  CHECK(said(own.draft, "model.hidden") == "1024");
  CHECK(said(own.draft, "model.layers") == "16");
  const ImportedJob stages = train(
      "model_name=llama2-7b ici_fsdp_parallelism=4 ici_pipeline_parallelism=2 "
      "num_layers_per_pipeline_stage=16 num_pipeline_microbatches=4 per_device_batch_size=4");
  CHECK(stages.complete);
  CHECK(said(stages.draft, "strategy.pipeline") == "2");
  CHECK(said(stages.draft, "strategy.schedule") == "gpipe");
  CHECK(said(stages.draft, "strategy.micro_batch") == "2");
}

TEST_CASE("what MaxText trains otherwise, or on other devices, is held back or refused") {
  for (const char* more :
       {"hardware=tpu", "quantization=int8", "remat_policy=custom", "remat_policy=qkv_proj_offloaded", "use_dpo=true",
        "enable_lora=true", "optimizer_memory_host_offload=true", "num_experts=8", "base_moe_mlp_dim=1024",
        "ici_fsdp_parallelism=4 ici_sequence_parallelism=2", "enable_diloco=true", "use_multimodal=true",
        "ici_fsdp_parallelism=4 ici_pipeline_parallelism=2", "model_name=gemma-2b", "max_target_lenght=512"}) {
    CAPTURE(more);
    const ImportedJob job = llama(more);
    CHECK_FALSE(job.complete);
    CHECK_FALSE(first_obstacle(job).empty());
  }
  for (const char* more : {"per_device_batch_size=0.3", "ici_fsdp_parallelism=0", "dtype=int8", "--flag",
                           "ici_fsdp_parallelism=-1 ici_data_parallelism=-1"}) {
    CAPTURE(more);
    CHECK_THROWS_AS(llama(more), Error);
  }
  for (const char* command :
       {"python3 -m MaxText.decode base.yml model_name=llama2-7b", "python3 -m MaxText.train own.yml",
        "python3 -m MaxText.train_compile base.yml", "python3 -m maxtext.trainers.post_train.rl.train_rl x.yml"}) {
    CAPTURE(command);
    CHECK_THROWS_AS(read({{"run.sh", fmt::format("#!/bin/bash\n{}\n", command)}}), Error);
  }
}

TEST_CASE("a configuration of MaxText's counts below the command line, and sizes in it below the model's name") {
  const std::string yaml =
      "model_name: llama2-7b\nbase_emb_dim: 2048\nici_fsdp_parallelism: 8\nmax_target_length: 2048\nnum_experts: 1\n"
      "mlp_activations: [silu, linear]\nq_lora_rank: 0\nhardware: gpu\n";
  const ImportedJob alone = read({{"mine.yml", yaml}});
  CHECK(alone.format->name == "maxtext-yaml");
  CHECK(alone.complete);
  CHECK(said(alone.draft, "model") == "llama2-7b");
  const ImportedJob named = read(
      {{"run.sh", "#!/bin/bash\npython3 src/MaxText/train.py mine.yml max_target_length=8192\n"}, {"mine.yml", yaml}});
  CHECK(named.complete);
  CHECK(said(named.draft, "training.sequence_length") == "8192");
}

TEST_CASE("each key of MaxText's configuration has a line that says what became of it") {
  const ProgramFacts facts(import_sources(), "maxtext");
  REQUIRE(facts.names().size() > 800);
  // Keys that no reader asks for are judged by their names alone: one command has them all.
  std::string others = "ici_fsdp_parallelism=8";
  for (const std::string& name : facts.names()) {
    if (facts.judges(name)) others += fmt::format(" {}=2", name);
  }
  const std::vector<ImportLine> judged = train(others).draft.lines();
  const auto says = [](const std::vector<ImportLine>& lines, const std::string& text) {
    const auto line =
        std::find_if(lines.rbegin(), lines.rend(), [&](const ImportLine& one) { return one.text == text; });
    REQUIRE(line != lines.rend());
    CHECK(line->reason.find("not an option") == std::string::npos);
    CHECK(line->reason.find("of which predictions know nothing") == std::string::npos);
  };
  for (const std::string& name : facts.names()) {
    CAPTURE(name);
    bool read_once = facts.judges(name);
    if (read_once) says(judged, name + "=2");
    for (const char* value : {"2", "true", "0.5", "gpu", "bfloat16", "sgd", "llama2-7b", "ring"}) {
      if (read_once) break;
      const std::string text = fmt::format("{}={}", name, value);
      try {
        says(train("ici_fsdp_parallelism=8 " + text).draft.lines(), text);
        read_once = true;
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::input);
      }
    }
    CHECK(read_once);
  }
}

}  // namespace maxtext_test
