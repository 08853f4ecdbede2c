// The fit uses the model itself: KernelModel prices every row with a GPU of the trial's figures. Streaming kernels
// ("elementwise") determine the share of the bandwidth that is reached, other kernels their share of that.
#include "calibration/memory_table.hpp"

#include "base/averages.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "calibration/parameter_fit.hpp"
#include "cost/kernel_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace mirfak {

namespace {

struct NamedKernel {
  std::string_view name;
  OperatorKind kind;
  Figure MemoryKernels::*share;  // nullptr: streaming
  Figure MemoryKernels::*latency;
  const char* latency_name;
};
constexpr std::array kKernels = {
    NamedKernel{"elementwise", OperatorKind::elementwise, nullptr, &MemoryKernels::streaming_latency_s,
                "streaming_latency_s"},
    NamedKernel{"normalization", OperatorKind::normalization, &MemoryKernels::normalization,
                &MemoryKernels::normalization_latency_s, "normalization_latency_s"},
    NamedKernel{"softmax", OperatorKind::softmax, &MemoryKernels::softmax, &MemoryKernels::softmax_latency_s,
                "softmax_latency_s"},
    NamedKernel{"reduction", OperatorKind::reduction, &MemoryKernels::reduction, &MemoryKernels::reduction_latency_s,
                "reduction_latency_s"},
    NamedKernel{"gather", OperatorKind::gather, &MemoryKernels::gather, &MemoryKernels::gather_latency_s,
                "gather_latency_s"}};
constexpr std::string_view kLaunch = "launch";
// Periods of empty kernels that no figure of a profile holds: the host's time to issue them, which depends on the
// framework, and their time in a CUDA graph, for which the formula has a share of kernel_launch_s.
constexpr std::array<std::string_view, 2> kOtherLaunches = {"launch_host", "launch_graph"};

constexpr double kBeyondCaches = 16;  // times the second-level cache: larger data comes mostly from memory

class MemoryFitting {
 public:
  MemoryFitting(MemoryTable table, const CalibrationTarget& target)
      : table_(std::move(table)), gpu_(target.gpu_spec()), score_only_(target.score_only) {
    if (!table_.launches_s.empty()) launch_s() = middle(table_.launches_s);
    choose_unknowns(!table_.launches_s.empty());
    for (const MeasuredMemoryKernel& sample : table_.kernels) {
      problem_.measured.push_back(sample.seconds);
      problem_.keys.push_back(fmt::format("{} bytes={:.0f}", name_of(sample.kind), sample.bytes));
    }
    problem_.predict = [this](std::span<const double> values, std::span<const std::size_t> indices,
                              std::span<double> predicted) {
      for (std::size_t i = 0; i < values.size(); ++i) figures_[i]->value = values[i];
      const KernelModel model(gpu_, Precision::fp32);
      for (std::size_t i = 0; i < indices.size(); ++i) {
        const MeasuredMemoryKernel& sample = table_.kernels[indices[i]];
        predicted[i] = model.price_memory_bound(sample.bytes, sample.kind).seconds;
      }
    };
  }
  MemoryFitting(const MemoryFitting&) = delete;
  MemoryFitting& operator=(const MemoryFitting&) = delete;

  std::vector<FittedSection> sections() {
    const ParameterFit fit = score_only_ ? evaluate(problem_, {}) : fit_parameters(problem_);
    for (std::size_t i = 0; i < fit.values.size(); ++i) figures_[i]->value = fit.values[i];
    const FitScore all = score_where("all", fit, [](std::size_t) { return true; });
    const MemoryKernels& kernels = gpu_.memory_kernels;
    FittedSection streaming;
    streaming.constants = {{"memory_bandwidth_efficiency", gpu_.memory_bandwidth_efficiency.value},
                           {"kernel_launch_s", gpu_.kernel_launch_s.value}};
    streaming.source_key = "memory_streaming";
    FittedSection kinds;
    kinds.path = {"memory_kernels"};
    kinds.constants = {{"normalization", kernels.normalization.value},
                       {"softmax", kernels.softmax.value},
                       {"reduction", kernels.reduction.value},
                       {"gather", kernels.gather.value},
                       {"cached_speedup", kernels.cached_speedup.value}};
    for (const NamedKernel& kernel : kKernels) {
      const double latency = (kernels.*kernel.latency).value;
      if (latency > 0) kinds.constants.push_back({kernel.latency_name, latency});
    }
    kinds.source_key = "memory_kernels";
    for (FittedSection* section : {&streaming, &kinds}) {
      section->source = fmt::format("{} {} of {} measured kernels", score_only_ ? "the profile's figures on" : "fit of",
                                    fit.fitted.size(), table_.kernels.size());
      section->scores = {all};
    }
    return {streaming, kinds};
  }

