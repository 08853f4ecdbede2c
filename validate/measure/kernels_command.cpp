// Every process of the job measures the same kernels at the same time, so that they share caches, memory and cores as
// the ranks of a run do. A kernel's time is the middle of its repetitions, and of those of all processes. Repetitions
// are rounds over all kernels: what disturbs the machine for a while falls on one repetition of many kernels, not on
// all of one.

#include "base/averages.hpp"
#include "base/error.hpp"
#include "cli/data_folders.hpp"
#include "cli/options.hpp"
#include "executor/cpu_executor.hpp"
#include "measure/commands.hpp"
#include "measure/gpu.hpp"
#include "measure/kernel_shapes.hpp"
#include "measure/measured_table.hpp"
#include "processes/interruption.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

namespace mirfak::measure {

namespace {

namespace po = boost::program_options;

struct KernelOptions {
  std::string scenario;
  std::string backend;
  std::vector<std::string> overrides;
  std::string out;
  int repeats = 0;
  double max_gflop = 0;
  double timeout = 0;
  std::string data;
};

CommandSyntax syntax_for(KernelOptions& options) {
  CommandSyntax syntax(
      "mpirun -n RANKS mirfak-measure kernels SCENARIO --out FOLDER [OPTION]...",
      "Times the matrix products that the job of SCENARIO consists of, and others near them; kernels that are bound\n"
      "by memory, over sizes; and what starting a kernel costs. As many processes measure at the same time as\n"
      "mpirun starts: as many as will run on one machine. `mirfak calibrate` reads the tables.");
  syntax.operand = &options.scenario;
  auto add = syntax.options.add_options();
  add("backend", po::value(&options.backend)->default_value("cpu")->value_name("cpu|cuda"), "what executes them");
  add("set", po::value(&options.overrides)->value_name("KEY=VALUE"), "override a key of the scenario");
  add("out", po::value(&options.out)->value_name("FOLDER"),
      "write gemm.csv, memory.csv, machine.csv and kernels.h5; on GPUs also attention.csv, attention_backward.csv");
  add("repeats", po::value(&options.repeats)->default_value(7)->value_name("N"), "how often to time each");
  add("most-gflop", po::value(&options.max_gflop)->default_value(0, "20, on GPUs 8000")->value_name("GFLOP"),
      "leave out larger products");
  add("timeout", po::value(&options.timeout)->default_value(60)->value_name("SECONDS"),
      "give up when nothing goes on for so long");
  add("data", po::value(&options.data)->default_value(default_data_folder().string())->value_name("FOLDER"),
      "holds models/ and hw_profiles/");
  return syntax;
}

// A kernel bound by memory, as a table of kernels names it.
struct MemoryKernel {
  const char* name;
  OperatorKind kind;
  double read_share;  // of the bytes
};
constexpr std::array kMemoryKernels = {MemoryKernel{"elementwise", OperatorKind::elementwise, 0.6},
                                       MemoryKernel{"normalization", OperatorKind::normalization, 0.5},
                                       MemoryKernel{"softmax", OperatorKind::softmax, 0.5},
                                       MemoryKernel{"reduction", OperatorKind::reduction, 0.98},
                                       MemoryKernel{"gather", OperatorKind::gather, 0.5}};
constexpr double kRowBytes = 1024;
constexpr double kGpuRowBytes = 4096;  // of hidden states of 2,048 numbers in 16 bits
constexpr double kMinBytes = 16384;
constexpr double kMaxBytes = 64e6;
constexpr double kMaxGpuBytes = 1.1e9;  // what a GPU streams in a time that launches do not blur
constexpr double kMaxGflop = 20;
constexpr double kMaxGpuGflop = 8000;

std::vector<double> time_in_rounds(CpuKernels& kernels, const std::vector<KernelWork>& all, int rounds) {
  std::vector<std::vector<double>> times(all.size());
  for (int round = 0; round <= rounds; ++round) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      check_interruption();
      const double begin = monotonic_seconds();
      kernels.run(all[i]);
      if (round > 0) times[i].push_back(monotonic_seconds() - begin);
    }
  }
  std::vector<double> out;
  for (std::vector<double>& of_kernel : times) out.push_back(middle(std::move(of_kernel)));
  return out;
}

// `narrow`: in the job's narrow format, its first operand quantized before, as `mirfak calibrate` takes such rows.
KernelWork product_work(const GemmShape& shape, bool narrow) {
  KernelWork work;
  work.kind = KernelWork::Kind::product;
  work.product = shape;
  work.narrow = work.quantizes = narrow;
  return work;
}

