#include "fixtures.hpp"
#include "support/source_root.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <fstream>
#include <sstream>

using namespace mirfak;

namespace {

std::filesystem::path source_folder() { return std::filesystem::path(source_root()) / "hw_profiles"; }

}  // namespace

const Catalog& catalog() {
  static const Catalog catalog(source_folder());
  return catalog;
}

ScratchCatalog::ScratchCatalog() {
  static int number = 0;
  folder_ = std::filesystem::temp_directory_path() /
            ("mirfak-catalog-" + std::to_string(::getpid()) + "-" + std::to_string(++number));
  std::filesystem::copy(source_folder(), folder_, std::filesystem::copy_options::recursive);
}

ScratchCatalog::~ScratchCatalog() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void ScratchCatalog::write(const std::string& file, const std::string& text) const {
  std::ofstream(folder_ / file) << text;
}

void ScratchCatalog::replace(const std::string& file, const std::string& old_text, const std::string& new_text) const {
  std::stringstream buffer;
  buffer << std::ifstream(folder_ / file).rdbuf();
  std::string text = buffer.str();
  const std::size_t at = text.find(old_text);
  REQUIRE(at != std::string::npos);
  write(file, text.replace(at, old_text.size(), new_text));
}

void visit_figures(const GpuSpec& gpu, const FigureVisitor& visit) {
  for (const auto& [precision, peak] : gpu.peak_flops) visit("peak_flops." + name_of(precision), peak);
  visit("memory_bytes", gpu.memory_bytes);
  visit("memory_bandwidth", gpu.memory_bandwidth);
  visit("memory_bandwidth_efficiency", gpu.memory_bandwidth_efficiency);
  visit("l2_bytes", gpu.l2_bytes);
  visit("tdp_w", gpu.tdp_w);
  visit("idle_w", gpu.idle_w);
  visit("blocked_w", gpu.blocked_w);
  visit("clock_peak_hz", gpu.clock_peak_hz);
  visit("clock_max_hz", gpu.clock_max_hz);
  visit("clock_min_hz", gpu.clock_min_hz);
  visit("clock_step_hz", gpu.clock_step_hz);
  visit("kernel_launch_s", gpu.kernel_launch_s);
  for (const auto& [precision, fit] : gpu.gemm) {
    const std::string prefix = "gemm." + name_of(precision) + ".";
    for (std::size_t i = 0; i < kGemmConstants.size(); ++i) {
      const GemmConstantKey& key = kGemmConstants[i];
      if (!key.of_casts) visit(prefix + std::string(key.name), {fit.constants.*key.value, fit.sources[i]});
    }
  }
}

void visit_figures(const LinkSpec& link, const FigureVisitor& visit) {
  visit("bandwidth", link.bandwidth);
  visit("efficiency", link.efficiency);
  for (const auto& [ranks, figure] : link.efficiency_of_ranks) visit("efficiency_of_ranks", figure);
  visit("send_efficiency", link.send_efficiency);
  visit("latency_s", link.latency_s);
  visit("base_latency_s", link.base_latency_s);
  visit("send_latency_s", link.send_latency_s);
  if (!link.settling_s.source.empty()) {
    visit("settling_s", link.settling_s);
    visit("settling_bytes", link.settling_bytes);
  }
  if (link.spread) {
    visit("spread.below", link.spread->below);
    visit("spread.above", link.spread->above);
  }
  if (link.protocols) {
    visit("protocols.ll_efficiency", link.protocols->ll_efficiency);
    if (!link.protocols->ll128_base_s.source.empty()) {
      visit("protocols.ll128_base_s", link.protocols->ll128_base_s);
      visit("protocols.ll128_step_s", link.protocols->ll128_step_s);
      visit("protocols.ll128_efficiency", link.protocols->ll128_efficiency);
    }
    visit("protocols.simple_base_s", link.protocols->simple_base_s);
    visit("protocols.simple_step_s", link.protocols->simple_step_s);
    visit("protocols.simple_overlap", link.protocols->simple_overlap);
    visit("protocols.extra_steps", link.protocols->extra_steps);
  }
  if (link.exchange) {
    visit("exchange.base_s", link.exchange->base_s);
    visit("exchange.peer_s", link.exchange->peer_s);
    visit("exchange.efficiency", link.exchange->efficiency);
    visit("exchange.extra_peers", link.exchange->extra_peers);
    visit("exchange.settling_bytes", link.exchange->settling_bytes);
    visit("exchange.short_base_s", link.exchange->short_base_s);
    visit("exchange.short_peer_s", link.exchange->short_peer_s);
    visit("exchange.short_efficiency", link.exchange->short_efficiency);
  }
  if (link.in_switch_reduction) {
    const InSwitchReduction& reduction = *link.in_switch_reduction;
    visit("in_switch_reduction.base_s", reduction.base_s);
    visit("in_switch_reduction.efficiency", reduction.efficiency);
    for (const auto& [ranks, figure] : reduction.efficiency_of_ranks) {
      visit("in_switch_reduction.efficiency_of_ranks", figure);
    }
    visit("in_switch_reduction.settling_s", reduction.settling_s);
    visit("in_switch_reduction.settling_bytes", reduction.settling_bytes);
    visit("in_switch_reduction.tree_share", reduction.tree_share);
    visit("in_switch_reduction.network_share", reduction.network_share);
  }
}

Cluster uniform_cluster(const std::string& node, int count, Fabric fabric) {
  return {{{catalog().node(node), count, std::nullopt}}, std::move(fabric)};
}
