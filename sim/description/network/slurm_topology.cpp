#include "network/slurm_topology.hpp"

#include "base/input_file.hpp"
#include "base/text.hpp"
#include "network/host_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <set>

namespace mirfak {

namespace {

struct Word {
  std::string key;  // lower case
  std::string value;
  Location where;
};

class ConfReader {
 public:
  using Opener = std::function<std::string(const std::filesystem::path&, const Location&)>;
  explicit ConfReader(Opener open) : open_(std::move(open)) {}

  void read(std::string_view text, const std::string& file) {
    std::string line;
    int number = 0;
    int first = 1;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      std::string_view piece = text.substr(begin, end - begin);
      begin = end + 1;
      ++number;
      piece = piece.substr(0, piece.find('#'));
      piece = trimmed(piece, " \t\r");
      if (line.empty()) first = number;
      line += piece;
      if (!line.empty() && line.back() == '\\' && begin <= text.size()) {
        line.back() = ' ';
        continue;
      }
      if (!line.empty()) read_line(line, {file, first, 1});
      line.clear();
    }
  }

  SlurmTopology finished(const std::string& file) {
    if (has_blocks_ && has_switches_) {
      fail_input({file, 0, 0}, "both switches and blocks: a file describes a tree or blocks", "keep one of them");
    }
    out_.kind = has_blocks_ ? SlurmTopology::Kind::block : SlurmTopology::Kind::tree;
    out_.where = {file, 1, 1};
    if (out_.switches.empty()) {
      fail_input({file, 0, 0}, "no SwitchName= and no BlockName= in this file", "expected Slurm's topology.conf");
    }
    return std::move(out_);
  }

 private:
  static std::vector<Word> words_of(const std::string& line, const Location& where) {
    std::vector<Word> out;
    for (std::size_t at = 0; at < line.size();) {
      at = std::min(line.find_first_not_of(" \t", at), line.size());
      if (at == line.size()) break;
      const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
      const std::string word = line.substr(at, end - at);
      const std::size_t equals = word.find('=');
      const Location here{where.file, where.line, static_cast<int>(at) + 1};
      if (equals == std::string::npos || equals == 0 || equals + 1 == word.size()) {
        fail_input(here, fmt::format("expected KEY=VALUE, found '{}'", excerpt(word)),
                   "for example SwitchName=leaf1 Nodes=node[1-18]");
      }
      out.push_back({lower_case(word.substr(0, equals)), word.substr(equals + 1), here});
      at = end;
    }
    return out;
  }

  void read_line(const std::string& line, const Location& where) {
    if (lower_case(line).starts_with("include ") || lower_case(line).starts_with("include\t")) {
      include(std::string(trimmed(std::string_view(line).substr(8))), where);
      return;
    }
    const std::vector<Word> words = words_of(line, where);
    if (words.empty()) return;  // line with blanks only, after a continued line
    const Word& head = words.front();
    if (head.key == "blocksizes") return read_sizes(head);
    if (head.key == "blocklevels") return;  // key of older releases: sizes used for planning
    if (head.key != "switchname" && head.key != "blockname") {
      fail_input(head.where, fmt::format("unknown key '{}'", excerpt(head.key)),
                 "expected SwitchName, BlockName, BlockSizes or Include");
    }
    read_switch(words, head.key == "switchname");
  }

  void read_switch(const std::vector<Word>& words, bool is_switch) {
    (is_switch ? has_switches_ : has_blocks_) = true;
    SlurmSwitch item;
    item.where = words.front().where;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const Word& word = words[i];
      if (word.key == "nodes") {
        item.nodes = lists_.expand(word.value, word.where);
      } else if (word.key == "switches" && is_switch) {
        item.children = lists_.expand(word.value, word.where);
      } else if (word.key != "linkspeed" || !is_switch) {  // the units are arbitrary, and Slurm does not use them
        fail_input(word.where, fmt::format("unknown key '{}'", excerpt(word.key)),
                   is_switch ? "expected Switches, Nodes or LinkSpeed" : "expected Nodes");
      }
    }
    const std::vector<std::string> names = lists_.expand(words.front().value, words.front().where);
    if (names.size() > 1 && !(item.nodes.empty() && item.children.empty())) {
      fail_input(item.where, "several names, and what lies below them: it can lie below one only",
                 "write a line for each");
    }
    for (const std::string& name : names) {
      item.name = name;
      out_.switches.push_back(item);
    }
  }

