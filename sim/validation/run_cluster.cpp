// From what people write of their hardware to a node type and its network. "8x ConnectX-7 IB NDR 400Gb/s" says ports
// and rate; a segment that names storage or management says nothing of the network that training uses.

#include "validation/run_cluster.hpp"

#include "validation/run_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

namespace mirfak {

namespace {

struct NodeWords {
  std::string_view gpu;   // all words must stand in the GPU's name ...
  std::string_view also;  // ... and this one in the GPU's name or the interconnect; empty: nothing more
  std::string_view node;
};

// The first that fits. More special names stand before those they contain.
constexpr NodeWords kNodes[] = {
    {"gb300", "", "gb300-nvl72"},
    {"gb200", "", "gb200-nvl72"},
    {"gh200", "", "alps-gh200"},
    {"b300", "", "hgx-b300"},
    {"b200", "", "hgx-b200"},
    {"h800", "", "hgx-h800"},
    {"h200", "nvl-141gb", "h200-nvl-8"},
    {"h200", "4-way", "h200-nvl-8"},
    {"h200", "", "hgx-h200"},
    {"h100", "pcie", "h100-pcie-8"},
    {"h100 nvl", "", "h100-nvl-8"},
    {"h100-nvl", "", "h100-nvl-8"},
    {"h100", "96gb", "hgx-h100-96g"},
    {"h100", "", "hgx-h100"},
    {"h20", "", "hgx-h20"},
    {"a800", "", "hgx-a800"},
    {"a100-40gb", "pcie", "a100-pcie-8-40g"},
    {"a100", "pcie", "a100-pcie-8"},
    {"a100", "p4de", "aws-p4de"},
    {"a100", "p4d", "aws-p4d"},
    {"a100", "omnipath", "jean-zay-a100"},
    {"a100-40gb", "", "dgx-a100-40g"},
    {"a100", "40gb", "dgx-a100-40g"},
    {"a100", "", "dgx-a100-80g"},
    {"v100", "dgx-2", "dgx-2"},
    {"v100-16gb", "omnipath", "jean-zay-v100-16g"},
    {"v100", "omnipath", "jean-zay-v100-32g"},
    {"v100", "p3dn", "aws-p3dn"},
    {"v100", "p3.", "aws-p3"},
    {"v100", "pcie", "v100-pcie-8"},
    {"v100-16gb", "", "dgx-1-v100-16g"},
    {"v100", "", "dgx-1-v100-32g"},
    {"l40s", "bf3", "ovx-l40s-4"},
    {"l40s", "", "l40s-pcie-8"},
    {"rtx pro 6000", "", "rtx-pro-6000-pcie-8"},
    {"rtx-3090", "", "rtx-3090-pcie-8"},
    {"a40", "", "a40-pcie-8"},
    {"a10g", "", "aws-g5"},
    {"t4", "", "aws-g4dn"},
    {"l4-", "", "aws-g6"},
    {"l4", "24gb", "aws-g6"},
    {"mi250", "", "mi250-8"},
    {"mi210", "", "mi210-8"},
    {"mi100", "", "mi100-8"},
};

struct Network {
  std::string_view link;
  int ports = 0;
};

// Gb/s of "200Gb/s", "400 gbps", "hdr200", "ndr": of one port, or of a node when no count of ports stands before it.
int rate_in(const RunWords& words, std::size_t from) {
  constexpr std::pair<std::string_view, int> kGenerations[] = {{"xdr", 800}, {"ndr", 400}, {"hdr", 200}, {"edr", 100}};
  for (const auto& [name, rate] : kGenerations) {
    if (words.text().find(name, from) != std::string::npos) return rate;
  }
  const std::string& text = words.text();
  for (std::size_t unit = text.find('g', from); unit != std::string::npos; unit = text.find('g', unit + 1)) {
    if (text.compare(unit, 2, "gb") != 0 && text.compare(unit, 2, "g ") != 0) continue;
    std::size_t end = unit;
    while (end > from && text[end - 1] == ' ') --end;
    std::size_t begin = end;
    while (begin > from && std::isdigit(static_cast<unsigned char>(text[begin - 1])) != 0) --begin;
    const bool fraction = begin > from && text[begin - 1] == '.';
    if (begin < end && end - begin <= 5 && !fraction) return std::stoi(text.substr(begin, end - begin));
  }
  const std::size_t omnipath = text.find("omnipath", from);
  return omnipath != std::string::npos ? 100 : 0;
}

std::string_view link_of(const RunWords& words, int rate) {
  const bool ethernet = words.has_any({"ethernet", "gige", "tcp"}) && !words.has_any({"roce", " ib ", "infiniband"});
  if (words.has("omnipath")) return "omni-path-100";
  if (words.has("efa")) return rate >= 400 ? "efa-v2-100g" : "efa-v1-100g";
  if (words.has("roce")) return rate >= 400 ? "roce-400g" : rate >= 200 ? "roce-200g" : "roce-100g";
  if (ethernet) return rate >= 100 ? "tcp-100g" : "tcp-25g";
  if (rate >= 800) return "ib-xdr";
  if (rate >= 400) return "ib-ndr";
  return rate >= 200 ? "ib-hdr" : "ib-edr";
}

double line_rate(std::string_view link) {
  const std::string_view digits = link.substr(link.find_last_of('-') + 1);
  if (digits == "xdr") return 800;
  if (digits == "ndr") return 400;
  if (digits == "hdr") return 200;
  if (digits == "edr") return 100;
  return std::stoi(std::string(digits));
}

// The number before "x " in "8x ConnectX-7"; 0: none. `at` is where it stands.
int ports_in(const RunWords& words, std::size_t& at) {
  const std::string& text = words.text();
  for (std::size_t x = text.find('x'); x != std::string::npos; x = text.find('x', x + 1)) {
    std::size_t begin = x;
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1])) != 0) --begin;
    const bool word = begin == 0 || std::isalnum(static_cast<unsigned char>(text[begin - 1])) == 0;
    if (begin == x || x - begin > 2 || !word) continue;
    at = x + 1;
    return std::stoi(text.substr(begin, x - begin));
  }
  return 0;
}

