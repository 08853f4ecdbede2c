// Measures time and energy of kernels of each class that the energy model tells apart: each runs without a pause for
// a while, with the card's own count of its energy read before and after.

#include "base/error.hpp"
#include "cli/data_folders.hpp"
#include "cli/options.hpp"
#include "measure/commands.hpp"
#include "measure/gpu.hpp"
#include "measure/kernel_shapes.hpp"
#include "measure/measured_table.hpp"
#include "processes/world.hpp"
#include "scenario/scenario.hpp"
#include "simulation/iteration.hpp"

#include <fmt/format.h>

namespace mirfak::measure {

namespace {

namespace po = boost::program_options;

struct EnergyOptions {
  std::string scenario;
  std::string backend;
  std::vector<std::string> overrides;
  std::string out;
  double seconds = 0;
  bool allow_clock_changes = false;
  int clocks = 0;
  std::string data;
};

CommandSyntax syntax_for(EnergyOptions& options) {
  CommandSyntax syntax(
      "mirfak-measure energy SCENARIO --backend cuda --out FOLDER [OPTION]...",
      "Times kernels of each class on one GPU (products, attention, kernels bound by memory, waiting, none) and\n"
      "reads what energy the card counts meanwhile, at the clock that it is set to.");
  syntax.operand = &options.scenario;
  auto add = syntax.options.add_options();
  add("backend", po::value(&options.backend)->default_value("cuda")->value_name("cuda"), "what executes them");
  add("set", po::value(&options.overrides)->value_name("KEY=VALUE"), "override a key of the scenario");
  add("out", po::value(&options.out)->value_name("FOLDER"), "write energy.csv, machine.csv and energy.h5");
  add("seconds", po::value(&options.seconds)->default_value(2)->value_name("S"), "how long to measure each");
  add("allow-clock-changes", po::bool_switch(&options.allow_clock_changes),
      "set the card's clock, one after another of --clocks; it is given back on any way out");
  add("clocks", po::value(&options.clocks)->default_value(6)->value_name("N"), "how many of those that it has");
  add("data", po::value(&options.data)->default_value(default_data_folder().string())->value_name("FOLDER"),
      "holds models/ and hw_profiles/");
  return syntax;
}

void check_options(const EnergyOptions& options, int processes) {
  check_backend(options.backend);
  if (options.backend != "cuda") fail_input({}, "energy is measured on GPUs: expected --backend cuda");
  if (options.out.empty()) fail_input({}, "--out is missing", "name a folder for the tables");
  if (!(options.seconds > 0)) fail_input({}, "--seconds: expected more than 0");
  if (options.clocks < 1) fail_input({}, "--clocks: expected at least 1");
  if (processes != 1) fail_input({}, "energy is measured by one process, and more were started");
}

#ifdef MIRFAK_HAS_CUDA

struct Sample {
  std::string kernel;
  double flop = 0;
  double bytes = 0;
  GpuLoad load;
};

constexpr double kMaxFlop = 8e12;
constexpr double kMemoryBytes = 512e6;

// The largest product and the largest call of attention of the job, and one of each kind that memory bounds.
std::vector<Sample> samples_of(const Simulation& simulation) {
  std::vector<Sample> out = {{"idle", 0, 0, {GpuLoad::Kind::rest, {}}}, {"waiting", 0, 0, {GpuLoad::Kind::wait, {}}}};
  const std::vector<GemmShape> shapes = product_shapes(simulation.program, kMaxFlop);
  if (!shapes.empty()) {
    KernelWork product;
    product.kind = KernelWork::Kind::product;
    product.product = shapes.back();
    out.push_back({"gemm", shapes.back().flop(), 0, {GpuLoad::Kind::kernel, product}});
  }
  const std::vector<KernelWork> calls = attention_calls(simulation.program);
  for (const bool backward : {false, true}) {
    const KernelWork* largest = nullptr;
    for (const KernelWork& call : calls) {
      if (call.backward == backward && (largest == nullptr || call.attention.keys > largest->attention.keys)) {
        largest = &call;
      }
    }
    if (largest != nullptr) {
      out.push_back({backward ? "attention_backward" : "attention", 0, 0, {GpuLoad::Kind::kernel, *largest}});
    }
  }
  for (const auto& [name, kind] :
       {std::pair{"elementwise", OperatorKind::elementwise}, std::pair{"normalization", OperatorKind::normalization},
        std::pair{"softmax", OperatorKind::softmax}}) {
    const KernelWork work = memory_work(kind, kMemoryBytes / 2, kMemoryBytes / 2, 8192);
    out.push_back({name, 0, kMemoryBytes, {GpuLoad::Kind::kernel, work}});
  }
  return out;
}

std::string measure_gpu_energy(const EnergyOptions& options, const Simulation& simulation, const World& world) {
  choose_gpu(world);
  const std::vector<Sample> samples = samples_of(simulation);
  std::vector<GpuLoad> loads;
  for (const Sample& sample : samples) loads.push_back(sample.load);
  std::vector<double> clocks;
  if (options.allow_clock_changes) clocks = gpu_clocks(options.clocks);
  const Precision precision = simulation.job.precision();
  const std::vector<GpuEnergy> measured = measure_gpu_energy(loads, {precision, precision}, options.seconds, clocks);

  MeasuredTable table;
  for (const char* name : {"kernel", "precision"}) table.add_text_column(name);
  for (const char* name :
       {"clock_hz", "clock_set", "flop", "bytes", "time_us", "short_time_us", "energy_j", "power_w", "temperature_c"}) {
    table.add_column(name);
  }
  const std::size_t of_each = std::max<std::size_t>(1, clocks.size());
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const Sample& sample = samples[i / of_each];
    const GpuEnergy& m = measured[i];
    table.add_row({sample.kernel, name_of(simulation.job.precision()), m.clock_hz, clocks.empty() ? 0.0 : 1.0,
                   sample.flop, sample.bytes, m.time_s * 1e6, m.short_time_s * 1e6, m.energy_j, m.power_w,
                   m.temperature_c});
  }
  const std::size_t rows = table.rows();
  write_tables(options.out, "energy", {describe_gpu_machine(), 1, "cuda", {{"energy", std::move(table)}}});
  return fmt::format("{}: energy of {} kernels and clocks\n", options.out, rows);
}

#endif

}  // namespace

std::string measure_energy(std::span<const std::string> arguments, World& world) {
  EnergyOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return *help;
  check_options(options, world.size());
  const Scenario scenario = load_scenario(options.scenario, options.overrides, data_folders(options.data));
  check_folder(options.out);
#ifdef MIRFAK_HAS_CUDA
  const Simulation simulation = lowered(scenario.job, {.operators = true});
  return measure_gpu_energy(options, simulation, world);
#else
  return {};
#endif
}

}  // namespace mirfak::measure
