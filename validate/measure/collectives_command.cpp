// Collectives and sends, started and awaited as the CPU executor does. A size is repeated in one row after another; a
// repetition's time is the longest of its ranks, from when the last was ready, as in a trace. The middle of the
// repetitions counts.

#include "base/averages.hpp"
#include "base/error.hpp"
#include "cli/options.hpp"
#include "executor/collective_groups.hpp"
#include "executor/collective_plans.hpp"
#include "measure/commands.hpp"
#include "measure/gpu.hpp"
#include "measure/measured_table.hpp"
#include "processes/message_buffer.hpp"
#include "processes/mpi_world.hpp"

#include <fmt/format.h>

#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <thread>

namespace mirfak::measure {

namespace {

namespace po = boost::program_options;

struct CollectiveOptions {
  std::string backend;
  std::string out;
  double max_mb = 0;
  int repeats = 0;
  double timeout = 0;
  int loopback = 0;
  std::string precision;
};

CommandSyntax syntax_for(CollectiveOptions& options) {
  CommandSyntax syntax(
      "mpirun -n RANKS mirfak-measure collectives --out FOLDER [OPTION]...",
      "Times all-reduce, all-gather, reduce-scatter, all-to-all, broadcast and sends over sizes, counted as\n"
      "nccl-tests counts them: among 2, 4, ... and all ranks of a machine, and of several machines among one rank\n"
      "of each, and all. `mirfak calibrate` reads the table; it leaves broadcasts out, whose price follows from the\n"
      "others.");
  auto add = syntax.options.add_options();
  add("backend", po::value(&options.backend)->default_value("cpu")->value_name("cpu|cuda"), "what executes them");
  add("loopback", po::value(&options.loopback)->default_value(0, "")->value_name("RANKS"),
      "with --backend cuda: so many ranks on one GPU, whose communication is copies on it");
  add("precision", po::value(&options.precision)->default_value("bf16")->value_name("NAME"), "... of what they add up");
  add("out", po::value(&options.out)->value_name("FOLDER"), "write collectives.csv, machine.csv and collectives.h5");
  add("most-mb", po::value(&options.max_mb)->default_value(0, "16, on GPUs 1000")->value_name("MB"),
      "the largest buffer");
  add("repeats", po::value(&options.repeats)->default_value(9)->value_name("N"), "how often to time each");
  add("timeout", po::value(&options.timeout)->default_value(60)->value_name("SECONDS"),
      "give up when nothing goes on for so long");
  return syntax;
}

struct Kind {
  const char* name;  // as nccl-tests has it
  CollectiveKind kind;
  bool send = false;
};
constexpr std::array kKinds = {
    Kind{"all_reduce", CollectiveKind::all_reduce},         Kind{"all_gather", CollectiveKind::all_gather},
    Kind{"reduce_scatter", CollectiveKind::reduce_scatter}, Kind{"alltoall", CollectiveKind::all_to_all},
    Kind{"broadcast", CollectiveKind::broadcast},           Kind{"sendrecv", CollectiveKind::shift, true}};
constexpr double kMinBytes = 1024;
constexpr double kMaxMb = 16;
constexpr double kMaxGpuMb = 1000;

constexpr double kGrowth = 1.5;  // from size to size
constexpr double kGpuGrowth = 2;

// A row to be timed: one kind of operation among one group.
struct Timing {
  Kind kind;
  TimedGroup group;
};
std::vector<Timing> timings(std::span<const int> machine_of) {
  std::vector<Timing> out;
  for (const TimedGroup& group : collective_groups(machine_of)) {
    for (const Kind& kind : kKinds) {
      if (!kind.send) out.push_back({kind, group});
    }
  }
  for (const TimedGroup& pair : transfer_pairs(machine_of)) out.push_back({kKinds.back(), pair});
  return out;
}

// Returns the sizes in ascending order from kMinBytes on, each `factor` times the one before or a little less.
std::vector<double> sizes_of(const Timing& timing, double max_bytes, double factor) {
  const auto ranks = static_cast<int>(timing.group.ranks.size());
  std::vector<double> out;
  for (double bytes = kMinBytes; bytes <= max_bytes; bytes *= factor) {
    const double whole = whole_pieces(bytes, ranks);
    if (out.empty() || whole > out.back()) out.push_back(whole);
  }
  return out;
}

class CollectiveBench {
 public:
  CollectiveBench(const MpiWorld& world, const CollectiveOptions& options)
      : world_(world),
        repeats_(options.repeats),
        clock_(world.clock()),
        from_(room(world, options)),
        to_(from_.size()) {}

