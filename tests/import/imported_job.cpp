#include "import/imported_job.hpp"

#include "base/error.hpp"
#include "import/option_table.hpp"
#include "scenario/scenario.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <filesystem>

namespace imported_job_test {

using namespace mirfak;

namespace {

namespace fs = std::filesystem;

const ScenarioSources& all_sources() {
  static const ScenarioSources sources(
      DataFolders{fs::path(source_root()) / "models", fs::path(source_root()) / "hw_profiles"});
  return sources;
}

ImportedJob imported(const std::string& text, const std::string& name, const std::vector<std::string>& nodes,
                     const std::map<std::string, std::string>& environment = {}) {
  const ImportFile file{name, text};
  ImportRequest request;
  for (const std::string& node : nodes) request.nodes.push_back(node_choice(node));
  ImportContext context{all_sources()};
  context.environment = environment;
  return import_job({&file, 1}, request, std::move(context));
}

constexpr const char* kScript = R"(#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gres=gpu:h100:8
TP=${TP:-4}
torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 pretrain_gpt.py \
  --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 \
  --tensor-model-parallel-size $TP --micro-batch-size 1 --bf16 --lr 1e-4 --typo 3 $MORE
)";

}  // namespace

TEST_CASE("a script with its #SBATCH lines becomes a scenario that reads back as it was") {
  const ImportedJob job = imported(kScript, "train.sh", {});
  CHECK(job.complete);
  CHECK(job.draft.obstacles().empty());
  const Scenario scenario = parse_scenario(job.scenario, all_sources());
  CHECK(scenario.job.cluster.gpus() == 32);
  CHECK(scenario.job.strategy.tensor == 4);
  CHECK(scenario.job.training.global_batch == 8);  // one microbatch of each replica, as nothing says it
  const Document written = Document::from_text(imported_yaml(job), "out.yaml");
  CHECK(parse_scenario(written, all_sources()).job.strategy == scenario.job.strategy);
  bool unknown = false;
  for (const ImportLine& line : job.draft.lines())
    unknown = unknown || (line.verdict == Verdict::unknown && line.text == "--typo 3" && line.where.line == 7);
  CHECK(unknown);
}

TEST_CASE("types of the optimizer's states and capacities of experts are read from Megatron-LM's options") {
  const std::string dense(kScript);
  const std::string end = "--bf16 --lr";
  const auto with = [&](const std::string& options) {
    std::string text = dense;
    text.replace(text.find(end), end.size(), options + " " + end);
    const ImportedJob job = imported(text, "train.sh", {});
    CHECK(job.draft.obstacles().empty());
    return parse_scenario(job.scenario, all_sources()).job.training;
  };
  const TrainingSpec states = with(
      "--use-distributed-optimizer --use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype fp8 "
      "--main-params-dtype fp16");
  CHECK(states.first_moment == "bf16");
  CHECK(states.second_moment == "fp8");
  CHECK(states.main_parameters == "fp16");
  CHECK_FALSE(with("--use-distributed-optimizer --exp-avg-dtype bf16").narrow_states());
  const TrainingSpec capacity = with(
      "--sequence-parallel --num-experts 8 --expert-model-parallel-size 4 --moe-expert-capacity-factor 1.5 "
      "--moe-pad-expert-input-to-capacity");
  CHECK(capacity.expert_capacity_factor == 1.5);
  CHECK(capacity.pad_to_capacity);
}

TEST_CASE("modules on the host are read with the norms that Transformer Engine joins with products") {
  const std::string dense(kScript);
  const std::string end = "--bf16 --lr";
  const auto modules = [&](const std::string& options) {
    std::string text = dense;
    text.replace(text.find(end), end.size(), "--fine-grained-activation-offloading " + options + " " + end);
    return word_under(imported(text, "train.sh", {}).draft, "strategy.offload_modules");
  };
  CHECK(modules("--offload-modules qkv_linear core_attn") == "[attn_norm, qkv_linear, core_attn]");
  CHECK(modules("--offload-modules attn_norm core_attn attn_proj") == "[core_attn, attn_proj]");
  CHECK(modules("--offload-modules attn_norm mlp_norm").empty());
  CHECK(modules("--transformer-impl local --offload-modules attn_norm mlp_norm") == "[attn_norm, mlp_norm]");
  CHECK(modules("--num-experts 8 --offload-modules mlp_norm expert_fc1") == "[mlp_norm, expert_fc1]");
  CHECK(modules("").empty());
}

TEST_CASE("registered buffers are read beside a distributed optimizer") {
  const std::string dense(kScript);
  const std::string end = "--bf16 --lr";
  const auto registered = [&](const std::string& options) {
    std::string text = dense;
    text.replace(text.find(end), end.size(), options + " " + end);
    return word_under(imported(text, "train.sh", {}).draft, "strategy.registered_buffers");
  };
  CHECK(registered("--use-distributed-optimizer --use-nccl-ub") == "true");
  CHECK(registered("--use-distributed-optimizer --nccl-ub") == "true");
  CHECK(registered("--use-nccl-ub").empty());
  CHECK(registered("--use-distributed-optimizer --use-nccl-ub --disable-symmetric-registration").empty());
}

TEST_CASE("what cannot run is read all the same, and an impossible value is refused at its place") {
  const ImportedJob job =
      imported(kScript, "train.sh", {"hgx-h100:1"}, {{"TP", "16"}, {"MORE", "--global-batch-size 64"}});
  CHECK_FALSE(job.complete);
  CHECK(job.refusal.find("train.sh:7:") != std::string::npos);
  CHECK(job.scenario.root().find("strategy")->find("tensor")->scalar == "16");
  try {
    imported(kScript, "train.sh", {}, {{"TP", "four"}});
    FAIL_CHECK("accepted");
  } catch (const Error& error) {
    CHECK(error.message().find("expected a number") != std::string::npos);
  }
  CHECK_THROWS_AS(imported("#!/bin/bash\necho no training\n", "x.sh", {}), Error);
  CHECK_THROWS_AS(node_choice("hgx-h100"), Error);
}

TEST_CASE("without a type of node the layout is read, and what is missing is said") {
  const ImportedJob job =
      imported("--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --global-batch-size 8",
               "args.txt", {});
  CHECK_FALSE(job.complete);
  REQUIRE(job.draft.obstacles().size() == 1);
  CHECK(job.draft.obstacles().front().reason.find("--nodes TYPE:COUNT") != std::string::npos);
  CHECK(imported_yaml(job).find("hidden: 1024  # args.txt:1:16: --hidden-size 1024") != std::string::npos);
}

TEST_CASE("the stage of ZeRO is read from the file that a script writes for DeepSpeed") {
  const std::string script =
      "cat > ds.json <<EOT\n{\"zero_optimization\": {\"stage\": ${STAGE:-2}}}\nEOT\n"
      "deepspeed --num_gpus 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 --seq-length "
      "1024 "
      "--micro-batch-size 1 --global-batch-size 8 --deepspeed --deepspeed_config ds.json\n";
  const ImportedJob job = imported(script, "run.sh", {});
  CHECK(job.scenario.root().find("strategy")->find("zero")->scalar == "2");
}

}  // namespace imported_job_test
