// The fit uses the model itself: for each trial of the constants a link is made with them, and CollectiveModel prices
// every row. NCCL's choice of algorithm and protocol depends on none of these constants (except for a link through the
// host), so rows are divided once into rings, all-to-alls and in-switch reductions, and each part is a problem of its
// own.

#include "calibration/collective_table.hpp"

#include "base/averages.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "calibration/parameter_fit.hpp"
#include "calibration/send_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

namespace mirfak {

namespace {

constexpr double kMiB = 1U << 20U;
constexpr double kWarmUpBytes = 64;

std::optional<CollectiveKind> kind_of(const std::string& name) {
  if (name == "all_reduce") return CollectiveKind::all_reduce;
  if (name == "all_gather") return CollectiveKind::all_gather;
  if (name == "reduce_scatter") return CollectiveKind::reduce_scatter;
  if (name == "alltoall") return CollectiveKind::all_to_all;
  return std::nullopt;
}

// Other programs of nccl-tests, for which a profile has no constants, and sends, which have a fit of their own.
constexpr std::array<std::string_view, 6> kOthers = {"sendrecv", "broadcast", "reduce",
                                                     "gather",   "scatter",   "hypercube"};

void check_name(const CsvTable& table, std::size_t row, std::size_t column) {
  const std::string& name = table.text(row, column);
  if (kind_of(name) || std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end()) return;
  std::vector<std::string> known = {"all_reduce", "all_gather", "reduce_scatter", "alltoall"};
  known.insert(known.end(), kOthers.begin(), kOthers.end());
  table.fail(row, column, fmt::format("'{}' is no collective that is known", excerpt(name)),
             did_you_mean(name, known, "expected " + join_or(known)));
}

NcclVersion version_of(const std::string& text) {
  return text.starts_with("2.29") || text.starts_with("2.3") ? NcclVersion::v2_29 : NcclVersion::v2_28;
}

// A constant of a link: its key, start and range of the fit, and its figure in the link.
struct LinkUnknown {
  Unknown unknown;
  Figure& (*figure)(LinkSpec&);
};

std::vector<LinkUnknown> unknowns_of_rings(bool ll128) {
  std::vector<LinkUnknown> out = {
      {{"ll_base_s", 6e-6, 1e-6, 50e-6}, [](LinkSpec& l) -> Figure& { return l.base_latency_s; }},
      {{"ll_step_s", 1e-6, 1e-7, 20e-6}, [](LinkSpec& l) -> Figure& { return l.latency_s; }},
      {{"ll_efficiency", 0.3, 0.005, 1}, [](LinkSpec& l) -> Figure& { return l.protocols->ll_efficiency; }},
      {{"simple_base_s", 14e-6, 1e-6, 100e-6}, [](LinkSpec& l) -> Figure& { return l.protocols->simple_base_s; }},
      {{"simple_step_s", 4e-6, 1e-7, 50e-6}, [](LinkSpec& l) -> Figure& { return l.protocols->simple_step_s; }},
      {{"simple_efficiency", 0.8, 0.005, 1}, [](LinkSpec& l) -> Figure& { return l.efficiency; }},
      {{"simple_overlap", 1.2, 1, 4}, [](LinkSpec& l) -> Figure& { return l.protocols->simple_overlap; }},
      {{"extra_steps", 0.5, 0, 3}, [](LinkSpec& l) -> Figure& { return l.protocols->extra_steps; }}};
  if (!ll128) return out;
  const std::vector<LinkUnknown> more = {
      {{"ll128_base_s", 12e-6, 1e-6, 100e-6}, [](LinkSpec& l) -> Figure& { return l.protocols->ll128_base_s; }},
      {{"ll128_step_s", 2e-6, 5e-7, 20e-6}, [](LinkSpec& l) -> Figure& { return l.protocols->ll128_step_s; }},
      {{"ll128_efficiency", 0.6, 0.05, 1}, [](LinkSpec& l) -> Figure& { return l.protocols->ll128_efficiency; }}};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

std::vector<LinkUnknown> unknowns_of_exchange() {
  return {{{"base_s", 12e-6, 1e-6, 100e-6}, [](LinkSpec& l) -> Figure& { return l.exchange->base_s; }},
          {{"peer_s", 3e-7, 1e-8, 20e-6}, [](LinkSpec& l) -> Figure& { return l.exchange->peer_s; }},
          {{"efficiency", 0.7, 0.005, 1}, [](LinkSpec& l) -> Figure& { return l.exchange->efficiency; }},
          {{"extra_peers", 0.3, 0, 3}, [](LinkSpec& l) -> Figure& { return l.exchange->extra_peers; }},
          {{"settling_s", 20e-6, 0, 200e-6}, [](LinkSpec& l) -> Figure& { return l.exchange->settling_s; }},
          {{"settling_bytes", 30e6, 5e5, 1e9}, [](LinkSpec& l) -> Figure& { return l.exchange->settling_bytes; }},
          {{"short_base_s", 7e-6, 1e-6, 100e-6}, [](LinkSpec& l) -> Figure& { return l.exchange->short_base_s; }},
          {{"short_peer_s", 3e-7, 1e-8, 20e-6}, [](LinkSpec& l) -> Figure& { return l.exchange->short_peer_s; }},
          {{"short_efficiency", 0.05, 0.001, 1}, [](LinkSpec& l) -> Figure& { return l.exchange->short_efficiency; }}};
}

std::vector<LinkUnknown> unknowns_of_in_switch() {
  return {{{"base_s", 25e-6, 1e-6, 100e-6}, [](LinkSpec& l) -> Figure& { return l.in_switch_reduction->base_s; }},
          {{"efficiency", 0.65, 0.05, 1}, [](LinkSpec& l) -> Figure& { return l.in_switch_reduction->efficiency; }},
          {{"settling_s", 60e-6, 0, 1e-3}, [](LinkSpec& l) -> Figure& { return l.in_switch_reduction->settling_s; }},
          {{"settling_bytes", 20e6, 1e5, 1e9},
           [](LinkSpec& l) -> Figure& { return l.in_switch_reduction->settling_bytes; }}};
}

// Returns a node of the GPU and the link, with every optional figure present.
NodeHardware node_of(const CalibrationTarget& target) {
  NodeHardware node;
  node.gpu = target.gpu_spec();
  node.scale_up = target.link_spec();
  const bool through_host = node.scale_up.protocols && !node.scale_up.protocols->has_ll128();
  node.scale_up.protocols = protocols_of(node.scale_up);
  node.scale_up.exchange = exchange_of(node.scale_up);
  node.spec.gpus = 1;
  node.spec.wiring = through_host ? Wiring::host_bridge : Wiring::switched;
  return node;
}

CommunicationGroup group_of(int ranks) {
  CommunicationGroup group;
  group.shape.ranks = group.shape.ranks_per_node = group.shape.ranks_per_domain = group.shape.fewest_per_domain = ranks;
  group.shape.nodes = group.shape.domains = group.shape.node_groups = 1;
  return group;
}

FitScore score_of(std::string name, const ParameterFit& fit, const std::vector<MeasuredCollective>& samples,
                  double bytes) {
  return score_where(std::move(name), fit, [&](std::size_t sample) { return samples[sample].bytes >= bytes; });
}

// One mapping of a link's profile.
struct LinkSection {
  std::vector<std::string> path;
  std::string source_key;
  std::vector<LinkUnknown> unknowns;
};

// Fits the section of the node's link to `samples`, or scores the profile's constants.
FittedSection fit_section(const LinkSection& of, const NodeHardware& node,
                          const std::vector<MeasuredCollective>& samples, bool score_only) {
  const std::vector<LinkUnknown> unknowns = score_only ? std::vector<LinkUnknown>{} : of.unknowns;
  FitProblem problem;
  for (const LinkUnknown& each : unknowns) problem.unknowns.push_back(each.unknown);
  for (const MeasuredCollective& sample : samples) {
    problem.measured.push_back(sample.seconds);
    problem.keys.push_back(fmt::format("{} ranks={} bytes={:.0f}", name_of(sample.kind), sample.ranks, sample.bytes));
  }
  const Fabric fabric = default_fabric();
  NodeHardware trial = node;
  problem.predict = [&](std::span<const double> values, std::span<const std::size_t> indices,
                        std::span<double> predicted) {
    for (std::size_t i = 0; i < unknowns.size(); ++i) unknowns[i].figure(trial.scale_up).value = values[i];
    const CollectiveModel older(trial, fabric, NcclVersion::v2_28);
    const CollectiveModel newer(trial, fabric, NcclVersion::v2_29);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const MeasuredCollective& sample = samples[indices[i]];
      const CollectiveModel& model = sample.version == NcclVersion::v2_28 ? older : newer;
      predicted[i] = model.price(sample.kind, sample.bytes, group_of(sample.ranks)).seconds;
    }
  };
  const ParameterFit fit = score_only ? evaluate(problem, {}) : fit_parameters(problem);
  FittedSection section;
  section.path = of.path;
  section.source_key = of.source_key;
  section.source =
      score_only ? fmt::format("the profile's constants on {} measured collectives in a node", samples.size())
                 : fmt::format("fit of {} of {} measured collectives in a node", fit.fitted.size(), samples.size());
  for (std::size_t i = 0; i < of.unknowns.size(); ++i) {
    const LinkUnknown& each = of.unknowns[i];
    LinkSpec link = node.scale_up;
    section.constants.push_back({each.unknown.name, score_only ? each.figure(link).value : fit.values[i]});
  }
  section.scores.push_back(score_of("all", fit, samples, 0));
  section.scores.push_back(score_of("from 1 MiB", fit, samples, kMiB));
  return section;
}

}  // namespace

bool is_collective_table(const CsvTable& table) {
  return has_columns(table, {"collective", "n_gpus", "n_nodes", "bytes", "time_us"});
}

std::vector<MeasuredCollective> read_collective_table(const CsvTable& table, const CalibrationTarget& target) {
  const std::size_t collective = table.require("collective");
  const std::size_t gpus = table.require("n_gpus");
  const std::size_t nodes = table.require("n_nodes");
  const std::size_t bytes = table.require("bytes");
  const std::size_t time = table.require("time_us");
  const std::optional<std::size_t> version = table.find("nccl_version");
  std::map<std::tuple<CollectiveKind, int, double, NcclVersion>, std::vector<double>> repeated;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    check_name(table, row, collective);
    const std::optional<CollectiveKind> kind = kind_of(table.text(row, collective));
    if (!kind || !target.selects(table, row) || table.integer(row, nodes, 1, 1 << 20) > 1) continue;
    const double size = table.number(row, bytes, 0, 1e13);
    if (size < kWarmUpBytes) continue;
    const int ranks = static_cast<int>(table.integer(row, gpus, 2, 1 << 20));
    const NcclVersion release = version ? version_of(table.text(row, *version)) : NcclVersion::v2_28;
    repeated[{*kind, ranks, size, release}].push_back(1e-6 * table.number(row, time, 1e-3, 1e12));
  }
  std::vector<MeasuredCollective> out;
  for (auto& [key, seconds] : repeated) {
    out.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key), middle(std::move(seconds))});
  }
  return out;
}

