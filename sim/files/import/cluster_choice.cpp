#include "import/cluster_choice.hpp"

#include "base/text.hpp"
#include "import/slurm_nodes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

namespace mirfak {

namespace {

std::string nodes_text(std::int64_t count) { return fmt::format("{} node{}", count, count == 1 ? "" : "s"); }

// Nodes that are alike, as far as the files say.
struct AlikeNodes {
  std::int64_t nodes = 0;
  std::optional<std::int64_t> gpus;
  std::string gpu;
  std::vector<std::string> types;
  Location where;
  std::string text;
  std::string instance = {};  // the cloud's name of a machine that is no known type of node

  std::string described() const {
    const std::string what =
        gpus ? fmt::format("{} {}", *gpus, gpu.empty() ? "GPUs" : excerpt(gpu, 30)) : excerpt(text, 40);
    return fmt::format("{} of {} ({})", nodes_text(nodes), what, where.text());
  }
};

class Choosing {
 public:
  Choosing(const ClusterFacts& facts, const ImportedNodes& asked, const Catalog& catalog,
           const ClusterKnowledge& knowledge)
      : facts_(facts), asked_(asked), catalog_(catalog), knowledge_(knowledge) {}

  ClusterChoice choose() {
    if (!facts_.unclear.empty()) return refused(facts_.unclear.front().where, facts_.unclear.front().reason);
    if (facts_.rented && !facts_.listed().empty()) {
      return refused(facts_.rented->where, fmt::format("a task of a cloud, and nodes of a cluster of one's own ({})",
                                                       facts_.listed().front().where.text()));
    }
    if (facts_.rented) return of_rented(*facts_.rented);
    if (!facts_.listed().empty()) return of_listed();
    if (facts_.matrix) return of_matrix(*facts_.matrix);
    return refused({}, "nothing is said of nodes");
  }

 private:
  ClusterChoice refused(const Location& where, const std::string& why,
                        const std::vector<std::string>& types = {}) const {
    ClusterChoice out;
    out.where = where;
    const std::string count = asked_.nodes ? std::to_string(*asked_.nodes) : "COUNT";
    const std::string which = types.empty() ? "" : ", where TYPE is " + join_or(types);
    out.reason = fmt::format("{}: say --nodes TYPE:{}{}", why, count, which);
    return out;
  }

  bool fits_matrix(const std::string& type) const {
    if (!facts_.matrix) return true;
    return wiring_differences(*facts_.matrix, catalog_.node(FileReference(type)).spec, knowledge_).empty();
  }

  std::vector<std::string> types_of(const NodeWish& wish) const {
    std::vector<std::string> out = fitting_types(catalog_, knowledge_, wish);
    if (out.size() < 2) return out;
    std::vector<std::string> fitting;
    for (const std::string& type : out) {
      if (fits_matrix(type)) fitting.push_back(type);
    }
    return fitting.empty() ? out : with_its_ports(fitting);
  }

  // Returns those of several types that have exactly the network ports of the matrix, if there are any; else all types.
  std::vector<std::string> with_its_ports(const std::vector<std::string>& types) const {
    std::vector<std::string> out;
    if (!facts_.matrix || types.size() < 2) return types;
    for (const std::string& type : types) {
      if (catalog_.node(FileReference(type)).spec.ports == facts_.matrix->ports) out.push_back(type);
    }
    return out.empty() ? types : out;
  }

  ClusterChoice chosen(const AlikeNodes& group, std::int64_t count, const std::string& of_them) const {
    if (group.types.empty() && !facts_.rented && group.gpu.empty() && asked_.gpu.empty() && asked_.feature.empty())
      return refused(group.where, "neither the type of the nodes nor their GPUs are stated");
    if (group.types.empty() && !group.instance.empty()) {
      return refused(group.where,
                     fmt::format("{}: {} is no machine of a cloud that is known with these", group.described(),
                                 excerpt(group.instance, 40)),
                     fitting_types(catalog_, knowledge_, {group.gpu, group.gpus}));
    }
    if (group.types.empty())
      return refused(group.where, group.described() + ": no type of node that is known has these");
    if (group.types.size() > 1)
      return refused(group.where, group.described() + ": several types of node have these", group.types);
    ClusterChoice out;
    out.type = group.types.front();
    out.count = count;
    out.gpus = catalog_.node(FileReference(out.type)).spec.gpus;
    if (facts_.rented || !facts_.listed().empty()) out.available = group.nodes;
    out.where = group.where;
    out.reason = fmt::format("{}: {}: {}", group.where.text(), excerpt(group.text), of_them);
    return out;
  }

