#include "base/error.hpp"
#include "base/staged_file.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "cli/data_folders.hpp"
#include "cli/options.hpp"
#include "executor/cpu_executor.hpp"
#include "executor/marks.hpp"
#include "executor/measured_timeline.hpp"
#include "executor/submission_order.hpp"
#include "measure/commands.hpp"
#include "measure/gpu.hpp"
#include "measure/power_recorder.hpp"
#include "measure/same_program.hpp"
#include "processes/interruption.hpp"
#include "processes/machine.hpp"
#include "processes/mpi_world.hpp"
#include "processes/processor_time.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"
#include "trace/trace_hdf5.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

namespace mirfak::measure {

namespace {

namespace po = boost::program_options;

constexpr double kLongestSettling = 3600;
constexpr double kShortestCount = 1;  // seconds, many times the period of a card's energy counter

// Returns the joules that the cards of this process have drawn so far.
using EnergyMeter = std::function<std::optional<double>()>;

struct RunOptions {
  std::string scenario;
  std::string backend;
  std::vector<std::string> overrides;
  std::string out;
  int iterations = 0;
  int warmup = 0;
  double settle = 0;
  double timeout = 0;
  std::string graphs;
  std::string power;
  std::string data;
};

CommandSyntax syntax_for(RunOptions& options) {
  CommandSyntax syntax(
      "mpirun -n RANKS mirfak-measure run SCENARIO [--backend cpu|cuda] [OPTION]...",
      "Executes the program of one training iteration, a process for every rank, with real kernels and real\n"
      "communication, and writes the trace of the iteration that took the median time.");
  syntax.operand = &options.scenario;
  auto add = syntax.options.add_options();
  add("backend", po::value(&options.backend)->default_value("cpu")->value_name("cpu|cuda"), "what executes it");
  add("graphs", po::value(&options.graphs)->default_value("auto")->value_name("auto|on|off"),
      "on GPUs: capture the iteration once as a CUDA graph; auto: where the scenario has training.cuda_graphs: full");
  add("set", po::value(&options.overrides)->value_name("KEY=VALUE"),
      "override a key of the scenario, such as strategy.tensor=4; may be given several times");
  syntax.add_file(FileRole::later_output, "out", options.out, "FILE.h5", "write the trace");
  syntax.add_file(FileRole::later_output, "power", options.power, "FILE.csv",
                  "write what rank 0's GPU draws from --settle on, read every 10 ms (on GPUs)");
  add("iterations", po::value(&options.iterations)->default_value(5)->value_name("N"), "how many to measure");
  add("warmup", po::value(&options.warmup)->default_value(1)->value_name("N"), "... after so many");
  add("settle", po::value(&options.settle)->default_value(0)->value_name("SECONDS"),
      "... and as many more as take so long: a GPU's clock settles under the power limit");
  add("timeout", po::value(&options.timeout)->default_value(60)->value_name("SECONDS"),
      "give up when nothing goes on for so long");
  add("data", po::value(&options.data)->default_value(default_data_folder().string())->value_name("FOLDER"),
      "holds models/ and hw_profiles/");
  return syntax;
}

void check_options(const RunOptions& options) {
  check_backend(options.backend);
  check_timeout(options.timeout);
  if (!options.power.empty() && options.backend != "cuda") fail_input({}, "--power: expected with --backend cuda");
  if (options.iterations < 1) fail_input({}, "--iterations: expected at least 1");
  if (options.warmup < 0) fail_input({}, "--warmup: expected at least 0");
  if (!(options.settle >= 0 && options.settle <= kLongestSettling)) {
    fail_input({}, fmt::format("--settle: expected 0 to {:g} seconds", kLongestSettling));
  }
  static const std::vector<std::string> ways = {"auto", "on", "off"};
  choice("--graphs", options.graphs, ways);
  if (options.graphs == "on" && options.backend != "cuda") fail_input({}, "--graphs on: expected with --backend cuda");
}

// Ranks that share a GPU run in one process: NCCL refuses two ranks on one GPU, and the kernels of two processes would
// be cut into slices of time.
bool in_one_process(const Job& job, const RunOptions& options) {
  return options.backend == "cuda" && job.cluster.shares_gpus();
}

void check_sharing(const Job& job, int processes) {
  const auto ranks = static_cast<int>(job.strategy.ranks());
  const int gpu = job.cluster.place_of(0).gpu;
  for (int rank = 1; rank < ranks; ++rank) {
    if (job.cluster.place_of(rank).gpu == gpu) continue;
    fail_infeasible({},
                    fmt::format("of ranks that share GPUs those of one GPU can be run, and rank {} has another", rank),
                    fmt::format("--set cluster.nodes[0].gpus=1 --set cluster.nodes[0].ranks_per_gpu={}", ranks));
  }
  if (processes != 1) {
    fail_input({}, fmt::format("ranks that share a GPU run in one process, and {} were started", processes));
  }
}

void check_processes(const Job& job, const RunOptions& options, int processes) {
  if (in_one_process(job, options)) return check_sharing(job, processes);
  const auto ranks = static_cast<int>(job.strategy.ranks());
  if (ranks == processes) return;
  fail_input({},
             fmt::format("{} has {} ranks, and {} process{} started", options.scenario, ranks, processes,
                         processes == 1 ? " was" : "es were"),
             fmt::format("mpirun -n {} mirfak-measure run {} ...; with --oversubscribe where there are fewer cores{}",
                         ranks, options.scenario,
                         processes == 1 ? ", under an MPI launcher of another kind with MIRFAK_LAUNCHER=mpi" : ""));
}

void check_job(const Job& job, const RunOptions& options, int processes) {
  check_processes(job, options, processes);
  if (options.backend == "cuda") {
    const Scaling scaling = job.recipe().scaling;
    if (scaling == Scaling::none || scaling == Scaling::delayed || scaling == Scaling::current) return;
    fail_input(
        {}, fmt::format("the CUDA executor multiplies with a scale per tensor, not as {} does", job.training.precision),
        "--set training.precision=fp8-current, or bf16");
  }
  if (job.precision() != Precision::fp32 || job.product_precision() != Precision::fp32) {
    fail_input({}, fmt::format("the CPU executor computes in fp32, not in {}", job.training.precision),
               "--set training.precision=fp32");
  }
}

// Fails before anything is measured where the trace could not be written after it.
void check_output(const std::string& out) {
  if (out.empty()) return;
  check_writable(out);
}

std::vector<RankPlan> plans_here(const Program& program, const ExecutionGroups& groups, const World& world, bool all) {
  std::vector<RankPlan> out;
  if (!all) {
    out.push_back(rank_plan(program, groups, world.rank()));
    return out;
  }
  for (const ProgramRank& rank : program.ranks) {
    out.push_back(rank_plan(program, groups, static_cast<int>(rank.rank)));
  }
  return out;
}

struct Running {
  std::unique_ptr<Executor> executor;
  std::function<double()> clock_error_s;
};

Running make_executor(const RunOptions& options, const World& world, const Simulation& simulation,
                      const ExecutionGroups& groups, std::span<const RankPlan> plans) {
#ifdef MIRFAK_HAS_CUDA
  if (options.backend == "cuda") {
    const Job& job = simulation.job;
    const bool graphs = options.graphs == "on" || (options.graphs == "auto" && job.training.cuda_graphs.iteration);
    const GpuSettings settings{precision_of(simulation.program), in_one_process(job, options), graphs};
    GpuExecutor gpu = gpu_executor(world, groups, transfer_lanes(simulation.program), plans, settings);
    const Executor& executor = *gpu.executor;
    return {std::move(gpu.executor), [&executor, error = gpu.clock_error_s] { return error(executor); }};
  }
#else
  static_cast<void>(options);
  static_cast<void>(simulation);
#endif
  auto cpu = std::make_unique<CpuExecutor>(world, groups, plans.front());
  const CpuExecutor& executor = *cpu;
  return {std::move(cpu), [&executor] { return executor.clock_error_s(); }};
}

void write_power(const std::string& file, const PowerReadings& readings) {
  if (readings.time_s.size() < 2) {
    fail_infeasible({}, "--power: the driver does not tell what the GPU draws at the moment",
                    "leave it out; energy is read from the driver's counter");
  }
  write_text_file(file, readings_csv(readings));
}

// The iterations of all ranks, gathered on rank 0. Where taking the time of tasks takes time itself, iterations are
// timed without that, and as many more say where the time goes.
class Iterations {
 public:
  // `power`: reads what this process's GPU draws, for --power; empty: nobody asked.
  Iterations(Executor& executor, const World& world, const RunOptions& options, const EnergyMeter& meter,
             const PowerRecorder::Meter& power)
      : executor_(executor), apart_(executor.marks_take_time()) {
    for (int i = 0; i < options.warmup; ++i) iterate();
    std::optional<PowerRecorder> recorder;
    if (power && world.rank() == 0) recorder.emplace(power);
    measure_energy(world, options, meter);
    if (recorder) write_power(options.power, recorder->stop());
    if (apart_) mark(options);
    lengths_ = lengths_of(world, spans_);
    marked_lengths_ = apart_ ? lengths_of(world, marked_spans_) : lengths_;
  }

