#include "validation/run_memory_saving.hpp"

#include "scenario/scenario.hpp"
#include "validation/validate_runs.hpp"

#include <doctest/doctest.h>

using namespace mirfak;

namespace {

MeasuredRun stated() {
  MeasuredRun run;
  run.precision = "bf16";
  run.recompute = "none";
  run.zero_stage = "1";
  run.layers = 80;
  return run;
}

}  // namespace

TEST_CASE("a row that states everything comes alone") {
  const auto variants = variants_by_memory(stated());
  REQUIRE(variants.size() == 1);
  CHECK(variants[0].assumed.empty());
}

TEST_CASE("open cells are filled in, and what is stated stays") {
  MeasuredRun run = stated();
  run.recompute.clear();
  const auto recomputed = variants_by_memory(run);
  REQUIRE(recomputed.size() == 3);
  CHECK(recomputed[0].run.recompute.empty());
  CHECK(recomputed[2].run.recompute == "full");
  CHECK(recomputed[2].run.zero_stage == "1");

  run.zero_stage.clear();
  const auto sharded = variants_by_memory(run);
  REQUIRE(sharded.size() == 6);
  CHECK(sharded[3].run.zero_stage == "1");
  run.data = 1;  // nobody to share with
  CHECK(variants_by_memory(run).size() == 3);
}

TEST_CASE("formats come before recomputation, and only beside narrow products") {
  MeasuredRun run = stated();
  run.precision = "fp8";
  const auto variants = variants_by_memory(run);
  REQUIRE(variants.size() == 3);
  CHECK(variants[1].assumed == "parameters in 8 bits");
  CHECK(variants[2].assumed == "parameters in 8 bits, activation inputs in 8 bits");
  run.flags = "FP8_PARAM_GATHER=0";
  CHECK(variants_by_memory(run).size() == 2);
}

TEST_CASE("every n-th block: ever more of them") {
  MeasuredRun run = stated();
  run.recompute = "selective";
  run.flags = "selective AC = every n-th block";
  const auto variants = variants_by_memory(run);
  REQUIRE(variants.size() == 4);
  CHECK(variants[0].run.flags.find("recompute_num_layers=20") != std::string::npos);
  CHECK(variants[3].run.flags.find("recompute_num_layers=80") != std::string::npos);
}

TEST_CASE("a run that ran is given the least that makes it fit; one that did not is taken as it stands") {
  const std::string source = MIRFAK_SOURCE_DIR;
  const DataFolders folders{source + "/models", source + "/hw_profiles"};
  // 22 B on 8 A100: 41 GiB of state a GPU, and more than 39 GiB of activations unless they are recomputed.
  const std::string header =
      "model,n_layers,hidden,n_heads,vocab,seq_len,gpu,n_gpus,tp,pp,micro_batch,global_batch,dtype,recompute,"
      "zero_stage,flags,s_per_iter_derived,outcome\n";
  const std::string run = "GPT 22B,48,6144,64,51200,2048,A100-80GB,8,8,1,4,4,fp16,,0,Megatron-LM (2021),";
  const auto runs =
      validate_runs(CsvTable::from_text(header + run + "1.4,\n" + run + ",out of memory\n", "runs.csv"), folders);
  REQUIRE(runs.size() == 2);
  REQUIRE_MESSAGE(runs[0].scored(), runs[0].skipped);
  CHECK(runs[0].fits);
  CHECK(runs[0].assumed.find("recompute") != std::string::npos);
  REQUIRE_MESSAGE(runs[1].simulated(), runs[1].skipped);
  CHECK_FALSE(runs[1].scored());
  CHECK_FALSE(runs[1].fits);
  const SourceScore all = score(runs, "all", "AB");
  CHECK(all.errors.count == 1);
  CHECK(all.out_of_memory == 1);
  CHECK(all.wrongly_fitting == 0);
  CHECK(all.skipped == 0);
}
