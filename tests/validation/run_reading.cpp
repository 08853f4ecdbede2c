// A row with a word that is not understood is skipped, with its place and the nearest word that is known; nothing is
// defaulted.

#include "fixture.hpp"
#include "validation/row_reader.hpp"

#include <doctest/doctest.h>

using namespace mirfak;
using namespace mirfak::test;

namespace {

void skipped(const std::string& column, const std::string& word) {
  CAPTURE(column);
  CAPTURE(word);
  const ValidatedRun run = row_with({{column, word}});
  CHECK_FALSE(run.skipped.empty());
  REQUIRE(run.refusal);
  CHECK(run.refusal->column == column);
  CHECK(run.refusal->word == word);
  CHECK(run.refusal->where.line == 2);
  CHECK(run.refusal->where.column > 1);
  CHECK(run.skipped.find(word) != std::string::npos);
}

}  // namespace

TEST_CASE("the row of these tests is understood") {
  const ValidatedRun run = row_with({});
  const Job job = job_of(run);
  CHECK(job.model.layers == 48);
  CHECK(job.model.ffn == 4 * 6144);
  CHECK(job.training.framework == "megatron-lm-2021");
  CHECK(job.training.precision == "fp16");
  CHECK(job.strategy.tensor == 8);
  CHECK(job.strategy.data == 1);
  CHECK(job.strategy.recompute == Recompute::full);
}

TEST_CASE("precisions that nobody described are not bf16") {
  for (const char* word : {"float8", "fp4", "half", "banana", "float8 columnwise", "bf16/fp16"}) skipped("dtype", word);
  CHECK(job_of(row_with({{"dtype", "BF16"}})).training.precision == "bf16");
  CHECK(job_of(row_with({{"dtype", " fp16 "}})).training.precision == "fp16");
}

TEST_CASE("recomputation is none, selective or full, and no other word") {
  for (const char* word : {"yes", "all", "True", "not full", "fulll"}) skipped("recompute", word);
  CHECK(row_with({{"recompute", "fulll"}}).refusal->nearest == "full");
  CHECK(job_of(row_with({{"recompute", "None"}})).strategy.recompute == Recompute::none);
}

TEST_CASE("ZeRO has stages 0 to 3") {
  for (const char* word : {"two", "5", "-1", "4 (new)"}) skipped("zero_stage", word);
  const std::vector<Cell> torch = {{"zero_stage", "3"}, {"tp", "1"}, {"global_batch", "32"}, {"flags", "PyTorch FSDP"}};
  CHECK(job_of(row_with(torch)).strategy.zero == 3);
}

TEST_CASE("GPUs are words of the list, not what they begin with") {
  for (const char* word : {"A1000", "H1000", "Abacus", "MI430X", "not an A100"}) skipped("gpu", word);
  CHECK(row_with({{"gpu", "A1000"}}).refusal->nearest == "A100");
}

TEST_CASE("frameworks that nobody described are not another one") {
  for (const char* word : {"FlagScale", "ColossalAI", "Megatron-LM (2031)"}) skipped("flags", word);
  const ValidatedRun named = row_with({{"flags", "framework=my-fork"}});
  CHECK(named.skipped.find("my-fork") != std::string::npos);
  CHECK(job_of(row_with({{"flags", "framework=paddle"}})).training.framework == "paddle");
}

TEST_CASE("a source's name decides nothing") {
  const auto framework = [](const std::string& source, const std::string& model) {
    return job_of(row_with({{"source", source}, {"model", model}, {"flags", ""}})).training.framework;
  };
  const std::string plain = framework("somebody's page", "GPT 22B");
  for (const char* word : {"deepspeed", "oneflow", "paddle", "internevo", "nemo", "fsdp", "llm-foundry", "jax"}) {
    CHECK(framework(std::string("a page on ") + word, "GPT 22B") == plain);
    CHECK(framework("a page", std::string("GPT 22B ") + word) == plain);
  }
  CHECK(job_of(row_with({{"source", "a nemo page"}})).training.gradient_precision.empty());
}

TEST_CASE("words that contradict each other are refused") {
  CHECK(row_with({{"flags", "Megatron-LM (2021); PyTorch FSDP"}}).refusal);
  CHECK(row_with({{"zero_stage", "0"}, {"flags", "Megatron-LM (2021); ZeRO-1"}}).refusal);
  // The column decides where a launcher's switch says it again.
  CHECK(job_of(row_with({{"sequence_parallel", "true"}, {"flags", "Megatron-LM (2021); SP=0"}}))
            .strategy.sequence_parallel);
}

