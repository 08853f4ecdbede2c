#pragma once

#include "base/error.hpp"
#include "cluster/gemm_fit.hpp"
#include "cluster/gpu_throttle.hpp"
#include "cluster/time_factors.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mirfak {

// Number with its origin. Every constant that enters a prediction is a Figure.
struct Figure {
  double value = 0;
  std::string source;  // "NVIDIA A100 datasheet", "fit to 9240 measured shapes", "recalled, to be confirmed"

  friend bool operator==(const Figure&, const Figure&) = default;
};

// Precisions in the order of peak rate: a later one is never slower on a GPU that has both.
enum class Precision { fp32, tf32, fp16, bf16, fp8, fp4 };
inline constexpr std::size_t kPrecisions = 6;
double bytes_per_element(Precision precision);  // size in storage; tf32 is kept in 4 bytes
const std::string& name_of(Precision precision);
const std::vector<std::string>& precision_names();   // ordered as the enumeration
Precision precision_named(const std::string& name);  // Error(internal) if the name is unknown

// Kernels bound by memory other than plain streaming kernels: shares of the bandwidth that these kernels reach.
struct MemoryKernels {
  Figure normalization;  // layer and RMS norms, one row per thread block
  Figure softmax;
  Figure reduction;       // sums over tokens: gradients of biases and norm weights
  Figure gather;          // rows of an embedding, read or added to
  Figure cached_speedup;  // bandwidth of data in the second-level cache over that of memory
  // Time that the smallest kernel of each kind takes in addition to its launch, because its reads and writes wait for
  // memory one after another. 0 if the launch was measured with kernels that move data.
  Figure streaming_latency_s;
  Figure normalization_latency_s;
  Figure softmax_latency_s;
  Figure reduction_latency_s;
  Figure gather_latency_s;

  friend bool operator==(const MemoryKernels&, const MemoryKernels&) = default;
};

// Constants of fused (flash) attention kernels for heads of one size, on one GPU type.
struct AttentionTiles {
  Figure rows;                 // queries that one thread block works on
  Figure efficiency;           // share of the 16-bit peak while a multiprocessor works on a tile of a forward kernel
  Figure backward_efficiency;  // share of the 16-bit peak for a backward kernel
  Figure ramp_s;               // time of a tile in addition to its products
  Figure tail;                 // mean number of tiles for which multiprocessors wait at the end of a kernel
  std::optional<Figure> throttle;  // slowdown of long kernels under the power limit: a share

  friend bool operator==(const AttentionTiles&, const AttentionTiles&) = default;
};

// Time that a server's sweep measures in addition to the attention kernel.
struct AttentionTable {
  Figure overhead_s;     // fixed time of all kernels together
  Figure side_passes;    // passes of query, key and value through memory, to copy them into a cache
  Figure cache_speedup;  // bandwidth of data in the second-level cache over that of memory
  Figure cache_share;    // share of the second-level cache that tensors can fill
  Figure throttle_s;     // duration at which a kernel is half throttled

  friend bool operator==(const AttentionTable&, const AttentionTable&) = default;
};

// Fit of one generation of fused attention kernels on one GPU type. sim/lowering/cost/attention_model.hpp explains the
// constants.
struct AttentionFit {
  std::map<int, AttentionTiles> head_dims;  // not empty; the time of a product is interpolated between head sizes
  Figure io_passes;        // passes of queries and results through memory that forward kernels do not overlap
  Figure backward_passes;  // passes of queries through memory in the kernels before and after the backward kernel
  std::optional<AttentionTable> table;  // absent: constants from published figures, or from kernels timed alone
  bool in_8_bits = false;               // shares of the 8-bit peak, of kernels that read and write 8 bits; else of 16
  FitQuality quality;                   // quality on measured calls of at least 1024 tokens
  std::string like;                     // another generation of this GPU whose constants these are; empty: its own
  std::string like_source;              // why that generation is as fast

