// A capture as a program. The order in which the host made its calls is the order of each stream; events, waits and
// communication join streams; the host itself is a stream, whose tasks issue all others. Ranks meet in communication.
// The nodes of Chakra's traces say the same things, so that a capture becomes such traces, and their joining, its
// checks and its order are those of the room chakra.
#include "capture/captured_program.hpp"

#include "base/error.hpp"
#include "capture/kernel_clocks.hpp"
#include "engine/execute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace mirfak {

namespace {

constexpr double kLongest_s = 1000;  // of one call: longer ones are no operators of a step

// The nodes of a rank, as the host makes its calls.
class RankWriter {
 public:
  RankWriter(const Capture& capture, std::size_t rank, const CapturePricing& pricing,
             const std::vector<std::vector<OperatorPrice>>& prices, const std::vector<CommunicationCost>& communication)
      : capture_(capture), rank_(capture.ranks[rank]), pricing_(pricing), prices_(prices), costs_(communication) {
    out_.rank = rank;
    trace_.file = capture.file;
    trace_.rank = rank_.rank;
    const DevicePlace place = pricing.cluster.place_of(static_cast<int>(rank_.rank));
    out_.group = static_cast<std::size_t>(place.group);
    const NodeHardware& hardware = pricing.cluster.groups()[out_.group].hardware;
    gpu_ = &hardware.gpu;
    host_factor_ =
        hardware.spec.time_factors().host * pricing.cluster.perturbations().of(static_cast<int>(rank_.rank)).time.host;
  }

  void write() {
    for (std::size_t i = 0; i < rank_.events.size(); ++i) take(i);
    if (pending_ > 0 || python_ > 0 || !host_after_.empty()) issue(-1, CapturePhase::optimizer, 0);
  }

  PricedRank out_;
  ChakraTrace trace_;

 private:
  using Ids = std::vector<std::uint64_t>;
  struct StreamState {
    Ids last;     // the last node of the stream, if it has one
    Ids waiting;  // nodes that the stream waits for before its next node
  };

  void take(std::size_t index);
  void launch(std::size_t index);
  void communicate(std::size_t index);
  double communication_factor(const CapturedCommunication& made) const;
  void block(const CaptureEvent& event);
  std::string named(std::size_t index, const std::string& what) const;
  std::uint64_t hand_on(std::size_t index, double seconds);
  double forward_s() const;
  std::uint64_t issue(std::int32_t event, CapturePhase phase, double seconds);
  ChakraNode& add(CapturedTask task, std::string name, Ids after);
  static Ids all_of(const StreamState& stream);