TEST_CASE("flags are read word by word, and irrelevant ones skip nothing") {
  const Job job =
      job_of(row_with({{"flags", "Megatron-LM (2021), 1F1B; VBOOST_VALUE=1; weak scaling, CUDA_LAUNCH_BLOCKING=1"}}));
  CHECK(job.training.blocking_launches);
  skipped("flags", "wild idea");
  const ValidatedRun run = row_with({{"flags", "Megatron-LM (2021); wild idea"}});
  REQUIRE(run.refusal);
  CHECK(run.refusal->word == "wild idea");
  CHECK(parts_of_cell("a (b, c); d, [e, f]; g(h; i)", ";,") ==
        std::vector<std::string>{"a (b, c)", "d", "[e, f]", "g(h", "i)"});
}

TEST_CASE("data-parallel ranks are what the GPUs leave") {
  const ValidatedRun run = row_with({{"n_gpus", "32"}, {"dp", "999"}, {"global_batch", "16"}});
  CHECK(run.skipped.find("999 data-parallel ranks are stated, but 32 GPUs") != std::string::npos);
  CHECK(job_of(row_with({{"n_gpus", "32"}, {"dp", "4"}, {"global_batch", "16"}})).strategy.data == 4);
}

TEST_CASE("what is out of memory has no seconds, in whatever known word") {
  for (const char* word : {"out of memory", "OOM", "oom"}) {
    const ValidatedRun run = row_with({{"outcome", word}, {"s_per_iter_derived", ""}});
    REQUIRE_MESSAGE(run.skipped.empty(), run.skipped);
    CHECK(run.run.out_of_memory);
  }
  skipped("outcome", "crashed");
}

TEST_CASE("rows that do not state what is needed say so") {
  const auto reason = [](const char* column) { return row_with({{column, ""}}).skipped; };
  CHECK(reason("micro_batch") == "the row does not state the micro batch");
  CHECK(reason("global_batch") == "the row does not state the global batch");
  CHECK(reason("seq_len") == "the row does not state the sequence length");
  CHECK(reason("gpu") == "the row does not state the GPU");
  CHECK(reason("s_per_iter_derived") == "the row states no seconds per iteration, and no power");
  CHECK(row_with({{"model", "GPT"}, {"hidden", ""}}).skipped.find("hidden") != std::string::npos);
  CHECK(row_with({{"tp", "3"}}).skipped.find("not a multiple") != std::string::npos);
}

TEST_CASE("seconds follow from a throughput") {
  // 64 sequences of 2048 tokens at 1024 tokens/s on each of 16 GPUs: 8 s.
  const std::vector<Cell> rate = {{"s_per_iter_derived", ""},
                                  {"metric", "tokens_per_s_per_gpu"},
                                  {"value", "1024"},
                                  {"n_gpus", "16"},
                                  {"global_batch", "64"}};
  CHECK(row_with(rate).seconds.measured == doctest::Approx(8));
  CHECK_FALSE(row_with({{"s_per_iter_derived", ""}, {"metric", "mfu"}, {"value", "0.5"}}).skipped.empty());
  CHECK(row_with({{"memory_allocated_gib", "2.5"}}).run.allocated_bytes == 2.5 * 1024 * 1024 * 1024);
}

TEST_CASE("misspelt columns and cells that are no numbers are errors of the table") {
  CHECK_THROWS_WITH_AS(row_with({{"recompte", "full"}}), doctest::Contains("did you mean 'recompute'?"), Error);
  CHECK_THROWS_WITH_AS(read("n_gpus,gpu,s_per_iter_derived\n8,A100,1\nmany,A100,1\n"),
                       doctest::Contains("runs.csv:3:1: n_gpus: expected a number, found 'many'"), Error);
  CHECK_THROWS_WITH_AS(read("n_gpus,gpu,s_per_iter_derived\n8,A100,-1\n"), doctest::Contains("runs.csv:2:8"), Error);
  CHECK_THROWS_WITH_AS(read("n_gpus,gpus_per_node,metric,value\n"), doctest::Contains("none of the columns gpu, node"),
                       Error);
  CHECK_THROWS_WITH_AS(read("n_gpus,gpu,s_per_itr_derived\n"), doctest::Contains("s_per_iter_derived"), Error);
}

TEST_CASE("how a row was read is told cell by cell") {
  const std::string text = row_with({{"flags", "Megatron-LM (2021); weak scaling"}}).reading;
  CHECK(text.find("strategy.tensor: 8") != std::string::npos);
  CHECK(text.find("ignored: about the measurement") != std::string::npos);
  CHECK(text.find("inferred strategy.pipeline: 1: not stated: one") == std::string::npos);
  CHECK(text.find("inferred strategy.pipeline: 1 (not stated: one)") != std::string::npos);
  const std::string refused = row_with({{"dtype", "float8"}}).reading;
  CHECK(refused.find("not understood") != std::string::npos);
}