  friend bool operator==(const AttentionFit&, const AttentionFit&) = default;
};

// Power that a device draws at a clock that is set, over the power at the full clock: static + (1 - static)
// clock^exponent.
struct ClockPower {
  Figure static_share;
  Figure exponent;

  double draw(double clock_share) const;

  friend bool operator==(const ClockPower&, const ClockPower&) = default;
};

struct GpuSpec {
  std::string name;          // "a100-80g"
  std::string title;         // "NVIDIA A100 SXM4 80 GB"
  std::string architecture;  // "ampere"
  std::string target;        // compilers' name: "sm_80", "gfx90a"; empty: not known
  int multiprocessors = 0;
  std::map<Precision, Figure> peak_flops;  // dense FLOP/s; fp32 is the rate of vector units; absent: not supported
  // Precision recipes whose scales of small groups the tensor cores apply while they multiply: "mxfp8", "nvfp4".
  std::set<std::string> scaled_formats;
  Figure memory_bytes;
  Figure memory_bandwidth;             // bytes/s, datasheet
  Figure memory_bandwidth_efficiency;  // share of memory_bandwidth that streaming kernels reach
  Figure l2_bytes;
  Figure tdp_w;
  double power_limit_w = 0;  // limit set (nvidia-smi -pl, limit_power), below tdp_w; 0: tdp_w
  GpuThrottle throttle;      // what the limit left of peaks and bandwidth
  Figure idle_w;
  Figure blocked_w;      // power while waiting in a collective or a receive
  Figure clock_peak_hz;  // multiprocessor clock on which peak_flops is based
  Figure clock_max_hz;
  Figure clock_min_hz;
  Figure clock_step_hz;
  MemoryKernels memory_kernels;
  Figure kernel_launch_s;                      // shortest period of dependent kernels in one stream
  std::map<Precision, GemmFit> gemm;           // keys are precisions of peak_flops; bf16 or fp16 is always there
  std::map<Precision, Figure> long_run_power;  // share of a fit's power_threshold in long runs; absent: 1
  // Rate of products whose operands have one scale per block of 128 values, as a share of the rate with one scale per
  // operand; 1 if the tensor cores apply the scales.
  Figure block_scaled_rate{1, "the tensor cores apply scales of blocks"};
  ClockPower clock_power;
  Figure sustained_share;  // share of the tables' clock that a long run holds under the power limit
  // GPU whose GEMM fits are taken over; empty: all tables are this GPU's own.
  std::string like;
  std::string like_architecture;
  FitQuality like_quality;                        // quality of these fits on the tables of the GPU that they come from
  std::optional<Figure> like_error;               // 90th percentile of the error of products with such constants
  std::map<std::string, AttentionFit> attention;  // by generation of kernels ("flash-2"); empty: no kernels run on it

  double limit_w() const { return power_limit_w > 0 ? power_limit_w : tdp_w.value; }
  double limit_share() const { return limit_w() / tdp_w.value; }
  // Returns the clock that the GPU can be set to at or below this share of the highest clock, but no lower than the
  // lowest.
  double settable_clock_hz(double share) const;
  // Returns the fit to use for `precision`: its own, or that of the nearest precision that has a fit (16-bit for fp32
  // and tf32, the next wider one for fp8 and fp4).
  const GemmFit& gemm_fit(Precision precision) const { return gemm.at(fitted(precision)); }
  // Returns the share of the fit's power threshold that long runs in `precision` hold: long_run_power, where fp16 and
  // bf16 stand in for each other.
  double long_run_share(Precision precision) const;

  friend bool operator==(const GpuSpec&, const GpuSpec&) = default;

 private:
  Precision fitted(Precision precision) const;  // precision whose fit `precision` uses
};

