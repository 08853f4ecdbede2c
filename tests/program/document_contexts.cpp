// Documents on as many context ranks as their lengths ask: who runs what, what that costs, and when it is nothing else
// than context parallelism.

#include "simulation/document_contexts.hpp"
#include "base/error.hpp"
#include "job_fixture.hpp"
#include "strategy/rules.hpp"
#include "support/frameworks.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace document_contexts_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

using Documents = std::vector<DocumentCount>;

// Two DGX A100, of which `context` ranks have each sequence of 16,384 tokens.
Job job_with(Documents documents, int context_tokens, int context = 1) {
  Strategy strategy = sized(1, 16 / context, 1);
  strategy.context = context;
  strategy.context_tokens = context_tokens;
  strategy.zero = 1;
  Job job = small_job(2, 2, strategy, 16);
  job.framework = framework_named("megatron-core");
  job.training.framework = "megatron-core";
  job.model.max_sequence = job.training.sequence_length = 16384;
  job.training.documents = std::move(documents);
  return job;
}

double at(const IterationResult& result, Activity activity) {
  return result.activity_s[static_cast<std::size_t>(activity)];
}

std::string violation(const Job& job) {
  const auto broken = first_violation({job.model, job.training, job.framework, job.strategy, job.cluster.gpus()});
  return broken ? broken->key + ": " + broken->message : "";
}

}  // namespace

TEST_CASE("a document takes the least power of two of ranks that hold it") {
  CHECK(ranks_of_document(1, 1024) == 1);
  CHECK(ranks_of_document(1024, 1024) == 1);
  CHECK(ranks_of_document(1025, 1024) == 2);
  CHECK(ranks_of_document(5000, 1024) == 8);
}

TEST_CASE("a batch has whole documents in their proportions, longest first, cut at the ends of sequences") {
  TrainingSpec training;
  training.global_batch = 4;
  training.sequence_length = 4096;
  CHECK(documents_of_batch(training) == std::vector<BatchDocuments>{{4096, 4, 4}});
  training.documents = {{1024, 4}, {4096, 1}};
  CHECK(documents_of_batch(training) == std::vector<BatchDocuments>{{4096, 2, 2}, {1024, 8, 8}});
  training.documents = {{5120, 1}};  // a sequence, and 1024 tokens of the next one
  const std::vector<BatchDocuments> cut = documents_of_batch(training);
  REQUIRE(cut.size() == 2);
  CHECK(cut[0].count == 3);  // 3.2
  CHECK(cut[1].count == 4);  // 3.2, and what is left of the longer ones
}

TEST_CASE("each document runs once, teams share all ranks, and hold what they get") {
  const std::vector<BatchDocuments> documents = {{4096, 3, 3}, {3000, 5, 5}, {1500, 7, 7}, {700, 40, 40}, {64, 9, 9}};
  constexpr int ranks = 8;
  constexpr std::int64_t bound = 1024;
  std::map<std::int64_t, std::int64_t> ran;
  for (const DocumentRound& round : schedule_documents(documents, bound, ranks)) {
    int taken = 0;
    for (const DocumentTeam& team : round) {
      taken += team.ranks;
      CHECK(!team.tokens.empty());
      for (const std::int64_t tokens : team.tokens) {
        ++ran[tokens];
        CHECK(tokens <= bound * team.ranks);
      }
    }
    CHECK(taken == ranks);
  }
  for (const BatchDocuments& of : documents) CHECK(ran[of.tokens] == of.count);
}

TEST_CASE("a long document has all ranks, then short ones have one each; ranks that would idle double a team") {
  const std::vector<DocumentRound> two = schedule_documents({{4096, 1, 1}, {1024, 4, 4}}, 1024, 4);
  REQUIRE(two.size() == 2);
  CHECK(two[0].front().ranks == 4);
  CHECK(two[1].size() == 4);
  const std::vector<DocumentRound> few = schedule_documents({{1024, 3, 3}}, 1024, 4);
  REQUIRE(few.size() == 1);
  CHECK(std::count_if(few[0].begin(), few[0].end(), [](const DocumentTeam& of) { return of.ranks == 2; }) == 1);
}

