#include "engine/execute.hpp"
#include "engine/radix_heap.hpp"
#include "engine/sweep.hpp"
#include "engine_programs.hpp"
#include "engine_table.hpp"
#include "flow_programs.hpp"

#include <benchmark/benchmark.h>
#include <boost/heap/d_ary_heap.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

// The speed of the engine, next to that of bare loops: a hold model (pop the earliest event, push one a random time
// later) on bare queues that do nothing else is the limit of any event engine, and a sweep with its one dependency
// hard-wired the limit of any sweep. All in one run, because machines differ and change.
//
//   mirfak_bench_engine                  the table
// Flows run in SimGrid, too, where it is installed when mirfak is built (Debian: libsimgrid-dev).
//
//   mirfak_bench_engine --smoke          the same in a second: proves that it runs, the figures mean nothing
//   mirfak_bench_engine --benchmark_...  as every google-benchmark program, --benchmark_out=FILE for all figures

namespace mirfak {

namespace {

bool smoke = false;

struct Event {
  TaskId task;
  TaskId next;
};

struct EarlierTop {
  template <class Entry>
  bool operator()(const Entry& a, const Entry& b) const {
    return a.time != b.time ? a.time > b.time : a.payload.task > b.payload.task;
  }
};

// The interface of RadixHeap on Boost's 4-ary heap.
class BareHeap {
 public:
  using Entry = RadixHeap<Event>::Entry;
  void push(Picoseconds time, const Event& event) { heap_.push({time, event}); }
  Entry pop() {
    const Entry first = heap_.top();
    heap_.pop();
    return first;
  }

 private:
  boost::heap::d_ary_heap<Entry, boost::heap::arity<4>, boost::heap::compare<EarlierTop>> heap_;
};

template <class Queue>
void bare_hold(benchmark::State& state) {
  FastRandom random(1);
  const auto pending = static_cast<TaskId>(state.range(0));
  Queue queue;
  const auto hold = [&] {
    const auto [time, event] = queue.pop();
    queue.push(time + random.delay(), event);
  };
  for (TaskId task = 0; task < pending; ++task) queue.push(random.delay(), {task, task});
  for (TaskId k = 0; k < (smoke ? 0 : 4) * pending; ++k) hold();
  for (auto _ : state) {
    for (int k = 0; k < 1000; ++k) hold();
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}

// The program of the last call, kept between the repetitions of a benchmark.
template <class Build>
const Program& cached(const std::string& name, const Build& build) {
  static std::map<std::string, Program> programs;
  if (programs.find(name) == programs.end()) {
    programs.clear();
    programs.emplace(name, build());
  }
  return programs.at(name);
}

void count_tasks(benchmark::State& state, const Program& program) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(program.size()));
}

void event_engine(benchmark::State& state) {
  const auto streams = static_cast<std::uint32_t>(state.range(0));
  const std::uint32_t tasks_per_stream = smoke ? 2 : std::max(16U, 4'000'000 / streams);
  const Program& program =
      cached("hold" + std::to_string(streams), [&] { return hold_program(streams, tasks_per_stream); });
  for (auto _ : state) benchmark::DoNotOptimize(execute(program, Executor::events).makespan);
  count_tasks(state, program);
}

constexpr std::uint32_t kStages = 16;

const Program& pipeline(const benchmark::State& state) {
  const auto microbatches = static_cast<std::uint32_t>(state.range(0));
  return cached("1f1b" + std::to_string(microbatches), [=] { return one_forward_one_backward(kStages, microbatches); });
}

// Two tasks per stage and microbatch, each after the one before it on its stage and one on the neighbouring stage.
void bare_sweep(benchmark::State& state) {
  const std::size_t tasks = std::size_t{2} * kStages * static_cast<std::size_t>(state.range(0));
  const std::vector<Picoseconds> duration(tasks, 1000);
  std::vector<Picoseconds> end(tasks + kStages, 0);
  std::vector<TaskId> dependency(tasks);
  for (TaskId task = 0; task < tasks; ++task) dependency[task] = task + kStages - 1;
  for (auto _ : state) {
    for (std::size_t task = 0; task < tasks; ++task) {
      end[task + kStages] = std::max(end[task], end[dependency[task]]) + duration[task];
    }
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(tasks));
}

void sweep_makespan(benchmark::State& state) {
  const Program& program = pipeline(state);
  Sweep sweep;
  for (auto _ : state) benchmark::DoNotOptimize(sweep.makespan(program));
  count_tasks(state, program);
}

void execute_pipeline(benchmark::State& state, Executor executor) {
  const Program& program = pipeline(state);
  for (auto _ : state) benchmark::DoNotOptimize(execute(program, executor).makespan);
  count_tasks(state, program);
}

void timeline_hash(benchmark::State& state) {
  const Program& program = pipeline(state);
  const Timeline timeline = execute(program);
  for (auto _ : state) benchmark::DoNotOptimize(timeline.hash());
  count_tasks(state, program);
}

void flows(benchmark::State& state, const Program& program) {
  std::uint64_t events = 0;
  for (auto _ : state) events += execute(program).events;
  count_tasks(state, program);
  const auto changes = static_cast<double>(events) - static_cast<double>(state.items_processed());
  state.counters["changes"] = benchmark::Counter(changes, benchmark::Counter::kIsRate);
}

// Some ten thousand flows, which takes SimGrid up to a minute.
std::uint32_t per_stream(std::uint32_t streams) { return smoke ? 1 : 8192 / streams; }

std::uint32_t compared(std::uint32_t streams) { return std::min(8U, per_stream(streams)); }

void connected_flows(benchmark::State& state) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  flows(state, cached("connected" + std::to_string(count), [=] { return random_flows(count, per_stream(count)); }));
  state.counters["simulated_s"] = to_seconds(execute(random_flows(count, compared(count))).makespan);
}

