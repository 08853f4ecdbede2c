#include "simulation/borrowed_figures.hpp"

#include "cost/attention_model.hpp"
#include "program/block_hardware.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace mirfak {

namespace {

double share_of(const IterationResult& result, Activity activity) {
  return result.activity_s[static_cast<std::size_t>(activity)] / result.iteration_time_s;
}

double share_of_collectives(const IterationResult& result) {
  double share = 0;
  for (const Activity activity : {Activity::tensor_communication, Activity::context_communication,
                                  Activity::expert_communication, Activity::data_communication}) {
    share += share_of(result, activity);
  }
  return share;
}

std::string products_note(const GpuSpec& gpu, const IterationResult& result) {
  const double products = share_of(result, Activity::gemm);
  const std::string whose = fmt::format(
      "{} has no measured table of matrix products: it is taken to reach the shares of its peak that {} "
      "({}) reaches",
      gpu.name, gpu.like, gpu.like_architecture);
  if (!gpu.like_error) return whose + "; how far that is off nobody has measured";
  const double own = gpu.like_quality.held_out_p90_error;
  const double borrowed = std::hypot(own, gpu.like_error->value);
  return fmt::format(
      "{}; products are off by up to {:.2g} % for that (90th percentile), {:.2g} % with a table of its "
      "own, and the iteration by up to {:.2g} %, not {:.2g} %",
      whose, 100 * borrowed, 100 * own, 100 * products * borrowed, 100 * products * own);
}

// Returns the fit that prices products in a precision; fp16 and bf16 stand for each other. Null: none does.
const GemmFit* fit_of(const GpuSpec& gpu, Precision precision) {
  if (const auto own = gpu.gemm.find(precision); own != gpu.gemm.end()) return &own->second;
  if (precision != Precision::fp16 && precision != Precision::bf16) return nullptr;
  const auto other = gpu.gemm.find(precision == Precision::fp16 ? Precision::bf16 : Precision::fp16);
  return other == gpu.gemm.end() ? nullptr : &other->second;
}

// Returns whether products in a precision are priced by another GPU's fit: the fit is there, and not by own
// measurements.
bool takes_over(const GpuSpec& gpu, Precision precision) {
  const GemmFit* fit = fit_of(gpu, precision);
  return !gpu.like.empty() && fit != nullptr && fit->quality.measurements == 0;
}

std::string precision_note(const GpuSpec& gpu, Precision precision, const IterationResult& result) {
  return fmt::format(
      "{} has no measured table of products in {}: they are taken to reach the shares of the peak that "
      "those of the nearest precision with a table reach, {:.2g} % of the iteration; how far that is "
      "off nobody has measured",
      gpu.name, name_of(precision), 100 * share_of(result, Activity::gemm));
}

// Says whose figures price attention if the profile has none of the kernels that run; empty: it has them.
std::string attention_note(const GpuSpec& gpu, const Job& job, const IterationResult& result) {
  const std::vector<std::string> kernels = job.attention_kernels();
  const AttentionChoice choice = attention_choice(gpu, kernels);
  const double share = share_of(result, Activity::attention);
  if (choice.figures_of.empty() || share == 0) return {};
  const std::string why = choice.fit->like_source.empty() ? "" : fmt::format(" ({})", choice.fit->like_source);
  return fmt::format(
      "{} has no figures of {} attention kernels: those of {} stand in for them{}, {:.2g} % of the iteration", gpu.name,
      choice.wanted, choice.figures_of, why, 100 * share);
}

// Says between which GPUs the collectives of a node's link were measured, if not between its own.
std::string measured_between(const NodeHardware& node) {
  const LinkSpec& link = node.scale_up;
  if (!borrows_collectives(node)) return fmt::format("collectives over {} depend on the host", link.name);
  if (link.measured_on.empty()) {
    return fmt::format("collectives over {} were not measured: its figures are derived or recalled", link.name);
  }
  return fmt::format("collectives over {} were measured between {}, not between {}", link.name,
                     fmt::join(link.measured_on, ", "), node.gpu.name);
}

std::string link_note(const NodeHardware& node, const IterationResult& result) {
  const std::optional<HostSpread>& spread = node.scale_up.spread;
  const std::string off = spread ? fmt::format("on 80 % of hosts they take {:.2g} to {:.2g} times as long as predicted",
                                               std::exp(-spread->below.value), std::exp(spread->above.value))
                                 : "how far they are off for that nobody has measured";
  return fmt::format("{}; {}: {:.2g} % of the iteration waits for collectives", measured_between(node), off,
                     100 * share_of_collectives(result));
}

}  // namespace

bool borrows_products(const GpuSpec& gpu, Precision precision) {
  return takes_over(gpu, precision) || fit_of(gpu, precision) == nullptr;
}

bool borrows_collectives(const NodeHardware& node) {
  const auto& measured = node.scale_up.measured_on;
  return std::find(measured.begin(), measured.end(), node.gpu.name) == measured.end();
}

std::vector<std::string> borrowed_figures(const Job& job, const IterationResult& result) {
  std::vector<std::string> out;
  const auto add = [&](std::string note) {
    if (std::find(out.begin(), out.end(), note) == out.end()) out.push_back(std::move(note));
  };
  for (const NodeGroup& group : job.cluster.groups()) {
    const NodeHardware& node = group.hardware;
    const Precision precision = job.product_precision();
    if (takes_over(node.gpu, precision)) add(products_note(node.gpu, result));
    if (fit_of(node.gpu, precision) == nullptr) add(precision_note(node.gpu, precision, result));
    const bool unsure = borrows_collectives(node) || node.scale_up.spread;
    if (unsure && node.spec.gpus > 1 && share_of_collectives(result) > 0) add(link_note(node, result));
  }
  return out;
}

std::vector<std::string> attention_stand_ins(const Job& job, const IterationResult& result) {
  std::vector<std::string> out;
  if (!BlockHardware(job).fused_attention) return out;
  for (const NodeGroup& group : job.cluster.groups()) {
    std::string note = attention_note(group.hardware.gpu, job, result);
    if (!note.empty() && std::find(out.begin(), out.end(), note) == out.end()) out.push_back(std::move(note));
  }
  return out;
}

}  // namespace mirfak
