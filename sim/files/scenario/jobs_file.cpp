#include "scenario/jobs_file.hpp"

#include "network/fabric_file.hpp"
#include "network/host_list.hpp"
#include "scenario/named_scenario.hpp"
#include "scenario/stated_notes.hpp"
#include "simulation/sampled_images.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>
#include <utility>

namespace mirfak {

namespace {

constexpr int kMaxJobs = 1000;
constexpr int kMaxTogether = 10'000;
constexpr int kUsualIterations = 10;
constexpr double kLatestStart_s = 86400;

Cluster read_whole_cluster(const Node& section, const ScenarioSources& sources) {
  Cluster cluster = with_network_files(read_cluster(section, sources.catalog));
  if (cluster.shares_gpus()) {
    section.fail("ranks share GPUs here: among several jobs each rank has its own", "leave out ranks_per_gpu");
  }
  return cluster;
}

// Assigns nodes to jobs.
class Nodes {
 public:
  explicit Nodes(const Cluster& cluster)
      : cluster_(cluster), taken_(static_cast<std::size_t>(cluster.nodes()), false) {}

  // Returns the job's nodes, ascending: those of `nodes`, a list of numbers, or the next `count` free nodes.
  std::vector<int> take(Mapping& job) {
    const std::optional<Node> listed = job.find("nodes");
    const std::optional<Node> count = job.find("count");
    if (listed && count) count->fail("nodes says which nodes the job has", "leave nodes or count out");
    if (listed) return take_listed(*listed);
    if (count) return take_next(*count);
    job.node().fail("expected nodes or count", "for example nodes: \"0-15,32\", or count: 16, the next that are free");
  }

 private:
  std::vector<int> take_listed(const Node& listed) {
    std::set<int> out;
    for (const std::string& text : HostLists().expand("[" + listed.as_string() + "]", listed.where())) {
      int node = 0;
      std::from_chars(text.data(), text.data() + text.size(), node);
      if (node >= cluster_.nodes()) {
        listed.fail_infeasible(fmt::format("there is no node {}: the cluster has {}", text, cluster_.nodes()),
                               "nodes are numbered from 0");
      }
      if (taken_[static_cast<std::size_t>(node)]) {
        listed.fail_infeasible(fmt::format("node {} is listed twice, or another job has it", node),
                               "each node runs one job");
      }
      taken_[static_cast<std::size_t>(node)] = true;
      out.insert(node);
    }
    return {out.begin(), out.end()};
  }

  std::vector<int> take_next(const Node& count) {
    const std::int64_t wanted = count.as_integer(1, std::int64_t{1} << 20);
    std::vector<int> out;
    for (int node = 0; node < cluster_.nodes() && std::ssize(out) < wanted; ++node) {
      if (taken_[static_cast<std::size_t>(node)]) continue;
      taken_[static_cast<std::size_t>(node)] = true;
      out.push_back(node);
    }
    if (std::ssize(out) < wanted) {
      count.fail_infeasible(fmt::format("only {} nodes of the cluster's {} are left", out.size(), cluster_.nodes()),
                            "give the cluster more nodes, or the jobs fewer");
    }
    return out;
  }

