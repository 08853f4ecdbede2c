#include "measure/gpu.hpp"

#include "base/averages.hpp"
#include "base/error.hpp"
#include "base/interrupt_watch.hpp"
#include "executor/cuda_executor.hpp"
#include "processes/interruption.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <thread>

namespace mirfak::measure {

namespace {

constexpr std::size_t kBatch = 512;  // launches: fewer than a stream's queue holds
constexpr std::size_t kLongestRow = 16;
constexpr double kRow = 300e-6;        // seconds of one kernel in a row that its events do not blur
constexpr double kSubmission = 25e-6;  // seconds that the host takes for one, generously
constexpr double kWait = 1e-3;         // seconds of a kernel that only waits
constexpr std::size_t kEmptyKernels = 300;
constexpr int kLaunchRounds = 7;

double max_room(std::span<const KernelWork> work, const KernelPrecision& precision) {
  double most = 0;
  const ElementType type = element_type(precision.wide);
  for (const KernelWork& kernel : work) most = std::max(most, CudaKernels::room_for(kernel, type));
  return most;
}

void wait_for(const DeviceEvent& event, double timeout_s) {
  PatientWait patience(timeout_s, [] { return std::string("a kernel of a benchmark"); });
  while (!event.done()) patience.nap();
}

// Two events, before and after the work of a stream.
class Stopwatch {
 public:
  explicit Stopwatch(std::size_t intervals) : begun_(intervals), ended_(intervals) {}

  // Times the pieces of work that `submit` hands to the stream. `launches`: the kernels of all pieces together.
  template <typename Submit>
  void run(const DeviceStream& stream, std::size_t count, std::size_t launches, double timeout_s,
           const Submit& submit) {
    // The stream waits while the host fills it: no interval holds a gap that the host made.
    launch_delay(static_cast<double>(launches) * kSubmission, stream.get());
    for (std::size_t i = 0; i < count; ++i) {
      begun_[i].record(stream.get());
      submit(i);
      ended_[i].record(stream.get());
    }
    check_cuda(cudaGetLastError(), "start kernels");
    wait_for(ended_[count - 1], timeout_s);
  }
  double seconds(std::size_t i) const { return ended_[i].seconds_since(begun_[i]); }

 private:
  std::vector<DeviceEvent> begun_;
  std::vector<DeviceEvent> ended_;
};

// Returns the middle of the seconds of some rounds; the first round is a warm-up.
template <typename Round>
double middle_of_rounds(const Round& seconds) {
  std::vector<double> all;
  for (int round = 0; round <= kLaunchRounds; ++round) {
    const double of_round = seconds();
    if (round > 0) all.push_back(of_round);
  }
  return middle(std::move(all));
}

// Returns the seconds of `count` empty kernels in a row, with the two events around them.
double empty_row_seconds(const DeviceStream& stream, Stopwatch& watch, std::size_t count, double timeout_s) {
  return middle_of_rounds([&] {
    watch.run(stream, 1, count, timeout_s, [&](std::size_t) {
      for (std::size_t i = 0; i < count; ++i) launch_nothing(stream.get());
    });
    return watch.seconds(0);
  });
}

// Kernels a few times in a row between two events, as in an iteration, where no event stands between them: an event
// around each would hold up the next by several microseconds.
class KernelRows {
 public:
  KernelRows(CudaKernels& kernels, std::span<const KernelWork> work, double timeout_s)
      : kernels_(kernels), work_(work), timeout_s_(timeout_s), lengths_(work.size(), 1), watch_(kBatch) {
    events_s_ = time_between_events();
  }

  // Returns the periods of one round over all kernels.
  std::vector<double> run() {
    std::vector<double> out(work_.size());
    for (std::size_t first = 0; first < work_.size();) {
      std::size_t end = first;
      std::size_t launches = 0;
      while (end < work_.size() && (end == first || launches + lengths_[end] <= kBatch)) launches += lengths_[end++];
      watch_.run(stream_, end - first, launches, timeout_s_, [&](std::size_t i) { repeat(first + i); });
      for (std::size_t i = first; i < end; ++i) {
        const double row = std::max(0.0, watch_.seconds(i - first) - events_s_);
        out[i] = row / static_cast<double>(lengths_[i]);
      }
      first = end;
    }
    return out;
  }