  void read_sizes(const Word& word) {
    for (const std::string& text : lists_.expand(word.value, word.where)) {
      int size = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
      if (error != std::errc() || end != text.data() + text.size() || size < 1) {
        fail_input(word.where, fmt::format("BlockSizes: expected numbers of nodes, found '{}'", excerpt(text)));
      }
      out_.block_sizes.push_back(size);
    }
  }

  void include(const std::string& name, const Location& where) {
    const std::filesystem::path path = std::filesystem::path(where.file).parent_path() / name;
    const std::string canonical = std::filesystem::weakly_canonical(path).string();
    if (!open_) fail_input(where, "an include, where there are no files", "put what it holds here");
    if (std::find(including_.begin(), including_.end(), canonical) != including_.end()) {
      fail_input(where, fmt::format("{} includes itself, through others or directly", excerpt(name)),
                 "break the circle of includes");
    }
    if (including_.size() >= kMaxIncludes) fail_input(where, "includes are nested too deep");
    including_.push_back(canonical);
    read(open_(path, where), path.string());
    including_.pop_back();
  }

 public:
  void begin_at(const std::filesystem::path& path) {
    including_.push_back(std::filesystem::weakly_canonical(path).string());
  }

 private:
  Opener open_;
  HostLists lists_;
  SlurmTopology out_;
  std::vector<std::string> including_;
  bool has_switches_ = false;
  bool has_blocks_ = false;
};

std::string text_of_included(const std::filesystem::path& path, const Location& where) {
  return read_input_file(path, kNetworkFile, where);
}

void read_yaml_switches(const Node& section, HostLists& lists, SlurmTopology& out) {
  Mapping mapping(section);
  for (const Node& item : mapping.require("switches").as_items()) {
    Mapping fields(item);
    const Node name = fields.require("switch");
    SlurmSwitch made{name.as_string(), {}, {}, name.where()};
    if (const auto children = fields.find_or_null("children")) {
      made.children = lists.expand(children->as_string(), children->where());
    }
    if (const auto nodes = fields.find_or_null("nodes")) {
      made.nodes = lists.expand(nodes->as_string(), nodes->where());
    }
    fields.finish();
    out.switches.push_back(std::move(made));
  }
  mapping.finish();
}

void read_yaml_blocks(const Node& section, HostLists& lists, SlurmTopology& out) {
  Mapping mapping(section);
  if (const auto sizes = mapping.find_or_null("block_sizes")) {
    for (const Node& size : sizes->as_items()) out.block_sizes.push_back(static_cast<int>(size.as_integer(1, 1 << 20)));
  }
  for (const Node& item : mapping.require("blocks").as_items()) {
    Mapping fields(item);
    const Node name = fields.require("block");
    SlurmSwitch made{name.as_string(), {}, {}, name.where()};
    if (const auto nodes = fields.find_or_null("nodes")) {
      made.nodes = lists.expand(nodes->as_string(), nodes->where());
    }
    fields.finish();
    out.switches.push_back(std::move(made));
  }
  mapping.finish();
}

class TreeGraph {
 public:
  explicit TreeGraph(const SlurmTopology& topology) : topology_(topology) {}

  NetworkGraph build(const std::string& title) {
    graph_.title = title;
    graph_.format = topology_.kind == SlurmTopology::Kind::block ? "Slurm blocks" : "Slurm tree";
    graph_.terminals = Terminals::nodes;
    graph_.rates_from_cluster = true;
    collect();
    if (topology_.kind == SlurmTopology::Kind::block) {
      join_blocks();
    } else {
      join_switches();
    }
    for (const std::string& name : node_names_) number_.push_back(node_at_.at(name));
    return finished();
  }

 private:
  void collect() {
    const bool block = topology_.kind == SlurmTopology::Kind::block;
    for (const SlurmSwitch& item : topology_.switches) {
      if (!by_name_.emplace(item.name, static_cast<int>(switches_.size())).second) {
        fail_input(item.where,
                   fmt::format("a second {} is called '{}'", block ? "block" : "switch", excerpt(item.name)),
                   "give each a name of its own");
      }
      switches_.push_back({item.name, block ? "block" : "switch", VertexKind::leaf, false, item.where});
      parents_.push_back(-1);
    }
  }

