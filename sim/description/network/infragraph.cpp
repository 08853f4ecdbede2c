#include "network/infragraph.hpp"

#include "base/text.hpp"
#include "base/units.hpp"
#include "network/index_slice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace mirfak {

namespace {

constexpr int kMostNested = 16;

struct Rate {
  double bandwidth = kNotStated;
  double latency_s = 0;
  std::string text;  // bandwidth as the file states it
};

struct Component {
  std::string name;
  int count = 0;
  std::string type;
  bool nested = false;
  Node node;
};

struct Device {
  Node node;
  std::vector<Component> components;
  std::map<std::string, Rate> links;
  std::vector<std::pair<std::pair<std::string, std::string>, std::string>> edges;  // ends and link

  const Component* find(const std::string& name) const {
    const auto found =
        std::find_if(components.begin(), components.end(), [&](const Component& c) { return c.name == name; });
    return found == components.end() ? nullptr : &*found;
  }
};

// Reads the only member of a choice: {choice: us, us: 3}.
std::pair<std::string, double> read_choice(const Node& node, const std::vector<std::string>& units) {
  Mapping mapping(node);
  const std::string unit = units[mapping.require("choice").as_choice(units)];
  const double value = mapping.require(unit).as_number(0, 1e15);
  mapping.finish();
  return {unit, value};
}

Rate read_rate(const Node& physical) {
  Rate out;
  Mapping mapping(physical);
  if (const std::optional<Node> bandwidth = mapping.find_or_null("bandwidth")) {
    const auto [unit, value] =
        read_choice(*bandwidth, {"gigabits_per_second", "gigabytes_per_second", "gigatransfers_per_second"});
    if (value <= 0) bandwidth->fail("a link of no bandwidth carries nothing", "expected a rate above 0");
    out.text = fmt::format("{} {}", value, unit);
    if (unit == "gigabits_per_second") out.bandwidth = value * kGB / 8;
    if (unit == "gigabytes_per_second") out.bandwidth = value * kGB;
  }
  if (const std::optional<Node> latency = mapping.find_or_null("latency")) {
    const auto [unit, value] = read_choice(*latency, {"ms", "us", "ns"});
    out.latency_s = value * (unit == "ms" ? 1e-3 : unit == "us" ? 1e-6 : 1e-9);
  }
  mapping.finish();
  return out;
}

std::map<std::string, Rate> read_links(const std::optional<Node>& list) {
  std::map<std::string, Rate> out;
  if (!list) return out;
  for (const Node& item : list->as_items()) {
    Mapping mapping(item);
    const Node name = mapping.require("name");
    mapping.ignore("description");
    const std::optional<Node> physical = mapping.find_or_null("physical");
    if (!out.emplace(name.as_string(), physical ? read_rate(*physical) : Rate{}).second) {
      name.fail(fmt::format("a second link is called '{}'", excerpt(name.as_string())), "give each a name of its own");
    }
    mapping.finish();
  }
  return out;
}

class InfraGraphReader {
 public:
  explicit InfraGraphReader(const Document& document) : document_(document) {}

  NetworkGraph read() {
    Mapping root{Node(document_)};
    for (const char* old : {"infrastructure", "connections"}) {
      if (const std::optional<Node> found = root.find(old)) refuse_old(*found);
    }
    graph_.format = "InfraGraph";
    graph_.title = root.string_or("name", document_.name());
    root.ignore("description");
    read_devices(root.require("devices"));
    const std::optional<Node> list = root.find_or_null("links");
    links_ = read_links(list);
    const Node instances = root.require("instances");
    const std::optional<Node> edges = root.find_or_null("edges");
    root.finish();
    make_instances(instances);
    if (edges) make_edges(*edges);
    return finished();
  }

 private:
  [[noreturn]] static void refuse_old(const Node& node) {
    node.fail("this is InfraGraph's older schema, which is not read",
              "write it in the present one: devices, instances, links and edges with ep1, ep2, scheme and link");
  }

  void read_devices(const Node& list) {
    for (const Node& item : list.as_items()) {
      Mapping mapping(item);
      if (const std::optional<Node> old = mapping.find("connections")) refuse_old(*old);
      const Node name = mapping.require("name");
      mapping.ignore("description");
      Device device{item, {}, {}, {}};
      read_components(mapping.require("components"), device);
      device.links = read_links(mapping.find_or_null("links"));
      if (const std::optional<Node> edges = mapping.find_or_null("edges")) edges_of_.emplace(name.as_string(), *edges);
      mapping.finish();
      if (!devices_.emplace(name.as_string(), std::move(device)).second) {
        name.fail(fmt::format("a second device is called '{}'", excerpt(name.as_string())),
                  "give each a name of its own");
      }
    }
    for (const auto& [name, device] : devices_) check_nesting(name, 0);
    for (auto& [name, edges] : edges_of_) read_device_edges(name, edges);
  }

