// Sequences that are packed with documents: what attention saves, alone and among context-parallel ranks.

#include "job_fixture.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

namespace packed_documents_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

using Documents = std::vector<DocumentCount>;

Job job_of(Documents documents, int context = 1, ContextCommunication communication = ContextCommunication::p2p) {
  Strategy strategy;
  strategy.context = context;
  strategy.context_communication = communication;
  Job job = small_job(2, 1, strategy, 8);
  job.framework.fusion.attention = {"flash-2"};
  job.framework.parallelism.context = true;
  job.training.sequence_length = 8192;
  job.training.documents = std::move(documents);
  return job;
}

double model_flop(const Job& job) { return simulate(job).result.model_flop; }
double seconds(const Job& job) { return simulate(job).result.iteration_time_s; }

}  // namespace

TEST_CASE("attention within documents multiplies their pairs of tokens only") {
  const double whole = model_flop(job_of({}));
  const double eighths = whole - model_flop(job_of({{1024, 1}}));
  const double quarters = whole - model_flop(job_of({{2048, 1}}));
  CHECK(eighths > 0);
  CHECK(eighths * 6 == doctest::Approx(quarters * 7));  // 7/8 and 6/8 of the pairs are left out
  // Three documents of 1024 tokens for one of 3072: half of the tokens in each.
  const double mixed = whole - model_flop(job_of({{1024, 3}, {3072, 1}}));
  CHECK(mixed == doctest::Approx(eighths * 8 / 7 * (1 - (0.5 * 1 + 0.5 * 3) / 8)));
}

TEST_CASE("a document as long as a sequence changes nothing, a longer one is cut") {
  CHECK(seconds(job_of({{8192, 1}})) == seconds(job_of({})));
  CHECK(seconds(job_of({{16384, 1}})) == seconds(job_of({})));
  // 12,288 tokens are a sequence and half of another.
  CHECK(seconds(job_of({{12288, 1}})) == doctest::Approx(seconds(job_of({{4096, 1}, {8192, 1}}))));
}

TEST_CASE("shorter documents are faster, however tokens are divided over ranks") {
  using enum ContextCommunication;
  for (const ContextCommunication communication : {p2p, all_gather, all_to_all}) {
    CAPTURE(static_cast<int>(communication));
    const Job whole = job_of({}, 2, communication);
    const Job packed = job_of({{1024, 1}}, 2, communication);
    CHECK(seconds(packed) < seconds(whole));
    CHECK(model_flop(packed) == doctest::Approx(model_flop(job_of({{1024, 1}}))));
  }
}

TEST_CASE("attention that is not one kernel computes all pairs and masks them") {
  Job whole = job_of({});
  Job packed = job_of({{512, 1}});
  whole.framework.fusion.attention = packed.framework.fusion.attention = {};
  CHECK(seconds(packed) == seconds(whole));
}

}  // namespace packed_documents_test