  void adopt(int child, int parent, const Location& where) {
    if (parents_[static_cast<std::size_t>(child)] >= 0 || child == parent) {
      const std::string& name = switches_[static_cast<std::size_t>(child)].name;
      fail_input(where,
                 child == parent ? fmt::format("switch '{}' is below itself", excerpt(name))
                                 : fmt::format("switch '{}' is below a second switch", excerpt(name)),
                 "a tree has one way up from each switch");
    }
    parents_[static_cast<std::size_t>(child)] = parent;
  }

  void join_switches() {
    for (std::size_t i = 0; i < topology_.switches.size(); ++i) {
      for (const std::string& child : topology_.switches[i].children) {
        const auto found = by_name_.find(child);
        if (found == by_name_.end()) {
          fail_input(topology_.switches[i].where,
                     fmt::format("there is no switch '{}' to be below this one", excerpt(child)),
                     "add a SwitchName line for it");
        }
        adopt(found->second, static_cast<int>(i), topology_.switches[i].where);
        switches_[i].kind = VertexKind::spine;
      }
    }
    std::vector<char> seen(switches_.size(), 0);
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      if (parents_[i] < 0) walk(static_cast<int>(i), seen);
    }
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      if (seen[i] == 0) {
        fail_input(switches_[i].where,
                   fmt::format("switch '{}' is below itself, through others", excerpt(switches_[i].name)),
                   "break the circle: a tree has a switch that is below none");
      }
    }
  }

  void walk(int top, std::vector<char>& seen) {
    std::vector<int> open = {top};
    while (!open.empty()) {
      const auto at = static_cast<std::size_t>(open.back());
      open.pop_back();
      seen[at] = 1;
      const SlurmSwitch& item = topology_.switches[at];
      for (const std::string& node : item.nodes) add_node(node, static_cast<int>(at), item.where);
      const std::vector<std::string> last_first(item.children.rbegin(), item.children.rend());
      for (const std::string& child : last_first) {
        open.push_back(by_name_.at(child));
      }
    }
  }

  void add_node(const std::string& name, int below, const Location& where) {
    if (!node_at_.emplace(name, below).second) {
      fail_input(where, fmt::format("node '{}' has a place already", excerpt(name)), "list each node once");
    }
    node_names_.push_back(name);
    node_where_.push_back(where);
  }

  void join_blocks() {
    int number = 0;
    for (const SlurmSwitch& block : topology_.switches) {
      for (const std::string& node : block.nodes) add_node(node, number, block.where);
      ++number;
    }
    // Builds aggregates of size / base consecutive blocks, level by level, then one switch above all.
    std::vector<int> level;
    for (std::size_t i = 0; i < topology_.switches.size(); ++i) level.push_back(static_cast<int>(i));
    const std::vector<int>& sizes = topology_.block_sizes;
    for (std::size_t s = 1; s < sizes.size() && level.size() > 1; ++s) {
      if (sizes[s] % sizes[s - 1] != 0 || sizes[s] <= sizes[s - 1]) {
        fail_input(topology_.where, fmt::format("block sizes {} and {}: each must be a multiple of the one before",
                                                sizes[s - 1], sizes[s]));
      }
      level = aggregate(level, static_cast<std::size_t>(sizes[s] / sizes[s - 1]), sizes[s]);
    }
    if (level.size() > 1) aggregate(level, level.size(), 0);
  }

  std::vector<int> aggregate(const std::vector<int>& level, std::size_t each, int size) {
    std::vector<int> out;
    for (std::size_t i = 0; i < level.size(); i += each) {
      const std::string name = size > 0 ? fmt::format("aggregate {} of {} nodes", i / each, size) : "all blocks";
      out.push_back(static_cast<int>(switches_.size()));
      switches_.push_back({name, "aggregate", VertexKind::spine, false, topology_.where});
      parents_.push_back(-1);
      for (std::size_t k = i; k < std::min(i + each, level.size()); ++k) adopt(level[k], out.back(), topology_.where);
    }
    return out;
  }

  NetworkGraph finished() {
    const int nodes = static_cast<int>(node_names_.size());
    graph_.devices = nodes;
    for (std::size_t i = 0; i < node_names_.size(); ++i) {
      graph_.vertices.push_back({node_names_[i], "node", VertexKind::device, false, node_where_[i]});
      graph_.links.push_back(
          {static_cast<int>(i), nodes + number_[i], graph_.link_type("node to leaf"), kNotStated, 0});
    }
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      graph_.vertices.push_back(switches_[i]);
      if (parents_[i] >= 0) {
        graph_.links.push_back(
            {nodes + static_cast<int>(i), nodes + parents_[i], graph_.link_type("uplink"), kNotStated, 0});
      }
    }
    const bool block = topology_.kind == SlurmTopology::Kind::block;
    graph_.facts = {{block ? "blocks" : "switches", std::to_string(topology_.switches.size())},
                    {"nodes", std::to_string(nodes)}};
    if (block) graph_.facts.emplace_back("block_sizes", fmt::format("{}", fmt::join(topology_.block_sizes, ",")));
    if (graph_.parts() > 1) graph_.notes.push_back(fmt::format("the tree is in {} parts", graph_.parts()));
    return std::move(graph_);
  }

  const SlurmTopology& topology_;
  NetworkGraph graph_;
  std::map<std::string, int> by_name_;
  std::vector<NetworkVertex> switches_;
  std::vector<int> parents_;
  std::vector<std::string> node_names_;
  std::vector<Location> node_where_;
  std::map<std::string, int> node_at_;
  std::vector<int> number_;  // number of the switch above each node
};

}  // namespace