  // The length of each iteration; on rank 0.
  const std::vector<double>& lengths() const { return lengths_; }
  double median_s() const { return lengths_[middle_of(lengths_)]; }

  // The index of the iteration in the middle of those whose tasks were timed; on rank 0.
  std::size_t median() const { return middle_of(marked_lengths_); }
  double marked_s() const { return marked_lengths_[median()]; }
  std::span<const TaskTime> operator[](std::size_t iteration) const { return times_[iteration]; }

  // The energy of one iteration, all GPUs; on rank 0. Nothing if it was too short for the cards' counters, or unknown.
  std::optional<double> energy_j() const { return energy_j_; }

 private:
  TaskTime iterate() {
    check_interruption();
    if (apart_) return executor_.iterate_unmarked();
    executor_.iterate();
    return span_of(executor_.times());
  }

  void mark(const RunOptions& options) {
    executor_.iterate();  // not timed: captures what the marked ones run as
    for (int i = 0; i < options.iterations; ++i) {
      check_interruption();
      executor_.iterate();
      times_.emplace_back(executor_.times().begin(), executor_.times().end());
      marked_spans_.push_back(span_of(times_.back()));
    }
  }

  void measure_energy(const World& world, const RunOptions& options, const EnergyMeter& meter) {
    const std::size_t settling = iterations_in(world, options.settle);
    const double begin = monotonic_seconds();
    const std::optional<double> before = meter();
    for (std::size_t left = settling; left > 0; --left) iterate();
    for (int i = 0; i < options.iterations; ++i) {
      spans_.push_back(iterate());
      if (!apart_) times_.emplace_back(executor_.times().begin(), executor_.times().end());
    }
    const std::optional<double> after = meter();
    const bool known = before && after && monotonic_seconds() - begin > kShortestCount;
    const auto count = static_cast<double>(settling) + options.iterations;
    const std::vector<double> own = {known ? (*after - *before) / count : -1};
    double sum = 0;
    for (const std::vector<double>& of_rank : world.gather(own)) {
      sum = of_rank.front() < 0 || sum < 0 ? -1 : sum + of_rank.front();
    }
    if (world.rank() == 0 && sum > 0) energy_j_ = sum;
  }

