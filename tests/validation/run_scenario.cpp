#include "validation/run_scenario.hpp"

#include "scenario/scenario.hpp"
#include "validation/validate_runs.hpp"

#include <doctest/doctest.h>

using namespace mirfak;

namespace {

DataFolders folders() {
  const std::string source = MIRFAK_SOURCE_DIR;
  return {source + "/models", source + "/hw_profiles"};
}

constexpr const char* kHeader =
    "tier,model,n_layers,hidden,n_heads,vocab,seq_len,gpu,n_gpus,tp,pp,micro_batch,global_batch,dtype,recompute,"
    "flags,s_per_iter_derived\n";

std::vector<ValidatedRun> validate(const std::string& rows) {
  return validate_runs(CsvTable::from_text(kHeader + rows, "runs.csv"), folders());
}

}  // namespace

TEST_CASE("a row becomes the scenario that it describes") {
  const auto runs = validate("A,GPT 22B,48,6144,64,51200,2048,A100-80GB,8,8,1,4,4,fp16,full,Megatron-LM (2021),1.42\n");
  REQUIRE(runs.size() == 1);
  REQUIRE_MESSAGE(runs[0].scored(), runs[0].skipped);
  const Job job = parse_scenario(Document::from_text(runs[0].scenario, "row"), folders()).job;
  CHECK(job.model.layers == 48);
  CHECK(job.model.ffn == 4 * 6144);
  CHECK(job.framework.name == "megatron-lm-2021");
  CHECK(job.training.precision == "fp16");
  CHECK(job.strategy.tensor == 8);
  CHECK(job.strategy.data == 1);
  CHECK(job.strategy.recompute == Recompute::full);
  CHECK(runs[0].seconds.measured == 1.42);
  CHECK(runs[0].seconds.predicted > 0);
}

TEST_CASE("parameters that Megatron Core shards are Megatron FSDP's") {
  const std::string header = std::string("zero_stage,") + kHeader;
  const auto framework_with = [&](const std::string& zero) {
    const std::string row = zero + ",A,llama3-8b (NeMo),32,4096,32,128256,8192,H100-80GB,8,1,1,1,32,bf16,none,,1\n";
    const auto runs = validate_runs(CsvTable::from_text(header + row, "runs.csv"), folders());
    REQUIRE_MESSAGE(runs[0].scored(), runs[0].skipped);
    return parse_scenario(Document::from_text(runs[0].scenario, "row"), folders()).job.framework.name;
  };
  CHECK(framework_with("1") == "megatron-core");
  CHECK(framework_with("3 (FSDP)") == "megatron-fsdp");
}

TEST_CASE("NeMo's recipes reduce gradients in 16 bits, keep parameters in 8, and divide tokens beside tp") {
  const std::string row = ",32,4096,32,128256,8192,H100-80GB,8,2,1,1,32,fp8,none,,1\n";
  const auto job_of = [&](const std::string& name) {
    const auto runs = validate("A," + name + row);
    REQUIRE_MESSAGE(runs[0].scored(), runs[0].skipped);
    return parse_scenario(Document::from_text(runs[0].scenario, "row"), folders()).job;
  };
  const Job nemo = job_of("llama3-8b (NeMo)");
  CHECK(nemo.training.gradient_precision == "bf16");
  CHECK(nemo.training.fp8_parameters);
  CHECK(nemo.strategy.sequence_parallel);
  const Job other = job_of("llama3-8b");
  CHECK(other.training.gradient_precision.empty());
  CHECK_FALSE(other.training.fp8_parameters);
  CHECK_FALSE(other.strategy.sequence_parallel);
}

TEST_CASE("a run with blocking launches is simulated with them") {
  const auto runs = validate(
      "A,GPT 22B,48,6144,64,51200,2048,A100-80GB,8,8,1,4,4,fp16,full,Megatron-LM (2021),1.42\n"
      "A,GPT 22B,48,6144,64,51200,2048,A100-80GB,8,8,1,4,4,fp16,full,Megatron-LM (2021); "
      "CUDA_LAUNCH_BLOCKING=1,1.42\n");
  REQUIRE_MESSAGE(runs[1].scored(), runs[1].skipped);
  CHECK(parse_scenario(Document::from_text(runs[1].scenario, "row"), folders()).job.training.blocking_launches);
  CHECK(runs[1].seconds.predicted > runs[0].seconds.predicted);
}

TEST_CASE("rows that cannot be simulated are there with their reasons") {
  const auto runs = validate(
      "A,GPT,24,1024,16,,1024,Abacus,8,1,1,4,64,fp16,,,1\n"
      "A,GPT,24,1024,16,,1024,A100,8,3,1,4,64,fp16,,,1\n"
      "A,GPT,24,1024,16,,1024,A100,8,1,1,,64,fp16,,,1\n"
      "A,GPT,24,,16,,1024,A100,8,1,1,4,64,fp16,,,1\n"
      "A,GPT,24,1024,16,,1024,A100,8,1,1,4,64,fp16,,,\n"
      "C,GPT,24,1024,16,,1024,A100,8,1,1,4,64,fp16,,,1\n");
  for (std::size_t i = 0; i < 5; ++i) CHECK_FALSE(runs[i].skipped.empty());
  CHECK(runs[0].skipped.find("Abacus") != std::string::npos);
  CHECK(runs[3].skipped.find("hidden") != std::string::npos);
  CHECK(runs[5].scored());
  const SourceScore complete = score(runs, "all", "AB");
  CHECK(complete.skipped == 5);
  CHECK(complete.errors.count == 0);
  CHECK(score(runs, "all", "ABC").errors.count == 1);
}

TEST_CASE("models of one shape are told apart by their names") {
  const ModelLibrary models(folders().models);
  MeasuredRun run;
  run.model = "LLaMA2-70B (SFT)";
  run.layers = 80;
  run.hidden = 8192;
  run.heads = 64;
  run.kv_heads = 8;
  run.ffn = 28672;
  run.vocab = 32000;
  run.sequence_length = 4096;
  CHECK(models.model_yaml_of(run).find("swiglu") != std::string::npos);
  run.model = "a family of its own";
  run.ffn = 4 * 8192;
  CHECK(models.model_yaml_of(run).find("gelu") != std::string::npos);
}
