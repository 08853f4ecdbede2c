#include "validation/validate_runs.hpp"

#include "fixture.hpp"
#include "scenario/scenario.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using namespace mirfak::test;

namespace {

const std::string kHeader =
    "tier,model,n_layers,hidden,n_heads,vocab,seq_len,gpu,n_gpus,tp,pp,micro_batch,global_batch,dtype,recompute,zero_"
    "stage,"
    "flags,s_per_iter_derived,outcome\n";
const std::string kRun = "GPT 22B,48,6144,64,51200,2048,A100-80GB,8,8,1,4,4,fp16,";

std::vector<ValidatedRun> validate(const std::string& rows) {
  return validate_runs(table(kHeader + rows), mappings(), folders());
}

}  // namespace

TEST_CASE("rows are predicted as they stand, and counted by tier") {
  const auto runs = validate("A," + kRun + "full,0,Megatron-LM (2021),1.42,\nC," + kRun +
                             "full,0,Megatron-LM (2021),1.42,\nA," + kRun + "full,0,no such thing,1.42,\n");
  REQUIRE(runs.size() == 3);
  REQUIRE_MESSAGE(runs[0].scored(), runs[0].skipped);
  CHECK(runs[0].seconds.measured == 1.42);
  CHECK(runs[0].seconds.predicted > 0);
  CHECK(runs[0].seconds.predicted == runs[1].seconds.predicted);
  const SourceScore complete = score(runs, "all", "AB");
  CHECK(complete.errors.count == 1);
  CHECK(complete.skipped == 1);
  CHECK(score(runs, "all", "ABC").errors.count == 2);
}

TEST_CASE("a row that chose a constant does not count by the constants of others") {
  const std::string header =
      "model,seq_len,gpu,n_gpus,tp,pp,micro_batch,global_batch,s_per_iter_derived,measured.chose";
  const std::string row = "gpt3-1.3b,2048,A100-80GB,8,1,4,1,8,1";
  const auto runs =
      validate_runs(table(header + "\n" + row + ",\n" + row + ",host.forward_s\n"), mappings(), folders());
  REQUIRE_MESSAGE(runs[1].scored(), runs[1].skipped);
  CHECK(score(runs, "all", "AB").errors.count == 2);
  const SourceScore scored = score(runs, "all", "AB");
  CHECK(scored.left_out.count == 1);
  CHECK(scored.left_out.mape == scored.errors.mape);  // nothing that the framework was fitted to is in this table
}

TEST_CASE("peaks of the last stage are compared with the last stage, those of no stage with the fullest") {
  const std::string row = "gpt3-1.3b,2048,A100-80GB,8,1,4,1,8,1,2e10";
  const std::string header =
      "model,seq_len,gpu,n_gpus,tp,pp,micro_batch,global_batch,s_per_iter_derived,measured.allocated_bytes";
  const auto of_last = validate_runs(table(header + ",measured.stage\n" + row + ",last\n"), mappings(), folders());
  const auto of_fullest = validate_runs(table(header + "\n" + row + "\n"), mappings(), folders());
  REQUIRE_MESSAGE(of_last[0].scored(), of_last[0].skipped);
  CHECK(of_last[0].allocated_bytes.measured == 2e10);
  CHECK(of_last[0].allocated_bytes.predicted > 0);
  CHECK(of_last[0].allocated_bytes.predicted < of_fullest[0].allocated_bytes.predicted);
  CHECK_THROWS_WITH_AS(validate_runs(table(header + ",measured.stage\n" + row + ",first\n"), mappings(), folders()),
                       doctest::Contains("expected 'last', found 'first'"), Error);
}

TEST_CASE("a run that ran is given the least that makes it fit; one that did not is taken as it stands") {
  // 22 B on 8 A100: 41 GiB of state a GPU, and more than 39 GiB of activations unless they are recomputed.
  const auto runs =
      validate("," + kRun + ",0,Megatron-LM (2021),1.4,\n," + kRun + ",0,Megatron-LM (2021),,out of memory\n");
  REQUIRE(runs.size() == 2);
  REQUIRE_MESSAGE(runs[0].scored(), runs[0].skipped);
  CHECK(runs[0].fits);
  CHECK(runs[0].assumed == "recompute selective");
  REQUIRE_MESSAGE(runs[1].simulated(), runs[1].skipped);
  CHECK_FALSE(runs[1].scored());
  CHECK_FALSE(runs[1].fits);
  const SourceScore all = score(runs, "all", "AB");
  CHECK(all.errors.count == 1);
  CHECK(all.out_of_memory == 1);
  CHECK(all.wrongly_fitting == 0);
  CHECK(all.skipped == 0);
}

TEST_CASE("a run may state that it ran instead of how long it took") {
  const std::string header = "model,seq_len,gpu,n_gpus,tp,pp,micro_batch,global_batch,measured.outcome";
  const std::string row = "gpt3-1.3b,2048,A100-80GB,8,1,4,1,8,";
  const auto runs =
      validate_runs(table(header + "\n" + row + "ran\n" + row + "out of memory\n"), mappings(), folders());
  REQUIRE_MESSAGE(runs[0].simulated(), runs[0].skipped);
  CHECK(runs[0].ran());
  CHECK_FALSE(runs[0].scored());
  const SourceScore all = score(runs, "all", "AB");
  CHECK(all.errors.count == 0);
  CHECK(all.ran == 1);
  CHECK(all.too_large == 0);
  CHECK(all.out_of_memory == 1);
  CHECK(all.wrongly_fitting == 1);
  CHECK(all.outcomes() == 2);
  CHECK(all.right_outcomes() == 1);
  CHECK_THROWS_WITH_AS(validate_runs(table(header + "\n" + row + "crashed\n"), mappings(), folders()),
                       doctest::Contains("expected 'out of memory' or 'ran', found 'crashed'"), Error);
}

TEST_CASE("what a row states is not changed so that it fits") {
  const auto runs = validate("," + kRun + "none,0,Megatron-LM (2021),1.4,\n");
  REQUIRE_MESSAGE(runs[0].scored(), runs[0].skipped);
  CHECK_FALSE(runs[0].fits);
  CHECK(runs[0].assumed.empty());
}

TEST_CASE("a run with blocking launches is simulated with them") {
  const auto runs = validate("A," + kRun + "full,0,Megatron-LM (2021),1.42,\nA," + kRun +
                             "full,0,Megatron-LM (2021); CUDA_LAUNCH_BLOCKING=1,1.42,\n");
  REQUIRE_MESSAGE(runs[1].scored(), runs[1].skipped);
  CHECK(runs[1].seconds.predicted > runs[0].seconds.predicted);
}