  // Returns the number of iterations that take so long, from one that rank 0 times; the same on all ranks.
  std::size_t iterations_in(const World& world, double seconds) {
    if (seconds <= 0) return 0;
    const double begin = monotonic_seconds();
    iterate();
    auto count = static_cast<std::size_t>(std::ceil(seconds / std::max(monotonic_seconds() - begin, 1e-6)));
    world.tell_all(std::as_writable_bytes(std::span(&count, 1)), 0, "hear how long to settle");
    return count;
  }

  static std::vector<double> lengths_of(const World& world, std::span<const TaskTime> own) {
    std::vector<double> ends;
    for (const TaskTime& span : own) ends.insert(ends.end(), {span.ready, span.end});
    const auto of_ranks = world.gather(ends);
    std::vector<double> out;
    for (std::size_t i = 0; world.rank() == 0 && i < own.size(); ++i) {
      double first = std::numeric_limits<double>::infinity();
      double last = -first;
      for (const std::vector<double>& of_rank : of_ranks) {
        first = std::min(first, of_rank[2 * i]);
        last = std::max(last, of_rank[2 * i + 1]);
      }
      out.push_back(last - first);
    }
    return out;
  }

  static std::size_t middle_of(const std::vector<double>& lengths) {
    std::vector<std::size_t> order(lengths.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return lengths[a] < lengths[b]; });
    return order[(order.size() - 1) / 2];
  }