  const Cluster& cluster_;
  std::vector<bool> taken_;
};

std::vector<int> devices_of(const Cluster& whole, const std::vector<int>& nodes) {
  std::vector<int> out;
  for (int device = 0; device < whole.gpus(); ++device) {
    if (std::binary_search(nodes.begin(), nodes.end(), whole.place_of(device).node)) out.push_back(device);
  }
  return out;
}

// Replaces the cluster's perturbations of iterations by those that a job states for its own iterations.
void replace_own(const Node& section, Perturbations& out) {
  if (section.is_mapping()) {
    for (const char* key : {"ranks", "nodes", "links", "seed"}) {
      const Value* const value = section.value().find(key);
      if (value == nullptr) continue;
      section.child(*value, key).fail("of the cluster, whatever job runs there", "move it to cluster.perturbations");
    }
  }
  const Perturbations own = read_perturbations(section, {});
  if (!own.drawn_iterations.empty()) out.drawn_iterations = own.drawn_iterations;
  if (!own.jitter.empty()) out.jitter = own.jitter;
  if (own.tokens) out.tokens = own.tokens;
  if (own.experts) out.experts = own.experts;
}

// Returns the cluster's perturbations as a job on these devices has them.
Perturbations perturbations_of(const Cluster& whole, const std::vector<int>& devices, const std::optional<Node>& own) {
  Perturbations out = whole.perturbations();
  out.ranks.clear();
  out.ports.clear();
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    const auto ranks = whole.perturbations().ranks.find(devices[rank]);
    if (ranks != whole.perturbations().ranks.end()) out.ranks[static_cast<int>(rank)] = ranks->second;
    const auto ports = whole.perturbations().ports.find(devices[rank]);
    if (ports != whole.perturbations().ports.end()) out.ports[static_cast<int>(rank)] = ports->second;
  }
  if (own) replace_own(*own, out);
  return out;
}

// Returns the nodes of these devices as a cluster of their own, on which prices and rules are based.
Cluster cluster_of(const Cluster& whole, const std::vector<int>& devices, Perturbations perturbations) {
  std::vector<NodeAllotment> allotments;
  int last_group = -1;
  int last_node = -1;
  for (const int device : devices) {
    const DevicePlace place = whole.place_of(device);
    if (std::exchange(last_group, place.group) != place.group) {
      allotments.push_back(whole.groups()[static_cast<std::size_t>(place.group)]);
      allotments.back().count = 0;
      last_node = -1;  // a group begins with a device of a node that it has not counted
      NodeSpec& spec = allotments.back().hardware.spec;
      spec.scale_up_reach = spec.scale_up_domain;  // reach in the cluster that the jobs share
    }
    if (std::exchange(last_node, place.node) != place.node) ++allotments.back().count;
  }
  // The power of network and cooling belongs to the whole cluster, and the GPUs' power limits are already set.
  Facility facility = whole.facility();
  facility.network_power_w = facility.cooling_power_w = facility.power_cap_w = 0;
  return {std::move(allotments), whole.fabric(), std::move(perturbations), std::move(facility)};
}

// Returns a job's scenario, without its cluster.
Document document_of(const Document& file, Mapping& job, const std::string& name, std::vector<std::string>& notes) {
  Document scenario = scenario_named_by(file, job.require("scenario"));
  if (const std::optional<Node> keys = job.find("set")) set_keys(scenario, *keys);
  job.finish();
  Value root = scenario.root();
  if (std::erase_if(root.fields, [](const Value::Field& field) { return field.key == "cluster"; }) > 0) {
    notes.push_back(fmt::format("{}: the cluster of its scenario has no effect, it runs on nodes of this one", name));
  }
  return scenario.with_root(std::move(root));
}

}  // namespace

bool has_jobs(const Document& document) {
  return document.root().kind == Value::Kind::mapping && document.root().find("jobs") != nullptr;
}

std::vector<std::string> JobsFile::names() const {
  std::vector<std::string> out;
  for (const NamedJob& job : jobs) out.push_back(job.name);
  return out;
}

JobsFile read_jobs(const Document& document, const ScenarioSources& sources) {
  Mapping root{Node(document)};
  const Node list = root.require("jobs");
  const Node section = root.require("cluster");
  JobsFile out{document.name(), document.to_yaml(), read_whole_cluster(section, sources), {}, 0, {}};
  out.iterations = static_cast<int>(root.integer_or("iterations", kUsualIterations, 1, kMaxTogether));
  root.finish();
  const std::vector<Node> items = list.as_items();
  if (items.empty() || items.size() > kMaxJobs) list.fail(fmt::format("expected 1 to {} jobs", kMaxJobs));
  Nodes nodes(out.cluster);
  std::set<std::string> names;
  for (const Node& item : items) {
    Mapping job(item);
    const std::string name = job.string_or("name", fmt::format("job {}", names.size()));
    if (!names.insert(name).second) item.fail(fmt::format("a second job is called '{}'", name), "name each otherwise");
    std::vector<int> own = nodes.take(job);
    const double start_s = job.number_or("start_s", 0, 0, kLatestStart_s);
    const std::optional<Node> perturbed = job.find("perturbations");
    const Document described = document_of(document, job, name, out.notes);
    std::vector<int> devices = devices_of(out.cluster, own);
    Perturbations perturbations = perturbations_of(out.cluster, devices, perturbed);
    Scenario parsed = parse_scenario(described, cluster_of(out.cluster, devices, std::move(perturbations)), sources);
    parsed.job.part = std::make_shared<const ClusterPart>(ClusterPart{out.cluster, std::move(devices)});
    out.jobs.push_back({name, std::move(parsed), std::move(own), start_s});
  }
  return out;
}

void note_what_is_idle(JobsFile& file, bool sampled) {
  const auto draws = [](const NamedJob& job) { return is_drawn(job.job()); };
  if (!sampled && std::any_of(file.jobs.begin(), file.jobs.end(), draws)) {
    file.notes.emplace_back("distributions (perturbations, training.images) change nothing without samples");
  }
  for (const NamedJob& job : file.jobs) {
    for (const std::string& note : stated_notes(job.scenario.document)) {
      file.notes.push_back(fmt::format("{}: {}", job.name, note));
    }
    if (job.scenario.assertions.empty()) continue;
    file.notes.push_back(
        fmt::format("assert of {} is of the job alone, and not checked together with others", job.name));
  }
}

}  // namespace mirfak
