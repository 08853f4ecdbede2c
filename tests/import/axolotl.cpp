// axolotl's settings beyond what tuning_tools.cpp checks of all tools: files that its users write, with plugins,
// kernels, several kinds of ranks and images.

#include "launch_files.hpp"
#include "simulation/iteration.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace axolotl_test {

using namespace mirfak;

namespace {

const std::string kSettings =
    "model_type: LlamaForCausalLM\ndatasets:\n  - path: tatsu-lab/alpaca\nsequence_len: 4096\nmicro_batch_size: 1\n"
    "gradient_accumulation_steps: 2\nbf16: auto\ngradient_checkpointing: true\noptimizer: adamw_torch\nwandb_project:\n"
    "lr_scheduler:\nspecial_tokens:\n";

ImportedJob axolotl(const std::string& more, const std::string& model = "meta-llama/Meta-Llama-3-8B",
                    const std::string& nodes = "hgx-h100:1") {
  return imported({{"train.yml", "base_model: " + model + "\n" + kSettings + more}}, nodes);
}

bool notes(const ImportedJob& job, const std::string& part) {
  return std::any_of(job.draft.notes.begin(), job.draft.notes.end(),
                     [&](const ImportObstacle& note) { return note.reason.find(part) != std::string::npos; });
}

// True if the import says that predictions lack this setting.
bool lacks(const ImportedJob& job, const std::string& setting) {
  const auto lines = job.draft.lines();
  return std::any_of(lines.begin(), lines.end(), [&](const ImportLine& line) {
    return line.verdict == Verdict::unknown && line.text.find(setting) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("a file of settings that says the model's class is no model; keys without a value say nothing") {
  const ImportedJob job = axolotl("");
  CHECK(job.format->name == "axolotl-yaml");
  CHECK(job.complete);
  CHECK_FALSE(lacks(job, "special_tokens"));
  CHECK(said(job.draft, "training.global_batch") == "16");
}

// 8,030,261,248 parameters, gradients and two moments of two bytes each on every device.
TEST_CASE("whole models on each device are kept in 16 bits, sharded ones and adapters are not") {
  const ImportedJob whole = axolotl("");
  CHECK(notes(whole, "without a copy in fp32"));
  CHECK(said(whole.draft, "training.first_moment") == "bf16");
  const Scenario scenario = scenario_of(whole.draft, "hgx-h100", 1);
  const StageMemory memory = simulate(scenario.job).result.stages.front().memory;
  CHECK(memory.peak.parameters == 2 * 8030261248.0);
  CHECK(memory.peak.gradients == 2 * 8030261248.0);
  CHECK(memory.peak.optimizer == doctest::Approx(4 * 8030261248.0).epsilon(0.02));
  CHECK(said(axolotl("optimizer: adamw_bnb_8bit\n").draft, "training.first_moment").empty());
  for (const char* other : {"adapter: lora\n", "fsdp_version: 2\nfsdp_config: {reshard_after_forward: true}\n",
                            "deepspeed: deepspeed_configs/zero1.json\n"}) {
    CAPTURE(other);
    CHECK_FALSE(notes(axolotl(other), "without a copy in fp32"));
    CHECK(said(axolotl(other).draft, "training.first_moment").empty());
  }
}

TEST_CASE("DeepSpeed's files that axolotl brings stand for what they say, unless the file is given") {
  const ImportedJob brought = axolotl("deepspeed: deepspeed_configs/zero2.json\n");
  CHECK(said(brought.draft, "strategy.zero") == "2");
  CHECK(said(brought.draft, "strategy.offload_optimizer") == "1");
  const ImportFile own{"zero2.json",
                       R"({"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"})"};
  const std::string settings = "base_model: Qwen/Qwen3-8B\n" + kSettings + "deepspeed: deepspeed_configs/zero2.json\n";
  CHECK(said(imported({{"train.yml", settings}, own}).draft, "strategy.zero") == "3");
  CHECK_THROWS(axolotl("deepspeed: deepspeed_configs/mine.json\n"));
}

TEST_CASE("plugins: what they set, and that one is not known") {
  const ImportedJob cut =
      axolotl("plugins:\n  - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\n  - my.own.Plugin\n");
  CHECK(said(cut.draft, "training.framework").find("chunked_loss: true") != std::string::npos);
  CHECK(lacks(cut, "my.own.Plugin"));
  const ImportedJob off =
      axolotl("plugins:\n  - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\ncut_cross_entropy: false\n");
  CHECK(said(off.draft, "training.framework").find("chunked_loss") == std::string::npos);
  // Logits of 4096 tokens and 128,256 classes are never whole.
  const auto workspace = [](const ImportedJob& job) {
    return simulate(scenario_of(job.draft, "hgx-h100", 1).job).result.stages.front().memory.peak.workspace;
  };
  CHECK(workspace(cut) < workspace(off) - 2 * 4096.0 * 128256);
}

TEST_CASE("Liger's kernels by their switches") {
  const std::string all = "liger_rms_norm: true\nliger_rope: true\nliger_glu_activation: true\n";
  const auto seconds = [](const ImportedJob& job) {
    return simulate(scenario_of(job.draft, "hgx-h100", 1).job).result.iteration_time_s;
  };
  CHECK(seconds(axolotl(all)) < seconds(axolotl("liger_rms_norm: true\n")));
  CHECK(seconds(axolotl("liger_rms_norm: true\n")) < seconds(axolotl("")));
  CHECK(lacks(axolotl("liger_glu_activation: true\n"), "liger_glu_activation"));
  CHECK_FALSE(lacks(axolotl(all), "liger_glu_activation"));
}

TEST_CASE("tensor and context ranks, and copies of what is sharded") {
  const std::string sharded = "fsdp_version: 2\nfsdp_config: {reshard_after_forward: true}\n";
  const ImportedJob job = axolotl(sharded + "tensor_parallel_size: 2\ncontext_parallel_size: 2\ndp_shard_size: 2\n",
                                  "Qwen/Qwen3-8B", "hgx-h100:2");
  CHECK(job.complete);
  CHECK(said(job.draft, "strategy.tensor") == "2");
  CHECK(said(job.draft, "strategy.context") == "2");
  CHECK(said(job.draft, "strategy.zero_group") == "4");
  CHECK(said(job.draft, "training.global_batch") == "8");
  // The degree of sharding follows from the world's size alone where nothing says it.
  CHECK_FALSE(axolotl(sharded + "dp_replicate_size: 2\n").complete);
  const ImportedJob copies = axolotl(sharded + "dp_replicate_size: 2\ndp_shard_size: 4\n");
  CHECK(said(copies.draft, "strategy.zero_group") == "4");
}

TEST_CASE("a model with a tower sees images only where axolotl has a processor for them") {
  const ImportedJob text = axolotl("", "google/gemma-3-4b-it");
  CHECK(said(text.draft, "training.images") == "0");
  const ImportedJob images = axolotl("processor_type: AutoProcessor\n", "google/gemma-3-4b-it");
  CHECK(images.complete);
  CHECK(said(images.draft, "training.images").empty());
  CHECK_FALSE(axolotl("processor_type: AutoProcessor\n").complete);
}

TEST_CASE("adapters beside layers that an expression names") {
  const auto targets = [](const std::string& words) {
    return said(axolotl("adapter: lora\nlora_target_modules: " + words + "\n").draft, "training.lora.targets");
  };
  CHECK(targets("[q_proj, v_proj]") == "[qkv]");
  CHECK(targets("[self_attn.q_proj, self_attn.o_proj]") == "[proj, qkv]");
  CHECK(targets(R"('model.language_model.layers.[\d]+.(mlp|cross_attn|self_attn).(up|down|gate|q|k|v|o)_proj')") ==
        "[fc1, fc2, proj, qkv]");
  CHECK(targets(R"('model.layers.[\d]+.(_checkpoint_wrapped_module.)?(mlp|self_attn).(up|q)_proj')") == "[fc1, qkv]");
  // Some of the layers, and linear layers among experts, are other adapters.
  CHECK(targets(R"('model.layers.(3|7).self_attn.(q|k)_proj')").empty());
  CHECK(targets("[shared_expert.up_proj]").empty());
}

}  // namespace axolotl_test