  Executor& executor_;
  bool apart_;
  std::vector<TaskTime> spans_;
  std::vector<TaskTime> marked_spans_;
  std::vector<std::vector<TaskTime>> times_;
  std::vector<double> lengths_;
  std::vector<double> marked_lengths_;
  std::optional<double> energy_j_;
};

EnergyMeter energy_meter([[maybe_unused]] const std::string& backend) {
#ifdef MIRFAK_HAS_CUDA
  if (backend == "cuda") return gpu_energy_meter();
#endif
  return [] { return std::optional<double>(); };
}

PowerRecorder::Meter power_meter([[maybe_unused]] const RunOptions& options) {
#ifdef MIRFAK_HAS_CUDA
  if (!options.power.empty()) return gpu_power_meter();
#endif
  return {};
}

// One iteration's times of all ranks, on rank 0. `plans`: those that this process runs.
std::vector<std::vector<TaskTime>> gather_times(const World& world, std::span<const RankPlan> plans,
                                                std::span<const TaskTime> own) {
  if (plans.size() > 1) {
    std::vector<std::vector<TaskTime>> out;
    for (const RankPlan& plan : plans) {
      out.emplace_back(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(plan.tasks.size()));
      own = own.subspan(plan.tasks.size());
    }
    return out;
  }
  std::vector<double> flat;
  for (const TaskTime& time : own) flat.insert(flat.end(), {time.ready, time.end});
  std::vector<std::vector<TaskTime>> out;
  for (const std::vector<double>& of_rank : world.gather(flat)) {
    std::vector<TaskTime>& times = out.emplace_back();
    for (std::size_t i = 0; i < of_rank.size(); i += 2) times.push_back({of_rank[i], of_rank[i + 1]});
  }
  return out;
}

// The largest share that a hypervisor took from a rank's machine; on rank 0.
std::optional<double> max_stolen(const World& world, const std::optional<double>& own) {
  const std::vector<double> share = {own.value_or(-1)};
  const auto of_ranks = world.gather(share);
  std::optional<double> out;
  for (const std::vector<double>& of_rank : of_ranks) {
    if (of_rank.front() >= 0) out = std::max(out.value_or(0), of_rank.front());
  }
  return out;
}

// `marked_s`: an iteration with the marks of its tasks.
std::string report(const Simulation& simulation, const Measurement& measured, double marked_s, const std::string& out) {
  const double time = simulation.result.iteration_time_s;
  std::string text = fmt::format("ran       {} tasks on {} rank{} ({}), {}\n", simulation.program.size(),
                                 simulation.program.ranks.size(), simulation.program.ranks.size() == 1 ? "" : "s",
                                 measured.backend, measured.machine);
  text += fmt::format("iteration {}, median of {} ({} .. {})\n", format_seconds(time), measured.iterations,
                      format_seconds(measured.shortest_s), format_seconds(measured.longest_s));
  if (measured.mark_s > 0) {
    text += fmt::format("marks     {} a task, taken out of the times of tasks: with them {}\n",
                        format_seconds(measured.mark_s), format_seconds(marked_s));
  }
  if (measured.energy_j) {
    text += fmt::format("energy    {:.3g} J an iteration, {:.0f} W, by the counters of all GPUs\n", *measured.energy_j,
                        *measured.energy_j / time);
  }
  if (measured.stolen_share.value_or(0) > kNotableSteal) {
    text += fmt::format("stolen    {:.1f} % of the processors' time, by the hypervisor: times vary with its load\n",
                        100 * *measured.stolen_share);
  }
  if (!out.empty()) text += fmt::format("trace     {}\n", out);
  return text;
}

}  // namespace

