#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// A number with its origin. Every constant that enters a prediction is one of these.
struct Figure {
  double value = 0;
  std::string source;  // "NVIDIA A100 datasheet", "fit to 9240 measured shapes", "recalled, to be confirmed"
};

// In the order of peak rate: a later one is never slower on a GPU that has both.
enum class Precision { fp32, tf32, fp16, bf16, fp8, fp4 };
inline constexpr std::size_t kPrecisions = 6;
double bytes_per_element(Precision precision);  // of storage; tf32 is kept in 4 bytes
const std::string& name_of(Precision precision);
const std::vector<std::string>& precision_names();  // in the order of the enumeration

// Time of a GEMM: overhead + ((compute)^p + (memory)^p)^(1/p), compute = FLOPs / (peak * compute_efficiency),
// memory = bytes / (memory bandwidth * memory_efficiency). `peak` and bandwidth are the GpuSpec's own.
struct GemmFit {
  Figure overhead_s;
  Figure compute_efficiency;
  Figure memory_efficiency;
  Figure exponent;

  // How well it describes the measured table behind it: errors are shares of the measured time. A fit taken over
  // from another GPU of the architecture has shapes = 0, and its sources say whose it is.
  int shapes = 0;
  double mean_error = 0;
  double median_error = 0;
  double p90_error = 0;
};

// Efficiency of fused (flash) attention on the FLOPs it executes, over `tokens` tokens:
// efficiency * tokens / (tokens + half_sequence); in backward passes times backward_share.
struct AttentionFit {
  Figure efficiency;
  Figure half_sequence;
  Figure backward_share;
};

struct GpuSpec {
  std::string name;          // "a100-80g"
  std::string title;         // "NVIDIA A100 SXM4 80 GB"
  std::string architecture;  // "ampere"
  int multiprocessors = 0;
  std::map<Precision, Figure> peak_flops;  // dense FLOP/s; fp32 is the rate of vector units; absent: not supported
  Figure memory_bytes;
  Figure memory_bandwidth;             // bytes/s, datasheet
  Figure memory_bandwidth_efficiency;  // share of it that streaming kernels reach
  Figure l2_bytes;
  Figure tdp_w;
  Figure idle_w;
  Figure blocked_w;      // waiting in a collective or a receive
  Figure clock_peak_hz;  // of the multiprocessors, behind peak_flops
  Figure clock_max_hz;
  Figure clock_min_hz;
  Figure clock_step_hz;
  Figure kernel_launch_s;             // shortest period of dependent kernels in one stream
  std::map<Precision, GemmFit> gemm;  // keys are precisions of peak_flops; bf16 or fp16 is always there
  Figure sustained_share;             // of the tables' clock that a long run holds under the power limit
  AttentionFit attention;             // 16-bit; a kind for which no kernel exists has efficiency 0

  // The fit to use for `precision`: its own, or the one of the nearest precision that has one (16-bit for fp32 and
  // tf32, next wider for fp8 and fp4).
  const GemmFit& gemm_fit(Precision precision) const;
};

// NVLink SHARP (NVLS): the switch adds up, so that every byte of an all-reduce crosses a GPU's links once.
struct InSwitchReduction {
  Figure efficiency;      // as LinkSpec::efficiency, of an all-reduce's bus bandwidth: may exceed 1
  int minimum_ranks = 2;  // NCCL prefers its ring below
};

// One kind of link as a GPU sees it.
struct LinkSpec {
  std::string name;  // "nvlink3", "ib-hdr"
  std::string title;
  Figure bandwidth;   // bytes/s per direction at line rate: of one GPU (scale-up, host) or of one port (network)
  Figure efficiency;  // share of it that large ring collectives reach (bus bandwidth / line rate), in large groups
  std::map<int, Figure> efficiency_of_ranks;  // the same measured in small groups, by ranks; see efficiency_for
  Figure send_efficiency;                     // share that one large send reaches
  Figure latency_s;                           // one more step of a ring, one more hop of a tree
  Figure base_latency_s;                      // fixed part of a collective of any size and number of ranks
  Figure send_latency_s;                      // of a send of a few bytes, from its start to its end
  std::optional<InSwitchReduction> in_switch_reduction;

  // For a group of `ranks` on this link: the measured entry of the largest group that is not larger, or
  // `efficiency` beyond the table (and when there is none).
  const Figure& efficiency_for(int ranks) const;
};

enum class Wiring {
  switched,     // every GPU reaches every other at full rate (NVSwitch)
  cube_mesh,    // DGX-1: 8 GPUs, 6 links each, two quads joined at their corners
  host_bridge,  // PCIe only: through the host
};
const std::vector<std::string>& wiring_names();  // in the order of the enumeration

struct NodeSpec {
  std::string name;  // "dgx-a100-80g"
  std::string title;
  std::string gpu;  // name of a GpuSpec
  int gpus = 0;
  std::string scale_up;  // name of the LinkSpec between the GPUs of a node
  Wiring wiring = Wiring::switched;
  int scale_up_domain = 0;  // GPUs that reach each other over it: `gpus`, or 72 for an NVL72 rack of 18 nodes
  std::string host_link;    // name of the LinkSpec between a GPU, its host and the network ports
  std::string network;      // name of a LinkSpec; one port each
  int ports = 0;            // network ports of a node
  Figure host_memory_bytes;
  Figure host_power_w;  // power of a node that is not its GPUs': processors, memory, fans, ports
};

// A node type with everything that it names.
struct NodeHardware {
  NodeSpec spec;
  GpuSpec gpu;
  LinkSpec scale_up;
  LinkSpec host_link;
  LinkSpec network;
};

enum class PriceKind { on_demand, spot };
const std::vector<std::string>& price_kind_names();  // in the order of the enumeration

// What one GPU costs for an hour, its share of the node included.
struct PriceSpec {
  PriceKind kind = PriceKind::on_demand;
  std::string provider;  // "aws", or "median" over providers
  std::string gpu;
  std::string instance;  // "p4d.24xlarge"; empty for a median
  std::string date;      // "2026-07-20"
  Figure usd_per_gpu_hour;
};

}  // namespace mirfak
