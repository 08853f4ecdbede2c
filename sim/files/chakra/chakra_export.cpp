// A program's tasks as nodes of traces. A list of entries is made once for each simulated rank; each rank of the
// cluster that it stands for is written from this list, with partners of its own.

#include "chakra/chakra_export.hpp"

#include "base/parallel.hpp"
#include "base/staged_file.hpp"
#include "chakra/chakra_file.hpp"
#include "program/real_groups.hpp"
#include "simulation/long_iteration.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <fstream>
#include <map>
#include <variant>

namespace mirfak {

namespace {

constexpr const char* kSchemaVersion = "0.0.4";

std::filesystem::path file_of(const std::filesystem::path& prefix, std::string_view ending) {
  return prefix.parent_path() / (prefix.filename().string() + std::string(ending));
}
std::filesystem::path trace_file_of(const std::filesystem::path& prefix, std::int64_t rank) {
  return file_of(prefix, fmt::format(".{}.et", rank));
}
std::filesystem::path groups_file_of(const std::filesystem::path& prefix) {
  return file_of(prefix, ".comm_groups.json");
}

// Writes one trace; `add_nodes` hands its nodes to the writer.
template <class AddNodes>
void write_trace_file(const StagedFile& staged, const ChakraTrace& head, const ChakraHeaderTexts& texts,
                      AddNodes add_nodes) {
  std::ofstream out(staged.path(), std::ios::binary | std::ios::trunc);
  if (!out) fail_to_write(staged.target(), errno);
  ChakraWriter writer(out, head, texts);
  add_nodes(writer);
  out.close();
  if (!out) fail_to_write(staged.target(), errno);
}

// An entry becomes a node on every rank that its simulated rank stands for.
struct Entry {
  TaskId task = 0;
  ChakraNodeKind kind{};
  std::optional<ChakraCollective> collective;
  GroupingId grouping = kAlone;
  int to = 0;                        // shift: 1: to the next rank, -1: from the previous; 0: other end of a transfer
  std::vector<std::uint32_t> after;  // entries that it waits for, including the entry before it on its stream
};

// The entries of one simulated rank.
using Entries = std::vector<Entry>;

ChakraCollective chakra_kind(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return ChakraCollective::all_reduce;
    case CollectiveKind::all_gather:
      return ChakraCollective::all_gather;
    case CollectiveKind::reduce_scatter:
      return ChakraCollective::reduce_scatter;
    case CollectiveKind::all_to_all:
      return ChakraCollective::all_to_all;
    case CollectiveKind::broadcast:
      return ChakraCollective::broadcast;
    case CollectiveKind::shift:
      break;  // a send and a receive
  }
  fail_internal("chakra: a shift is no collective there");
}

// Finds the meetings that only collectives of the same ranks follow: such collectives begin together anyway.
std::vector<bool> needless_meetings(const Program& program) {
  std::vector<bool> out(program.size(), true);
  for (TaskId task = 0; task < program.size(); ++task) {
    const TaskClass& described = program.class_of(task);
    const auto* work = std::get_if<CollectiveWork>(&described.work);
    for (const TaskId before : program.dependencies_of(task)) {
      const TaskClass& meeting = program.class_of(before);
      if (meeting.kind != TaskKind::meeting) continue;
      const bool together =
          work != nullptr && work->kind != CollectiveKind::shift && described.grouping == meeting.grouping;
      if (!together) out[before] = false;
    }
  }
  return out;
}

// Makes the entries of one simulated rank.
class EntryList {
 public:
  EntryList(const Program& program, std::uint32_t rank, const std::vector<bool>& needless)
      : program_(program), rank_(rank), needless_(needless) {}

  // Adds a task; tasks come in the order of the program.
  void add(TaskId task) {
    const TaskKind kind = program_.class_of(task).kind;
    if (kind == TaskKind::meeting) {
      add_meeting(task);
    } else {
      add_task(task);
    }
  }
  Entries finished() { return std::move(entries_); }

 private:
  void add_meeting(TaskId task) {
    std::vector<std::uint32_t> after = own_dependencies(task);
    if (needless_[task]) {
      stands_for_[task] = std::move(after);
      return;
    }
    Entry entry;
    entry.kind = ChakraNodeKind::collective;
    entry.collective = ChakraCollective::barrier;
    put(task, std::move(entry), after);
  }

