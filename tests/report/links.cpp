// Links that bind: text, JSON and the picture say the same of them.
#include "base/markup.hpp"
#include "base/units.hpp"
#include "network/xml_elements.hpp"
#include "report/link_report.hpp"
#include "report/links_svg.hpp"
#include "support/example.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace mirfak;

namespace {

const std::vector<std::string> kFabrics = {
    "{type: full-bisection}",
    "{type: fat-tree, leaf_ports: 16, oversubscription: 1}",
    "{type: fat-tree, leaf_ports: 16, oversubscription: 40}",
    "{type: rail-optimized, levels: [{ports: 2}, {ports: 8, oversubscription: 30}]}",
    "{type: rail-only, leaf_ports: 2, oversubscription: 8}",
    "{type: dragonfly, leaf_ports: 4, group_routers: 2}",
    "{type: dragonfly+, leaf_ports: 8, group_routers: 2, oversubscription: 8}",
    "{type: torus-2d}",
};

Example on_fabric(const std::string& fabric, const LoweringOptions& options = {}) {
  return example({"cluster.nodes[0].count=8", "cluster.fabric=" + fabric, "strategy.tensor=4", "strategy.pipeline=4",
                  "strategy.overlap_grad_reduce=true", "training.framework=megatron-core"},
                 options);
}

std::size_t count_of(const XmlElement& element, const std::string& name, const std::string& classes) {
  const std::string* own = element.find("class");
  std::size_t count = element.name == name && own != nullptr && *own == classes ? 1 : 0;
  for (const XmlElement& child : element.children) count += count_of(child, name, classes);
  return count;
}

}  // namespace

TEST_CASE("links: the picture is XML with a title and a description, its figures are those of the JSON") {
  for (const std::string& fabric : kFabrics) {
    CAPTURE(fabric);
    const Example e = on_fabric(fabric);
    const NetworkUse use = whole_network_use(e.simulation, {});
    const std::string svg = links_svg({"A <title> & more", links_effect_text(e.simulation, use)}, use);
    const XmlElement root = parse_xml(svg, "links.svg");
    CHECK(root.name == "svg");
    CHECK(root.attribute("role") == "img");
    REQUIRE(root.children.size() > 3);
    CHECK(root.children[0].name == "title");
    CHECK(root.children[1].name == "desc");
    CHECK(svg.find(escaped("A <title> & more")) != std::string::npos);
    const nlohmann::ordered_json json = links_json(use);
    for (const auto& kind : json.at("kinds")) {
      const std::string figures =
          fmt::format("mean {}, peak {}", format_percent(kind.at("mean_use")), format_percent(kind.at("peak_use")));
      CAPTURE(figures);
      CHECK(svg.find(">" + kind.at("kind").get<std::string>() + "<") != std::string::npos);
      CHECK(svg.find(figures) != std::string::npos);
      if (kind.at("binding_links") > 0) CHECK(svg.find(format_seconds(kind.at("binds_s"))) != std::string::npos);
    }
    // The legend has one mark.
    CHECK((count_of(root, "path", "mark") > 1) == use.binds());
    CHECK(json.at("binding").size() == std::min<std::size_t>(100, use.binding.size()));
  }
}

// On a dragonfly, groups that a folded program takes as one lie differently, and are held back differently.
TEST_CASE("links: of the whole network or of what can be short, folded or not, the same binds and adds as much") {
  for (const std::string& fabric : kFabrics) {
    CAPTURE(fabric);
    const bool alike = fabric.find("dragonfly") == std::string::npos;
    const Example folded = on_fabric(fabric);
    const NetworkUse use = network_use(folded.simulation);
    const NetworkUse whole = whole_network_use(folded.simulation, {});
    CHECK(whole.slowed_s == doctest::Approx(use.slowed_s).epsilon(1e-7));
    CHECK(whole.binds() == use.binds());
    if (!alike) continue;
    const LoweringOptions all_ranks{.unfolded = true};
    const Example unfolded = on_fabric(fabric, all_ranks);
    const NetworkUse explicit_ranks = whole_network_use(unfolded.simulation, all_ranks);
    REQUIRE(explicit_ranks.kinds.size() == whole.kinds.size());
    for (std::size_t i = 0; i < whole.kinds.size(); ++i) {
      const LinkKindUse& one = whole.kinds[i];
      const LinkKindUse& other = explicit_ranks.kinds[i];
      CAPTURE(one.kind);
      CHECK(one.kind == other.kind);
      CHECK(one.links == other.links);
      CHECK(one.bytes == doctest::Approx(other.bytes));
      CHECK(one.mean_use == doctest::Approx(other.mean_use));
      CHECK(one.peak_use == doctest::Approx(other.peak_use));
      CHECK(one.binds_s == doctest::Approx(other.binds_s));
      CHECK(one.binding_links == other.binding_links);
      CHECK(one.most_asked == doctest::Approx(other.most_asked));
      CHECK(added_by(one.slowed) == doctest::Approx(added_by(other.slowed)).epsilon(1e-7));
    }
  }
}

TEST_CASE("links: the explanation names those that bind, says that none does, or leaves it where that is no question") {
  const Example short_links = on_fabric(kFabrics[2]);
  const std::optional<Section> section = links_section(short_links.simulation);
  REQUIRE(section);
  const std::string text = section->body();
  CHECK(text.find("leaf to spine") != std::string::npos);
  const NetworkUse use = network_use(short_links.simulation);
  REQUIRE(use.binds());
  for (const LinkKindUse& kind : use.kinds) {
    for (const SlowedCommunication& each : kind.slowed) CHECK(text.find(each.name) != std::string::npos);
  }
  CHECK(text.find("times what a link has") != std::string::npos);
  const Example wide = example({"cluster.nodes[0].count=4", "cluster.fabric={type: fat-tree, oversubscription: 1.01}"});
  CHECK(text_of({links_section(wide.simulation).value()}) == "The links that bind: no link is short\n");
  CHECK_FALSE(links_section(example().simulation));
}
