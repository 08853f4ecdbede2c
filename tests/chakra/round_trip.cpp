#include "chakra/chakra_export.hpp"
#include "chakra/chakra_file.hpp"
#include "chakra/chakra_program.hpp"
#include "engine/execute.hpp"
#include "scenario/scenario.hpp"
#include "support/scratch_folder.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

const std::filesystem::path kSource = source_root();

Simulation simulated(const std::string& text, bool unfolded = false) {
  const Scenario scenario =
      parse_scenario(Document::from_text(text, "chakra.yaml"), {kSource / "models", kSource / "hw_profiles"});
  return simulate(scenario.job, {unfolded, true});
}

std::string gpt(int nodes, const std::string& strategy, const std::string& cluster = "", int batch = 16,
                const std::string& training = "") {
  return fmt::format(
      "model: gpt-1.7b\ncluster: {{nodes: [{{type: dgx-a100-80g, count: {}}}]{}}}\n"
      "training: {{global_batch: {}{}}}\nstrategy: {{{}}}\n",
      nodes, cluster, batch, training, strategy);
}

std::vector<ChakraTrace> written_and_read(const Simulation& simulation, const std::vector<int>& ranks = {}) {
  const ScratchFolder folder;
  const auto prefix = folder.path() / "iteration";
  write_chakra(prefix, simulation, ranks, {});
  std::vector<ChakraTrace> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().extension() == ".et") out.push_back(read_chakra_trace(entry.path()));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return out;
}

// The end of each node of each rank, in the program's own terms.
struct Replayed {
  Picoseconds makespan = 0;
  std::vector<std::vector<Picoseconds>> ends;
};
Replayed replayed(const std::vector<ChakraTrace>& traces) {
  const ChakraProgram joined = chakra_program(traces);
  CHECK(joined.notes.empty());
  joined.program.validate();
  const Timeline timeline = execute(joined.program);
  Replayed out;
  out.makespan = timeline.makespan;
  for (const std::vector<TaskId>& tasks : joined.task_of) {
    std::vector<Picoseconds>& ends = out.ends.emplace_back();
    for (const TaskId task : tasks) ends.push_back(timeline.end[task]);
  }
  return out;
}