 private:
  double& launch_s() { return gpu_.kernel_launch_s.value; }

  void choose_unknowns(bool launch_is_known) {
    if (score_only_) return;
    const auto add = [&](const char* name, Figure& figure, double start, double minimum, double maximum) {
      problem_.unknowns.push_back({name, start, minimum, maximum});
      figures_.push_back(&figure);
    };
    add("memory_bandwidth_efficiency", gpu_.memory_bandwidth_efficiency, 0.8, 0.1, 1);
    // A profile with 1 states that its tables find no operand in a cache.
    Figure& cached = gpu_.memory_kernels.cached_speedup;
    if (cached.value > 1) add("cached_speedup", cached, 1.5, 1, 20);
    if (!launch_is_known) add("kernel_launch_s", gpu_.kernel_launch_s, 2e-6, 0, 100e-6);
    for (const NamedKernel& kernel : kKernels) {
      const bool measured = std::any_of(table_.kernels.begin(), table_.kernels.end(),
                                        [&](const MeasuredMemoryKernel& sample) { return sample.kind == kernel.kind; });
      if (!measured) continue;
      if (kernel.share != nullptr) add(kernel.name.data(), gpu_.memory_kernels.*kernel.share, 0.7, 0.1, 1);
      // The launch is known from empty kernels alone.
      if (launch_is_known) add(kernel.latency_name, gpu_.memory_kernels.*kernel.latency, 1e-6, 0, 20e-6);
    }
  }

  MemoryTable table_;
  GpuSpec gpu_;
  bool score_only_;
  FitProblem problem_;
  std::vector<Figure*> figures_;  // figures of the unknowns
};

}  // namespace

bool is_memory_table(const CsvTable& table) { return has_columns(table, {"kernel", "bytes", "time_us"}); }

MemoryTable read_memory_table(const CsvTable& table, const CalibrationTarget& target) {
  const std::size_t kernel = table.require("kernel");
  const std::size_t bytes = table.require("bytes");
  const std::size_t time = table.require("time_us");
  const GpuSpec gpu = target.gpu_spec();
  const std::string limit =
      fmt::format("{}'s memory bandwidth of {}", gpu.name, format_rate(gpu.memory_bandwidth.value));
  MemoryTable out;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!target.selects(table, row)) continue;
    const double seconds = 1e-6 * table.number(row, time, 1e-6, 1e12);
    const std::string& name = table.text(row, kernel);
    if (name == kLaunch) {
      out.launches_s.push_back(seconds);
      continue;
    }
    if (std::find(kOtherLaunches.begin(), kOtherLaunches.end(), name) != kOtherLaunches.end()) continue;
    const auto known =
        std::find_if(kKernels.begin(), kKernels.end(), [&](const NamedKernel& each) { return each.name == name; });
    if (known == kKernels.end()) {
      std::vector<std::string> names = {std::string(kLaunch)};
      for (const NamedKernel& each : kKernels) names.emplace_back(each.name);
      table.fail(row, kernel, fmt::format("'{}' is no kernel that is known", excerpt(name)),
                 "expected " + join_or(names));
    }
    const double moved = table.number(row, bytes, 1, 1e15);
    if (moved > kBeyondCaches * gpu.l2_bytes.value) {
      target.check_possible(table, row, time, seconds, moved / gpu.memory_bandwidth.value, limit);
    }
    out.kernels.push_back({known->kind, moved, seconds});
  }
  return out;
}

std::vector<FittedSection> fit_memory_tables(std::span<const CsvTable> tables, const CalibrationTarget& target) {
  MemoryTable all;
  for (const CsvTable& table : tables) {
    MemoryTable own = read_memory_table(table, target);
    all.kernels.insert(all.kernels.end(), own.kernels.begin(), own.kernels.end());
    all.launches_s.insert(all.launches_s.end(), own.launches_s.begin(), own.launches_s.end());
  }
  return MemoryFitting(std::move(all), target).sections();
}

}  // namespace mirfak