  const Capture& capture_;
  const CapturedRank& rank_;
  const CapturePricing& pricing_;
  const std::vector<std::vector<OperatorPrice>>& prices_;
  const std::vector<CommunicationCost>& costs_;
  const GpuSpec* gpu_ = nullptr;
  double host_factor_ = 1;
  std::map<std::int32_t, StreamState> streams_;
  std::map<std::int64_t, Ids> events_;  // what an event stands for
  std::map<std::int64_t, std::uint64_t> work_;
  std::map<std::string, std::uint64_t> channels_;  // last node of each
  Ids last_issue_;
  Ids host_after_;      // what the host waits for before it goes on
  double pending_ = 0;  // operators that were dispatched since the last issue
  double python_ = 0;   // lines of Python that were executed since then
  std::int32_t last_stream_ = 0;
  std::size_t calls_ = 0;          // communication so far
  std::int64_t of_graph_ = 0;      // events that the CUDA graph still has
  bool in_graph_ = false;          // whether the event is one of a CUDA graph
  std::uint64_t graph_issue_ = 0;  // launch of the graph
};

ChakraNode& RankWriter::add(CapturedTask task, std::string name, Ids after) {
  ChakraNode node;
  node.id = trace_.nodes.size();
  node.name = std::move(name);
  node.on_host = task.on_host;
  node.kind = ChakraNodeKind::compute;
  node.data_dependencies = std::move(after);
  node.duration_ps = 0;
  out_.tasks.push_back(task);
  trace_.nodes.push_back(std::move(node));
  return trace_.nodes.back();
}

RankWriter::Ids RankWriter::all_of(const StreamState& stream) {
  Ids out = stream.last;
  out.insert(out.end(), stream.waiting.begin(), stream.waiting.end());
  return out;
}

std::string RankWriter::named(std::size_t index, const std::string& what) const {
  const std::string& module = capture_.modules[rank_.events[index].module];
  return module.empty() ? what : module + " " + what;
}

// Hands on the work of an event, which takes the host `seconds`. The launch of a CUDA graph has handed on all of its
// work.
std::uint64_t RankWriter::hand_on(std::size_t index, double seconds) {
  if (in_graph_) return graph_issue_;
  return issue(static_cast<std::int32_t>(index), rank_.events[index].phase, seconds);
}

// The host's time for an operator of no backward pass. Where lines of Python are not counted, it has some of its own.
double RankWriter::forward_s() const {
  const OperatorTable::Host& host = pricing_.table.host;
  const bool counted = rank_.python_lines >= 0;
  return host.forward_s + (counted ? 0 : host.python_lines_of_forward * host.python_line_s);
}

// The host dispatches what is pending and hands on `seconds` of work.
std::uint64_t RankWriter::issue(std::int32_t event, CapturePhase phase, double seconds) {
  const OperatorTable::Host& host = pricing_.table.host;
  const double each = phase == CapturePhase::backward ? host.backward_s : forward_s();
  Ids after = std::move(last_issue_);
  after.insert(after.end(), host_after_.begin(), host_after_.end());
  host_after_.clear();
  CapturedTask task;
  task.event = event;
  task.on_host = true;
  ChakraNode& node = add(task, "issue", std::move(after));
  node.duration_ps = static_cast<std::uint64_t>(
      to_picoseconds(host_factor_ * (pending_ * each + python_ * host.python_line_s + seconds)));
  pending_ = python_ = 0;
  last_issue_ = {node.id};
  return node.id;
}

void RankWriter::launch(std::size_t index) {
  const CaptureEvent& event = rank_.events[index];
  const OperatorPrice& price = prices_[out_.group][event.entry];
  pending_ += in_graph_ ? 0 : 1;
  if (price.kernels == 0) return;
  const std::uint64_t issued = hand_on(index, price.kernels * pricing_.table.host.launch_s);
  StreamState& stream = streams_[event.stream];
  Ids after = all_of(stream);
  after.push_back(issued);
  CapturedTask task;
  task.event = static_cast<std::int32_t>(index);
  task.issued_by = static_cast<std::uint32_t>(issued);
  task.multiprocessors = 1;
  ChakraNode& node = add(task, named(index, capture_.operators[event.entry].name), std::move(after));
  node.operations = price.cost.flop;
  node.tensor_bytes = price.cost.bytes;
  stream.last = {node.id};
  stream.waiting.clear();
  last_stream_ = event.stream;
}

// Returns the largest factor of communication among the ranks that take part, whether or not they are in the capture.
// The factor of a port acts on what leaves its node.
double RankWriter::communication_factor(const CapturedCommunication& made) const {
  const Perturbations& perturbations = pricing_.cluster.perturbations();
  if (perturbations.empty()) return 1;
  const auto node = [&](std::int64_t rank) { return pricing_.cluster.place_of(static_cast<int>(rank)).node; };
  std::vector<std::int64_t> ranks = made.ranks;
  if (!collective_of(made)) ranks = {rank_.rank, made.peer};
  const bool leaves =
      std::any_of(ranks.begin(), ranks.end(), [&](std::int64_t rank) { return node(rank) != node(ranks.front()); });
  double out = 0;
  for (const std::int64_t rank : ranks) {
    const RankFactors own = perturbations.of(static_cast<int>(rank));
    out = std::max(out, own.time.communication * (leaves ? own.port : 1));
  }
  return out;
}

void RankWriter::communicate(std::size_t index) {
  const CaptureEvent& event = rank_.events[index];
  const CapturedCommunication& made = capture_.communication[event.entry];
  const CommunicationCost& cost = costs_[calls_++];
  const std::uint64_t issued = hand_on(index, pricing_.framework.host.collective_s);
  Ids after = all_of(streams_[event.stream]);
  after.push_back(issued);
  const std::optional<ChakraCollective> collective = collective_of(made);
  const std::string group = group_name(made);
  const std::string channel = collective ? group : fmt::format("{} {}", made.kind, made.peer);
  if (const auto before = channels_.find(channel); before != channels_.end()) after.push_back(before->second);
  CapturedTask task;
  task.event = static_cast<std::int32_t>(index);
  task.issued_by = static_cast<std::uint32_t>(issued);
  task.multiprocessors = std::min(1.0, static_cast<double>(cost.multiprocessors) / gpu_->multiprocessors);
  ChakraNode& node = add(task, named(index, made.kind), std::move(after));
  node.kind = collective            ? ChakraNodeKind::collective
              : made.kind == "send" ? ChakraNodeKind::send
                                    : ChakraNodeKind::receive;
  node.collective = collective;
  node.group = group;
  node.bytes = std::max(made.in_bytes, made.out_bytes);
  if (!collective) node.peer = made.peer;
  node.rendezvous = !collective;  // NCCL's messages wait for both ends
  node.duration_ps = static_cast<std::uint64_t>(to_picoseconds(cost.seconds * communication_factor(made)));
  channels_[channel] = node.id;
  work_[event.id] = node.id;
}

void RankWriter::block(const CaptureEvent& event) {
  const auto wait_for = [&](const Ids& nodes) { host_after_.insert(host_after_.end(), nodes.begin(), nodes.end()); };
  if (!event.whole_device) {
    wait_for(all_of(streams_[last_stream_]));
    return;
  }
  for (const auto& [number, stream] : streams_) wait_for(all_of(stream));
  for (const auto& [channel, last] : channels_) wait_for({last});
}

void RankWriter::take(std::size_t index) {
  const CaptureEvent& event = rank_.events[index];
  in_graph_ = of_graph_ > 0;
  if (in_graph_) --of_graph_;
  switch (event.kind) {
    case CaptureEventKind::launch:
      launch(index);
      break;
    case CaptureEventKind::communicate:
      communicate(index);
      break;
    case CaptureEventKind::wait: {
      const auto found = work_.find(event.id);  // absent: it began before the window
      if (found != work_.end()) streams_[event.stream].waiting.push_back(found->second);
      break;
    }
    case CaptureEventKind::record:
      events_[event.id] = all_of(streams_[event.stream]);
      break;
    case CaptureEventKind::await: {
      const auto found = events_.find(event.id);
      if (found == events_.end()) break;
      Ids& waiting = streams_[event.stream].waiting;
      waiting.insert(waiting.end(), found->second.begin(), found->second.end());
      break;
    }
    case CaptureEventKind::block:
      block(event);
      break;
    case CaptureEventKind::host:
      pending_ += static_cast<double>(event.id);
      break;
    case CaptureEventKind::python:
      python_ += static_cast<double>(event.id);
      break;
    case CaptureEventKind::graph:
      pending_ += 1;
      graph_issue_ = hand_on(index, pricing_.table.host.launch_s);
      of_graph_ = event.id;
      break;
  }
}

// Sets the durations of a joined program's kernels, and executes it.
class Execution {
 public:
  // `limits`: nullptr: the clocks of the nodes.
  Execution(const Capture& capture, const CapturePricing& pricing, const KernelLimits* limits, CapturedProgram& out)
      : capture_(capture), pricing_(pricing), limits_(limits), out_(out) {}