TEST_CASE("documents of one length are context parallelism over the ranks that they take, to the bit") {
  const Job spread = job_with({{16384, 1}}, 2048, 1);
  const Simulation simulation = simulate(spread);
  CHECK(simulation.result == simulate(job_with({}, 0, 8)).result);
  REQUIRE(simulation.contexts);
  CHECK(simulation.contexts->alike);
  CHECK(simulation.contexts->shapes.front().shape == DocumentShape{16384, 8});
  CHECK(simulate(job_with({}, 2048, 2)).result == simulation.result);  // sequences are documents; `context` is idle
}

TEST_CASE("documents that one rank holds pass no keys around") {
  const Simulation simulation = simulate(job_with({{1024, 8}, {2048, 2}, {4096, 1}}, 4096, 8));
  for (const DocumentFigures& of : simulation.contexts->shapes) CHECK(of.shape.ranks == 1);
  CHECK(at(simulation.result, Activity::context_communication) == 0);
}

TEST_CASE("an iteration is its busiest ranks and what comes once, and has the work of all its documents") {
  const Job job = job_with({{2048, 20}, {4096, 6}, {16384, 2}}, 4096);
  const Simulation simulation = simulate(job);
  const DocumentContexts& contexts = *simulation.contexts;
  const IterationResult& result = simulation.result;
  CHECK(!contexts.alike);
  CHECK(result.iteration_time_s == doctest::Approx(contexts.busiest_s + contexts.fixed_s));
  CHECK(at(result, Activity::bubble) == doctest::Approx(contexts.busiest_s - contexts.mean_s));
  double sum = 0;
  for (const double seconds : result.activity_s) sum += seconds;
  CHECK(sum == doctest::Approx(result.iteration_time_s));
  double flop = 0;
  double peak = 0;
  for (const DocumentFigures& of : contexts.shapes) {
    const IterationResult one = simulate(job_of_documents(job, of.shape, 1)).result;
    flop += one.model_flop * static_cast<double>(of.documents) * of.shape.ranks / 16;
    peak = std::max(peak, of.memory_peak_bytes);
  }
  CHECK(result.model_flop == doctest::Approx(flop));
  CHECK(result.memory_peak_bytes == peak);
  CHECK(result.tokens_per_s * result.iteration_time_s == doctest::Approx(16 * 16384));
}

TEST_CASE("ranks of their own cost no more than all context ranks for each, but for what balance leaves") {
  const Documents documents = {{4096, 6}, {8192, 3}, {16384, 2}};
  const Simulation spread = simulate(job_with(documents, 4096));
  const double waited = spread.contexts->busiest_s - spread.contexts->mean_s;
  CHECK(spread.result.iteration_time_s - waited < simulate(job_with(documents, 0, 4)).result.iteration_time_s);
}

TEST_CASE("strategies that cannot spread documents, and what cannot be asked of one") {
  const Documents documents = {{1024, 8}, {16384, 1}};
  CHECK(violation(job_with(documents, 4096)).empty());
  Job job = job_with(documents, 512);
  CHECK(violation(job) ==
        "strategy.context_tokens: a document of 16384 tokens does not fit on 16 data and context ranks of 512 tokens "
        "each");
  job = job_with(documents, 4096);
  job.strategy.micro_batch = 2;
  CHECK(violation(job).find("several sequences in a microbatch") != std::string::npos);
  job = job_with(documents, 4096);
  job.training.cuda_graphs.attention = true;
  CHECK(violation(job).find("CUDA graphs") != std::string::npos);
  job = job_with(documents, 4096);
  job.framework = framework_named("megatron-fsdp");
  CHECK(violation(job).find("megatron-fsdp does not have it") != std::string::npos);
  job = job_with(documents, 4096);
  CHECK_THROWS_AS(lowered(job, {}), Error);
}

}  // namespace document_contexts_test
