// Laws of an iteration on a network: what may not change it, what can only slow it, and what, against intuition, does.

#include "engine/execute.hpp"
#include "job_fixture.hpp"
#include "network/cluster_routes.hpp"
#include "network/collective_flows.hpp"
#include "network/fabric_file.hpp"
#include "simulation/score.hpp"
#include "support/scratch_folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace mirfak;
using namespace mirfak::test;

namespace {

Job job_on(const std::string& fabric, int nodes, const Strategy& strategy, int batches = 4) {
  Job job = small_job(8, nodes, strategy, static_cast<std::int64_t>(batches) * strategy.data);
  job.cluster = nodes_on(fabric, nodes);
  return job;
}

Strategy overlapping(int tensor, int data, int pipeline) {
  Strategy s = sized(tensor, data, pipeline);
  s.overlap_grad_reduce = true;
  return s;
}

struct Collective {
  FlowPattern pattern{};
  std::vector<int> devices;
};

// The use of each link by a collective of the cluster's devices at full speed. If switches add up on the way, a link
// carries each port's largest flow.
std::vector<LinkUse> uses_of(const Collective& collective, const Cluster& cluster, Routes& routes, double bytes_per_s) {
  std::map<std::pair<std::uint32_t, int>, double> loads;
  for_each_flow(collective.pattern, cluster, collective.devices, [&](const Flow& flow) {
    const bool added = collective.pattern == FlowPattern::in_network;
    for (const LinkShare& on : routes.between(flow.from, flow.to)) {
      double& load = loads[{on.link, added ? flow.port : 0}];
      const double sent = on.share * flow.share * bytes_per_s;
      load = added ? std::max(load, sent) : load + sent;
    }
  });
  std::vector<LinkUse> out;
  for (const auto& [at, load] : loads) {
    if (out.empty() || out.back().link != at.first) out.push_back({at.first, 0});
    out.back().bytes_per_s += load;
  }
  return out;
}

// The collective and nothing else.
Program alone(const std::vector<LinkUse>& uses, const Routes& routes, Picoseconds lasting) {
  Program program;
  program.add_stream(0, StreamKind::data);
  for (const RoutedLink& link : routes.links()) program.links.push_back({link.name, link.bytes_per_s});
  TaskClass described;
  described.kind = TaskKind::collective;
  described.traffic = program.add_traffic(uses);
  program.add_task(0, program.add_class(described), lasting, {});
  return program;
}

// The cluster's network with routes of either kind.
Routes routes_over(const Cluster& cluster, bool hashed, std::uint64_t seed) {
  const Topology topology(cluster);
  FabricGraph graph = fabric_graph(cluster, topology);
  std::vector<std::uint32_t> colours = switch_colours(graph, topology);
  return hashed ? Routes::hashed(std::move(graph), seed) : Routes::spread(std::move(graph), std::move(colours));
}

// Appends a job with ranks of its own to others. `own_links`: whether links are its own, too, or those of the first.
class SideBySide {
 public:
  SideBySide(const Program& one, std::uint32_t copies, bool own_links)
      : one_(one), ranks_(static_cast<std::uint32_t>(one.ranks.size())), copies_(copies), own_links_(own_links) {
    for (std::uint32_t copy = 0; copy < copies; ++copy) append(copy);
    out_.validate();
  }
  const Program& program() const { return out_; }

 private:
  void append(std::uint32_t copy) {
    const LinkId first_link = own_links_ ? copy * static_cast<LinkId>(one_.links.size()) : 0;
    if (copy == 0 || own_links_) out_.links.insert(out_.links.end(), one_.links.begin(), one_.links.end());
    const auto first_grouping = static_cast<GroupingId>(out_.groupings.size());
    const auto first_traffic = static_cast<std::uint32_t>(out_.link_use_begin.size() - 1);
    append_groups(copy);
    append_traffic(first_link);
    append_tasks(copy, first_grouping, first_traffic);
  }