  // Returns when this rank was ready for each repetition and when it had ended it, in turns.
  std::vector<double> run(const Kind& kind, const Communicator& among, double bytes) {
    std::vector<double> times;
    for (int i = 0; i <= repeats_; ++i) {
      world_.wait_for(PendingCommunication::meeting(among), "meet");
      const double begin = now();
      world_.wait_for(start(kind, among, bytes), kind.name);
      if (i > 0) times.insert(times.end(), {begin, now()});
    }
    return times;
  }

 private:
  // Sizes are up to a word a rank larger (whole_pieces()).
  static std::size_t room(const World& world, const CollectiveOptions& options) {
    return static_cast<std::size_t>(options.max_mb * 1e6 / sizeof(float)) + 4 * static_cast<std::size_t>(world.size());
  }
  double now() const { return monotonic_seconds() + clock_.offset_s; }

  // A send is one of the first rank to the second, as between stages.
  PendingCommunication start(const Kind& kind, const Communicator& among, double bytes) {
    if (!kind.send) return PendingCommunication::collective(kind.kind, among, bytes, from_.data(), to_.data());
    if (among.rank() == 0) return PendingCommunication::send(among.handle(), 1, 0, bytes, from_.data());
    return PendingCommunication::receive(among.handle(), 0, 0, bytes, to_.data());
  }

  const MpiWorld& world_;
  int repeats_;
  World::Clock clock_;
  MessageBuffer from_;
  MessageBuffer to_;
};

// The middle of the repetitions, each from when the last rank was ready to when the last had ended it.
double middle_time(const std::vector<std::vector<double>>& of_ranks, std::size_t first, int repeats) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const std::size_t at = first + 2 * static_cast<std::size_t>(i);
    double ready = 0;
    double end = 0;
    for (const std::vector<double>& rank : of_ranks) {
      if (rank.empty()) continue;
      ready = std::max(ready, rank[at]);
      end = std::max(end, rank[at + 1]);
    }
    times.push_back(end - ready);
  }
  return middle(std::move(times));
}

MeasuredTable empty_table() {
  MeasuredTable out;
  for (const char* name : {"collective", "dtype"}) out.add_text_column(name);
  for (const char* name : {"n_gpus", "n_nodes", "bytes", "time_us"}) out.add_column(name);
  return out;
}

void add_row(MeasuredTable& table, const Timing& timing, const char* type, double bytes, double seconds) {
  table.add_row({std::string(timing.kind.name), std::string(type), static_cast<double>(timing.group.ranks.size()),
                 static_cast<double>(timing.group.machines), bytes, seconds * 1e6});
}

#ifdef MIRFAK_HAS_CUDA
// Times of each rank that runs here, in the order of its operations: ready and end in turns.
std::vector<std::vector<double>> gpu_times(const CollectivePlans& plans, const CollectiveOptions& options,
                                           const World& world, const std::vector<TransferLane>& lanes,
                                           Precision precision) {
  const bool loopback = options.loopback > 0;
  const std::span<const RankPlan> all(plans.plans);
  const auto here = loopback ? all : all.subspan(static_cast<std::size_t>(world.rank()), 1);
  const GpuExecutor gpu = gpu_executor(world, plans.groups, lanes, here, {{precision, precision}, loopback, false});
  gpu.executor->iterate();
  gpu.executor->iterate();
  const std::span<const TaskTime> times = gpu.executor->times();
  std::vector<std::vector<double>> own;
  std::size_t next = 0;
  for (const RankPlan& plan : here) {
    std::vector<double>& of_rank = own.emplace_back();
    for (std::size_t i = 0; i < plan.tasks.size(); ++i, ++next) {
      of_rank.insert(of_rank.end(), {times[next].ready, times[next].end});
    }
  }
  return loopback ? own : world.gather(own.front());
}