void tree_flows(benchmark::State& state, bool hashed) {
  const auto count = static_cast<std::uint32_t>(state.range(0));
  flows(state, cached((hashed ? "hashed" : "spread") + std::to_string(count),
                      [=] { return fat_tree_flows(count, per_stream(count), hashed); }));
  state.counters["simulated_s"] = to_seconds(execute(fat_tree_flows(count, compared(count), hashed)).makespan);
}

void separate_flows(benchmark::State& state) {
  flows(state, separated_flows(static_cast<std::uint32_t>(state.range(0)), smoke ? 1 : 32));
}

void register_all() {
  for (const int pending : {1'000, 10'000, 100'000, 1'000'000}) {
    benchmark::RegisterBenchmark("bare_heap", bare_hold<BareHeap>)->Arg(pending);
    benchmark::RegisterBenchmark("bare_radix_heap", bare_hold<RadixHeap<Event>>)->Arg(pending);
    benchmark::RegisterBenchmark("event_engine", event_engine)->Arg(pending);
  }
  for (const int microbatches : {512, 65'536}) {
    benchmark::RegisterBenchmark("bare_sweep", bare_sweep)->Arg(microbatches);
    benchmark::RegisterBenchmark("sweep_makespan", sweep_makespan)->Arg(microbatches);
    benchmark::RegisterBenchmark("sweep_timeline", execute_pipeline, Executor::sweep)->Arg(microbatches);
    benchmark::RegisterBenchmark("event_engine_1f1b", execute_pipeline, Executor::events)->Arg(microbatches);
    benchmark::RegisterBenchmark("timeline_hash", timeline_hash)->Arg(microbatches);
  }
  for (const int count : {64, 256, 1024, 4096}) {
    if (smoke && count > 256) break;  // SimGrid takes long
    benchmark::RegisterBenchmark("connected_flows", connected_flows)->Arg(count);
    benchmark::RegisterBenchmark("hashed_flows", tree_flows, true)->Arg(count);
    benchmark::RegisterBenchmark("spread_flows", tree_flows, false)->Arg(count);
  }
  for (const int count : {64, 1024}) {
    benchmark::RegisterBenchmark("separate_flows", separate_flows)->Arg(count);
  }
}

}  // namespace
}  // namespace mirfak

int main(int argc, char** argv) {
  std::vector<std::string> arguments{argv[0], "--benchmark_repetitions=3", "--benchmark_min_time=0.2"};
  for (int k = 1; k < argc; ++k) {
    if (std::string(argv[k]) == "--smoke") {
      mirfak::smoke = true;
      arguments.insert(arguments.end(), {"--benchmark_repetitions=1", "--benchmark_min_time=0.0001"});
    } else {
      arguments.emplace_back(argv[k]);
    }
  }
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  if (benchmark::ReportUnrecognizedArguments(count, pointers.data())) return 2;
  mirfak::register_all();
  mirfak::EngineTable table(mirfak::per_stream, mirfak::compared);
  benchmark::RunSpecifiedBenchmarks(&table);
  return 0;
}