  void append_groups(std::uint32_t copy) {
    const auto first_group = static_cast<GroupId>(out_.groups.size());
    out_.ranks.insert(out_.ranks.end(), one_.ranks.begin(), one_.ranks.end());
    for (Group group : one_.groups) {
      for (std::uint32_t& rank : group.ranks) rank += copy * ranks_;
      out_.groups.push_back(std::move(group));
    }
    for (const Grouping& grouping : one_.groupings) {
      Grouping own{grouping.kind, std::vector<GroupId>(std::size_t{copies_} * ranks_, kNoGroup),
                   grouping.first + first_group, grouping.count};
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        if (grouping.of_rank[rank] != kNoGroup)
          own.of_rank[copy * ranks_ + rank] = grouping.of_rank[rank] + first_group;
      }
      out_.groupings.push_back(std::move(own));
    }
  }

  void append_traffic(LinkId first_link) {
    for (std::size_t entry = 0; entry + 1 < one_.link_use_begin.size(); ++entry) {
      std::vector<LinkUse> uses(one_.link_uses.begin() + one_.link_use_begin[entry],
                                one_.link_uses.begin() + one_.link_use_begin[entry + 1]);
      for (LinkUse& use : uses) use.link += first_link;
      out_.add_traffic(uses);
    }
  }

  void append_tasks(std::uint32_t copy, GroupingId first_grouping, std::uint32_t first_traffic) {
    const auto first_class = static_cast<ClassId>(out_.classes.size());
    const auto first_stream = static_cast<StreamId>(out_.streams.size());
    const auto first_task = static_cast<TaskId>(out_.size());
    for (TaskClass described : one_.classes) {
      if (described.grouping != kAlone) described.grouping += first_grouping;
      if (described.traffic != kNoTraffic) described.traffic += first_traffic;
      out_.add_class(std::move(described));
    }
    for (const Stream& stream : one_.streams) out_.add_stream(stream.rank + copy * ranks_, stream.kind);
    for (TaskId task = 0; task < one_.size(); ++task) {
      std::vector<TaskId> after;
      for (const TaskId before : one_.dependencies_of(task)) after.push_back(before + first_task);
      out_.add_task(one_.stream[task] + first_stream, one_.task_class[task] + first_class, one_.duration[task], after,
                    one_.microbatch[task]);
    }
  }

  const Program& one_;
  std::uint32_t ranks_;
  std::uint32_t copies_;
  bool own_links_;
  Program out_;
};

}  // namespace

// A collective gets the least bandwidth that any link has for it, and a wider link has no less.
TEST_CASE("of one collective on fixed routes a wider link never slows") {
  std::mt19937_64 random(1);
  const std::vector<std::string> fabrics = {
      "{type: rail-optimized, leaf_ports: 2, oversubscription: 16}",
      "{type: rail-only, leaf_ports: 2, oversubscription: 4}",
      "{type: fat-tree, leaf_ports: 8, oversubscription: 7}",
      "{type: fat-tree, levels: [{ports: 8, oversubscription: 2}, {ports: 2, oversubscription: 4}]}",
      "{type: dragonfly, leaf_ports: 8, group_routers: 2, oversubscription: 3}",
      "{type: dragonfly+, leaf_ports: 8, group_routers: 2, group_spines: 2}",
      "{type: torus-2d, oversubscription: 8}",
      "{type: torus-3d, dimensions: [2, 2, 2]}",
  };
  constexpr FlowPattern patterns[] = {FlowPattern::ring, FlowPattern::tree, FlowPattern::in_network, FlowPattern::pat,
                                      FlowPattern::exchange};
  constexpr Picoseconds lasting = 1'000'000'000;
  int slowed = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const Cluster cluster = nodes_on(fabrics[random() % fabrics.size()], 8);
    Routes routes = routes_over(cluster, random() % 2 == 0, random());
    Collective collective{patterns[random() % std::size(patterns)], std::vector<int>(64)};
    std::iota(collective.devices.begin(), collective.devices.end(), 0);
    std::shuffle(collective.devices.begin(), collective.devices.end(), random);
    collective.devices.resize(2 + random() % 63);
    std::sort(collective.devices.begin(), collective.devices.end());
    const std::vector<LinkUse> uses = uses_of(collective, cluster, routes, 20e9);
    Program program = alone(uses, routes, lasting);
    const Picoseconds before = execute(program).makespan;
    double slowest = 1;
    for (const LinkUse& use : uses) slowest = std::max(slowest, use.bytes_per_s / program.links[use.link].bytes_per_s);
    CHECK(static_cast<double>(before) == doctest::Approx(slowest * static_cast<double>(lasting)));
    slowed += slowest > 1 + 1e-9 ? 1 : 0;
    for (const LinkUse& use : uses) {
      double& bandwidth = program.links[use.link].bytes_per_s;
      const double was = bandwidth;
      bandwidth *= 1 + static_cast<double>(random() % 1000) / 250;
      CHECK(execute(program).makespan <= before);
      bandwidth = was;
    }
  }
  CHECK(slowed > 40);  // there were short links
}