  ClusterChoice of_rented(const RentedNodes& rented) {
    AlikeNodes group{rented.nodes, rented.gpus, rented.gpu, {}, rented.where, rented.text};
    if (asked_.nodes && *asked_.nodes != rented.nodes) {
      return refused(rented.where, fmt::format("the task has {}, and the launch asks for {}", nodes_text(rented.nodes),
                                               *asked_.nodes));
    }
    NodeWish wish{rented.gpu, rented.gpus, {}, rented.cloud, rented.instance};
    group.types = types_of(wish);
    if (!group.types.empty()) {
      const std::int64_t gpus = catalog_.node(FileReference(group.types.front())).spec.gpus;
      const std::int64_t used = asked_.gpus_per_node.value_or(rented.gpus.value_or(gpus));
      if (group.types.size() == 1 && used != gpus)
        return refused(rented.where, fmt::format("{} of the {} GPUs of {} are used", used, gpus, group.types.front()));
    }
    const bool unknown = !rented.cloud.empty() && !knowledge_.clouds.contains(rented.cloud);
    return chosen(group, rented.nodes,
                  fmt::format("{} of the task{}", nodes_text(rented.nodes),
                              unknown ? fmt::format(", as machines that no cloud of this name ({}) describes",
                                                    excerpt(rented.cloud, 30))
                                      : ""));
  }

  bool is_in_partition(const ListedNode& node) const {
    const std::vector<std::string> asked = slurm_list(asked_.partition);
    if (asked.empty() || node.partitions.empty()) return true;
    return std::any_of(asked.begin(), asked.end(),
                       [&](const std::string& name) { return node.partitions.contains(name); });
  }

  std::string wish_text() const {
    const std::string gpus = asked_.gpu.empty() ? "GPUs" : excerpt(asked_.gpu, 30);
    return asked_.gpus_per_node ? fmt::format("{} {}", *asked_.gpus_per_node, gpus) : gpus;
  }

  // Returns the nodes that the launch may get, grouped by likeness, in the order of the files.
  std::vector<AlikeNodes> groups() const {
    std::vector<AlikeNodes> out;
    std::map<std::string, std::size_t> index;
    const bool have_gpus = std::any_of(facts_.listed().begin(), facts_.listed().end(),
                                       [](const ListedNode& node) { return node.gpus.value_or(0) > 0; });
    for (const ListedNode& node : facts_.listed()) {
      if (!node.usable || !is_in_partition(node) || (node.gpus && *node.gpus == 0) || (have_gpus && !node.gpus))
        continue;
      const std::string key =
          fmt::format("{}/{}/{}/{}", node.gpus.value_or(-1), node.gpu, node.instance, fmt::join(node.features, ","));
      const auto [at, is_new] = index.emplace(key, out.size());
      constexpr std::size_t most = 256;
      if (is_new && out.size() == most)
        fail_input(node.where, fmt::format("more than {} kinds of nodes", most), "give a part of them, or --nodes");
      if (is_new) {
        NodeWish wish{node.gpu.empty() ? asked_.gpu : node.gpu, node.gpus ? node.gpus : asked_.gpus_per_node,
                      node.features};
        if (!asked_.feature.empty()) wish.features.push_back(asked_.feature);
        wish.instance = node.instance;
        std::vector<std::string> types = types_of(wish);
        // A cloud's machine has a fixed number of GPUs.
        std::erase_if(types, [&](const std::string& type) {
          return node.gpus && catalog_.node(FileReference(type)).spec.gpus != *node.gpus;
        });
        out.push_back({0, node.gpus, node.gpu, std::move(types), node.where, node.text.empty() ? node.name : node.text,
                       node.instance});
      }
      ++out[at->second].nodes;
    }
    return out;
  }

  bool answers(const AlikeNodes& group) const {
    if (asked_.gpus_per_node && group.gpus && *asked_.gpus_per_node != *group.gpus) return false;
    if (asked_.gpu.empty() || group.gpu.empty() || asked_.gpu == group.gpu) return true;
    const std::vector<std::string> wished = fitting_types(catalog_, knowledge_, {asked_.gpu, group.gpus});
    return std::any_of(group.types.begin(), group.types.end(), [&](const std::string& type) {
      return std::find(wished.begin(), wished.end(), type) != wished.end();
    });
  }