// One segment such as "8x ConnectX-7 IB NDR 400Gb/s" or "inter-node 800 Gbps per node".
std::optional<Network> network_in(const std::string& segment) {
  const RunWords words(segment);
  const bool scale_up = words.has("nvlink") && !words.has_any({"hdr", "ndr", "edr", "omnipath", "gbps"});
  if (scale_up || words.has_any({"storage:", "management:", "storage+management", "pcie", "tb/s", "intra-node"}))
    return std::nullopt;
  std::size_t at = 0;
  const int ports = ports_in(words, at);
  const int rate = rate_in(words, ports > 0 ? at : 0);
  if (rate < 10) return std::nullopt;
  const std::string_view link = link_of(words, ports > 0 ? rate : std::min(rate, 200));
  if (ports > 0) return Network{link, ports};
  // The rate of a whole node, or of one port per GPU.
  if (words.has("per gpu")) return std::nullopt;
  return Network{link, std::max(1, static_cast<int>(rate / line_rate(link)))};
}

// Of several networks the fastest: the others carry storage and management, whether the words say so or not.
std::optional<Network> network_of(const MeasuredRun& run) {
  std::optional<Network> fastest;
  const auto rate = [](const Network& network) { return network.ports * line_rate(network.link); };
  std::string segment;
  for (const char c : run.interconnect + ";") {
    if (c != ';' && c != '|' && c != ',') {
      segment += c;
      continue;
    }
    const auto network = network_in(segment);
    if (network && (!fastest || rate(*network) > rate(*fastest))) fastest = network;
    segment.clear();
  }
  return fastest;
}

std::string_view node_type_of(const MeasuredRun& run) {
  const RunWords gpu(run.gpu);
  const RunWords everything(run.gpu + " " + run.interconnect);
  // Where GPUs have NVLink, PCIe is what connects them to hosts and ports.
  const bool bridged = everything.has("pcie") && !everything.has("nvlink");
  for (const NodeWords& words : kNodes) {
    const bool also = words.also == "pcie" ? bridged || gpu.has("pcie") : everything.has(words.also);
    if (gpu.has(words.gpu) && also) return words.node;
  }
  fail_infeasible(run.where, fmt::format("no node type is known for the GPU '{}'", run.gpu));
}

std::string entry(std::string_view node, std::int64_t count, std::int64_t gpus, const std::optional<Network>& network) {
  std::string out = fmt::format("    - {{type: {}, count: {}, gpus: {}", node, count, gpus);
  if (network) out += fmt::format(", network: {}, ports: {}", network->link, network->ports);
  return out + "}\n";
}

}  // namespace

std::string cluster_yaml_of(const MeasuredRun& run) {
  if (!run.gpus) fail_infeasible(run.where, "the row does not say how many GPUs");
  const std::string_view node = node_type_of(run);
  const std::int64_t per_node = std::min(run.gpus_per_node.value_or(8), *run.gpus);
  const std::optional<Network> network = *run.gpus > per_node ? network_of(run) : std::nullopt;
  std::string out = "cluster:\n  nodes:\n";
  if (*run.gpus >= per_node) out += entry(node, *run.gpus / per_node, per_node, network);
  if (*run.gpus % per_node != 0) out += entry(node, 1, *run.gpus % per_node, network);
  return out;
}

}  // namespace mirfak
