#include "chakra/chakra_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace mirfak {

namespace {

using Index = std::uint32_t;
constexpr Index kNone = static_cast<Index>(-1);

bool is_collective(const ChakraNode& node) { return node.kind == ChakraNodeKind::collective && !node.on_host; }
bool is_send(const ChakraNode& node) { return node.kind == ChakraNodeKind::send && !node.on_host; }
bool is_receive(const ChakraNode& node) { return node.kind == ChakraNodeKind::receive && !node.on_host; }
bool communicates(const ChakraNode& node) { return is_collective(node) || is_send(node) || is_receive(node); }

// A vertex of the joint graph: a node, or, after all nodes, a meeting.
struct Vertex {
  std::vector<Index> after;
  Index meeting = kNone;  // the meeting that a node takes part in
};

std::string place(const ChakraTrace& trace, const ChakraNode& node) {
  return fmt::format("node {} ('{}') of rank {}", node.id, node.name, trace.rank);
}

class Joiner {
 public:
  Joiner(std::span<const ChakraTrace> traces, const ChakraPrice& price) : traces_(traces), price_(price) {}

  ChakraProgram join() {
    number_nodes();
    match_collectives();
    match_messages();
    find_durations();
    write(order());
    say_what_is_missing();
    return std::move(out_);
  }

 private:
  // The work of each rank of a group in this group.
  struct Members {
    std::map<std::int64_t, std::vector<Index>> collectives;  // by rank, in the order of the file
    std::int64_t described = 0;                              // number of its ranks that the files state
  };
  using Channel = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // sender, receiver, tag

  const ChakraTrace& trace_of(Index node) const { return traces_[trace_[node]]; }
  const ChakraNode& node(Index index) const { return trace_of(index).nodes[index - first_[trace_[index]]]; }
  [[noreturn]] void fail(Index at, const std::string& what, std::string hint = {}) const {
    fail_input({trace_of(at).file, 0, 0}, place(trace_of(at), node(at)) + ": " + what, std::move(hint));
  }

  void number_nodes();
  void match_collectives();
  void match_group(const std::string& name, const Members& members);
  void match_messages();
  void match_channel(const Channel& channel, const std::vector<Index>& sends, const std::vector<Index>& receives);
  void meet(const std::vector<Index>& together);
  void find_durations();
  std::vector<std::int64_t> ranks_with(Index index) const;
  std::vector<Index> order() const;
  void write(const std::vector<Index>& order);
  StreamId stream_for(Index index, std::uint32_t rank);
  ClassId class_for(Index index);
  void say_what_is_missing();