// The period of kernels without work in an executor's compute stream, each of which the host issues.
double launch_seconds(const World& world) {
  constexpr std::uint32_t kTasks = 2000;
  RankPlan plan;
  plan.rank = world.rank();
  plan.kernels.emplace_back();
  plan.queues = {{StreamKind::host, {}}, {StreamKind::compute, {}}};
  for (std::uint32_t i = 0; i < 2 * kTasks; ++i) {
    RankTask task;
    task.operation = i % 2 == 0 ? RankTask::Operation::issue : RankTask::Operation::kernel;
    task.queue = i % 2;
    if (i % 2 == 1) task.after = {i - 1};
    plan.queues[task.queue].tasks.push_back(i);
    plan.tasks.push_back(std::move(task));
  }
  const ExecutionGroups nobody;
  CpuExecutor executor(world, nobody, plan);
  executor.iterate();
  executor.iterate();
  const std::span<const TaskTime> times = executor.times();
  return (times[2 * kTasks - 1].end - times[1].end) / (kTasks - 1);
}

// Returns the middle over all processes of each measurement; on rank 0.
std::vector<double> middle_of_ranks(const World& world, const std::vector<double>& own) {
  const auto all = world.gather(own);
  std::vector<double> out;
  for (std::size_t i = 0; world.rank() == 0 && i < own.size(); ++i) {
    std::vector<double> values;
    for (const std::vector<double>& of_rank : all) values.push_back(of_rank[i]);
    out.push_back(middle(std::move(values)));
  }
  return out;
}

struct MemorySample {
  const char* name;
  double bytes;
  KernelWork work;
};

std::vector<MemorySample> memory_samples(double max_bytes, double row_bytes) {
  std::vector<MemorySample> out;
  for (const MemoryKernel& kernel : kMemoryKernels) {
    for (double bytes = kMinBytes; bytes <= max_bytes; bytes *= 2) {
      const double read = bytes * kernel.read_share;
      out.push_back({kernel.name, bytes, memory_work(kernel.kind, read, bytes - read, row_bytes)});
    }
  }
  return out;
}

struct ProductSample {
  Precision precision{};
  GemmShape shape;
};

MeasuredTable product_table(const std::vector<ProductSample>& samples, std::span<const double> seconds) {
  MeasuredTable out;
  out.add_text_column("precision");
  for (const char* name : {"b", "m", "n", "k", "latency_us"}) out.add_column(name);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const GemmShape& s = samples[i].shape;
    out.add_row({name_of(samples[i].precision), s.batch, s.m, s.n, s.k, seconds[i] * 1e6});
  }
  return out;
}

// `launches`: periods of kernels that do nothing, and what they are called.
MeasuredTable memory_table(const std::vector<MemorySample>& samples, std::span<const double> seconds,
                           const std::vector<std::pair<std::string, double>>& launches) {
  MeasuredTable out;
  out.add_text_column("kernel");
  for (const char* name : {"bytes", "time_us"}) out.add_column(name);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    out.add_row({std::string(samples[i].name), samples[i].bytes, seconds[i] * 1e6});
  }
  for (const auto& [name, time] : launches) out.add_row({name, 0.0, time * 1e6});
  return out;
}

#ifdef MIRFAK_HAS_CUDA
// Forward and backward calls have a table each.
MeasuredTable attention_table(std::span<const KernelWork> calls, bool backward, std::span<const double> seconds) {
  MeasuredTable out;
  out.add_text_column("pass");
  for (const char* name : {"batch", "seq", "heads", "kv_heads", "head_dim", "causal", "window", "latency_us"}) {
    out.add_column(name);
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].backward != backward) continue;
    const AttentionShape& s = calls[i].attention;
    out.add_row({std::string(backward ? "backward" : "forward"), s.batch, s.queries, s.heads,
                 s.kv_heads > 0 ? s.kv_heads : s.heads, s.head_dim, s.causal ? 1.0 : 0.0, s.window, seconds[i] * 1e6});
  }
  return out;
}

// Products in the precision of activations, and those in the job's narrow format.
std::vector<ProductSample> product_samples(const Simulation& simulation, double max_flop) {
  std::vector<ProductSample> out;
  for (const bool narrow : {false, true}) {
    const Precision precision = narrow ? simulation.job.product_precision() : simulation.job.precision();
    for (const GemmShape& shape : product_shapes(simulation.program, max_flop, narrow))
      out.push_back({precision, shape});
  }
  return out;
}

