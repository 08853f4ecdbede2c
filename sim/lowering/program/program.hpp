#pragma once

#include "cost/activity.hpp"
#include "network/collective_flows.hpp"
#include "program/task_work.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

// Time inside programs and engines: an integer number of picoseconds, so that there are no floating-point ties, and the
// same bits everywhere. 2^63 ps are 106 days.
using Picoseconds = std::int64_t;

Picoseconds to_picoseconds(double seconds);  // rounds to nearest; seconds >= 0 and below 100 days, or Error(internal)
constexpr double to_seconds(Picoseconds time) { return static_cast<double>(time) * 1e-12; }

using TaskId = std::uint32_t;
using StreamId = std::uint32_t;
using ClassId = std::uint32_t;
using LinkId = std::uint32_t;
using GroupId = std::uint32_t;
using GroupingId = std::uint32_t;

inline constexpr TaskId kNoTask = static_cast<TaskId>(-1);
inline constexpr GroupId kNoGroup = static_cast<GroupId>(-1);
inline constexpr GroupingId kAlone = static_cast<GroupingId>(-1);
inline constexpr std::uint32_t kNoTraffic = static_cast<std::uint32_t>(-1);

// Contents of a rank's stream. A stream runs its tasks in program order, one at a time.
enum class StreamKind : std::uint8_t {
  host,           // the CPU thread that issues work to the device
  compute,        // kernels of the device
  tensor,         // tensor-parallel collectives
  context,        // exchanges of context-parallel ranks for attention
  expert,         // rows on their way to experts and back
  data,           // data-parallel collectives
  send_forward,   // activations leaving for the next stage
  recv_forward,   // activations arriving from the stage before
  send_backward,  // gradients leaving for the stage before
  recv_backward,  // gradients arriving from the next stage
  group,          // meeting points of several ranks: zero-length tasks on which all members depend
};
inline constexpr std::size_t kStreamKinds = 11;
std::string_view name_of(StreamKind kind);
StreamKind sending_stream(StreamKind kind);  // receive stream: the stream that sends; other kinds: `kind`

enum class TaskKind : std::uint8_t {
  forward,          // forward pass of one chunk and microbatch
  backward,         // backward pass: activation gradients and, unless split off, weight gradients
  weight_gradient,  // weight gradients alone (schedules that split the backward pass)
  kernel,           // one kernel inside a pass (detail: operators)
  collective,       // one collective
  transfer,         // one point-to-point transfer between stages
  optimizer,        // optimizer step
  issue,            // host work
  meeting,          // zero-length rendezvous of a group, before the task that the group does together
};
inline constexpr std::size_t kTaskKinds = 9;
std::string_view name_of(TaskKind kind);

// Property that ranks which act together have in common.
enum class GroupKind : std::uint8_t {
  team,            // ranks of one stage that run passes together, whatever axes of the mesh they differ on
  tensor,          // ranks of a team that differ in the place on the tensor axis only
  context,         // ranks of a team that differ in the place on the context axis only
  expert,          // ranks that divide experts among them
  data,            // all ranks that hold the same parameters
  shard,           // ranks of `data` that share one sharded copy of the state (ZeRO)
  across,          // ranks of `data` that hold the same shard
  expert_data,     // ranks of `data` that hold the same experts
  tied_embedding,  // the two stages that hold the word embedding
  part,            // the two stages that hold the same part of the model
  transfer,        // the ends of transfers between stages: two ranks, or more where stages differ in shape
  all,             // all ranks: the norm of all gradients
  second_copy,     // ranks of `data` that share a second copy of the parameters
  node,            // ranks of `data` in one node
  between_nodes,   // ranks of `data` in the same place of each node
  // Ranks of `data` that share one copy of divided weights, and that hold the same part; likewise of experts.
  weights,
  weight_copies,
  expert_weights,
  expert_weight_copies,
};
inline constexpr std::size_t kGroupKinds = 19;
std::string_view name_of(GroupKind kind);

