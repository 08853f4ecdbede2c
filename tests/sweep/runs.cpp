// A table has the same bytes whatever the threads, the interruptions and the shards.

#include "base/error.hpp"
#include "fixture.hpp"
#include "sweep/merge.hpp"
#include "sweep/run_sweep.hpp"
#include "sweep/sweep_estimate.hpp"
#include "sweep/sweep_hdf5.hpp"
#include "sweep/work_blocks.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;
namespace fs = std::filesystem;

namespace {

SweepOutcome run(const SweepFile& sweep, const fs::path& out, const SweepOptions& options = {}) {
  return run_sweep(sweep, data_folders(), out, options);
}

std::string refused(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.message();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("every point is a row with its status, and what cannot run says why") {
  const Folder folder;
  const SweepOutcome outcome = run(mixed_sweep(), folder / "r.h5");
  CHECK(outcome.complete);
  CHECK(outcome.points == 96);
  CHECK(!fs::exists(journal_of(folder / "r.h5")));
  const SweepTable table = read_sweep_table(folder / "r.h5");
  REQUIRE(table.rows() == 96);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    CHECK(table.point(row) == row);
    const bool simulated = table.status(row) == PointStatus::ok || table.status(row) == PointStatus::out_of_memory;
    CHECK(std::isfinite(table.figures(row)[0]) == simulated);
    for (const std::uint32_t section : table.resolved(row)) CHECK(table.texts()[section].empty() != simulated);
    CHECK(table.reason(row).empty() == (table.status(row) == PointStatus::ok));
    if (row / 32 == 2) {
      CHECK(table.status(row) == PointStatus::input);
      CHECK(table.reason(row).starts_with("there is no model 'no-such-model'"));
    } else if (row / 8 % 4 == 2) {  // 3 does not divide 8 GPUs
      CHECK(table.status(row) == PointStatus::infeasible);
      CHECK(table.reason(row).find("8 GPUs cannot be divided") != std::string_view::npos);
    }
  }
  CHECK(table.count(PointStatus::out_of_memory) > 0);
  CHECK(table.count(PointStatus::ok) > 0);
}

TEST_CASE("an axis and a key that change nothing are noted, and only these") {
  const std::string head =
      "scenario:\n"
      "  model: gpt3-1.3b\n"
      "  cluster: {nodes: [{type: dgx-a100-80g, count: 1}]}\n"
      "  training: {global_batch: 64}\n"
      "  strategy: {zero: 1, recompute_modules: [mlp]}\n"
      "axes:\n"
      "  - grid: {strategy.tensor: [1, 2]}\n";
  const Folder folder;
  const SweepOutcome idle =
      run(sweep_of(head + "  - grid: {strategy.microbatch_group: [1, 2, 4]}\n"), folder / "idle.h5");
  REQUIRE(idle.notes.size() == 2);
  CHECK(idle.notes[0] == "strategy.microbatch_group: its 3 values give the same figures everywhere");
  CHECK(idle.notes[1].find("strategy.recompute_modules: [mlp] changes nothing in this job (looked at in 3 of 6") !=
        std::string::npos);
  const SweepOutcome acting =
      run(sweep_of(head + "  - grid: {strategy.recompute: [none, selective]}\n"), folder / "r.h5");
  CHECK(acting.notes.empty());
  std::string with_condition = head;
  with_condition.insert(with_condition.find("axes:"), "  assert: [mfu > 0.99]\n");
  const SweepOutcome unchecked = run(sweep_of(with_condition), folder / "assert.h5");
  CHECK(unchecked.notes.back().find("assert: not checked here") != std::string::npos);
}

TEST_CASE("what cannot be read at any point is an error of the sweep, at its place, and leaves nothing behind") {
  const SweepFile sweep = sweep_of(
      "scenario: {model: gpt3-1.3b, cluster: {nodes: [{type: dgx-a100-80g, count: 1}]}, training: {global_batch: 8}}\n"
      "axes: [{grid: {strategy.tensr: [1, 2]}}]\n");
  const Folder folder;
  CHECK(refused([&] { run(sweep, folder / "r.h5"); }) == "strategy.tensr: unknown key");
  CHECK(fs::is_empty(folder.path()));
  CHECK(refused([&] { estimate_sweep(sweep, data_folders(), {}); }) == "strategy.tensr: unknown key");
}

TEST_CASE("threads do not show") {
  const Folder folder;
  for (const int jobs : {1, 2, 5}) run(mixed_sweep(), folder / fmt::format("{}.h5", jobs), {.jobs = jobs});
  CHECK(bytes_of(folder / "1.h5") == bytes_of(folder / "2.h5"));
  CHECK(bytes_of(folder / "1.h5") == bytes_of(folder / "5.h5"));
}

TEST_CASE("a run that is interrupted again and again ends in the same table, and no point is simulated twice") {
  const Folder folder;
  run(mixed_sweep(), folder / "whole.h5");
  std::uint64_t done = 0;
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::atomic<int> left = 10;
    SweepOptions options;
    options.jobs = 1;
    options.resume = true;
    options.interrupted = [&] { return left-- <= 0; };
    const SweepOutcome outcome = run(mixed_sweep(), folder / "r.h5", options);
    CHECK(outcome.before == done);
    CHECK(outcome.done >= done);
    done = outcome.done;
    if (outcome.complete) break;
    CHECK(!fs::exists(folder / "r.h5"));
  }
  CHECK(done == 96);
  CHECK(bytes_of(folder / "r.h5") == bytes_of(folder / "whole.h5"));
  const SweepOutcome again = run(mixed_sweep(), folder / "r.h5", {.resume = true});
  CHECK(again.was_complete);
}

