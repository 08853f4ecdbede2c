#include "network/graph_file.hpp"

#include "base/text.hpp"
#include "network/index_slice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <list>
#include <map>
#include <optional>
#include <utility>

namespace mirfak {

namespace {

struct VertexSet {
  std::string name;
  int count = 1;
  bool numbered = true;  // true if a count was stated: "leaf.0"; else the name has no number
  int first = 0;         // number of its first vertex, among devices or among switches
  bool device = false;
};

class GraphFileReader {
 public:
  NetworkGraph read(const Document& document) {
    graph_.format = "mirfak graph";
    graph_.title = std::filesystem::path(document.name()).filename().string();
    open_.push_back(std::filesystem::weakly_canonical(document.name()).string());
    // Links may join vertices that any included file declares, so links are read last.
    read_sets(document);
    for (const Node& list : link_lists_) read_links(list);
    graph_.devices = static_cast<int>(devices_.size());
    if (graph_.devices == 0) Node(document).fail("a network without devices", "add devices: [{name: gpu, count: 8}]");
    for (NetworkLink& link : graph_.links) {
      link.a = final_number(link.a);
      link.b = final_number(link.b);
    }
    graph_.vertices = std::move(devices_);
    graph_.vertices.insert(graph_.vertices.end(), switches_.begin(), switches_.end());
    return std::move(graph_);
  }

 private:
  // While reading, switches have negative numbers: -1 - index.
  int final_number(int number) const { return number >= 0 ? number : graph_.devices - 1 - number; }

  void read_sets(const Document& document) {
    Mapping root{Node(document)};
    root.ignore("description");
    if (const auto includes = root.find_or_null("include")) {
      for (const Node& item : includes->as_items()) include(item);
    }
    if (const auto name = root.find("network")) graph_.title = name->as_string();
    if (const auto devices = root.find_or_null("devices")) {
      for (const Node& item : devices->as_items()) read_set(item, true);
    }
    if (const auto switches = root.find_or_null("switches")) {
      for (const Node& item : switches->as_items()) read_set(item, false);
    }
    if (const auto links = root.find_or_null("links")) link_lists_.push_back(*links);
    root.finish();
  }

  void include(const Node& item) {
    const std::filesystem::path path = std::filesystem::path(item.where().file).parent_path() / item.as_string();
    const std::string canonical = std::filesystem::weakly_canonical(path).string();
    if (std::find(open_.begin(), open_.end(), canonical) != open_.end()) {
      item.fail("this file includes itself, through others or directly", "break the circle of includes");
    }
    if (std::find(done_.begin(), done_.end(), canonical) != done_.end()) {
      item.fail("this file is included twice, and its names with it", "include it once");
    }
    if (open_.size() >= kMaxIncludes) item.fail("includes are nested too deep");
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) {
      item.fail(fmt::format("there is no file {}", path.string()), "paths are relative to the file that states them");
    }
    open_.push_back(canonical);
    documents_.push_back(Document::from_file(path));
    read_sets(documents_.back());
    open_.pop_back();
    done_.push_back(canonical);
  }

  void read_set(const Node& item, bool device) {
    Mapping mapping(item);
    const Node name = mapping.require("name");
    VertexSet set;
    set.name = name.as_string();
    set.numbered = mapping.has("count");
    set.count = static_cast<int>(mapping.integer_or("count", 1, 1, kMaxVertices));
    set.device = device;
    std::vector<NetworkVertex>& vertices = device ? devices_ : switches_;
    set.first = static_cast<int>(vertices.size());
    std::string type = device ? "device" : set.name;
    bool inside = false;
    if (device) {
      if (const auto stands_for = mapping.find("stands_for")) read_terminals(*stands_for);
    } else {
      type = mapping.string_or("kind", type);
      inside = mapping.bool_or("inside", false);
    }
    mapping.finish();
    if (set.name.empty() || set.name.find_first_of("[].") != std::string::npos) {
      name.fail("expected a name without brackets and dots", "links name its elements as leaf[0:4]");
    }
    if (!sets_.emplace(set.name, set).second) {
      name.fail(fmt::format("a second set is called '{}'", excerpt(set.name)), "give each a name of its own");
    }
    if (static_cast<std::int64_t>(vertices.size()) + set.count > kMaxVertices)
      item.fail("more than 1,000,000 vertices");
    for (int i = 0; i < set.count; ++i) {
      vertices.push_back({set.numbered ? fmt::format("{}.{}", set.name, i) : set.name, type,
                          device ? VertexKind::device : VertexKind::other, inside, name.where()});
    }
  }

  void read_terminals(const Node& stated) {
    const auto terminals = static_cast<Terminals>(stated.as_choice({"gpus", "ports", "nodes"}));
    if (terminals_stated_ && terminals != graph_.terminals) {
      stated.fail("devices of one network stand for different things", "state the same for all of them");
    }
    graph_.terminals = terminals;
    terminals_stated_ = true;
  }