// NVLink SHARP (NVLS): the switch reduces data, so that an all-reduce of S bytes over n ranks moves S (1 + 1/n) over
// each GPU's links each way. Time: base_s + S (1 + 1/n) / (bandwidth * efficiency) + settling_s S / (S +
// settling_bytes). The last term is the cost of smaller pieces, until messages are large enough for full pieces.
struct InSwitchReduction {
  int minimum_ranks = 2;  // smaller groups use no in-switch reduction
  Figure base_s;
  Figure efficiency;
  // Efficiency in larger groups, by ranks: the largest entry not above applies.
  std::map<int, Figure> efficiency_of_ranks;
  Figure settling_s;
  Figure settling_bytes;
  Figure tree_share;     // share of the efficiency if trees join the switches of several domains (NVLSTree)
  Figure network_share;  // share of the efficiency if the network's switches reduce data as well (SHARP)
  FitQuality quality;

  const Figure& efficiency_for(int ranks) const;

  friend bool operator==(const InSwitchReduction&, const InSwitchReduction&) = default;
};

// Time of NCCL's three protocols on a scale-up link: base + steps * step + bytes / (bandwidth * efficiency). Base and
// step of LL are LinkSpec::base_latency_s and latency_s; the efficiency of Simple is LinkSpec::efficiency.
struct RingProtocols {
  Figure ll_efficiency;
  Figure ll128_base_s;
  Figure ll128_step_s;
  Figure ll128_efficiency;
  Figure simple_base_s;
  Figure simple_step_s;
  Figure simple_overlap;  // q in (latency^q + transfer^q)^(1/q), >= 1: above 1 steps partly overlap with transfers
  Figure extra_steps;     // transfers last this many steps longer, because a ring's first and last step also copy
  FitQuality quality;

  bool has_ll128() const { return ll128_efficiency.value > 0; }  // false for links through the host

  friend bool operator==(const RingProtocols&, const RingProtocols&) = default;
};

// All-to-all, in which every rank sends to every other at once: base + peers * peer + bytes / (bandwidth * efficiency),
// and the smaller of two such lines. The short line is NCCL's LL.
struct ExchangeFit {
  Figure base_s;
  Figure peer_s;
  Figure efficiency;
  Figure extra_peers;  // transfers last this many peers longer, because the own part is copied
  Figure settling_s;   // time lost by messages well above settling_bytes, as in InSwitchReduction
  Figure settling_bytes;
  Figure short_base_s;
  Figure short_peer_s;
  Figure short_efficiency;
  FitQuality quality;

  friend bool operator==(const ExchangeFit&, const ExchangeFit&) = default;
};

// Counterpart to which a link joins a GPU: the GPUs of its node, its host, GPUs of other nodes.
enum class LinkEnd { gpus, host, nodes };
const std::vector<std::string>& link_end_names();

// Spread of one kind of link from host to host: what collectives over it take is exp(-below) to exp(above) times the
// prediction on 80 % of the hosts that have it.
struct HostSpread {
  Figure below;
  Figure above;

  friend bool operator==(const HostSpread&, const HostSpread&) = default;
};

// Kind of link, as a GPU sees it.
struct LinkSpec {
  std::string name;  // "nvlink3", "ib-hdr"
  std::string title;
  Figure bandwidth;   // bytes/s per direction at line rate, of one GPU (scale-up, host) or of one port (network)
  Figure efficiency;  // share of bandwidth that large rings reach (bus bandwidth / line rate), in large groups
  std::map<int, Figure> efficiency_of_ranks;  // efficiency by ranks, if wiring bounds small groups; see efficiency_for
  Figure send_efficiency;                     // share of bandwidth that one large send reaches
  Figure latency_s;       // time of one more step of a ring (scale-up) or one more hop of a tree (network)
  Figure base_latency_s;  // fixed part of a collective of any size and number of ranks
  Figure send_latency_s;  // time of a send of a few bytes, from its start to its end
  Figure settling_s;  // network: time that messages well above settling_bytes lose per level of a tree over the nodes,
  Figure settling_bytes;                   // because their pieces do not fill the path; both 0: nothing
  std::optional<RingProtocols> protocols;  // measured; if absent see protocols_of
  std::optional<ExchangeFit> exchange;     // measured; if absent see exchange_of
  std::optional<InSwitchReduction> in_switch_reduction;
  std::vector<LinkEnd> joins;            // not empty
  std::vector<std::string> measured_on;  // GPUs between which its collectives were measured; empty: not measured
  std::optional<HostSpread> spread;      // absent: hosts are alike, or nobody has measured several