std::string measure_gpu_collectives(const CollectiveOptions& options, const World& world) {
  const auto precision = static_cast<Precision>(choice("--precision", options.precision, precision_names()));
  choose_gpu(world);
  const int ranks = options.loopback > 0 ? options.loopback : world.size();
  const double max_bytes = (options.max_mb > 0 ? options.max_mb : kMaxGpuMb) * 1e6;
  const std::vector<int> machine_of =
      options.loopback > 0 ? std::vector<int>(static_cast<std::size_t>(ranks), 0) : world.machines();
  MeasuredTable table = empty_table();
  for (const Timing& timing : timings(machine_of)) {
    const std::vector<double> sizes = sizes_of(timing, max_bytes, kGpuGrowth);
    const std::vector<int>& group = timing.group.ranks;
    std::vector<TransferLane> lanes;
    if (timing.kind.send) lanes.push_back({group[0], group[1], true});
    const CollectivePlans plans = timing.kind.send
                                      ? transfer_plans(group, ranks, sizes, options.repeats)
                                      : collective_plans(timing.kind.kind, group, ranks, sizes, options.repeats);
    const auto times = gpu_times(plans, options, world, lanes, precision);
    for (std::size_t i = 0; world.rank() == 0 && i < sizes.size(); ++i) {
      const double seconds = middle_time(times, i * 2 * static_cast<std::size_t>(options.repeats), options.repeats);
      add_row(table, timing, nccl_type_name(precision), sizes[i], seconds);
    }
  }
  if (world.rank() != 0) return {};
  const std::size_t rows = table.rows();
  const std::string backend = options.loopback > 0 ? "cuda, loopback" : "cuda";
  write_tables(options.out, "collectives",
               {describe_gpu_machine(), world.size(), backend, {{"collectives", std::move(table)}}});
  return fmt::format("{}: {} collectives and sends among up to {} ranks\n", options.out, rows, ranks);
}
#endif

void check_options(const CollectiveOptions& options, int processes) {
  check_backend(options.backend);
  check_timeout(options.timeout);
  if (options.out.empty()) fail_input({}, "--out is missing", "name a folder for the tables");
  if (options.repeats < 1) fail_input({}, "--repeats: expected at least 1");
  if (options.max_mb < 0) fail_input({}, "--most-mb: expected more than 0");
  if (options.loopback != 0) {
    if (options.backend != "cuda") fail_input({}, "--loopback: expected with --backend cuda");
    if (options.loopback < 2 || options.loopback > 64) fail_input({}, "--loopback: expected 2 to 64 ranks");
    if (processes != 1) fail_input({}, "--loopback runs all ranks in one process");
  } else if (processes < 2) {
    fail_input({}, "collectives need at least 2 processes", "mpirun -n 2 mirfak-measure collectives ...");
  }
}

}  // namespace

std::string measure_collectives(std::span<const std::string> arguments, World& world) {
  CollectiveOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return *help;
  check_options(options, world.size());
  check_communication(world, options.backend, "collectives --out " + options.out);
  world.set_timeout(options.timeout);
  check_folder(options.out);
#ifdef MIRFAK_HAS_CUDA
  if (options.backend == "cuda") return measure_gpu_collectives(options, world);
#endif
  if (options.max_mb <= 0) options.max_mb = kMaxMb;
  prctl(PR_SET_TIMERSLACK, 1000UL);

  const auto& mpi = dynamic_cast<const MpiWorld&>(world);  // as check_communication() found
  MeasuredTable table = empty_table();
  CollectiveBench bench(mpi, options);
  int tag = 0;
  for (const Timing& timing : timings(world.machines())) {
    const std::vector<int>& group = timing.group.ranks;
    const std::vector<double> sizes = sizes_of(timing, options.max_mb * 1e6, kGrowth);
    std::vector<double> own;
    ++tag;
    if (std::find(group.begin(), group.end(), world.rank()) != group.end()) {
      const Communicator among = mpi.among(group, tag);
      for (const double bytes : sizes) {
        const std::vector<double> times = bench.run(timing.kind, among, bytes);
        own.insert(own.end(), times.begin(), times.end());
      }
    }
    const auto all = world.gather(own);
    for (std::size_t i = 0; world.rank() == 0 && i < sizes.size(); ++i) {
      const double seconds = middle_time(all, i * 2 * static_cast<std::size_t>(options.repeats), options.repeats);
      add_row(table, timing, "float", sizes[i], seconds);
    }
  }
  if (world.rank() != 0) return {};
  const std::size_t rows = table.rows();
  write_tables(options.out, "collectives",
               {describe_machine(), world.size(), "cpu", {{"collectives", std::move(table)}}});
  return fmt::format("{}: {} collectives and sends among up to {} ranks\n", options.out, rows, world.size());
}

}  // namespace mirfak::measure