// Eight stages on a torus whose links are short: on one of twice the bandwidth transfers end earlier, and those that
// wait for them come where others, which all wait for, send too (as Graham's anomalies: less work, later end).
TEST_CASE("a wider link may slow an iteration: one that does") {
  const Job job = job_on("{type: torus-2d, oversubscription: 12}", 8, sized(1, 8, 8));
  Program program = Lowered(job).program();
  const Picoseconds before = execute(program).makespan;
  const auto link = std::find_if(program.links.begin(), program.links.end(),
                                 [](const Link& of) { return of.name == "router 0.0 to router 1.0"; });
  REQUIRE(link != program.links.end());
  link->bytes_per_s *= 2;
  const Picoseconds after = execute(program).makespan;
  MESSAGE("with " << link->name << " twice as wide " << after << " ps, before " << before);
  CHECK(static_cast<double>(after) > 1.002 * static_cast<double>(before));
}

// Without oversubscription there is room for all that is spread, and for hashed messages only where none collide.
TEST_CASE("another hash may slow an iteration: paths that collide, and other paths") {
  const std::string tree = "{type: fat-tree, leaf_ports: 8, routing: ";
  const auto timeline_of = [&](const std::string& routing) {
    const Job job = job_on(tree + routing + "}", 8, sized(8, 2, 4));
    const Program program = Lowered(job).program();
    CHECK(program.ranks.size() == (routing == "spread" ? 4U : 64U));  // no rank stands for others
    return execute(program);
  };
  const Picoseconds spread = timeline_of("spread").makespan;
  std::vector<Picoseconds> hashed;
  for (int seed = 1; seed <= 7; ++seed) {
    const std::string routing = fmt::format("hashed, routing_seed: {}", seed);
    const Timeline first = timeline_of(routing);
    CHECK(first.hash() == timeline_of(routing).hash());
    CHECK(first.makespan >= spread);
    hashed.push_back(first.makespan);
  }
  const auto [least, most] = std::minmax_element(hashed.begin(), hashed.end());
  MESSAGE("spread " << spread << " ps, hashed by 7 seeds " << *least << " to " << *most);
  CHECK(static_cast<double>(*least) > 1.02 * static_cast<double>(spread));
  CHECK(static_cast<double>(*most) > 1.02 * static_cast<double>(*least));
}

TEST_CASE("hashed routes: whoever asks, every rank is by itself, and searches see the same time") {
  const Job job = job_on("{type: fat-tree, leaf_ports: 8, routing: hashed}", 8, overlapping(4, 4, 4));
  LoweringOptions all;
  all.unfolded = true;
  CHECK(execute(Lowered(job).program(all)).hash() == execute(Lowered(job).program()).hash());
  const Simulation simulation = simulate(job);
  BodyCache bodies;
  const std::vector<BlockMemory> memory = memory_of_blocks(job, simulation.blocks);
  const std::optional<IterationScore> score = score_iteration(job, simulation.blocks, bodies, {}, {{}, memory});
  REQUIRE(score);
  CHECK(score->time == simulation.timeline.makespan);
}