  // Joins groups of one type, even if features or names of their GPUs differ.
  static void join_alike(std::vector<AlikeNodes>& groups) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      for (std::size_t k = groups.size() - 1; k > i; --k) {
        if (groups[k].types != groups[i].types || groups[k].types.empty()) continue;
        groups[i].nodes += groups[k].nodes;
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(k));
      }
    }
  }

  ClusterChoice of_listed() {
    std::vector<AlikeNodes> all = groups();
    const Location& first = facts_.listed().front().where;
    if (all.empty()) {
      const std::string where =
          asked_.partition.empty() ? "" : fmt::format(" in partition {}", excerpt(asked_.partition));
      return refused(first, fmt::format("no node with GPUs that can be used{}", where));
    }
    std::vector<AlikeNodes> fitting;
    for (const AlikeNodes& group : all) {
      if (answers(group)) fitting.push_back(group);
    }
    if (fitting.empty()) {
      return refused(all.front().where,
                     fmt::format("the launch asks for nodes of {}; the cluster has {}", wish_text(), list(all)));
    }
    join_alike(fitting);
    if (fitting.size() > 1) {
      return refused(fitting.front().where,
                     fmt::format("which nodes the launch gets is not known, as the cluster has {}", list(fitting)));
    }
    const AlikeNodes& group = fitting.front();
    const std::int64_t count = asked_.nodes.value_or(group.nodes);
    if (count > group.nodes) {
      return refused(group.where,
                     fmt::format("the launch asks for {}, of which {} can be used", nodes_text(count), group.nodes));
    }
    return chosen(group, count,
                  fmt::format("{} that can be used, {}", nodes_text(group.nodes),
                              asked_.nodes ? fmt::format("{} asked for", count) : "all of them taken"));
  }

  static std::string list(const std::vector<AlikeNodes>& groups) {
    constexpr std::size_t most = 6;
    std::string out;
    for (std::size_t i = 0; i < std::min(groups.size(), most); ++i) out += (i > 0 ? ", " : "") + groups[i].described();
    return out + (groups.size() > most ? " and others" : "");
  }

  // Chooses nodes by the matrix of one node, which states nothing about the number of nodes.
  ClusterChoice of_matrix(const GpuMatrix& matrix) {
    AlikeNodes group{asked_.nodes.value_or(1), matrix.gpus, asked_.gpu, {}, matrix.where, "GPU0"};
    if (asked_.gpus_per_node && *asked_.gpus_per_node != matrix.gpus) {
      return refused(matrix.where, fmt::format("the launch asks for {} GPUs of each node, which has {}",
                                               *asked_.gpus_per_node, matrix.gpus));
    }
    for (const std::string& type : catalog_.names(ProfileKind::node)) {
      const std::vector<NodeHardware> kinds = catalog_.node_kinds(FileReference(type));
      const NodeSpec& node = kinds.front().spec;
      if (kinds.size() == 1 && node.gpus == matrix.gpus && node.instance.empty() && fits_matrix(type))
        group.types.push_back(type);
    }
    const std::vector<std::string> wished = fitting_types(
        catalog_, knowledge_,
        {asked_.gpu, matrix.gpus, asked_.feature.empty() ? std::vector<std::string>{} : std::vector{asked_.feature}});
    if (!wished.empty()) {
      std::vector<std::string> both;
      std::set_intersection(wished.begin(), wished.end(), group.types.begin(), group.types.end(),
                            std::back_inserter(both));
      group.types = both.empty() ? wished : both;
    }
    group.types = with_its_ports(group.types);
    if (!asked_.nodes)
      return refused(matrix.where, "the matrix of one node does not say how many nodes there are", group.types);
    return chosen(group, *asked_.nodes, fmt::format("{} of this kind asked for", nodes_text(*asked_.nodes)));
  }

  const ClusterFacts& facts_;
  const ImportedNodes& asked_;
  const Catalog& catalog_;
  const ClusterKnowledge& knowledge_;
};

}  // namespace

ClusterChoice choose_nodes(const ClusterFacts& facts, const ImportedNodes& asked, const Catalog& catalog,
                           const ClusterKnowledge& knowledge) {
  return Choosing(facts, asked, catalog, knowledge).choose();
}

std::vector<ImportObstacle> nodes_left_out(const ClusterFacts& facts) {
  std::map<std::string, std::pair<std::int64_t, Location>> states;
  std::pair<std::int64_t, Location> without;
  for (const ListedNode& node : facts.listed()) {
    if (!node.usable) {
      auto& state = states.emplace(node.state, std::pair(0, node.where)).first->second;
      ++state.first;
    } else if (node.gpus && *node.gpus == 0 && without.first++ == 0) {
      without.second = node.where;
    }
  }
  std::vector<ImportObstacle> out;
  constexpr std::size_t most = 16;
  for (const auto& [state, found] : states) {
    if (out.size() == most) break;
    out.push_back({found.second,
                   fmt::format("not counted: {} that cannot be used, {}", nodes_text(found.first), excerpt(state))});
  }
  if (without.first > 0)
    out.push_back({without.second, fmt::format("not counted: {} without GPUs", nodes_text(without.first))});
  return out;
}

}  // namespace mirfak