  // Executes the program as if no GPU ever waited, and again with the waiting that was found: waiting leaves room under
  // the power limit, so that clocks are approached from below.
  void run() {
    set_busy_kernels();
    out_.timeline = execute(out_.joined.program);
    std::vector<double> idle_s;
    for (std::size_t rank = 0; rank < out_.ranks.size(); ++rank) idle_s.push_back(idle(rank));
    for (std::size_t rank = 0; rank < out_.ranks.size(); ++rank) set_kernels(rank, idle_s[rank]);
    out_.timeline = execute(out_.joined.program);
  }
  void set_busy_kernels() {
    for (std::size_t rank = 0; rank < out_.ranks.size(); ++rank) set_kernels(rank, 0);
  }

 private:
  void set_kernels(std::size_t rank, double idle_s);
  double idle(std::size_t rank) const;

  const Capture& capture_;
  const CapturePricing& pricing_;
  const KernelLimits* limits_;
  CapturedProgram& out_;
};

class ProgramMaker {
 public:
  ProgramMaker(const Capture& capture, const CapturePricing& pricing) : capture_(capture), pricing_(pricing) {}

  CapturedProgram make(std::vector<ChakraTrace>& traces) {
    check_cluster();
    price_operators();
    PricedCommunication communication = matched_communication(capture_, CommunicationPrices(pricing_.cluster));
    out_.notes = std::move(communication.notes);
    note_uncounted_lines();
    write_ranks(communication);
    join();
    Execution execution(capture_, pricing_, nullptr, out_);
    execution.set_busy_kernels();
    share_multiprocessors();
    execution.run();
    set_durations();
    traces = std::move(traces_);
    return std::move(out_);
  }