// Ends of the tasks of a rank that take time, in ascending order.
std::vector<Picoseconds> ends_of(const Simulation& unfolded, std::uint32_t rank) {
  std::vector<Picoseconds> out;
  const Program& program = unfolded.program;
  for (TaskId task = 0; task < program.size(); ++task) {
    if (program.class_of(task).kind == TaskKind::meeting || program.ranks[program.rank_of(task)].rank != rank) continue;
    if (unfolded.timeline.end[task] > unfolded.timeline.start[task]) out.push_back(unfolded.timeline.end[task]);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<Picoseconds> ends_of(const ChakraTrace& trace, const std::vector<Picoseconds>& ends) {
  std::vector<Picoseconds> out;
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
    // A shift is a send and a receive.
    const bool second = trace.nodes[i].kind == ChakraNodeKind::receive && trace.nodes[i].stream == "context";
    if (trace.nodes[i].duration_ps.value_or(0) > 0 && !second) out.push_back(ends[i]);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<ChakraNode> without_barriers(const ChakraTrace& trace) {
  std::vector<ChakraNode> out;
  for (const ChakraNode& node : trace.nodes) {
    if (node.collective != ChakraCollective::barrier) out.push_back(node);
  }
  return out;
}

const std::vector<std::string>& jobs() {
  const std::string mixture =
      "model: mixtral-8x7b\ncluster: {nodes: [{type: hgx-h100, count: 4}], fabric: {type: fat-tree, leaf_ports: 16, "
      "oversubscription: 4}}\ntraining: {global_batch: 32}\nstrategy: {pipeline: 4, expert: 8, micro_batch: 1}\n";
  static const std::vector<std::string> texts = {
      gpt(1, "tensor: 2, pipeline: 2, sequence_parallel: true"),
      gpt(1,
          "tensor: 1, pipeline: 4, virtual_pipeline: 2, zero: 1, overlap_grad_reduce: true, overlap_param_gather: "
          "true"),
      gpt(2, "tensor: 4, pipeline: 1, zero: 1, overlap_grad_reduce: true"),
      gpt(1, "tensor: 2, context: 2", "", 16, ""),
      gpt(1, "zero: 3", "", 16, ", framework: pytorch-fsdp"),
      gpt(1, "tensor: 2, pipeline: 2, schedule: zb-h1"),
      gpt(1, "pipeline: 4, virtual_pipeline: 2, schedule: dualpipe-v"),
      gpt(1, "pipeline: 2, data: 4, replica_microbatches: [5, 5, 3, 3], zero: 1"),
      gpt(2, "tensor: 2, pipeline: 2, overlap_grad_reduce: true",
          ", perturbations: {ranks: [{rank: 3, compute: 1.1}]}"),
      mixture,
  };
  return texts;
}

}  // namespace

TEST_CASE("an iteration written as Chakra traces is the same when it is replayed, node by node") {
  for (const std::string& text : jobs()) {
    CAPTURE(text);
    const Simulation folded = simulated(text);
    const Simulation unfolded = simulated(text, true);
    const std::vector<ChakraTrace> traces = written_and_read(folded);
    REQUIRE(traces.size() == static_cast<std::size_t>(folded.job.strategy.ranks()));
    const Replayed again = replayed(traces);
    CHECK(again.makespan == folded.timeline.makespan);
    for (std::size_t rank = 0; rank < traces.size(); ++rank) {
      CAPTURE(rank);
      CHECK(ends_of(traces[rank], again.ends[rank]) == ends_of(unfolded, static_cast<std::uint32_t>(rank)));
    }
  }
}

TEST_CASE("folded and explicit ranks give the same nodes") {
  for (const std::string& text : {jobs()[0], jobs()[3]}) {
    const std::vector<ChakraTrace> folded = written_and_read(simulated(text));
    const std::vector<ChakraTrace> unfolded = written_and_read(simulated(text, true));
    REQUIRE(folded.size() == unfolded.size());
    for (std::size_t rank = 0; rank < folded.size(); ++rank) {
      // Ranks that behave alike need no barrier to begin together.
      const auto one = without_barriers(folded[rank]);
      const auto other = without_barriers(unfolded[rank]);
      REQUIRE(one.size() == other.size());
      for (std::size_t i = 0; i < one.size(); ++i) {
        const ChakraNode& a = one[i];
        const ChakraNode& b = other[i];
        REQUIRE(a.name == b.name);
        REQUIRE(a.peer == b.peer);
        REQUIRE(a.duration_ps == b.duration_ps);
        REQUIRE(a.bytes == b.bytes);
      }
    }
  }
}

TEST_CASE("with microseconds alone each node on the way to the end is at most half of one off") {
  const Simulation simulation = simulated(jobs()[0]);
  std::vector<ChakraTrace> traces = written_and_read(simulation);
  std::size_t longest = 0;
  for (ChakraTrace& trace : traces) {
    for (ChakraNode& node : trace.nodes) node.duration_ps.reset();
    longest = std::max(longest, trace.nodes.size());
  }
  const Replayed again = replayed(traces);
  const double off_s = std::abs(to_seconds(again.makespan) - to_seconds(simulation.timeline.makespan));
  CHECK(off_s > 0);
  CHECK(off_s < 0.5e-6 * static_cast<double>(longest));
}

TEST_CASE("some ranks of a cluster that is simulated folded are written alone, and every group is named") {
  const Simulation simulation = simulated(gpt(64, "tensor: 8, pipeline: 8, sequence_parallel: true", "", 512));
  const ScratchFolder folder;
  const std::size_t files = write_chakra(folder.path() / "it", simulation, {5, 300}, {{"program", "mirfak"}});
  CHECK(files == 2);
  const ChakraTrace trace = read_chakra_trace(folder.path() / "it.300.et");
  CHECK(trace.rank == 300);
  std::ifstream in(folder.path() / "it.comm_groups.json");
  const nlohmann::json groups = nlohmann::json::parse(in);
  std::size_t seen = 0;
  for (const ChakraNode& node : trace.nodes) {
    if (node.kind == ChakraNodeKind::collective) {
      const std::vector<int> members = groups.at(node.group).get<std::vector<int>>();
      CHECK(std::find(members.begin(), members.end(), 300) != members.end());
      ++seen;
    }
    if (node.peer) CHECK(std::abs(*node.peer - 300) == 64);  // the next stage, or the one before
  }
  CHECK(seen > 100);
  CHECK_THROWS_AS(write_chakra(folder.path() / "it", simulation, {512}, {}), Error);
}

TEST_CASE("bytes of collectives are what a rank gives in") {
  const std::vector<ChakraTrace> traces = written_and_read(simulated(jobs()[0]), {0});
  const auto& nodes = traces.front().nodes;
  const auto of = [&](ChakraCollective kind) {
    return std::find_if(nodes.begin(), nodes.end(), [&](const ChakraNode& node) { return node.collective == kind; });
  };
  const auto gather = of(ChakraCollective::all_gather);
  const auto scatter = of(ChakraCollective::reduce_scatter);
  REQUIRE(gather != nodes.end());
  REQUIRE(scatter != nodes.end());
  CHECK(gather->bytes * 2 == scatter->bytes);  // a part of each of two ranks, and the whole
}