  void add_task(TaskId task) {
    const TaskClass& described = program_.class_of(task);
    const std::vector<std::uint32_t> after = own_dependencies(task);
    Entry entry;
    entry.grouping = described.grouping;
    if (const auto* work = std::get_if<CollectiveWork>(&described.work)) {
      if (work->kind == CollectiveKind::shift) {
        add_shift(task, std::move(entry), after);
        return;
      }
      entry.kind = ChakraNodeKind::collective;
      entry.collective = chakra_kind(work->kind);
    } else if (const auto* transfer = std::get_if<TransferWork>(&described.work)) {
      const bool sends = static_cast<int>(program_.ranks[rank_].stage) == transfer->from;
      entry.kind = sends ? ChakraNodeKind::send : ChakraNodeKind::receive;
    } else {
      entry.kind = ChakraNodeKind::compute;
      entry.grouping = kAlone;
    }
    put(task, std::move(entry), after);
  }

  void add_shift(TaskId task, Entry entry, const std::vector<std::uint32_t>& after) {
    entry.kind = ChakraNodeKind::send;
    entry.to = 1;
    Entry arrives = entry;
    arrives.kind = ChakraNodeKind::receive;
    arrives.to = -1;
    put(task, std::move(entry), after);
    arrives.task = task;
    arrives.after = entries_.back().after;
    const auto own = static_cast<std::uint32_t>(entries_.size());
    entries_.push_back(std::move(arrives));
    stands_for_[task].push_back(own);
    last_on_.at(program_.stream[task]).push_back(own);
  }

  void put(TaskId task, Entry entry, const std::vector<std::uint32_t>& after) {
    entry.task = task;
    if (program_.class_of(task).kind == TaskKind::meeting) entry.grouping = program_.class_of(task).grouping;
    entry.after = after;
    std::vector<std::uint32_t>& last = last_on_[program_.stream[task]];
    entry.after.insert(entry.after.end(), last.begin(), last.end());
    std::sort(entry.after.begin(), entry.after.end());
    entry.after.erase(std::unique(entry.after.begin(), entry.after.end()), entry.after.end());
    last = {static_cast<std::uint32_t>(entries_.size())};
    stands_for_[task] = last;
    entries_.push_back(std::move(entry));
  }

  // Returns the dependencies on the rank itself. Joint work of ranks includes waiting for the other ranks' tasks.
  std::vector<std::uint32_t> own_dependencies(TaskId task) const {
    std::vector<std::uint32_t> out;
    for (const TaskId before : program_.dependencies_of(task)) {
      const auto own = stands_for_.find(before);
      if (own != stands_for_.end()) {
        out.insert(out.end(), own->second.begin(), own->second.end());
        continue;
      }
      const TaskKind kind = program_.class_of(task).kind;
      if (kind == TaskKind::meeting || kind == TaskKind::transfer || kind == TaskKind::collective) continue;
      fail_internal(fmt::format("chakra: {} waits for {} of another rank", program_.class_of(task).name,
                                program_.class_of(before).name));
    }
    return out;
  }

  const Program& program_;
  std::uint32_t rank_;
  const std::vector<bool>& needless_;
  Entries entries_;
  std::map<TaskId, std::vector<std::uint32_t>> stands_for_;  // entries of a task, or dependencies of a needless meeting
  std::map<StreamId, std::vector<std::uint32_t>> last_on_;   // entries of the last task of a stream
};

std::vector<Entries> entries_of(const Program& program) {
  const std::vector<bool> needless = needless_meetings(program);
  std::vector<EntryList> lists;
  for (std::uint32_t rank = 0; rank < program.ranks.size(); ++rank) lists.emplace_back(program, rank, needless);
  for (TaskId task = 0; task < program.size(); ++task) {
    if (program.class_of(task).kind != TaskKind::meeting) {
      lists[program.rank_of(task)].add(task);
      continue;
    }
    for (const std::uint32_t member : program.groups[program.group_of(task)].ranks) lists[member].add(task);
  }
  std::vector<Entries> out;
  for (EntryList& list : lists) out.push_back(list.finished());
  return out;
}

class Exporter {
 public:
  Exporter(const Simulation& simulation, const ChakraHeaderTexts& texts)
      : texts_(texts),
        folded_(simulation.program.ranks.size() < static_cast<std::size_t>(simulation.job.strategy.ranks())),
        program_(simulation.lowered_as({!folded_, true})),
        timeline_(simulation.times_of(program_)),
        real_(program_, simulation.job, simulation.plans, folded_),
        entries_(entries_of(program_)) {
    real_.number_ranks();
    for (GroupingId grouping = 0; grouping < program_.groupings.size(); ++grouping) {
      groups_of_ranks_.push_back(real_.groups_of_ranks(grouping));
    }
  }