// Properties that all tasks of a kind have in common: one entry for, say, "backward of chunk 2 on stage 5", shared by
// all microbatches and data-parallel replicas.
struct TaskClass {
  TaskKind kind{};
  std::string name;         // "forward", "all-reduce gradients", "qkv_projection": readable in a timeline
  std::int32_t stage = -1;  // -1: belongs to no stage
  std::int32_t chunk = -1;
  TaskKind issues = TaskKind::issue;  // issue: the kind of the task that the host hands on
  GroupingId grouping = kAlone;       // each rank does the task with its group of this grouping
  double flop = 0;                    // hardware FLOPs of one task
  double bytes = 0;     // payload: bytes a rank sends in a transfer or collective, else bytes moved through memory
  double energy_j = 0;  // above the idle and waiting power of the device
  ActivitySeconds activity_s{};           // division of the duration among activities
  FlowPattern flows = FlowPattern::none;  // collectives and transfers: messages that cross the network
  double network_bytes_per_s = 0;         // rate at which a rank (of a transfer, a sender) sends these messages
  std::uint32_t traffic = kNoTraffic;     // entry of its loads on shared links: see Program::traffic_of
  bool slowed = false;  // durations include the factors of the ranks that run the tasks (cluster.perturbations)
  TaskWork work;        // set for kernels (detail: operators), collectives, transfers and the optimizer step
};

struct Stream {
  std::uint32_t rank = 0;
  StreamKind kind{};
};

enum class LinkKind : std::uint8_t {
  other,
  port_out,  // a rank's share of its node's network ports, towards the network
  port_in,   // a rank's share of its node's network ports, from the network
  fabric,    // a link between switches
};

// Place of a link. `index` of a port: into Program::ranks; `index` of a link of the fabric: into Routes::links().
struct LinkPlace {
  LinkKind kind{};
  std::uint32_t index = 0;
};

// A link whose bandwidth running tasks share max-min fairly. One Link stands for several links that all tasks load
// alike.
struct Link {
  std::string name;                        // name of the first link
  double bytes_per_s = 0;                  // bandwidth of each link
  std::vector<LinkPlace> stands_for = {};  // all links that it stands for; empty: not known
};

// One simulated rank. In a folded program, or in one with whole teams, it stands for `multiplicity` ranks that behave
// alike.
struct ProgramRank {
  std::uint32_t rank = 0;  // global rank (of the representative)
  std::uint32_t stage = 0;
  std::uint32_t tensor = 0;   // place in the tensor-parallel group
  std::uint32_t context = 0;  // place in the context-parallel group
  std::uint32_t data = 0;     // place in the data-parallel group
  std::uint32_t multiplicity = 1;
  std::uint32_t plan = 0;  // index of the job's stage plan that the rank runs (program/stage_plan.hpp)
};

// Ranks that act together.
struct Group {
  GroupKind kind{};
  std::uint32_t size = 0;            // members on the cluster: more than `ranks` in a folded program
  std::vector<std::uint32_t> ranks;  // indices into Program::ranks, ascending
};

// A way to divide ranks into groups of one kind. Each rank is in at most one of the groups.
struct Grouping {
  GroupKind kind{};
  std::vector<GroupId> of_rank;  // group by index into Program::ranks; kNoGroup: in none
  GroupId first = 0;             // the groups have the numbers first, first + 1, ...
  std::uint32_t count = 0;
  // Identifies the division among those of its kind. Between two stages: the two stages; over axes of the mesh: one bit
  // for each axis, in the order of the mesh's axes.
  std::array<std::int32_t, 2> which{};
};

// Load of a shared link by an activity at full speed.
struct LinkUse {
  LinkId link = 0;
  double bytes_per_s = 0;
};

// An iteration as streams of tasks with dependencies. Structure of arrays; plain data.
//
// Invariants (checked by validate()):
//  - tasks stand in a topological order: every dependency of task i is below i, and the tasks of one stream
//    are issued in ascending order (static order: a stream runs its tasks in this order, whatever their times);
//  - a task starts when its stream is free and all its dependencies have ended;
//  - dependencies of task i are dependencies[dependency_begin[i] .. dependency_begin[i + 1]);
//  - tasks that the ranks of a group do together stand in the same order on all of them, and wait for the same tasks:
//    the k-th collective of a group on one kind of stream is one collective, and likewise the ends of transfers.
//    acting_together() lists these tasks. If they use shared links, they are one activity: it begins when the last of
//    the tasks begins, and all of them end together.
struct Program {
  std::vector<Picoseconds> duration;
  std::vector<StreamId> stream;
  std::vector<ClassId> task_class;
  std::vector<std::int32_t> microbatch;  // -1: belongs to no microbatch
  std::vector<TaskId> dependency_begin{0};
  std::vector<TaskId> dependencies;