  // Returns the efficiency for a group of `ranks` on this link: the measured entry of the largest group that is not
  // larger, or `efficiency` beyond the table (and if there is no table).
  const Figure& efficiency_for(int ranks) const;

  friend bool operator==(const LinkSpec&, const LinkSpec&) = default;
};

// Return the link's own figures or, if nothing was measured, NCCL's differences between protocols on top of the link's
// LL latencies and large-message efficiencies.
RingProtocols protocols_of(const LinkSpec& link);
ExchangeFit exchange_of(const LinkSpec& link);

enum class Wiring {
  switched,     // every GPU reaches every other at full rate (NVSwitch)
  cube_mesh,    // DGX-1: 8 GPUs, 6 links each, two quads joined at their corners; in a file: links between pairs
  host_bridge,  // PCIe only: through the host
};
const std::vector<std::string>& wiring_names();  // ordered as the enumeration

enum class Cooling { as_built, immersion };       // immersion: in a liquid, without fans
const std::vector<std::string>& cooling_names();  // ordered as the enumeration
enum class Feed { as_built, direct_current };     // direct_current: from rectifiers outside the node
const std::vector<std::string>& feed_names();     // ordered as the enumeration

// Correction of the cost models on a type of nodes, from a user's own measured iterations (`mirfak calibrate --runs`).
struct Correction {
  TimeFactors factors;
  FactorMatrix covariance{};  // covariance of the factors' logarithms: uncertainty left by the runs
  double run_deviation = 0;   // standard deviation of ln(measured / predicted) from run to run
  std::string framework;      // framework of the runs
  std::string source;         // "12 runs of own.csv"

  friend bool operator==(const Correction&, const Correction&) = default;
};

// Inside of one node as a file describes it: network/node_inside.hpp.
class NodeInside;

// File that describes the inside of a node.
struct NodeTopology {
  std::string file;                          // absolute; empty: the node type alone describes it
  int gpus = 0;                              // GPUs of the node type, used or not
  bool own_scale_up = false;                 // the entry also names the link between GPUs
  Location where;                            // place that names the file
  std::shared_ptr<const NodeInside> inside;  // set by network/fabric_file.hpp

  explicit operator bool() const { return !file.empty(); }
  friend bool operator==(const NodeTopology& a, const NodeTopology& b) { return a.file == b.file; }
};

// GPUs of one kind in a node that holds several kinds: `gpus` of its GPUs, from its GPU `first` on.
struct NodePart {
  int first = 0;
  int gpus = 0;  // 0: all GPUs of the node are of one kind

  explicit operator bool() const { return gpus > 0; }
  friend bool operator==(const NodePart&, const NodePart&) = default;
};