namespace {

// Two leaves of four nodes, joined by three switches of unequal bandwidth. `name` of a switch's or cable's kind;
// `reversed`: the file lists switches and links from the end.
std::string two_racks(const std::function<std::string(const std::string&)>& name, bool reversed) {
  std::vector<std::string> switches;
  std::vector<std::string> links;
  for (const char* kind : {"left", "right", "wide", "narrow", "narrower"}) {
    switches.push_back(fmt::format("  - {{name: {}, count: 1}}\n", name(kind)));
  }
  const auto link = [&](const std::string& from, const std::string& to, double bandwidth) {
    links.push_back(fmt::format("  - {{name: {}, from: \"{}\", to: \"{}\", pattern: spread, bandwidth: {}}}\n",
                                name("cable"), from, to, bandwidth));
  };
  const std::string node = name("node");
  link(node + "[0:4]", name("left"), 200e9);
  link(node + "[4:8]", name("right"), 200e9);
  for (const auto& [top, bandwidth] :
       {std::pair("wide", 90e9), std::pair("narrow", 40e9), std::pair("narrower", 10e9)}) {
    link(name("left"), name(top), bandwidth);
    link(name("right"), name(top), bandwidth);
  }
  if (reversed) std::reverse(switches.begin(), switches.end());
  if (reversed) std::reverse(links.begin(), links.end());
  std::string out = fmt::format("devices: [{{name: {}, count: 8, stands_for: nodes}}]\nswitches:\n", node);
  for (const std::string& line : switches) out += line;
  out += "links:\n";
  for (const std::string& line : links) out += line;
  return out;
}

}  // namespace

TEST_CASE("names of nodes and links, and their order in a file, change nothing of an iteration") {
  const ScratchFolder folder;
  const auto hash_of = [&](const std::string& text, const std::string& routing) {
    std::ofstream(folder / "network.yaml") << text;
    const std::string fabric =
        fmt::format("{{file: \"{}\", routing: {}}}", (folder / "network.yaml").string(), routing);
    Job job = small_job(8, 8, overlapping(4, 4, 4), 16);
    job.cluster = with_network_files(nodes_on(fabric, 8));
    const Program program = Lowered(job).program();
    CHECK(program.shares_links());
    return execute(program).hash();
  };
  const auto plain = [](const std::string& name) { return name; };
  const auto other = [](const std::string& name) { return "z" + std::string(name.rbegin(), name.rend()) + "9"; };
  const std::uint64_t spread = hash_of(two_racks(plain, false), "spread");
  CHECK(hash_of(two_racks(other, false), "spread") == spread);
  CHECK(hash_of(two_racks(other, true), "spread") == spread);
  // A hash knows switches by their numbers, which are those of the file's order.
  const std::uint64_t hashed = hash_of(two_racks(plain, false), "hashed");
  CHECK(hashed != spread);
  CHECK(hash_of(two_racks(other, false), "hashed") == hashed);
}

TEST_CASE("equal jobs on links of their own take the time of one") {
  for (const char* routing : {"spread", "hashed"}) {
    const Job job =
        job_on(std::string("{type: fat-tree, leaf_ports: 8, oversubscription: 4, routing: ") + routing + "}", 8,
               overlapping(4, 4, 4));
    LoweringOptions options;
    options.unfolded = true;
    const Program one = Lowered(job).program(options);
    REQUIRE(one.shares_links());
    const Timeline by_itself = execute(one);
    const Timeline together = execute(SideBySide(one, 3, true).program());
    for (TaskId task = 0; task < together.end.size(); ++task) {
      REQUIRE(together.end[task] == by_itself.end[task % one.size()]);
    }
    // Jobs that share the same links take longer.
    CHECK(execute(SideBySide(one, 3, false).program()).makespan > by_itself.makespan);
  }
}
