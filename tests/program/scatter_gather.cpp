// Transfers between stages of tensor ranks: shares that the receivers gather, or whole activations (arXiv 2104.04473,
// section 4.1).

#include "engine/execute.hpp"
#include "job_fixture.hpp"

#include <doctest/doctest.h>

#include <set>
#include <utility>
#include <variant>

namespace scatter_gather_test {

using namespace mirfak;
using namespace mirfak::test;

namespace {

constexpr int kTensor = 8;

Job job_of(ScatterGather scatter_gather, bool framework_scatters, bool sequence_parallel = false) {
  Strategy s;
  s.tensor = kTensor;
  s.pipeline = 2;
  s.scatter_gather = scatter_gather;
  s.sequence_parallel = sequence_parallel;
  Job job = small_job(4, 2, s, 8);
  job.framework.communication.scatter_gather_pipeline = framework_scatters;
  return job;
}

struct Transfer {
  double bytes = 0;
  double gathered = 0;
};

// The transfer of the only kind that the program has: activations and gradients are equally large.
Transfer transfer_of(const Job& job) {
  std::set<std::pair<double, double>> kinds;
  for (const TaskClass& described : Lowered(job).program().classes) {
    const auto* work = std::get_if<TransferWork>(&described.work);
    if (work != nullptr) kinds.insert({work->bytes, work->gathered_bytes});
  }
  REQUIRE(kinds.size() == 1);
  return {kinds.begin()->first, kinds.begin()->second};
}

double seconds_of(const Job& job) { return to_seconds(execute(Lowered(job).program()).makespan); }

}  // namespace

TEST_CASE("scatter/gather: shares are sent and gathered, else the whole activation by each rank") {
  const Job shares = job_of(ScatterGather::on, false);
  const double whole_bytes = 2.0 * static_cast<double>(shares.training.sequence_length * shares.model.hidden);
  CHECK(transfer_of(shares).bytes == whole_bytes / kTensor);
  CHECK(transfer_of(shares).gathered == whole_bytes);
  const Job whole = job_of(ScatterGather::off, true);
  CHECK(transfer_of(whole).bytes == whole_bytes);
  CHECK(transfer_of(whole).gathered == 0);
  CHECK(seconds_of(shares) < seconds_of(whole));  // an activation crosses between the nodes once, not eight times
}

TEST_CASE("scatter/gather: what a strategy leaves open is as the framework does it") {
  for (const bool scatters : {false, true}) {
    const Job stated = job_of(scatters ? ScatterGather::on : ScatterGather::off, !scatters);
    CHECK(seconds_of(job_of(ScatterGather::framework, scatters)) == seconds_of(stated));
  }
}

TEST_CASE("scatter/gather: with sequence parallelism each rank sends its share, and nothing is gathered") {
  const Transfer own = transfer_of(job_of(ScatterGather::on, true, true));
  CHECK(own.bytes == transfer_of(job_of(ScatterGather::on, true)).bytes);
  CHECK(own.gathered == 0);
}

}  // namespace scatter_gather_test