  std::vector<int> ends_of(const Node& text) const {
    const std::string name = slice_name(text.as_string(), text);
    const auto found = sets_.find(name);
    if (found == sets_.end()) {
      std::vector<std::string> known;
      for (const auto& [other, set] : sets_) known.push_back(other);
      text.fail(fmt::format("there is no '{}' to join", excerpt(name)),
                did_you_mean(name, known, "add it to devices or switches"));
    }
    const VertexSet& set = found->second;
    std::vector<int> out;
    for (const int index : read_slice(text.as_string(), set.count, text).indices) {
      out.push_back(set.device ? set.first + index : -1 - (set.first + index));
    }
    return out;
  }

  void read_links(const Node& list) {
    for (const Node& item : list.as_items()) {
      Mapping mapping(item);
      const std::vector<int> from = ends_of(mapping.require("from"));
      const std::vector<int> to = ends_of(mapping.require("to"));
      const auto pattern = mapping.find("pattern");
      const std::size_t kind = pattern ? pattern->as_choice({"one-to-one", "all-to-all", "spread", "ring"}) : 0;
      const auto count = static_cast<int>(mapping.integer_or("count", 1, 1, 1 << 20));
      NetworkLink link;
      link.type = graph_.link_type(mapping.string_or("name", "link"));
      link.bandwidth = read_bandwidth(mapping, item);
      link.latency_s = mapping.number_or("latency_s", 0, 0, 1);
      mapping.finish();
      if ((kind == 0 || kind == 3) && from.size() != to.size()) {
        item.fail(fmt::format("{} and {} vertices cannot be joined {}", from.size(), to.size(),
                              kind == 0 ? "one to one" : "in a ring"),
                  "make the slices equally long, or set pattern to all-to-all or spread");
      }
      if (kind == 2 && (to.size() > from.size() || from.size() % to.size() != 0)) {
        item.fail(fmt::format("{} vertices cannot be spread evenly over {}", from.size(), to.size()),
                  "from must be a multiple of to");
      }
      const std::int64_t pairs =
          static_cast<std::int64_t>(from.size()) * (kind == 1 ? static_cast<std::int64_t>(to.size()) : 1);
      if (pairs * count + static_cast<std::int64_t>(graph_.links.size()) > kMaxLinks) {
        item.fail("more than 4,000,000 links", "make slices or counts smaller");
      }
      join(from, to, kind, count, link, item);
    }
  }

  static double read_bandwidth(Mapping& mapping, const Node& item) {
    const auto bytes = mapping.find("bandwidth");
    const auto bits = mapping.find("gigabits_per_second");
    if (bytes.has_value() == bits.has_value()) {
      item.fail("expected bandwidth in bytes/s, or gigabits_per_second", "state one of them, of one direction");
    }
    const double value = bytes ? bytes->as_number(0, 1e18) : bits->as_number(0, 1e9) * 1e9 / 8;
    if (value <= 0) (bytes ? *bytes : *bits).fail("a link of no bandwidth carries nothing", "expected a rate above 0");
    return value;
  }

  void join(const std::vector<int>& from, const std::vector<int>& to, std::size_t kind, int count, NetworkLink link,
            const Node& item) {
    const auto add = [&](int a, int b) {
      if (a == b) item.fail("a link from a vertex to itself joins nothing", "change the slices");
      link.a = a;
      link.b = b;
      for (int i = 0; i < count; ++i) graph_.links.push_back(link);
    };
    const std::size_t n = from.size();
    for (std::size_t i = 0; i < n; ++i) {
      if (kind == 0) add(from[i], to[i]);
      if (kind == 2) add(from[i], to[i / (n / to.size())]);
      if (kind == 3 && (n > 2 || i == 0)) add(from[i], to[(i + 1) % n]);
      for (std::size_t j = 0; kind == 1 && j < to.size(); ++j) {
        // If a set is joined with itself, each pair is joined once.
        if (from == to && j <= i) continue;
        add(from[i], to[j]);
      }
    }
  }

  NetworkGraph graph_;
  std::vector<NetworkVertex> devices_;
  std::vector<NetworkVertex> switches_;
  std::map<std::string, VertexSet> sets_;
  std::list<Document> documents_;
  std::vector<Node> link_lists_;
  std::vector<std::string> open_;  // files that are being read, each included by the one before
  std::vector<std::string> done_;
  bool terminals_stated_ = false;
};

}  // namespace

bool is_graph_file(const Document& document) {
  const Value& root = document.root();
  if (root.kind != Value::Kind::mapping) return false;
  return root.find("devices") != nullptr || root.find("switches") != nullptr || root.find("include") != nullptr;
}

NetworkGraph read_graph_file(const Document& document) { return GraphFileReader().read(document); }

}  // namespace mirfak