  std::vector<TaskClass> classes;
  std::vector<Stream> streams;
  std::vector<Link> links;
  std::vector<ProgramRank> ranks;
  std::vector<Group> groups;
  std::vector<Grouping> groupings;
  std::vector<std::uint32_t> link_use_begin{0};  // entry e: link_uses[link_use_begin[e] .. link_use_begin[e + 1])
  std::vector<LinkUse> link_uses;
  // Kinds of replicas that a folded program tells apart although they are of one class. Indexed by place in the
  // data-parallel groups; equal numbers for replicas that one rank of each stage stands for. Empty: all replicas of a
  // class are alike.
  std::vector<std::uint32_t> kind_of_replica;
  // True if every rank of a team is explicit and stands for the ranks in its place in other teams of its kind.
  bool whole_teams = false;
  // True if short links or perturbations slow ranks unlike although one rank stands for them: it is as slow as the
  // slowest of them.
  bool slowest_stands_for_others = false;
  // Ratio of each task's duration to the duration that its traffic assumes, for the same bytes; empty: 1 for all tasks.
  std::vector<double> slower;

  std::size_t size() const { return duration.size(); }
  std::span<const TaskId> dependencies_of(TaskId task) const {
    return {dependencies.data() + dependency_begin[task], dependencies.data() + dependency_begin[task + 1]};
  }
  const TaskClass& class_of(TaskId task) const { return classes[task_class[task]]; }
  std::uint32_t rank_of(TaskId task) const { return streams[stream[task]].rank; }  // index into `ranks`
  // The group that does a task together: an index into `groups`, or kNoGroup.
  GroupId group_of(TaskId task) const {
    const GroupingId grouping = class_of(task).grouping;
    return grouping == kAlone ? kNoGroup : groupings[grouping].of_rank[rank_of(task)];
  }
  // True if two tasks could slow each other down: some task uses a shared link.
  bool shares_links() const { return !link_uses.empty(); }
  // Loads of shared links by a task, each link once. If a group does the task, the loads of all its ranks are added. A
  // task that takes longer than its class says loads links proportionally less (`slower`).
  std::span<const LinkUse> traffic_of(TaskId task) const {
    const TaskClass& described = class_of(task);
    if (described.traffic == kNoTraffic) return {};
    const GroupId group = group_of(task);
    const std::uint32_t entry =
        group == kNoGroup ? described.traffic : described.traffic + group - groupings[described.grouping].first;
    return {link_uses.data() + link_use_begin[entry], link_uses.data() + link_use_begin[entry + 1]};
  }
  double slower_by(TaskId task) const { return slower.empty() ? 1 : slower[task]; }

  // Reserves room for about `tasks` tasks and `of_classes` classes.
  void reserve(std::size_t tasks, std::size_t of_classes);
  TaskId add_task(StreamId on, ClassId of, Picoseconds lasting, std::span<const TaskId> after,
                  std::int32_t of_microbatch = -1);
  StreamId add_stream(std::uint32_t rank, StreamKind kind);
  ClassId add_class(TaskClass description);
  // Adds an entry of link_uses: for a rank that acts alone, or for the next group of a grouping.
  std::uint32_t add_traffic(std::span<const LinkUse> uses);

  void validate() const;  // Error(internal) naming the first broken invariant
};

// For each task, the first of the tasks that several ranks do as one: the parts of a collective, or the ends of a
// transfer. A task that a rank does alone is its own first task; so is a meeting. Error(internal) if the invariant does
// not hold.
std::vector<TaskId> acting_together(const Program& program);

}  // namespace mirfak
