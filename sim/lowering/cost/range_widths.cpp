#include "cost/range_widths.hpp"

#include "base/document.hpp"

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

constexpr double kWidest = 10;  // a factor of e^10 is no useful range

}  // namespace

std::string_view name_of(Uncertainty uncertainty) {
  constexpr std::array<std::string_view, kUncertainties> kNames = {
      "any prediction", "hardware without tables of its own", "tensor communication", "layers with experts",
      "software that few have measured on such GPUs"};
  return kNames[static_cast<std::size_t>(uncertainty)];
}

std::string_view key_of(Uncertainty uncertainty) {
  constexpr std::array<std::string_view, kUncertainties> kKeys = {"always", "borrowed", "tensor_communication",
                                                                  "experts", "unmeasured"};
  return kKeys[static_cast<std::size_t>(uncertainty)];
}

PredictionRange prediction_range(double predicted_s, const UncertaintyShares& shares, const RangeWidths& widths) {
  double below = 0;
  double above = 0;
  for (std::size_t i = 0; i < kUncertainties; ++i) {
    below += shares[i] * widths.below[i];
    above += shares[i] * widths.above[i];
  }
  return {predicted_s * std::exp(-below), predicted_s * std::exp(above)};
}

PredictionRange between_hosts(PredictionRange range, double predicted_s, const HostMargins& hosts) {
  const double below = std::hypot(std::log(predicted_s / range.low_s), std::log1p(-hosts.shorter));
  const double above = std::hypot(std::log(range.high_s / predicted_s), std::log1p(hosts.longer));
  return {predicted_s * std::exp(-below), predicted_s * std::exp(above)};
}

PredictionRange under_power_limits(PredictionRange range, const Cluster& cluster, const LimitWidths& widths) {
  double below = 0;
  double above = 0;
  for (const NodeGroup& group : cluster.groups()) {
    const GpuThrottle& throttle = group.hardware.gpu.throttle;
    if (!throttle.active()) continue;
    const PowerWidths::Sides& added = throttle.duty < 1 ? widths.halted : widths.at_floor;
    below = std::max(below, added.below);
    above = std::max(above, added.above);
  }
  return {range.low_s * std::exp(-below), range.high_s * std::exp(above)};
}

namespace {

FactorSpread read_spread(const Node& section) {
  constexpr double kSmallest = 1e-4;
  Mapping in(section);
  in.ignore("left_out");  // for people
  FactorSpread out;
  for (std::size_t i = 0; i < kTimeFactors; ++i) {
    out.factors[i] = in.require(kTimeFactorKeys[i].key).as_number(kSmallest, kWidest);
  }
  out.run = in.require("run").as_number(kSmallest, kWidest);
  out.quantile = in.require("quantile").as_number(kSmallest, kWidest);
  in.finish();
  return out;
}

DeviceMemoryWidths read_device_memory(const Node& section) {
  constexpr double kSmallest = 1e-4;
  constexpr double kMaxBytes = 1e12;
  Mapping in(section);
  in.require("source").as_string();
  DeviceMemoryWidths out;
  out.below = in.require("below").as_number(kSmallest, kWidest);
  out.above = in.require("above").as_number(kSmallest, kWidest);
  out.platform_below_bytes = in.require("platform_below_bytes").as_number(0, kMaxBytes);
  out.platform_above_bytes = in.require("platform_above_bytes").as_number(0, kMaxBytes);
  in.finish();
  return out;
}

PowerWidths::Sides read_sides(const Node& section, const char* for_people) {
  Mapping in(section);
  in.ignore(for_people);
  const PowerWidths::Sides out{in.require("below").as_number(0, kWidest), in.require("above").as_number(0, kWidest)};
  in.finish();
  return out;
}

PowerWidths read_power(const Node& section) {
  Mapping in(section);
  PowerWidths out;
  out.gpus = read_sides(in.require("gpus"), "left_out");
  if (const std::optional<Node> hosts = in.find("hosts")) out.hosts = read_sides(*hosts, "source");
  in.finish();
  return out;
}

LimitWidths read_limits(const Node& section) {
  Mapping in(section);
  const LimitWidths out{read_sides(in.require("at_floor"), "source"), read_sides(in.require("halted"), "source")};
  in.finish();
  return out;
}

MeasuredSoftware read_measured(const Node& section) {
  constexpr std::int64_t kMostSources = 10'000;
  MeasuredSoftware out;
  Mapping frameworks(section);
  for (const std::string& framework : frameworks.keys()) {
    out.list(framework);
    Mapping architectures(frameworks.require(framework));
    for (const std::string& architecture : architectures.keys()) {
      const std::int64_t sources = architectures.require(architecture).as_integer(1, kMostSources);
      out.add(framework, architecture, static_cast<int>(sources));
    }
  }
  return out;
}

}  // namespace

RangeWidths read_range_widths(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "ranges.yaml";
  if (!std::filesystem::exists(file)) return {};
  const Document document = Document::from_file(file);
  Mapping root{Node(document)};
  root.require("source").as_string();
  root.ignore("left_out");       // for people
  root.ignore("first_contact");  // for people
  RangeWidths out;
  out.level = root.require("level").as_number(0.01, 0.99);
  Mapping widths(root.require("widths"));
  for (std::size_t i = 0; i < kUncertainties; ++i) {
    Mapping of(widths.require(key_of(static_cast<Uncertainty>(i))));
    out.below[i] = of.require("below").as_number(0, kWidest);
    out.above[i] = of.require("above").as_number(0, kWidest);
    of.finish();
  }
  widths.finish();
  if (const std::optional<Node> memory = root.find("memory")) {
    Mapping of(*memory);
    of.ignore("left_out");  // for people
    out.memory.below = of.require("below").as_number(0, kWidest);
    out.memory.above = of.require("above").as_number(0, kWidest);
    if (const std::optional<Node> device = of.find("device")) out.memory.device = read_device_memory(*device);
    of.finish();
  }
  if (const std::optional<Node> power = root.find("power")) out.power = read_power(*power);
  if (const std::optional<Node> limits = root.find("power_limits")) out.limits = read_limits(*limits);
  if (const std::optional<Node> measured = root.find("measured")) {
    out.measured = std::make_shared<const MeasuredSoftware>(read_measured(*measured));
  }
  if (const std::optional<Node> own = root.find("own_runs")) out.own_runs = read_spread(*own);
  root.finish();
  return out;
}

}  // namespace mirfak