// Node type, as one kind of its GPUs sees it. All that is no GPU belongs to the whole node.
struct NodeSpec {
  std::string name;   // "dgx-a100-80g"
  std::string asked;  // reference to the type that is valid anywhere: the name, or the absolute path of its file
  int entry = 0;      // number that equal nodes of cluster.nodes share; entries of one name and kinds of GPU may differ
  std::string title;
  std::string instance;  // provider's name for it, "a3-megagpu-8g"; empty: not a product
  std::string gpu;       // name of a GpuSpec
  int gpus = 0;          // GPUs that ranks can be placed on; each rank that shares a GPU counts as a GPU
  NodePart part;         // GPUs of this kind
  // Above 1: this many consecutive GPUs in `gpus` are one physical GPU, whose kernels take turns.
  int ranks_per_gpu = 1;
  double clock_hz = 0;   // clock that its GPUs are set to and do not exceed; 0: not set
  std::string scale_up;  // LinkSpec between the GPUs of a node, by name or absolute path, as all links here
  Wiring wiring = Wiring::switched;
  int scale_up_domain = 0;  // GPUs that reach each other over scale_up: `gpus`, or 72 for an NVL72 rack of 18 nodes
  int scale_up_reach = 0;   // domain size of the type for any number of nodes; 0: not in a cluster yet
  std::string host_link;    // LinkSpec between a GPU, its host and the network ports
  std::string network;      // LinkSpec of each port
  int ports = 0;            // network ports of a node
  Figure host_memory_bytes;
  std::optional<Figure> host_memory_bandwidth;  // bytes/s, peak of all channels of its processors
  // Bytes/s that all its local disks together reach, as jobs that keep state there reach it; absent: not known.
  std::optional<Figure> disk_read_bandwidth;
  std::optional<Figure> disk_write_bandwidth;
  // Power of a node without its GPUs while they work: processors, memory, fans, ports, losses of its power supplies.
  Figure host_power_w;
  std::optional<Figure> host_idle_power_w;  // the same while its GPUs have no work; absent: not known
  std::optional<Figure> fan_power_w;        // part of host_power_w that fans draw; absent: not known
  std::optional<Figure> supply_loss_w;      // part of host_power_w lost in its power supplies; absent: not known
  // Cooling and feed that the cluster states. Without fans or power supplies of their own, host_power_w is without
  // their parts, too, and what the node draws without work is not known.
  Cooling cooling = Cooling::as_built;
  Feed feed = Feed::as_built;
  // Time constant with which the node's supply smooths the power that it draws; absent: not known, not smoothed.
  std::optional<Figure> supply_time_constant_s;
  Figure host_factor{
      1, {}};  // time of its processors to issue work, as a multiple of the frameworks' figures; 1 unless known
  std::optional<Correction> correction;
  double dummy_work_slowdown = 0;  // share by which dummy work makes its kernels take longer (PowerFloor::slowdown)
  NodeTopology topology;

  double idle_host_w() const;  // host_idle_power_w, or host_power_w where that is not known
  int gpus_of_kind() const { return part ? part.gpus : gpus; }

  // Returns the factors by which everything takes longer on this node than priced for any node: those of its
  // processors, of its correction and of dummy work.
  TimeFactors time_factors() const;

  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

// Node type with everything that it names, for one kind of its GPUs.
struct NodeHardware {
  NodeSpec spec;
  GpuSpec gpu;
  LinkSpec scale_up;
  LinkSpec host_link;
  LinkSpec network;
  // Link over PCI Express between GPUs without a scale-up link. Only nodes with a topology file have such pairs in
  // addition to others.
  std::optional<LinkSpec> peers;

  double clock_limit() const;  // clock that GPUs are set to, as a share of their highest; 1: not set
  std::string name() const;    // "dgx-a100-80g"; "rtx-3090 of mixed" if the node holds several kinds of GPU

  friend bool operator==(const NodeHardware&, const NodeHardware&) = default;
};

enum class PriceKind { on_demand, spot };
const std::vector<std::string>& price_kind_names();  // ordered as the enumeration

// Price of one GPU for an hour, including its share of the node.
struct PriceSpec {
  PriceKind kind = PriceKind::on_demand;
  std::string provider;  // "aws", or "median" over providers; empty: the scenario states the price itself
  std::string gpu;
  std::string instance;  // "p4d.24xlarge"; empty for a median
  std::string region;    // "us-east4"; empty: one price for all regions, or not stated
  std::string date;      // "2026-07-20"
  Figure usd_per_gpu_hour;

  std::string origin() const;  // "gcp a3-megagpu-8g on-demand 2025 to 2026", "the scenario"

  friend bool operator==(const PriceSpec&, const PriceSpec&) = default;
};

}  // namespace mirfak
