#include "cluster/perturbations.hpp"

#include "base/csv.hpp"
#include "base/file_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

using FactorsOf = std::map<int, TimeFactors>;

// Product of two factors, bounded as any factor is.
TimeFactors product(const TimeFactors& a, const TimeFactors& b) {
  TimeFactors out;
  for (const TimeFactor& key : kTimeFactorKeys) {
    out.*key.value = std::clamp(a.*key.value * b.*key.value, kLowestFactor, kHighestFactor);
  }
  return out;
}

// Reads a list such as [{rank: 3, compute: 1.2}].
FactorsOf listed(const Node& list, const char* what, int count) {
  FactorsOf out;
  for (const Node& item : list.as_items()) {
    Mapping entry(item);
    const Node place = entry.require(what);
    TimeFactors factors;
    for (const TimeFactor& key : kTimeFactorKeys) {
      factors.*key.value = entry.number_or(key.key, 1, kLowestFactor, kHighestFactor);
    }
    entry.finish();
    const auto number = static_cast<int>(place.as_integer(0, count - 1));
    if (!out.emplace(number, factors).second) place.fail(fmt::format("{} {} has factors already", what, number));
  }
  return out;
}

FactorsOf tabled(const Node& file, const char* what, int count) {
  const CsvTable table = CsvTable::from_file(FileReference(file).existing_path(), kSmallTableFile);
  const std::size_t place = table.require(what);
  FactorsOf out;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    TimeFactors factors;
    for (const TimeFactor& key : kTimeFactorKeys) {
      if (const auto column = table.find(key.key))
        factors.*key.value = table.number(row, *column, kLowestFactor, kHighestFactor);
    }
    const auto number = static_cast<int>(table.integer(row, place, 0, count - 1));
    if (!out.emplace(number, factors).second) table.fail(row, place, fmt::format("{} has factors already", number));
  }
  return out;
}

DrawnFactors read_drawn(const Node& node) {
  Mapping keys(node);
  DrawnFactors out;
  for (const auto& [key, value] : {std::pair{"compute", &DrawnFactors::compute},
                                   {"communication", &DrawnFactors::communication},
                                   {"host", &DrawnFactors::host}}) {
    if (const auto found = keys.find(key)) out.*value = read_distribution(*found, "factor");
  }
  keys.finish();
  return out;
}

// Reads fixed factors, or a distribution of factors.
FactorsOf read_factors(const Node& node, const char* what, int count, DrawnFactors& drawn) {
  if (node.is_sequence()) return listed(node, what, count);
  if (node.is_scalar()) return tabled(node, what, count);
  drawn = read_drawn(node);
  return {};
}

std::map<int, double> read_ports(const Node& node, int ranks, std::optional<Distribution>& drawn) {
  std::map<int, double> out;
  if (node.is_sequence()) {
    for (const Node& item : node.as_items()) {
      Mapping entry(item);
      const Node rank = entry.require("rank");
      const double factor = entry.number_or("factor", 1, kLowestFactor, kHighestFactor);
      entry.finish();
      const auto number = static_cast<int>(rank.as_integer(0, ranks - 1));
      if (!out.emplace(number, factor).second)
        rank.fail(fmt::format("the port of rank {} has a factor already", number));
    }
  } else if (node.is_scalar()) {
    const CsvTable table = CsvTable::from_file(FileReference(node).existing_path(), kSmallTableFile);
    const std::size_t rank = table.require("rank");
    const std::size_t factor = table.require("factor");
    for (std::size_t row = 0; row < table.rows(); ++row) {
      const auto number = static_cast<int>(table.integer(row, rank, 0, ranks - 1));
      if (!out.emplace(number, table.number(row, factor, kLowestFactor, kHighestFactor)).second) {
        table.fail(row, rank, fmt::format("{} has a factor already", number));
      }
    }
  } else {
    drawn = read_distribution(node, "factor");
  }
  std::erase_if(out, [](const auto& port) { return port.second == 1; });
  return out;
}

std::string drawn_yaml(const char* key, const DrawnFactors& drawn) {
  if (drawn.empty()) return {};
  std::string out = fmt::format("    {}:\n", key);
  if (drawn.compute) out += "      compute: " + drawn.compute->yaml() + "\n";
  if (drawn.communication) out += "      communication: " + drawn.communication->yaml() + "\n";
  if (drawn.host) out += "      host: " + drawn.host->yaml() + "\n";
  return out;
}

}  // namespace

RankFactors Perturbations::of(int rank) const {
  RankFactors out;
  if (const auto found = ranks.find(rank); found != ranks.end()) out.time = found->second;
  if (const auto found = ports.find(rank); found != ports.end()) out.port = found->second;
  return out;
}

std::string Perturbations::yaml() const {
  std::string out;
  if (!ranks.empty()) out += "    ranks:\n";
  for (const auto& [rank, factors] : ranks) {
    out += fmt::format("      - {{rank: {}, compute: {}, communication: {}, host: {}}}\n", rank, factors.compute,
                       factors.communication, factors.host);
  }
  if (ranks.empty()) out += drawn_yaml("ranks", drawn_ranks);
  out += drawn_yaml("nodes", drawn_nodes);
  if (!ports.empty()) out += "    links:\n";
  for (const auto& [rank, factor] : ports) out += fmt::format("      - {{rank: {}, factor: {}}}\n", rank, factor);
  if (drawn_ports) out += "    links: " + drawn_ports->yaml() + "\n";
  out += drawn_yaml("iterations", drawn_iterations);
  out += drawn_yaml("jitter", jitter);
  if (tokens) out += "    tokens: " + tokens->yaml() + "\n";
  if (experts) out += "    experts: " + experts->yaml() + "\n";
  if (is_drawn()) out += fmt::format("    seed: {}\n", seed);
  return out.empty() ? out : "  perturbations:\n" + out;
}

Perturbations read_perturbations(const Node& section, const RankPlaces& places) {
  Mapping keys(section);
  Perturbations out;
  if (const auto ranks = keys.find("ranks")) out.ranks = read_factors(*ranks, "rank", places.ranks, out.drawn_ranks);
  if (const auto nodes = keys.find("nodes")) {
    const FactorsOf of_nodes = read_factors(*nodes, "node", places.nodes, out.drawn_nodes);
    if (!of_nodes.empty() && !out.drawn_ranks.empty()) {
      nodes->fail("factors of single nodes together with a distribution of ranks",
                  "give ranks as a list, or nodes as a distribution");
    }
    for (int rank = 0; rank < places.ranks && !of_nodes.empty(); ++rank) {
      const auto found = of_nodes.find(places.node_of(rank));
      if (found != of_nodes.end()) out.ranks[rank] = product(out.ranks[rank], found->second);
    }
  }
  std::erase_if(out.ranks, [](const auto& rank) { return rank.second == TimeFactors{}; });
  if (const auto links = keys.find("links")) out.ports = read_ports(*links, places.ranks, out.drawn_ports);
  if (const auto iterations = keys.find("iterations")) out.drawn_iterations = read_drawn(*iterations);
  if (const auto jitter = keys.find("jitter")) out.jitter = read_drawn(*jitter);
  if (const auto tokens = keys.find("tokens")) out.tokens = read_distribution(*tokens, "tokens", true);
  if (const auto experts = keys.find("experts")) out.experts = read_expert_popularity(*experts);
  out.seed = static_cast<std::uint64_t>(keys.integer_or("seed", 1, 0));
  keys.finish();
  return out;
}

}  // namespace mirfak