TEST_CASE("shards put together are the table of one run, in whatever order they are given") {
  const Folder folder;
  run(mixed_sweep(), folder / "whole.h5");
  std::vector<fs::path> shards;
  std::uint64_t points = 0;
  for (const int shard : {3, 1, 2}) {
    shards.push_back(folder / fmt::format("{}.h5", shard));
    points += run(mixed_sweep(), shards.back(), {.shard = shard, .shards = 3}).points;
  }
  CHECK(points == 96);
  merge_sweeps(shards, folder / "merged.h5");
  CHECK(bytes_of(folder / "merged.h5") == bytes_of(folder / "whole.h5"));

  CHECK(refused([&] {
          merge_sweeps(std::vector{shards[0], shards[1]}, folder / "x.h5");
        }) == "32 of 96 points are in none of the files");
  CHECK(refused([&] {
          merge_sweeps(std::vector{shards[0], shards[0]}, folder / "x.h5");
        }).ends_with("is in a file before it already"));
  run(sweep_of("scenario: {model: gpt3-1.3b, cluster: {nodes: [{type: dgx-a100-80g, count: 1}]},\n"
               "  training: {global_batch: 8}}\n"
               "axes: [{grid: {strategy.tensor: [1, 2]}}]\n"),
      folder / "other.h5");
  CHECK(refused([&] {
          merge_sweeps(std::vector{shards[0], folder / "other.h5"}, folder / "x.h5");
        }).starts_with("it is of another sweep"));
  CHECK(refused([&] { merge_sweeps(std::vector{folder / "none.h5"}, folder / "x.h5"); }) == "there is no such file");
  CHECK(!fs::exists(folder / "x.h5"));
}

TEST_CASE("every position is in one block of one shard") {
  for (const std::uint64_t points : {1ULL, 5ULL, 1024ULL, 5000ULL, 300001ULL}) {
    for (const int shards : {1, 3, 7}) {
      std::vector<int> seen(points);
      for (int shard = 1; shard <= shards; ++shard) {
        const WorkBlocks blocks(points, shard, shards);
        std::uint64_t own = 0;
        for (std::uint64_t i = 0; i < blocks.count(); ++i) {
          for (std::uint64_t at = blocks.begin(i); at < blocks.end(i); ++at, ++own) ++seen[at];
        }
        CHECK(own == blocks.points());
      }
      CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
    }
  }
}

TEST_CASE("what is there already is not overwritten, and what belongs to another sweep is not resumed") {
  const Folder folder;
  SweepOptions stopped;
  stopped.interrupted = [] { return true; };
  CHECK(!run(mixed_sweep(), folder / "r.h5", stopped).complete);
  CHECK(refused([&] { run(mixed_sweep(), folder / "r.h5"); }) == "an earlier run of this sweep was interrupted");
  SweepOptions resume;
  resume.resume = true;
  SweepOptions shard = resume;
  shard.shards = 2;
  CHECK(refused([&] { run(mixed_sweep(), folder / "r.h5", shard); }) ==
        "cannot be resumed: it holds shard 1/1, this is shard 1/2");
  const SweepFile other = sweep_of(
      "scenario: {model: gpt3-1.3b, cluster: {nodes: [{type: dgx-a100-80g, count: 1}]}, training: {global_batch: 8}}\n"
      "axes: [{grid: {strategy.tensor: [1, 2]}}]\n");
  CHECK(refused([&] { run(other, folder / "r.h5", resume); }) ==
        "cannot be resumed: its scenario or its axes are not the same");
  CHECK(run(mixed_sweep(), folder / "r.h5", resume).complete);
  CHECK(refused([&] { run(mixed_sweep(), folder / "r.h5"); }) == "this file exists");
  CHECK(refused([&] { run(other, folder / "r.h5", resume); }).starts_with("cannot be resumed"));
}

TEST_CASE("a fault that is no axis value's ends the sweep at its place") {
  const Folder folder;
  const auto place = [&](const std::string& scenario, const std::string& key) {
    try {
      run(sweep_of("scenario: {model: gpt3-1.3b, cluster: {nodes: [{type: dgx-a100-80g, count: 1}]},\n" + scenario +
                   "axes:\n  - grid:\n      " + key + ": [1, 2]\n"),
          folder / "r.h5", {.resume = true});
    } catch (const Error& error) {
      return error.where().text() + " " + error.message();
    }
    return std::string("accepted");
  };
  CHECK(place("training: {global_batch: 8}}\n", "strategy.tensr") == "sweep.yaml:5:7 strategy.tensr: unknown key");
  CHECK(place("training: {global_batch: 0}}\n", "strategy.tensor") ==
        "sweep.yaml:2:26 training.global_batch: expected a whole number from 1 to 1073741824, found '0'");
  CHECK(place("training: {global_batch: 8}}\n", "cluster.nodes[3].count") ==
        "sweep.yaml:5:7 index 3 is outside the list, whose length is 1");
}