  // Chooses for each kernel, by its period, how often in a row it is to run from now on.
  void choose_lengths(std::span<const double> periods) {
    for (std::size_t i = 0; i < periods.size(); ++i) {
      const double fits = kRow / std::max(periods[i], 1e-7);
      lengths_[i] = static_cast<std::size_t>(std::clamp(std::ceil(fits), 2.0, static_cast<double>(kLongestRow)));
    }
  }

  const DeviceStream& stream() const { return stream_; }

 private:
  void repeat(std::size_t kernel) {
    for (std::size_t i = 0; i < lengths_[kernel]; ++i) kernels_.run(work_[kernel], stream_.get());
  }

  // Returns the time that two events around a row add to its kernels, from one empty kernel and from many.
  double time_between_events() {
    const double one = empty_row_seconds(stream_, watch_, 1, timeout_s_);
    const double period = (empty_row_seconds(stream_, watch_, kEmptyKernels, timeout_s_) - one) / (kEmptyKernels - 1);
    return std::max(0.0, one - period);
  }

  CudaKernels& kernels_;
  std::span<const KernelWork> work_;
  double timeout_s_;
  std::vector<std::size_t> lengths_;
  DeviceStream stream_;
  Stopwatch watch_;
  double events_s_ = 0;
};

// Counts fewer kernels than a stream's queue holds, so that the device never holds up the host.
double host_seconds(const DeviceStream& stream, const DeviceEvent& ended, double timeout_s) {
  const double begin = monotonic_seconds();
  for (std::size_t i = 0; i < kEmptyKernels; ++i) launch_nothing(stream.get());
  const double time = monotonic_seconds() - begin;
  check_cuda(cudaGetLastError(), "start kernels");
  ended.record(stream.get());
  wait_for(ended, timeout_s);
  return time / kEmptyKernels;
}

// A graph of empty kernels. A graph of twice as many takes longer by their periods alone: both have one launch.
CudaGraph empty_kernels(std::span<const DeviceStream> streams, std::size_t count) {
  CudaCapture capture(streams);
  for (std::size_t i = 0; i < count; ++i) launch_nothing(streams.front().get());
  check_cuda(cudaGetLastError(), "capture kernels");
  return capture.finish();
}

double graph_seconds(const DeviceStream& stream, const CudaGraph& graph, double timeout_s) {
  const DeviceEvent begun;
  const DeviceEvent ended;
  begun.record(stream.get());
  graph.launch(stream.get());
  ended.record(stream.get());
  wait_for(ended, timeout_s);
  return ended.seconds_since(begun);
}

NvmlDevice needed_nvml() {
  auto out = open_nvml();
  if (!out) fail_infeasible({}, "the driver's management library (libnvidia-ml.so.1) does not know this GPU");
  return *out;
}

// Gives the card its own clocks back when it is destroyed.
class ClockLock {
 public:
  explicit ClockLock(const NvmlDevice& device) : device_(device) {}
  ClockLock(const ClockLock&) = delete;
  ClockLock& operator=(const ClockLock&) = delete;
  ~ClockLock() {
    if (locked_) device_.reset_clock();
  }
  void set(double hz) {
    locked_ = true;
    device_.lock_clock(hz);
  }

 private:
  InterruptHold hold_;
  const NvmlDevice& device_;
  bool locked_ = false;
};

class EnergyBench {
 public:
  EnergyBench(const NvmlDevice& device, std::span<const GpuLoad> loads, const KernelPrecision& precision,
              double seconds)
      : device_(device), kernels_(precision, max_room(kernels_of(loads), precision)), seconds_(seconds) {
    for (const KernelWork& kernel : kernels_of(loads)) kernels_.prepare(kernel, stream_.get());
  }

