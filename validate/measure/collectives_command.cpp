// Collectives and sends, started and awaited as the CPU executor does. A size is repeated in one row after another; a
// repetition's time is the longest of its ranks, from when the last was ready, as in a trace. The middle of the
// repetitions counts.

#include "base/error.hpp"
#include "cli/options.hpp"
#include "executor/mpi_world.hpp"
#include "measure/commands.hpp"
#include "measure/measured_table.hpp"

#include <fmt/format.h>

#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <thread>

namespace mirfak::measure {

namespace {

namespace po = boost::program_options;

struct CollectiveOptions {
  std::string backend;
  std::string out;
  double most_mb = 0;
  int repeats = 0;
  double timeout = 0;
};

CommandSyntax syntax_for(CollectiveOptions& options) {
  CommandSyntax syntax(
      "mpirun -n RANKS mirfak-measure collectives --out FOLDER [OPTION]...",
      "Times all-reduce, all-gather, reduce-scatter, all-to-all and sends over sizes, among 2, 4, ... and all ranks,\n"
      "counted as nccl-tests counts them. `mirfak calibrate` reads the table.");
  auto add = syntax.options.add_options();
  add("backend", po::value(&options.backend)->default_value("cpu")->value_name("cpu"), "what executes them");
  add("out", po::value(&options.out)->value_name("FOLDER"), "write collectives.csv, machine.csv and collectives.h5");
  add("most-mb", po::value(&options.most_mb)->default_value(16)->value_name("MB"), "the largest buffer");
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
    Kind{"all_reduce", CollectiveKind::all_reduce}, Kind{"all_gather", CollectiveKind::all_gather},
    Kind{"reduce_scatter", CollectiveKind::reduce_scatter}, Kind{"alltoall", CollectiveKind::all_to_all},
    Kind{"sendrecv", CollectiveKind::shift, true}};
constexpr double kLeastBytes = 1024;

// Half as large again, in whole pieces for up to 64 ranks.
double next_size(double bytes) { return std::floor(bytes * 1.5 / 256) * 256; }

std::vector<int> group_sizes(int ranks) {
  std::vector<int> out;
  for (int size = 2; size < ranks; size *= 2) out.push_back(size);
  out.push_back(ranks);
  return out;
}

class CollectiveBench {
 public:
  CollectiveBench(const MpiWorld& world, const CollectiveOptions& options)
      : world_(world), repeats_(options.repeats), clock_(world.clock()) {
    const auto count = static_cast<std::size_t>(options.most_mb * 1e6 / sizeof(float)) + 16;
    for (std::size_t i = 0; i < count; ++i) from_.push_back(0.5F - static_cast<float>(i * 7919 % 1021) / 1021);
    to_ = from_;
  }

  // When this rank was ready for each repetition and when it had ended it, in turns.
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
  double now() const { return monotonic_seconds() + clock_.offset_s; }

  // A send is one of rank 0 to rank 1, as between stages.
  PendingCommunication start(const Kind& kind, const Communicator& among, double bytes) {
    if (!kind.send) return PendingCommunication::collective(kind.kind, among, bytes, from_.data(), to_.data());
    if (among.rank() == 0) return PendingCommunication::send(among.handle(), 1, 0, bytes, from_.data());
    return PendingCommunication::receive(among.handle(), 0, 0, bytes, to_.data());
  }

  const MpiWorld& world_;
  int repeats_;
  MpiWorld::Clock clock_;
  std::vector<float> from_;
  std::vector<float> to_;
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
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[static_cast<std::size_t>(repeats / 2)];
}

}  // namespace

std::string measure_collectives(std::span<const std::string> arguments, MpiWorld& world) {
  CollectiveOptions options;
  if (const auto help = read_arguments(syntax_for(options), arguments)) return *help;
  check_backend(options.backend);
  check_timeout(options.timeout);
  if (options.out.empty()) fail_input({}, "--out is missing", "name a folder for the tables");
  if (options.repeats < 1) fail_input({}, "--repeats: expected at least 1");
  if (!(options.most_mb > 0)) fail_input({}, "--most-mb: expected more than 0");
  if (world.size() < 2)
    fail_input({}, "collectives need at least 2 processes", "mpirun -n 2 mirfak-measure collectives ...");
  world.set_timeout(options.timeout);
  check_folder(options.out);
  prctl(PR_SET_TIMERSLACK, 1000UL);

  MeasuredTable table;
  for (const char* name : {"collective", "dtype"}) table.add_text_column(name);
  for (const char* name : {"n_gpus", "n_nodes", "bytes", "time_us"}) table.add_column(name);
  CollectiveBench bench(world, options);
  for (const int ranks : group_sizes(world.size())) {
    std::vector<int> members(static_cast<std::size_t>(ranks));
    std::iota(members.begin(), members.end(), 0);
    const bool member = world.rank() < ranks;
    const Communicator among = member ? world.among(members, ranks) : Communicator();
    std::vector<double> own;
    std::vector<std::pair<const Kind*, double>> rows;
    for (const Kind& kind : kKinds) {
      if (kind.send && ranks != 2) continue;
      for (double bytes = kLeastBytes; bytes <= options.most_mb * 1e6; bytes = next_size(bytes)) {
        rows.emplace_back(&kind, bytes);
        if (!member) continue;
        const std::vector<double> times = bench.run(kind, among, bytes);
        own.insert(own.end(), times.begin(), times.end());
      }
    }
    const auto all = world.gather(own);
    for (std::size_t i = 0; world.rank() == 0 && i < rows.size(); ++i) {
      const double seconds = middle_time(all, i * 2 * static_cast<std::size_t>(options.repeats), options.repeats);
      table.add_row({std::string(rows[i].first->name), std::string("float"), static_cast<double>(ranks), 1.0,
                     rows[i].second, seconds * 1e6});
    }
  }
  if (world.rank() != 0) return {};
  const std::size_t rows = table.rows();
  write_tables(options.out, "collectives",
               {describe_machine(), world.size(), "cpu", {{"collectives", std::move(table)}}});
  return fmt::format("{}: {} collectives and sends among up to {} ranks\n", options.out, rows, world.size());
}

}  // namespace mirfak::measure