  int cluster_ranks() const { return static_cast<int>(real_.cluster_ranks().size()); }
  // write() writes the nodes of a rank, write_groups() the groups of all `ranks`.
  void write(int rank, const StagedFile& staged) const;
  void write_groups(const std::vector<int>& ranks, const StagedFile& staged) const;

 private:
  ChakraNode node(const Entry& entry, int rank, std::map<std::pair<int, int>, std::int64_t>& messages) const;
  void add_partners(ChakraNode& node, const Entry& entry, int rank,
                    std::map<std::pair<int, int>, std::int64_t>& messages) const;
  GroupId group(const Entry& entry, int rank) const {
    return groups_of_ranks_[entry.grouping][static_cast<std::size_t>(rank)];
  }
  const ChakraHeaderTexts& texts_;
  bool folded_;
  Program program_;
  Timeline timeline_;
  RealGroups real_;
  std::vector<Entries> entries_;
  std::vector<std::vector<GroupId>> groups_of_ranks_;  // by grouping and rank of the cluster
};

// Returns the bytes that one rank gives into a collective.
double own_bytes(const CollectiveWork& work, std::size_t ranks) {
  return work.kind == CollectiveKind::all_gather ? work.bytes / static_cast<double>(ranks) : work.bytes;
}

void Exporter::add_partners(ChakraNode& node, const Entry& entry, int rank,
                            std::map<std::pair<int, int>, std::int64_t>& messages) const {
  const TaskClass& described = program_.class_of(entry.task);
  const std::vector<int> members = real_.members(group(entry, rank));
  if (node.kind == ChakraNodeKind::collective) {
    node.group = std::to_string(group(entry, rank));
    if (const auto* work = std::get_if<CollectiveWork>(&described.work)) node.bytes = own_bytes(*work, members.size());
    return;
  }
  const auto own = std::find(members.begin(), members.end(), rank) - members.begin();
  const auto count = static_cast<std::ptrdiff_t>(members.size());
  const std::ptrdiff_t other = entry.to == 0 ? 1 - own : (own + entry.to + count) % count;
  const int peer = members[static_cast<std::size_t>(other)];
  node.peer = peer;
  const bool sends = node.kind == ChakraNodeKind::send;
  node.tag = messages[{sends ? rank : peer, sends ? peer : rank}]++;
  node.rendezvous = true;
  const auto* shift = std::get_if<CollectiveWork>(&described.work);
  node.bytes = shift != nullptr ? shift->bytes : std::get<TransferWork>(described.work).bytes;
}

ChakraNode Exporter::node(const Entry& entry, int rank, std::map<std::pair<int, int>, std::int64_t>& messages) const {
  const TaskClass& described = program_.class_of(entry.task);
  const StreamKind stream = program_.streams[program_.stream[entry.task]].kind;
  ChakraNode out;
  out.name = described.name;
  out.microbatch = program_.microbatch[entry.task];
  out.kind = entry.kind;
  out.collective = entry.collective;
  out.on_host = stream == StreamKind::host;
  out.operations = described.flop;
  out.tensor_bytes = described.bytes;
  const Picoseconds start = timeline_.start[entry.task];
  const Picoseconds lasting = timeline_.end[entry.task] - start;
  out.start_us = static_cast<std::uint64_t>(start / 1'000'000);
  out.duration_us = static_cast<std::uint64_t>((lasting + 500'000) / 1'000'000);
  out.duration_ps = static_cast<std::uint64_t>(lasting);
  out.stream = name_of(stream);
  if (entry.grouping != kAlone) add_partners(out, entry, rank, messages);
  return out;
}

void Exporter::write(int rank, const StagedFile& staged) const {
  ChakraTrace head;
  head.rank = rank;
  head.version = kSchemaVersion;
  const Entries& entries = entries_[real_.standing_for(rank)];
  std::map<std::string, std::int64_t> sizes;
  for (const Entry& entry : entries) {
    if (entry.kind != ChakraNodeKind::collective) continue;
    const GroupId own = group(entry, rank);
    const auto [size, is_new] = sizes.try_emplace(std::to_string(own), 0);
    if (is_new) size->second = static_cast<std::int64_t>(real_.members(own).size());
  }
  for (const auto& [name, size] : sizes) head.groups.push_back({name, size});
  write_trace_file(staged, head, texts_, [&](ChakraWriter& writer) {
    std::map<std::pair<int, int>, std::int64_t> messages;
    for (std::uint32_t i = 0; i < entries.size(); ++i) {
      ChakraNode own = node(entries[i], rank, messages);
      own.id = i;
      own.data_dependencies.assign(entries[i].after.begin(), entries[i].after.end());
      writer.add(own);
    }
  });
}

void Exporter::write_groups(const std::vector<int>& ranks, const StagedFile& staged) const {
  std::map<GroupId, std::vector<int>> groups;
  for (const int rank : ranks) {
    for (const Entry& entry : entries_[real_.standing_for(rank)]) {
      if (entry.kind != ChakraNodeKind::collective) continue;
      const GroupId own = group(entry, rank);
      if (!groups.contains(own)) groups[own] = real_.members(own);
    }
  }
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& [id, members] : groups) out[std::to_string(id)] = members;
  staged.write(out.dump() + "\n");
}

void check(const Simulation& simulation) {
  if (simulation.job.cluster.shares_gpus()) {
    fail_infeasible({}, "cluster.nodes[].ranks_per_gpu: in these traces every rank has a GPU of its own",
                    "leave it out");
  }
  if (!simulation.job.strategy.stages.empty()) {
    fail_infeasible({},
                    "strategy.stages: between stages of their own shape several ranks send to several, which these "
                    "traces have no node for",
                    "leave it out");
  }
}

}  // namespace

std::size_t write_chakra(const std::filesystem::path& prefix, const Simulation& simulation,
                         const std::vector<int>& ranks, const ChakraHeaderTexts& texts) {
  check(simulation);
  require_whole(simulation, "a Chakra trace");
  const Exporter exporter(simulation, texts);
  std::vector<int> wanted = ranks;
  if (wanted.empty()) {
    for (int rank = 0; rank < exporter.cluster_ranks(); ++rank) wanted.push_back(rank);
  }
  if (wanted.back() >= exporter.cluster_ranks()) {
    fail_input(
        {}, fmt::format("there is no rank {}: the job has ranks 0 to {}", wanted.back(), exporter.cluster_ranks() - 1));
  }
  // All files or none are written: each is checked to be writable before the first is written, and gets its name after
  // all are complete.
  std::deque<StagedFile> staged;
  for (const int rank : wanted) staged.emplace_back(trace_file_of(prefix, rank));
  const StagedFile& groups = staged.emplace_back(groups_file_of(prefix));
  parallel_for(wanted.size(), [&](std::size_t i) { exporter.write(wanted[i], staged[i]); });
  exporter.write_groups(wanted, groups);
  commit_all(staged);
  return wanted.size();
}

void write_chakra(const std::filesystem::path& prefix, std::span<const ChakraTrace> traces,
                  const std::map<std::string, std::vector<std::int64_t>>& groups, const ChakraHeaderTexts& texts) {
  std::deque<StagedFile> staged;
  for (const ChakraTrace& trace : traces) staged.emplace_back(trace_file_of(prefix, trace.rank));
  const StagedFile& of_groups = staged.emplace_back(groups_file_of(prefix));
  parallel_for(traces.size(), [&](std::size_t i) {
    ChakraTrace head;
    head.rank = traces[i].rank;
    head.version = kSchemaVersion;
    head.groups = traces[i].groups;
    write_trace_file(staged[i], head, texts, [&](ChakraWriter& writer) {
      for (const ChakraNode& node : traces[i].nodes) writer.add(node);
    });
  });
  of_groups.write(nlohmann::ordered_json(groups).dump() + "\n");
  commit_all(staged);
}

}  // namespace mirfak