std::string measure_gpu_kernels(const KernelOptions& options, const Simulation& simulation, const World& world) {
  choose_gpu(world);
  const KernelPrecision precision{simulation.job.precision(), simulation.job.product_precision()};
  const double max_gflop = options.max_gflop > 0 ? options.max_gflop : kMaxGpuGflop;
  const std::vector<ProductSample> products = product_samples(simulation, max_gflop * 1e9);
  const std::vector<MemorySample> samples = memory_samples(kMaxGpuBytes, kGpuRowBytes);
  const std::vector<KernelWork> calls = attention_calls(simulation.program);
  std::vector<KernelWork> work;
  for (const ProductSample& sample : products) {
    work.push_back(product_work(sample.shape, sample.precision != precision.wide));
  }
  for (const MemorySample& sample : samples) work.push_back(sample.work);
  work.insert(work.end(), calls.begin(), calls.end());
  world.meet("begin to measure");
  std::vector<double> own = time_gpu_kernels(work, precision, options.repeats, options.timeout);
  const GpuLaunch launch = time_gpu_launches(options.timeout);
  own.insert(own.end(), {launch.stream_s, launch.host_s, launch.graph_s});
  const std::vector<double> seconds = middle_of_ranks(world, own);
  if (world.rank() != 0) return {};

  const std::span<const double> all(seconds);
  const std::span<const double> periods = all.last(3);
  MeasuredTables measured{describe_gpu_machine(), world.size(), "cuda", {}};
  measured.tables.emplace_back("gemm", product_table(products, all));
  measured.tables.emplace_back(
      "memory", memory_table(samples, all.subspan(products.size()),
                             {{"launch", periods[0]}, {"launch_host", periods[1]}, {"launch_graph", periods[2]}}));
  if (!calls.empty()) {
    const std::span<const double> of_calls = all.subspan(products.size() + samples.size());
    measured.tables.emplace_back("attention", attention_table(calls, false, of_calls));
    measured.tables.emplace_back("attention_backward", attention_table(calls, true, of_calls));
  }
  write_tables(options.out, "kernels", measured);
  return fmt::format("{}: {} products, {} kernels bound by memory, {} calls of attention, {} GPU{} at a time\n",
                     options.out, products.size(), samples.size() + periods.size(), calls.size(), world.size(),
                     world.size() == 1 ? "" : "s");
}
#endif

}  // namespace

std::string measure_kernels(std::span<const std::string> arguments, World& world) {
  KernelOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return *help;
  check_backend(options.backend);
  check_timeout(options.timeout);
  if (options.out.empty()) fail_input({}, "--out is missing", "name a folder for the tables");
  if (options.repeats < 1) fail_input({}, "--repeats: expected at least 1");
  const Scenario scenario = load_scenario(options.scenario, options.overrides, data_folders(options.data));
  const Simulation simulation = lowered(scenario.job, {.operators = true});
  world.set_timeout(options.timeout);
  check_folder(options.out);

#ifdef MIRFAK_HAS_CUDA
  if (options.backend == "cuda") return measure_gpu_kernels(options, simulation, world);
#endif
  const double max_gflop = options.max_gflop > 0 ? options.max_gflop : kMaxGflop;
  std::vector<ProductSample> products;
  for (const GemmShape& shape : product_shapes(simulation.program, max_gflop * 1e9)) {
    products.push_back({Precision::fp32, shape});
  }
  const std::vector<MemorySample> samples = memory_samples(kMaxBytes, kRowBytes);
  std::vector<KernelWork> work;
  for (const ProductSample& sample : products) work.push_back(product_work(sample.shape, false));
  for (const MemorySample& sample : samples) work.push_back(sample.work);
  double most = 0;
  for (const KernelWork& kernel : work) most = std::max(most, CpuKernels::operand_bytes(kernel));
  CpuKernels kernels(most, static_cast<std::uint64_t>(world.rank()) + 1);
  world.meet("begin to measure");
  std::vector<double> own = time_in_rounds(kernels, work, options.repeats);
  own.push_back(launch_seconds(world));
  const std::vector<double> seconds = middle_of_ranks(world, own);
  if (world.rank() != 0) return {};

  const std::span<const double> all(seconds);
  MeasuredTable gemm = product_table(products, all);
  MeasuredTable memory = memory_table(samples, all.subspan(products.size()), {{"launch", seconds.back()}});
  const std::size_t rows = gemm.rows() + memory.rows();
  write_tables(options.out, "kernels",
               {describe_machine(), world.size(), "cpu", {{"gemm", std::move(gemm)}, {"memory", std::move(memory)}}});
  return fmt::format("{}: {} products, {} kernels bound by memory, {} process{} at a time\n", options.out,
                     products.size(), rows - products.size(), world.size(), world.size() == 1 ? "" : "es");
}

}  // namespace mirfak::measure