  GpuEnergy run(const GpuLoad& load) {
    // Warm up first: clocks and temperature settle under the load that is measured.
    keep_busy(load, seconds_ / 2);
    const double energy = device_.energy_j();
    const double begin = monotonic_seconds();
    const double count = keep_busy(load, seconds_);
    GpuEnergy out;
    const double time = monotonic_seconds() - begin;
    const double spent = device_.energy_j() - energy;
    out.clock_hz = device_.clock_hz(NvmlDevice::Clock::multiprocessors);
    out.temperature_c = device_.temperature_c();
    out.time_s = time / count;
    out.energy_j = spent / count;
    out.power_w = spent / time;
    return out;
  }

 private:
  // Returns the number of kernels run; two batches are in flight, so that the card never waits.
  double keep_busy(const GpuLoad& load, double seconds) {
    const double until = monotonic_seconds() + seconds;
    if (load.kind == GpuLoad::Kind::rest) {
      while (monotonic_seconds() < until) {
        check_interruption();
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      return 1;
    }
    constexpr int kInFlight = 16;
    double count = 0;
    std::array<DeviceEvent, 2> ends;
    for (std::size_t batch = 0; monotonic_seconds() < until; ++batch) {
      check_interruption();
      if (batch > 1) wait_for(ends[batch % 2], seconds + 60);
      for (int i = 0; i < kInFlight; ++i) start(load);
      ends[batch % 2].record(stream_.get());
      count += kInFlight;
    }
    check_cuda(cudaStreamSynchronize(stream_.get()), "run kernels");
    return count;
  }

  void start(const GpuLoad& load) {
    if (load.kind == GpuLoad::Kind::wait) return launch_wait(kWait, stream_.get());
    kernels_.run(load.work, stream_.get());
  }

  static std::vector<KernelWork> kernels_of(std::span<const GpuLoad> loads) {
    std::vector<KernelWork> out;
    for (const GpuLoad& load : loads) {
      if (load.kind == GpuLoad::Kind::kernel) out.push_back(load.work);
    }
    return out;
  }

  const NvmlDevice& device_;
  CudaKernels kernels_;
  DeviceStream stream_;
  double seconds_;
};

}  // namespace

void choose_gpu(const World& world) {
  choose_device(world.place_on_machine());
  const DeviceId own = device_id();
  const std::vector<int> first = world.first_alike(std::as_bytes(std::span(own)), "tell GPUs apart");
  for (int rank = 0; rank < world.size(); ++rank) {
    const int other = first[static_cast<std::size_t>(rank)];
    if (other == rank) continue;
    fail_infeasible({}, fmt::format("processes {} and {} have one GPU between them", other, rank),
                    "start as many processes as GPUs, or let ranks share one: cluster.nodes[0].ranks_per_gpu");
  }
}

GpuExecutor gpu_executor(const World& world, const ExecutionGroups& groups, const std::vector<TransferLane>& transfers,
                         std::span<const RankPlan> plans, const GpuSettings& settings) {
  return {std::make_unique<CudaExecutor>(world, groups, transfers, plans, settings),
          [](const Executor& executor) { return dynamic_cast<const CudaExecutor&>(executor).clock_error_s(); }};
}

std::vector<double> time_gpu_kernels(std::span<const KernelWork> work, const KernelPrecision& precision, int repeats,
                                     double timeout_s) {
  CudaKernels kernels(precision, max_room(work, precision));
  KernelRows rows(kernels, work, timeout_s);
  for (const KernelWork& kernel : work) kernels.prepare(kernel, rows.stream().get());
  rows.choose_lengths(rows.run());
  std::vector<std::vector<double>> times(work.size());
  // Rounds over all kernels: what disturbs the machine for a while falls on one repetition of many, not on all of one.
  for (int round = 0; round < repeats; ++round) {
    const std::vector<double> periods = rows.run();
    for (std::size_t i = 0; i < periods.size(); ++i) times[i].push_back(periods[i]);
  }
  std::vector<double> out;
  for (std::vector<double>& of_kernel : times) out.push_back(middle(std::move(of_kernel)));
  return out;
}

GpuLaunch time_gpu_launches(double timeout_s) {
  const std::vector<DeviceStream> streams(1);
  const DeviceStream& stream = streams.front();
  const DeviceEvent ended;
  GpuLaunch out;
  Stopwatch watch(1);
  const double twice = empty_row_seconds(stream, watch, 2 * kEmptyKernels, timeout_s);
  out.stream_s = (twice - empty_row_seconds(stream, watch, kEmptyKernels, timeout_s)) / kEmptyKernels;
  out.host_s = middle_of_rounds([&] { return host_seconds(stream, ended, timeout_s); });
  const CudaGraph few = empty_kernels(streams, kEmptyKernels);
  const CudaGraph many = empty_kernels(streams, 2 * kEmptyKernels);
  out.graph_s = middle_of_rounds([&] {
    const double longer = graph_seconds(stream, many, timeout_s) - graph_seconds(stream, few, timeout_s);
    return longer / kEmptyKernels;
  });
  return out;
}

namespace {

// Returns the times of loads that are kernels; 0 for the others.
std::vector<double> short_times_of(std::span<const GpuLoad> loads, const KernelPrecision& precision) {
  constexpr int kRounds = 5;
  constexpr double kTimeout = 60;
  std::vector<KernelWork> kernels;
  for (const GpuLoad& load : loads) {
    if (load.kind == GpuLoad::Kind::kernel) kernels.push_back(load.work);
  }
  const std::vector<double> times = time_gpu_kernels(kernels, precision, kRounds, kTimeout);
  std::vector<double> out;
  std::size_t next = 0;
  for (const GpuLoad& load : loads) out.push_back(load.kind == GpuLoad::Kind::kernel ? times[next++] : 0);
  return out;
}

}  // namespace

std::vector<GpuEnergy> measure_gpu_energy(std::span<const GpuLoad> loads, const KernelPrecision& precision,
                                          double seconds, std::span<const double> clocks_hz) {
  const NvmlDevice device = needed_nvml();
  const std::vector<double> short_times = short_times_of(loads, precision);
  EnergyBench bench(device, loads, precision, seconds);
  ClockLock lock(device);
  std::vector<GpuEnergy> out;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (clocks_hz.empty()) out.push_back(bench.run(loads[i]));
    for (const double hz : clocks_hz) {
      lock.set(hz);
      out.push_back(bench.run(loads[i]));
    }
    for (std::size_t row = i * std::max<std::size_t>(1, clocks_hz.size()); row < out.size(); ++row) {
      out[row].short_time_s = short_times[i];
    }
  }
  return out;
}

std::vector<double> gpu_clocks(int count) {
  const std::vector<double> all = needed_nvml().supported_clocks_hz();
  std::vector<double> out;
  const auto most = std::min(static_cast<std::size_t>(std::max(count, 1)), all.size());
  for (std::size_t i = 0; i < most; ++i) out.push_back(all[most == 1 ? 0 : i * (all.size() - 1) / (most - 1)]);
  return out;
}

std::function<std::optional<double>()> gpu_energy_meter() {
  const auto device = open_nvml();
  return [device]() -> std::optional<double> {
    if (!device) return std::nullopt;
    try {
      return device->energy_j();
    } catch (const Error&) {  // cards before Volta do not count
      return std::nullopt;
    }
  };
}

std::function<std::optional<double>()> gpu_power_meter() {
  const auto device = open_nvml();
  return [device]() -> std::optional<double> { return device ? device->instant_power_w() : std::nullopt; };
}

Machine describe_gpu_machine() {
  Machine out = describe_machine();
  out.device = describe_device();
  return out;
}

const char* nccl_type_name(Precision precision) {
  switch (element_type(precision)) {
    case ElementType::fp16:
      return "half";
    case ElementType::bf16:
      return "bfloat16";
    case ElementType::fp32:
      break;
  }
  return "float";
}

}  // namespace mirfak::measure