 private:
  void check_cluster() const;
  void note_uncounted_lines();
  void price_operators();
  void price_on(std::size_t group);
  void write_ranks(const PricedCommunication& communication);
  void join();
  void share_multiprocessors();
  void set_durations();
  const NodeHardware& hardware(std::size_t group) const { return pricing_.cluster.groups()[group].hardware; }

  const Capture& capture_;
  const CapturePricing& pricing_;
  CapturedProgram out_;
  std::vector<ChakraTrace> traces_;
};

void ProgramMaker::check_cluster() const {
  const Location where{capture_.file, 1, 0};
  if (pricing_.cluster.gpus() < capture_.world_size) {
    fail_input(where,
               fmt::format("the capture is of {} ranks, and the nodes have {} GPUs", capture_.world_size,
                           pricing_.cluster.gpus()),
               "give more nodes, or capture fewer ranks");
  }
  if (pricing_.cluster.shares_gpus()) {
    fail_input(where, "each rank of a capture has a GPU of its own, and ranks share GPUs here",
               "leave out cluster.nodes[].ranks_per_gpu");
  }
}

void ProgramMaker::note_uncounted_lines() {
  const bool counted = std::all_of(capture_.ranks.begin(), capture_.ranks.end(), [](const CapturedRank& rank) {
    return rank.same_as >= 0 || rank.python_lines >= 0;
  });
  if (counted) return;
  out_.notes.push_back(
      fmt::format("the capture counts no lines of Python: {} are taken to come with each operator forward",
                  pricing_.table.host.python_lines_of_forward));
}

void ProgramMaker::price_operators() {
  out_.prices.resize(pricing_.cluster.groups().size());
  for (const CapturedRank& rank : capture_.ranks) {
    const auto group = static_cast<std::size_t>(pricing_.cluster.place_of(static_cast<int>(rank.rank)).group);
    if (rank.same_as < 0 && out_.prices[group].empty()) price_on(group);
  }
}

void ProgramMaker::price_on(std::size_t group) {
  const GpuSpec& gpu = hardware(group).gpu;
  OperatorPrices prices(gpu, pricing_.table, hardware(group).spec.time_factors().compute);
  for (const CapturedOperator& op : capture_.operators) {
    out_.prices[group].push_back(prices.price(op));
    if (out_.prices[group].back().cost.seconds <= kLongest_s) continue;
    fail_input({capture_.file, 2, 0}, fmt::format("{} takes more than {:g} s on {}", op.name, kLongest_s, gpu.title),
               "capture the program again");
  }
}

void ProgramMaker::write_ranks(const PricedCommunication& communication) {
  for (std::size_t r = 0; r < capture_.ranks.size(); ++r) {
    if (capture_.ranks[r].same_as >= 0) continue;
    RankWriter writer(capture_, r, pricing_, out_.prices, communication.of_rank[r]);
    writer.write();
    out_.ranks.push_back(std::move(writer.out_));
    traces_.push_back(std::move(writer.trace_));
  }
}

void ProgramMaker::join() {
  try {
    out_.joined = chakra_program(traces_);
  } catch (const Error& error) {
    fail_input({capture_.file, 0, 0}, "ranks wait for each other: " + error.message(),
               "on GPUs the job would wait there for ever: mend the program, and capture it again");
  }
}

// Sets the durations of kernels in the traces that were joined.
void ProgramMaker::set_durations() {
  for (std::size_t rank = 0; rank < out_.ranks.size(); ++rank) {
    for (std::size_t i = 0; i < out_.ranks[rank].tasks.size(); ++i) {
      const Picoseconds duration = out_.joined.program.duration[out_.joined.task_of[rank][i]];
      traces_[rank].nodes[i].duration_ps = static_cast<std::uint64_t>(duration);
    }
  }
}

// Kernels of several streams share the multiprocessors of a GPU, and communication takes those of its channels. A rank
// whose kernels all follow each other on one stream, and meet no communication, shares nothing.
void ProgramMaker::share_multiprocessors() {
  Program& program = out_.joined.program;
  for (std::size_t r = 0; r < out_.ranks.size(); ++r) {
    const auto link = static_cast<LinkId>(program.links.size());
    program.links.push_back({fmt::format("multiprocessors of rank {}", traces_[r].rank), 1, {}});
    std::map<std::pair<ClassId, double>, ClassId> loaded;
    for (std::size_t i = 0; i < out_.ranks[r].tasks.size(); ++i) {
      const double share = out_.ranks[r].tasks[i].multiprocessors;
      const TaskId task = out_.joined.task_of[r][i];
      if (share <= 0 || program.duration[task] == 0) continue;
      const auto [known, is_new] = loaded.try_emplace({program.task_class[task], share}, 0);
      if (is_new) {
        TaskClass copy = program.class_of(task);
        const LinkUse use{link, share};
        copy.traffic = program.add_traffic({&use, 1});
        known->second = program.add_class(std::move(copy));
      }
      program.task_class[task] = known->second;
    }
  }
}

// Sets the durations of a rank's kernels at their clocks, and their energy.
void Execution::set_kernels(std::size_t rank, double idle_s) {
  PricedRank& priced = out_.ranks[rank];
  const CapturedRank& captured = capture_.ranks[priced.rank];
  const NodeHardware& on = pricing_.cluster.groups()[priced.group].hardware;
  const double factor = pricing_.cluster.perturbations().of(static_cast<int>(captured.rank)).time.compute;
  std::vector<std::size_t> kernels;
  std::vector<const KernelCost*> costs;
  for (std::size_t i = 0; i < priced.tasks.size(); ++i) {
    const CapturedTask& task = priced.tasks[i];
    if (task.on_host) continue;
    const CaptureEvent& event = captured.events[static_cast<std::size_t>(task.event)];
    if (event.kind != CaptureEventKind::launch) continue;
    kernels.push_back(i);
    costs.push_back(&out_.price(priced, event).cost);
  }
  priced.clock = kernel_clocks(costs, idle_s, on.gpu);
  priced.kernel_energy_j = 0;
  priced.energy_j.clear();
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const double settled = priced.clock[i];
    const double limit = limits_ == nullptr ? on.clock_limit() : (*limits_)[rank][i];
    priced.clock[i] = std::min(settled, unthrottled_clock(on.gpu, limit));
    KernelCost cost = *costs[i];
    cost.seconds += cost.clocked_s * (1 / priced.clock[i] - 1);
    priced.energy_j.push_back(energy_above_waiting_j(on.gpu, {settled, priced.clock[i]}, cost));
    priced.kernel_energy_j += priced.energy_j.back();
    out_.joined.program.duration[out_.joined.task_of[rank][kernels[i]]] = to_picoseconds(cost.seconds * factor);
  }
}

// Seconds in which a rank's GPU runs no kernel.
double Execution::idle(std::size_t rank) const {
  double busy_s = 0;
  for (std::size_t i = 0; i < out_.ranks[rank].tasks.size(); ++i) {
    if (out_.ranks[rank].tasks[i].multiprocessors == 1) {
      busy_s += to_seconds(out_.joined.program.duration[out_.joined.task_of[rank][i]]);
    }
  }
  return std::max(0.0, to_seconds(out_.timeline.makespan) - busy_s);
}

}  // namespace

CapturedProgram captured_program(const Capture& capture, const CapturePricing& pricing) {
  std::vector<ChakraTrace> traces;
  return captured_program(capture, pricing, traces);
}

CapturedProgram captured_program(const Capture& capture, const CapturePricing& pricing,
                                 std::vector<ChakraTrace>& traces) {
  return ProgramMaker(capture, pricing).make(traces);
}

void execute_at(const Capture& capture, const CapturePricing& pricing, const KernelLimits& limits,
                CapturedProgram& executed) {
  Execution(capture, pricing, &limits, executed).run();
}

}  // namespace mirfak