std::string run_scenario(std::span<const std::string> arguments, World& world) {
  RunOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return *help;
  check_options(options);
  check_communication(world, options.backend, "run " + options.scenario);
  const Scenario scenario = load_scenario(options.scenario, options.overrides, data_folders(options.data));
  check_job(scenario.job, options, world.size());
  world.set_timeout(options.timeout);
#ifdef MIRFAK_HAS_CUDA
  if (options.backend == "cuda") choose_gpu(world);
#endif
  Simulation simulation = lowered(scenario.job, {true, true});
  check_same_program(world, simulation.program, options.scenario);
  const ExecutionGroups groups = execution_groups(simulation.program);
  const std::vector<RankPlan> plans =
      plans_here(simulation.program, groups, world, in_one_process(scenario.job, options));
  check_output(options.out);
  check_output(options.power);

  const Running running = make_executor(options, world, simulation, groups, plans);
  const std::optional<ProcessorTime> before = processor_time();
  const Iterations iterations(*running.executor, world, options, energy_meter(options.backend), power_meter(options));
  const std::optional<double> stolen = max_stolen(world, stolen_share(before, processor_time()));
  std::size_t median = world.rank() == 0 ? iterations.median() : 0;
  world.tell_all(std::as_writable_bytes(std::span(&median, 1)), 0, "hear which iteration to write");
  const std::vector<std::vector<TaskTime>> times = gather_times(world, plans, iterations[median]);
  if (world.rank() != 0) return {};

  const Unmarked timed = without_marks(simulation.program, groups, measured_timeline(simulation.program, groups, times),
                                       std::llround(iterations.median_s() * 1e12), plans.size() > 1);
  set_timeline(simulation, timed.timeline);
  const auto [shortest, longest] = std::minmax_element(iterations.lengths().begin(), iterations.lengths().end());
  const Measurement measured{running.executor->machine(),
                             running.executor->backend(),
                             options.iterations,
                             *shortest,
                             *longest,
                             running.clock_error_s(),
                             stolen,
                             to_seconds(timed.mark),
                             iterations.energy_j()};
  if (!options.out.empty()) write_trace(options.out, scenario, simulation, measured);
  return report(simulation, measured, iterations.marked_s(), options.out);
}

void check_backend(const std::string& name) {
  static const std::vector<std::string> names = {"cpu", "cuda"};
  choice("--backend", name, names);
#ifndef MIRFAK_HAS_CUDA
  if (name == "cuda") {
    fail_input({}, "--backend cuda: this mirfak-measure was built without CUDA",
               "build it where a CUDA compiler is found");
  }
#endif
}

void check_communication(const World& world, const std::string& backend, const std::string& command) {
  if (backend != "cpu" || world.size() == 1 || dynamic_cast<const MpiWorld*>(&world) != nullptr) return;
  fail_input(
      {},
      fmt::format("--backend cpu communicates by MPI, and these {} processes were started without it", world.size()),
      fmt::format("mpirun -n {} mirfak-measure {}; or MIRFAK_LAUNCHER=mpi if an MPI launcher did start them",
                  world.size(), command));
}

void check_timeout(double seconds) {
  if (!(seconds > 0)) fail_input({}, "--timeout: expected more than 0 seconds");
}

}  // namespace mirfak::measure