  std::span<const ChakraTrace> traces_;
  const ChakraPrice& price_;
  ChakraProgram out_;
  std::vector<Index> first_;  // for each trace, the index of its first node
  std::vector<Index> trace_;  // for each node, the index of its trace
  std::vector<Vertex> vertices_;
  std::vector<std::int64_t> ranks_;  // the ranks that have a file, ascending
  std::map<std::string, std::vector<std::int64_t>> group_ranks_;
  std::vector<bool> arrives_;          // for each node: true for a receive that ends with its send
  std::vector<Picoseconds> duration_;  // for each node
  std::vector<TaskId> task_;           // for each vertex
  std::vector<StreamId> stream_of_;    // for each node, the stream of its task
  std::vector<TaskId> last_on_;        // for each stream
  std::map<std::tuple<ChakraNodeKind, bool, std::string>, ClassId> classes_;
  std::size_t absent_dependencies_ = 0;
  std::size_t callers_ = 0;
  std::size_t without_duration_ = 0;
  std::size_t priced_ = 0;
  std::size_t partners_absent_ = 0;
  std::size_t waits_left_out_ = 0;
  std::size_t partial_groups_ = 0;
};

void Joiner::number_nodes() {
  Index count = 0;
  for (std::size_t t = 0; t < traces_.size(); ++t) {
    const ChakraTrace& trace = traces_[t];
    for (std::size_t other = 0; other < t; ++other) {
      if (traces_[other].rank != trace.rank) continue;
      fail_input({trace.file, 0, 0}, fmt::format("rank {} is that of {}, too", trace.rank, traces_[other].file),
                 "give one file for each rank");
    }
    first_.push_back(count);
    ranks_.push_back(trace.rank);
    constexpr std::size_t most = std::size_t{1} << 31;
    if (count + trace.nodes.size() > most) fail_input({trace.file, 0, 0}, "more than 2 billion nodes are not replayed");
    count += static_cast<Index>(trace.nodes.size());
    trace_.resize(count, static_cast<Index>(t));
  }
  std::sort(ranks_.begin(), ranks_.end());
  vertices_.resize(count);
  arrives_.resize(count);
  for (std::size_t t = 0; t < traces_.size(); ++t) {
    const ChakraTrace& trace = traces_[t];
    std::unordered_map<std::uint64_t, Index> by_id;
    by_id.reserve(trace.nodes.size());
    for (Index i = 0; i < trace.nodes.size(); ++i) by_id.emplace(trace.nodes[i].id, first_[t] + i);
    for (Index i = 0; i < trace.nodes.size(); ++i) {
      std::vector<Index>& after = vertices_[first_[t] + i].after;
      for (const std::uint64_t id : trace.nodes[i].data_dependencies) {
        const auto found = by_id.find(id);
        if (found == by_id.end()) {
          ++absent_dependencies_;
        } else {
          after.push_back(found->second);
        }
      }
      callers_ += trace.nodes[i].control_dependencies.size();
      std::sort(after.begin(), after.end());
      after.erase(std::unique(after.begin(), after.end()), after.end());
    }
  }
}

// Adds one meeting that waits for the dependencies of all its members.
void Joiner::meet(const std::vector<Index>& together) {
  const auto meeting = static_cast<Index>(vertices_.size());
  Vertex all;
  for (const Index member : together) {
    all.after.insert(all.after.end(), vertices_[member].after.begin(), vertices_[member].after.end());
    vertices_[member].meeting = meeting;
  }
  vertices_.push_back(std::move(all));
}

void Joiner::match_collectives() {
  std::map<std::string, Members> groups;
  for (Index i = 0; i < trace_.size(); ++i) {
    if (is_collective(node(i))) groups[node(i).group].collectives[trace_of(i).rank].push_back(i);
  }
  for (const ChakraTrace& trace : traces_) {
    for (const ChakraGroup& group : trace.groups) {
      const auto known = groups.find(group.name);
      if (known == groups.end()) continue;
      known->second.described = std::max(known->second.described, group.size);
    }
  }
  for (const auto& [name, members] : groups) {
    std::vector<std::int64_t>& ranks = group_ranks_[name];
    for (const auto& [rank, collectives] : members.collectives) ranks.push_back(rank);
    if (members.described > static_cast<std::int64_t>(ranks.size())) ++partial_groups_;
    match_group(name, members);
  }
}

void Joiner::match_group(const std::string& name, const Members& members) {
  const auto most = std::max_element(members.collectives.begin(), members.collectives.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  for (const auto& [rank, collectives] : members.collectives) {
    if (collectives.size() == most->second.size()) continue;
    fail(most->second[collectives.size()],
         fmt::format("it has collective {} of group '{}', which rank {} does not have", collectives.size() + 1, name,
                     rank),
         "give files of one run, and all of each");
  }
  for (std::size_t k = 0; k < most->second.size(); ++k) {
    std::vector<Index> together;
    for (const auto& [rank, collectives] : members.collectives) together.push_back(collectives[k]);
    for (const Index other : together) {
      if (node(other).collective == node(together.front()).collective) continue;
      fail(other, fmt::format("it is not of the kind of {}, with which it is collective {} of group '{}'",
                              place(trace_of(together.front()), node(together.front())), k + 1, name));
    }
    if (together.size() > 1) meet(together);
  }
}

void Joiner::match_messages() {
  std::map<Channel, std::pair<std::vector<Index>, std::vector<Index>>> channels;
  for (Index i = 0; i < trace_.size(); ++i) {
    const ChakraNode& at = node(i);
    if (!is_send(at) && !is_receive(at)) continue;
    if (!at.peer) fail(i, fmt::format("a {} that does not say with whom", name_of(at.kind)));
    const std::int64_t own = trace_of(i).rank;
    if (is_send(at)) {
      channels[{own, *at.peer, at.tag}].first.push_back(i);
    } else {
      channels[{*at.peer, own, at.tag}].second.push_back(i);
    }
  }
  for (const auto& [channel, ends] : channels) match_channel(channel, ends.first, ends.second);
}

void Joiner::match_channel(const Channel& channel, const std::vector<Index>& sends,
                           const std::vector<Index>& receives) {
  const auto& [from, to, tag] = channel;
  const auto given = [&](std::int64_t rank) { return std::binary_search(ranks_.begin(), ranks_.end(), rank); };
  if (!given(from) || !given(to)) {
    partners_absent_ += sends.size() + receives.size();
    return;
  }
  if (sends.size() != receives.size()) {
    const Index at = sends.size() > receives.size() ? sends[receives.size()] : receives[sends.size()];
    fail(at,
         fmt::format("rank {} sends rank {} {} messages with tag {}, and that receives {}", from, to, sends.size(), tag,
                     receives.size()),
         "give files of one run, and all of each");
  }
  for (std::size_t k = 0; k < sends.size(); ++k) {
    if (node(sends[k]).rendezvous && node(receives[k]).rendezvous) {
      meet({sends[k], receives[k]});
      continue;
    }
    vertices_[receives[k]].after.push_back(sends[k]);
    arrives_[receives[k]] = true;
    if (node(receives[k]).duration_us.value_or(0) > 0) ++waits_left_out_;
  }
}

std::vector<std::int64_t> Joiner::ranks_with(Index index) const {
  const ChakraNode& at = node(index);
  if (is_collective(at)) return group_ranks_.at(at.group);
  if (is_send(at)) return {trace_of(index).rank, *at.peer};
  return {};
}

void Joiner::find_durations() {
  duration_.resize(trace_.size());
  for (Index i = 0; i < trace_.size(); ++i) {
    const ChakraNode& at = node(i);
    if (arrives_[i]) continue;  // it ends when its data has arrived
    constexpr std::uint64_t longest = std::uint64_t{100} * 86400 * 1'000'000'000'000ULL;
    std::uint64_t lasting = 0;
    if (at.duration_ps) {
      lasting = *at.duration_ps;
    } else if (at.duration_us) {
      lasting = *at.duration_us > longest / 1'000'000 ? longest + 1 : *at.duration_us * 1'000'000;
    } else if (communicates(at) && at.collective != ChakraCollective::barrier && price_) {
      const std::optional<double> seconds = price_(at, ranks_with(i));
      if (seconds) lasting = static_cast<std::uint64_t>(to_picoseconds(*seconds));
      ++(seconds ? priced_ : without_duration_);
    } else if (at.kind != ChakraNodeKind::metadata && at.collective != ChakraCollective::barrier) {
      ++without_duration_;
    }
    if (lasting > longest) fail(i, "it takes more than 100 days");
    duration_[i] = static_cast<Picoseconds>(lasting);
  }
}

// Returns a topological order of nodes and meetings: first come, first served among those that can begin.
std::vector<Index> Joiner::order() const {
  const std::size_t count = vertices_.size();
  std::vector<std::vector<Index>> followers(count);
  std::vector<Index> open(count, 0);
  const auto follows = [&](Index before, Index behind) {
    followers[before].push_back(behind);
    ++open[behind];
  };
  for (Index i = 0; i < count; ++i) {
    if (vertices_[i].meeting != kNone) {
      follows(vertices_[i].meeting, i);
    } else {
      for (const Index before : vertices_[i].after) follows(before, i);
    }
  }
  std::vector<Index> out;
  out.reserve(count);
  for (Index i = 0; i < count; ++i) {
    if (open[i] == 0) out.push_back(i);
  }
  for (std::size_t next = 0; next < out.size(); ++next) {
    for (const Index behind : followers[out[next]]) {
      if (--open[behind] == 0) out.push_back(behind);
    }
  }
  if (out.size() == count) return out;
  const auto stuck = std::find_if(open.begin(), open.end(), [](Index waits) { return waits > 0; });
  const auto first = static_cast<Index>(stuck - open.begin());
  fail(first, "it waits in a circle, directly or by what other ranks do",
       "give files of one run; a send that has to wait for its receive says \"rendezvous\"");
}

StreamKind kind_of_stream(const ChakraNode& node) {
  for (std::size_t kind = 0; kind < kStreamKinds; ++kind) {
    if (node.stream == name_of(static_cast<StreamKind>(kind))) return static_cast<StreamKind>(kind);
  }
  if (node.on_host || node.kind == ChakraNodeKind::metadata) return StreamKind::host;
  if (node.kind == ChakraNodeKind::send) return StreamKind::send_forward;
  if (node.kind == ChakraNodeKind::receive) return StreamKind::recv_forward;
  return node.kind == ChakraNodeKind::collective ? StreamKind::data : StreamKind::compute;
}

// Returns a stream whose last task is a dependency of the node anyway, so that streams add no order.
StreamId Joiner::stream_for(Index index, std::uint32_t rank) {
  const StreamKind kind = kind_of_stream(node(index));
  for (const Index before : vertices_[index].after) {
    if (before >= trace_.size() || trace_[before] != trace_[index]) continue;
    const StreamId stream = stream_of_[before];
    if (out_.program.streams[stream].kind == kind && last_on_[stream] == task_[before]) return stream;
  }
  last_on_.push_back(kNoTask);
  return out_.program.add_stream(rank, kind);
}

ClassId Joiner::class_for(Index index) {
  const ChakraNode& at = node(index);
  const auto [known, is_new] = classes_.try_emplace({at.kind, at.on_host, at.name}, 0);
  if (!is_new) return known->second;
  TaskClass described;
  described.name = at.name;
  described.kind = at.on_host          ? TaskKind::issue
                   : is_collective(at) ? TaskKind::collective
                   : communicates(at)  ? TaskKind::transfer
                                       : TaskKind::kernel;
  described.flop = at.operations;
  described.bytes = communicates(at) ? at.bytes : at.tensor_bytes;
  known->second = out_.program.add_class(std::move(described));
  return known->second;
}

void Joiner::write(const std::vector<Index>& order) {
  Program& program = out_.program;
  program.reserve(order.size(), 64);
  for (const ChakraTrace& trace : traces_) {
    ProgramRank rank;
    rank.rank = static_cast<std::uint32_t>(trace.rank);
    program.ranks.push_back(rank);
    out_.task_of.emplace_back(trace.nodes.size(), kNoTask);
  }
  TaskClass meeting;
  meeting.kind = TaskKind::meeting;
  meeting.name = "ranks meet";
  const ClassId meets = program.add_class(std::move(meeting));
  task_.assign(vertices_.size(), kNoTask);
  stream_of_.assign(trace_.size(), 0);
  std::vector<TaskId> after;
  for (const Index index : order) {
    after.clear();
    const Vertex& vertex = vertices_[index];
    if (vertex.meeting != kNone) {
      after.push_back(task_[vertex.meeting]);
    } else {
      for (const Index before : vertex.after) after.push_back(task_[before]);
    }
    if (index >= trace_.size()) {
      // Each meeting is on a stream of its own: meetings do not wait for each other.
      const StreamId own = program.add_stream(0, StreamKind::group);
      last_on_.push_back(kNoTask);
      task_[index] = program.add_task(own, meets, 0, after);
      continue;
    }
    const StreamId stream = stream_for(index, trace_[index]);
    stream_of_[index] = stream;
    task_[index] = last_on_[stream] =
        program.add_task(stream, class_for(index), duration_[index], after, node(index).microbatch);
    out_.task_of[trace_[index]][index - first_[trace_[index]]] = task_[index];
  }
}

void Joiner::say_what_is_missing() {
  const auto note = [&](std::size_t count, std::string_view sentence) {
    if (count > 0) out_.notes.push_back(fmt::format("{}: {}", sentence, count));
  };
  note(absent_dependencies_, "dependencies on nodes that are not in the files, for which nothing waits");
  note(callers_, "control dependencies, which say who called whom and are not waited for");
  note(priced_, "communication without recorded duration, priced on the nodes that were given");
  note(without_duration_, "nodes without recorded duration, which take none (--nodes prices communication)");
  note(partial_groups_, "groups with ranks whose files were not given, without which the others begin");
  note(partners_absent_, "sends and receives with ranks whose files were not given, which wait for nobody");
  note(waits_left_out_,
       "receives with a recorded duration, waiting included, which end when their data are there instead");
}

}  // namespace

ChakraProgram chakra_program(std::span<const ChakraTrace> traces, const ChakraPrice& price) {
  return Joiner(traces, price).join();
}

}  // namespace mirfak