  void read_components(const Node& list, Device& device) {
    static const std::vector<std::string> choices = {"custom", "device", "cpu",  "xpu",
                                                     "nic",    "memory", "port", "switch"};
    for (const Node& item : list.as_items()) {
      Mapping mapping(item);
      const Node name = mapping.require("name");
      mapping.ignore("description");
      Component component{
          name.as_string(), static_cast<int>(mapping.require("count").as_integer(1, 1'000'000)), {}, false, name};
      component.type = choices[mapping.require("choice").as_choice(choices)];
      component.nested = component.type == "device";
      for (const std::string& choice : choices) {
        const std::optional<Node> own = mapping.find_or_null(choice);
        if (own && choice == "custom" && component.type == "custom") {
          Mapping custom(*own);
          component.type = custom.require("type").as_string();
          custom.finish();
        }
      }
      if (component.type == "custom") item.fail("expected custom: {type: ...}, what kind of component this is");
      mapping.finish();
      if (device.find(component.name) != nullptr) {
        name.fail(fmt::format("a second component is called '{}'", excerpt(component.name)),
                  "give each a name of its own");
      }
      device.components.push_back(std::move(component));
    }
  }

  // Checks that a device, which may hold other devices, does not hold itself.
  void check_nesting(const std::string& name, int depth) {
    const Device& device = devices_.at(name);
    for (const Component& component : device.components) {
      if (!component.nested) continue;
      if (!devices_.contains(component.name)) {
        component.node.fail(fmt::format("there is no device '{}'", excerpt(component.name)),
                            did_you_mean(component.name, device_names(), "a component of choice device has its name"));
      }
      if (depth > kMostNested) component.node.fail("devices that hold one another without end", "break the circle");
      check_nesting(component.name, depth + 1);
    }
  }

  std::vector<std::string> device_names() const {
    std::vector<std::string> out;
    for (const auto& [name, device] : devices_) out.push_back(name);
    return out;
  }

