// The points that one core simulates in a second, and the parts of a point's time. Small points are one node without
// pipeline, a few microbatches, and many global batches to each block; mid ones are 8 nodes with a pipeline, where each
// point has blocks of its own; lone ones are small points each with blocks of its own.
//
// The parts are measured by doing them again: reading (point_reader), pricing (blocks sharded and priced), lowering,
// executing; the rest of a simulation is accounting; journal and table are one run's total less its points. Times are
// of the processor.

#include "scenario/point_reader.hpp"
#include "simulation/evaluator.hpp"
#include "support/source_root.hpp"
#include "sweep/run_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <time.h>
#include <unistd.h>

namespace {

using namespace mirfak;

constexpr const char* kSmall = R"(
scenario:
  model: llama3-8b
  cluster: {nodes: [{type: hgx-h100, count: 1}]}
  training: {global_batch: 8, sequence_length: 4096}
  strategy: {tensor: 8, sequence_parallel: true, recompute: selective}
axes:
  - grid:
      training.framework: [megatron-core, megatron-lm-2022]
      training.global_batch: {from: 4, to: 32, step: 4}
      training.sequence_length: {from: 1024, to: 8192, factor: 2}
      strategy.micro_batch: [1, 2, 4]
      training.tokens: {from: 1e9, to: 2e11, step: 1e9}
)";

constexpr const char* kMid = R"(
scenario:
  model: llama2-70b
  cluster: {nodes: [{type: hgx-h100, count: 8}]}
  training: {global_batch: 256}
  strategy: {tensor: 8, sequence_parallel: true, zero: 1}
axes:
  - grid: {strategy.pipeline: [2, 4, 8], strategy.micro_batch: [1, 2, 4], training.global_batch: {from: 64, to: 2048, step: 64}}
)";

constexpr const char* kLone = R"(
scenario:
  model: llama3-8b
  cluster: {nodes: [{type: hgx-h100, count: 1}]}
  training: {global_batch: 8}
  strategy: {tensor: 8, sequence_parallel: true, recompute: selective}
axes:
  - grid: {training.sequence_length: {from: 1024, to: 9208, step: 8}}
)";

// The time of the processor, not of the wall: others may use this machine.
double now() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double since(double start) { return now() - start; }

// The parts of a point's time, in microseconds.
struct Split {
  double read = 0;
  double price = 0;
  double lower = 0;
  double execute = 0;
  double account = 0;
  double write = 0;

  double total() const { return read + price + lower + execute + account + write; }
};

Split measure(const char* text, const DataFolders& folders, std::uint64_t most) {
  const SweepFile sweep = parse_sweep(Document::from_text(text, "sweep.yaml"));
  const Catalog catalog(folders.hardware);
  const std::uint64_t points = std::min(most, sweep.points());
  const double each = 1e6 / static_cast<double>(points);
  const auto timed = [&](const auto& act) {
    const double start = now();
    for (std::uint64_t i = 0; i < points; ++i) act(sweep.point_at(i));
    return since(start) * each;
  };
  Split split;
  PointReader reader(sweep, catalog, folders);
  reader.read(0);
  ResolvedSections resolved;
  split.read = timed([&](std::uint64_t point) {
    reader.read(point);
    resolved = reader.resolved();
  });

  // One simulation of each family of jobs tells its parts; the evaluator says how many families there are.
  Evaluator evaluator;
  double all = 0;
  double lowering = 0;
  double executing = 0;
  timed([&](std::uint64_t point) {
    const Job& job = reader.read(point);
    const double start = now();
    evaluator.evaluate(job);
    all += since(start);
  });
  const std::uint64_t step = std::max<std::uint64_t>(1, points / 64);
  std::uint64_t samples = 0;
  double pricing = 0;
  for (std::uint64_t i = 0; i < points; i += step, ++samples) {
    const Job& job = reader.read(sweep.point_at(i));
    double start = now();
    const ShardedBlocks blocks = shard_blocks(job);
    const std::vector<StagePlan> plans = plan_stages(job, blocks);
    pricing += since(start);
    Program program = lower(job, blocks, plans);
    start = now();
    program = lower(job, blocks, plans);
    lowering += since(start);
    start = now();
    execute(program);
    executing += since(start);
  }
  const double sample = 1e6 / static_cast<double>(samples);
  const double families = static_cast<double>(evaluator.families()) / static_cast<double>(points);
  split.price = pricing * sample * families;
  split.lower = lowering * sample;
  split.execute = executing * sample;
  split.account = std::max(0.0, all * each - split.price - split.lower - split.execute);

  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("mirfak-bench-{}", ::getpid());
  std::filesystem::create_directory(folder);
  SweepOptions options;
  options.jobs = 1;
  const double start = now();
  run_sweep(sweep, folders, folder / "bench.h5", options);
  const double whole = since(start) * 1e6 / static_cast<double>(sweep.points());
  std::filesystem::remove_all(folder);
  split.write = std::max(0.0, whole - split.read - all * each);
  return split;
}

void print_row(const char* name, const Split& split) {
  const double total = split.total();
  const auto share = [&](double part) { return fmt::format("{:5.1f} ({:2.0f} %)", part, 100 * part / total); };
  fmt::print("{:<8}{:>10.0f}{:>15}{:>15}{:>15}{:>15}{:>15}{:>15}\n", name, 1e6 / total, share(split.read),
             share(split.price), share(split.lower), share(split.execute), share(split.account), share(split.write));
}

}  // namespace

int main(int count, char** words) {
  const bool smoke = count > 1 && std::string_view(words[1]) == "--smoke";
  const DataFolders folders{source_root() + "/models", source_root() + "/hw_profiles"};
  fmt::print("{:<8}{:>10}{:>15}{:>15}{:>15}{:>15}{:>15}{:>15}\n", "points", "points/s", "read, us", "price, us",
             "lower, us", "execute, us", "account, us", "write, us");
  print_row("small", measure(kSmall, folders, smoke ? 64 : 1 << 20));
  if (smoke) return 0;
  print_row("mid", measure(kMid, folders, 1 << 20));
  print_row("lone", measure(kLone, folders, 1 << 20));
  return 0;
}