std::vector<FittedSection> fit_collective_tables(std::span<const CsvTable> tables, const CalibrationTarget& target) {
  const NodeHardware node = node_of(target);
  const Fabric fabric = default_fabric();
  std::vector<MeasuredCollective> rings;
  std::vector<MeasuredCollective> exchanges;
  std::vector<MeasuredCollective> in_switch;
  for (const CsvTable& table : tables) {
    for (const MeasuredCollective& sample : read_collective_table(table, target)) {
      const CollectiveModel model(node, fabric, sample.version);
      const Algorithm algorithm = model.choice(sample.kind, sample.bytes, group_of(sample.ranks)).algorithm;
      if (sample.kind == CollectiveKind::all_to_all) {
        exchanges.push_back(sample);
      } else {
        (algorithm == Algorithm::ring ? rings : in_switch).push_back(sample);
      }
    }
  }
  std::vector<FittedSection> out;
  const auto add = [&](const LinkSection& section, const std::vector<MeasuredCollective>& samples) {
    if (samples.empty()) return;
    out.push_back(fit_section(section, node, samples, target.score_only));
  };
  add({{"protocols"}, "protocols", unknowns_of_rings(node.spec.wiring == Wiring::switched)}, rings);
  add({{"exchange"}, "exchange", unknowns_of_exchange()}, exchanges);
  add({{"in_switch_reduction", "fit"}, "in_switch", unknowns_of_in_switch()}, in_switch);
  for (FittedSection& section : fit_sends(tables, target)) out.push_back(std::move(section));
  return out;
}

}  // namespace mirfak