  // Expands a path inside a device: "cx5[0:2].port[0]" becomes "cx5.0.port.0", ...
  std::vector<std::string> expand(const Device& of, const std::string& text, const Node& where) const {
    std::vector<std::string> out = {""};
    const Device* device = &of;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('.', begin), text.size());
      const std::string piece = text.substr(begin, end - begin);
      begin = end + 1;
      const std::string name = slice_name(piece, where);
      const Component* component = device != nullptr ? device->find(name) : nullptr;
      if (component == nullptr) {
        std::vector<std::string> known;
        if (device != nullptr) {
          for (const Component& other : device->components) known.push_back(other.name);
        }
        where.fail(fmt::format("there is no component '{}' to join", excerpt(name)),
                   did_you_mean(name, known, "it must be one of " + join_or(known)));
      }
      std::vector<std::string> next;
      for (const std::string& prefix : out) {
        for (const int index : read_slice(piece, component->count, where).indices) {
          next.push_back(fmt::format("{}{}{}.{}", prefix, prefix.empty() ? "" : ".", name, index));
        }
      }
      check_size(static_cast<std::int64_t>(next.size()), kMaxVertices, where);
      out = std::move(next);
      device = component->nested ? &devices_.at(name) : nullptr;
    }
    if (device != nullptr) where.fail("this is a device, and links join components", "name one of its components, too");
    return out;
  }

  static void check_size(std::int64_t size, std::int64_t most, const Node& where) {
    if (size > most) where.fail(fmt::format("more than {} vertices or links", most), "make counts or slices smaller");
  }

  template <typename Visit>
  void pairs_of(const std::vector<std::string>& from, const std::vector<std::string>& to, std::size_t scheme,
                const Node& where, const Visit& visit) const {
    const std::size_t shorter = std::min(from.size(), to.size());
    if (scheme == 1) {
      check_size(static_cast<std::int64_t>(from.size() * to.size()), kMaxLinks, where);
      for (const std::string& a : from) {
        for (const std::string& b : to) visit(a, b);
      }
      return;
    }
    for (std::size_t i = 0; i < shorter; ++i) visit(from[i], to[scheme == 0 ? i : (i + 1) % shorter]);
  }

  static std::size_t scheme_of(Mapping& mapping) {
    const std::optional<Node> scheme = mapping.find("scheme");
    return scheme ? scheme->as_choice({"one2one", "many2many", "ring"}) : 0;
  }

  static Node link_of(Mapping& mapping, const std::map<std::string, Rate>& links) {
    Node link = mapping.require("link");
    if (!links.contains(link.as_string())) {
      std::vector<std::string> names;
      for (const auto& [name, rate] : links) names.push_back(name);
      link.fail(fmt::format("there is no link '{}'", excerpt(link.as_string())),
                did_you_mean(link.as_string(), names, "add it to links"));
    }
    return link;
  }

  void read_device_edges(const std::string& name, const Node& list) {
    Device& device = devices_.at(name);
    for (const Node& item : list.as_items()) {
      Mapping mapping(item);
      const std::size_t scheme = scheme_of(mapping);
      const std::string link = link_of(mapping, device.links).as_string();
      std::vector<std::vector<std::string>> ends;
      for (const char* key : {"ep1", "ep2"}) {
        Mapping end(mapping.require(key));
        const std::optional<Node> nested = end.find_or_null("device");
        const Node component = end.require("component");
        end.finish();
        // InfraGraph's own blueprint of a DGX-2 names switches that it does not have, and its service joins nothing.
        if (joins_nothing(device, nested ? nested->as_string() : component.as_string(), component)) {
          ends.emplace_back();
          continue;
        }
        ends.push_back(expand(device, (nested ? nested->as_string() + "." : "") + component.as_string(), component));
      }
      mapping.finish();
      pairs_of(ends[0], ends[1], scheme, item, [&](const std::string& a, const std::string& b) {
        if (a != b) device.edges.push_back({{a, b}, link});
      });
      check_size(static_cast<std::int64_t>(device.edges.size()), kMaxLinks, item);
    }
  }

  bool joins_nothing(const Device& device, const std::string& text, const Node& where) {
    const std::string name = slice_name(text.substr(0, text.find('.')), where);
    if (device.find(name) != nullptr) return false;
    graph_.notes.push_back(
        fmt::format("{}: there is no component '{}', so that this edge joins nothing", where.where().text(), name));
    return true;
  }

  void make_instances(const Node& list) {
    for (const Node& item : list.as_items()) {
      Mapping mapping(item);
      const Node name = mapping.require("name");
      mapping.ignore("description");
      const Node device = mapping.require("device");
      const int count = static_cast<int>(mapping.require("count").as_integer(1, kMaxVertices));
      mapping.finish();
      if (!devices_.contains(device.as_string())) {
        device.fail(fmt::format("there is no device '{}'", excerpt(device.as_string())),
                    did_you_mean(device.as_string(), device_names(), "add it to devices"));
      }
      if (!instances_.emplace(name.as_string(), std::pair(device.as_string(), count)).second) {
        name.fail(fmt::format("a second instance is called '{}'", excerpt(name.as_string())),
                  "give each a name of its own");
      }
      instance_count_ += count;
      for (int i = 0; i < count; ++i)
        make_instance(fmt::format("{}.{}", name.as_string(), i), device.as_string(), item);
    }
  }

  void make_instance(const std::string& prefix, const std::string& device, const Node& where) {
    const std::size_t first = vertices_.size();
    add_components(prefix, devices_.at(device), where);
    bool has_device = false;
    for (std::size_t v = first; v < vertices_.size(); ++v) has_device |= vertices_[v].kind == VertexKind::device;
    for (std::size_t v = first; v < vertices_.size(); ++v) vertices_[v].inside = has_device;
    add_edges(prefix, devices_.at(device), where);
  }

  void add_components(const std::string& prefix, const Device& device, const Node& where) {
    for (const Component& component : device.components) {
      for (int i = 0; i < component.count; ++i) {
        std::string name = fmt::format("{}.{}.{}", prefix, component.name, i);
        if (component.nested) {
          add_components(name, devices_.at(component.name), where);
          continue;
        }
        check_size(static_cast<std::int64_t>(vertices_.size()), kMaxVertices, where);
        numbers_.emplace(name, static_cast<int>(vertices_.size()));
        const VertexKind kind = component.type == "xpu" ? VertexKind::device : VertexKind::other;
        vertices_.push_back({std::move(name), component.type, kind, false, component.node.where()});
      }
    }
  }

  void add_edges(const std::string& prefix, const Device& device, const Node& where) {
    for (const auto& [ends, link] : device.edges) {
      join(prefix + "." + ends.first, prefix + "." + ends.second, link, device.links.at(link), where);
    }
    for (const Component& component : device.components) {
      for (int i = 0; component.nested && i < component.count; ++i) {
        add_edges(fmt::format("{}.{}.{}", prefix, component.name, i), devices_.at(component.name), where);
      }
    }
  }

  void join(const std::string& a, const std::string& b, const std::string& link, const Rate& rate, const Node& where) {
    const int from = numbers_.at(a);
    const int to = numbers_.at(b);
    if (from == to) return;
    const auto key =
        static_cast<std::uint64_t>(std::min(from, to)) << 32U | static_cast<std::uint64_t>(std::max(from, to));
    const auto [found, fresh] = link_between_.emplace(key, graph_.links.size());
    if (fresh) graph_.links.emplace_back();
    check_size(static_cast<std::int64_t>(graph_.links.size()), kMaxLinks, where);
    graph_.links[found->second] = {from, to, graph_.link_type(link), rate.bandwidth, rate.latency_s};
    if (!rate.text.empty()) rate_texts_[link] = rate.text;
  }

  std::vector<std::string> end_of(const Node& node) const {
    Mapping mapping(node);
    const Node instance = mapping.require("instance");
    const Node component = mapping.require("component");
    mapping.finish();
    const std::string name = slice_name(instance.as_string(), instance);
    const auto found = instances_.find(name);
    if (found == instances_.end()) {
      std::vector<std::string> known;
      for (const auto& [other, what] : instances_) known.push_back(other);
      instance.fail(fmt::format("there is no instance '{}' to join", excerpt(name)),
                    did_you_mean(name, known, "add it to instances"));
    }
    const std::vector<std::string> inside = expand(devices_.at(found->second.first), component.as_string(), component);
    std::vector<std::string> out;
    for (const int index : read_slice(instance.as_string(), found->second.second, instance).indices) {
      for (const std::string& path : inside) out.push_back(fmt::format("{}.{}.{}", name, index, path));
      check_size(static_cast<std::int64_t>(out.size()), kMaxVertices, component);
    }
    return out;
  }

  void make_edges(const Node& list) {
    for (const Node& item : list.as_items()) {
      Mapping mapping(item);
      const std::size_t scheme = scheme_of(mapping);
      const std::string link = link_of(mapping, links_).as_string();
      const std::vector<std::string> from = end_of(mapping.require("ep1"));
      const std::vector<std::string> to = end_of(mapping.require("ep2"));
      mapping.finish();
      const Rate& rate = links_.at(link);
      pairs_of(from, to, scheme, item,
               [&](const std::string& a, const std::string& b) { join(a, b, link, rate, item); });
    }
  }

  NetworkGraph finished() {
    // Devices come first; the other vertices keep their order.
    std::vector<int> order;
    for (const bool device : {true, false}) {
      for (std::size_t v = 0; v < vertices_.size(); ++v) {
        if ((vertices_[v].kind == VertexKind::device) == device) order.push_back(static_cast<int>(v));
      }
      if (device) graph_.devices = static_cast<int>(order.size());
    }
    std::vector<int> number(vertices_.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      number[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
      graph_.vertices.push_back(std::move(vertices_[static_cast<std::size_t>(order[i])]));
    }
    int in_transfers = 0;
    for (NetworkLink& link : graph_.links) {
      link.a = number[static_cast<std::size_t>(link.a)];
      link.b = number[static_cast<std::size_t>(link.b)];
      const auto text = rate_texts_.find(graph_.link_types[static_cast<std::size_t>(link.type)]);
      in_transfers += text != rate_texts_.end() && text->second.ends_with("gigatransfers_per_second") ? 1 : 0;
    }
    graph_.facts = {{"devices", std::to_string(devices_.size())}, {"instances", std::to_string(instance_count_)}};
    for (const auto& [link, text] : rate_texts_) graph_.facts.emplace_back("bandwidth of " + link, text);
    if (in_transfers > 0) {
      graph_.notes.push_back(
          fmt::format("{} links state transfers per second: without a number of lanes no rate follows, and they are "
                      "taken not to bind",
                      in_transfers));
    }
    return std::move(graph_);
  }

  const Document& document_;
  NetworkGraph graph_;
  std::map<std::string, Device> devices_;
  std::map<std::string, Node> edges_of_;  // edges of devices
  std::map<std::string, Rate> links_;
  std::map<std::string, std::pair<std::string, int>> instances_;  // device type and count, by instance name
  std::vector<NetworkVertex> vertices_;
  std::unordered_map<std::string, int> numbers_;
  std::unordered_map<std::uint64_t, std::size_t> link_between_;
  std::map<std::string, std::string> rate_texts_;
  int instance_count_ = 0;
};

}  // namespace

bool is_infragraph(const Document& document) {
  const Value& root = document.root();
  if (root.kind != Value::Kind::mapping) return false;
  return root.find("instances") != nullptr || root.find("infrastructure") != nullptr;
}

NetworkGraph read_infragraph(const Document& document) { return InfraGraphReader(document).read(); }

}  // namespace mirfak