SlurmTopology read_slurm_conf(const std::filesystem::path& path) {
  ConfReader reader(text_of_included);
  reader.begin_at(path);
  reader.read(text_of_included(path, {}), path.string());
  return reader.finished(path.string());
}

SlurmTopology parse_slurm_conf(std::string_view text, const std::string& name) {
  ConfReader reader({});
  reader.read(text, name);
  return reader.finished(name);
}

bool is_slurm_yaml(const Document& document) {
  const Value& root = document.root();
  return root.kind == Value::Kind::sequence && !root.items.empty() && root.items.front().kind == Value::Kind::mapping &&
         root.items.front().find("topology") != nullptr;
}

std::vector<SlurmTopology> read_slurm_yaml(const Document& document) {
  std::vector<SlurmTopology> out;
  HostLists lists;
  std::set<std::string> names;
  for (const Node& item : Node(document).as_items()) {
    Mapping mapping(item);
    SlurmTopology topology;
    const Node name = mapping.require("topology");
    topology.name = name.as_string();
    topology.where = item.where();
    if (!names.insert(topology.name).second) {
      name.fail(fmt::format("a second topology is called '{}'", excerpt(topology.name)), "give each a name of its own");
    }
    topology.is_default = mapping.bool_or("cluster_default", false);
    const auto tree = mapping.find("tree");
    const auto block = mapping.find("block");
    const bool flat = mapping.bool_or("flat", false);
    mapping.finish();
    if ((tree ? 1 : 0) + (block ? 1 : 0) + (flat ? 1 : 0) != 1) {
      item.fail("expected one of tree, block and flat: true", "a topology is of one kind");
    }
    topology.kind = tree ? SlurmTopology::Kind::tree : block ? SlurmTopology::Kind::block : SlurmTopology::Kind::flat;
    if (tree) read_yaml_switches(*tree, lists, topology);
    if (block) read_yaml_blocks(*block, lists, topology);
    out.push_back(std::move(topology));
  }
  if (out.empty()) Node(document).fail("no topology in this file", "expected Slurm's topology.yaml: a list of them");
  return out;
}

const SlurmTopology& chosen_topology(const std::vector<SlurmTopology>& topologies, const std::string& name,
                                     const Location& asked_at) {
  if (name.empty()) {
    const auto chosen =
        std::find_if(topologies.begin(), topologies.end(), [](const SlurmTopology& one) { return one.is_default; });
    return chosen == topologies.end() ? topologies.front() : *chosen;
  }
  std::vector<std::string> names;
  for (const SlurmTopology& topology : topologies) {
    if (topology.name == name) return topology;
    names.push_back(topology.name);
  }
  fail_input(asked_at, fmt::format("the file has no topology '{}'", excerpt(name)),
             did_you_mean(name, names, "it has " + join_or(names)));
}

NetworkGraph graph_of(const SlurmTopology& topology, const std::string& title) {
  if (topology.kind == SlurmTopology::Kind::flat) {
    fail_input(topology.where, fmt::format("topology '{}' is flat: it names no nodes", excerpt(topology.name)),
               "name another topology of the file; for one switch that never blocks, set type to full-bisection");
  }
  return TreeGraph(topology).build(title);
}

}  // namespace mirfak
