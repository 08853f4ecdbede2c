#pragma once

#include "base/error.hpp"
#include "cluster/gemm_fit.hpp"
#include "cluster/time_factors.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mirfak {

// A number with its origin. Every constant that enters a prediction is one of these.
struct Figure {
  double value = 0;
  std::string source;  // "NVIDIA A100 datasheet", "fit to 9240 measured shapes", "recalled, to be confirmed"

  friend bool operator==(const Figure&, const Figure&) = default;
};

// In the order of peak rate: a later one is never slower on a GPU that has both.
enum class Precision { fp32, tf32, fp16, bf16, fp8, fp4 };
inline constexpr std::size_t kPrecisions = 6;
double bytes_per_element(Precision precision);  // of storage; tf32 is kept in 4 bytes
const std::string& name_of(Precision precision);
const std::vector<std::string>& precision_names();  // in the order of the enumeration

// Kernels bound by memory, beside plain streaming ones: shares of the bandwidth that these reach.
struct MemoryKernels {
  Figure normalization;  // layer and RMS norms, a row per thread block
  Figure softmax;
  Figure reduction;       // sums over tokens: gradients of biases and norm weights
  Figure gather;          // rows of an embedding, read or added to
  Figure cached_speedup;  // bandwidth of what the second-level cache holds over that of memory
  // What the smallest kernel of the kind takes beside its launch: its reads and writes wait for memory one after
  // another. 0 where the launch was measured with kernels that move something.
  Figure streaming_latency_s;
  Figure normalization_latency_s;
  Figure softmax_latency_s;
  Figure reduction_latency_s;
  Figure gather_latency_s;

  friend bool operator==(const MemoryKernels&, const MemoryKernels&) = default;
};

// What fused (flash) attention kernels do with heads of one size, on one GPU type.
struct AttentionTiles {
  Figure rows;                     // queries that one thread block works on
  Figure efficiency;               // of the 16-bit peak, while a multiprocessor works on a tile of a forward kernel
  Figure backward_efficiency;      // ... of a backward kernel
  Figure ramp_s;                   // of a tile beside its products
  Figure tail;                     // mean tiles for which multiprocessors wait at the end of a kernel
  std::optional<Figure> throttle;  // how much slower kernels that last get under the power limit: a share

  friend bool operator==(const AttentionTiles&, const AttentionTiles&) = default;
};

// What the timings of a server's sweep hold beside the attention kernel.
struct AttentionTable {
  Figure overhead_s;     // fixed, of all kernels together
  Figure side_passes;    // of query, key and value through memory, for copying them into a cache
  Figure cache_speedup;  // bandwidth of what the second-level cache holds over that of memory
  Figure cache_share;    // of the second-level cache that tensors can fill
  Figure throttle_s;     // kernels that last as long are half throttled

  friend bool operator==(const AttentionTable&, const AttentionTable&) = default;
};

// One generation of fused attention kernels on one GPU type. sim/cost/attention_model.hpp says what the constants mean.
struct AttentionFit {
  std::map<int, AttentionTiles> head_dims;  // not empty; between them what a product takes is interpolated
  Figure io_passes;                         // of queries and results through memory that forward kernels do not hide
  Figure backward_passes;               // of queries through memory by the kernels before and after the backward kernel
  std::optional<AttentionTable> table;  // absent: constants of published figures, or of kernels timed by themselves
  FitQuality quality;                   // on measured calls of at least 1024 tokens

  friend bool operator==(const AttentionFit&, const AttentionFit&) = default;
};

// What a device draws at a clock that is set, over what it draws at the full one: static + (1 - static) clock^exponent.
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
  std::string target;        // what compilers call it: "sm_80", "gfx90a"; empty: nobody says
  int multiprocessors = 0;
  std::map<Precision, Figure> peak_flops;  // dense FLOP/s; fp32 is the rate of vector units; absent: not supported
  Figure memory_bytes;
  Figure memory_bandwidth;             // bytes/s, datasheet
  Figure memory_bandwidth_efficiency;  // share of it that streaming kernels reach
  Figure l2_bytes;
  Figure tdp_w;
  double power_limit_w = 0;  // that it is set to (nvidia-smi -pl), below tdp_w; 0: tdp_w
  Figure idle_w;
  Figure blocked_w;      // waiting in a collective or a receive
  Figure clock_peak_hz;  // of the multiprocessors, behind peak_flops
  Figure clock_max_hz;
  Figure clock_min_hz;
  Figure clock_step_hz;
  MemoryKernels memory_kernels;
  Figure kernel_launch_s;                      // shortest period of dependent kernels in one stream
  std::map<Precision, GemmFit> gemm;           // keys are precisions of peak_flops; bf16 or fp16 is always there
  std::map<Precision, Figure> long_run_power;  // of a fit's power_threshold, what long runs hold; absent: all of it
  // Of the rate of products whose operands have one scale each, what those reach whose operands have one per block of
  // 128 values; 1 where the tensor cores apply the scales.
  Figure block_scaled_rate{1, "the tensor cores apply scales of blocks"};
  ClockPower clock_power;
  Figure sustained_share;  // of the tables' clock that a long run holds under the power limit
  // The GPU whose GEMM fits are taken over; empty: none is, all tables are this GPU's own.
  std::string like;
  std::string like_architecture;
  FitQuality like_quality;                        // of those fits, on tables of the GPU that they are from
  std::optional<Figure> like_error;               // of products (90th percentile) where constants are taken over so
  std::map<std::string, AttentionFit> attention;  // by generation of kernels ("flash-2"); empty: none runs on it

  double limit_w() const { return power_limit_w > 0 ? power_limit_w : tdp_w.value; }
  double limit_share() const { return limit_w() / tdp_w.value; }
  // The clock that the GPU can be set to at or below this share of the highest, but no lower than the lowest.
  double settable_clock_hz(double share) const;
  // The fit to use for `precision`: its own, or the one of the nearest precision that has one (16-bit for fp32 and
  // tf32, next wider for fp8 and fp4).
  const GemmFit& gemm_fit(Precision precision) const { return gemm.at(fitted(precision)); }
  // What long runs in `precision` hold of its fit's power threshold: long_run_power, fp16 that of bf16 and vice versa.
  double long_run_share(Precision precision) const;

  friend bool operator==(const GpuSpec&, const GpuSpec&) = default;

 private:
  Precision fitted(Precision precision) const;  // whose fit `precision` uses
};

// NVLink SHARP (NVLS): the switch adds up, so that of an all-reduce of S bytes over n ranks S (1 + 1/n) cross each
// GPU's links each way. Time: base_s + S (1 + 1/n) / (bandwidth * efficiency) + settling_s S / (S + settling_bytes);
// the last term is what smaller pieces cost until messages are large enough for full ones.
struct InSwitchReduction {
  int minimum_ranks = 2;  // no in-switch reduction in smaller groups
  Figure base_s;
  Figure efficiency;
  std::map<int, Figure> efficiency_of_ranks;  // the same in larger groups: of the largest entry that is not larger
  Figure settling_s;
  Figure settling_bytes;
  Figure tree_share;     // of the efficiency, when trees join the switches of several domains (NVLSTree)
  Figure network_share;  // the same when the network's switches add up too (SHARP)
  FitQuality quality;

  const Figure& efficiency_for(int ranks) const;

  friend bool operator==(const InSwitchReduction&, const InSwitchReduction&) = default;
};

// What NCCL's three protocols take on a scale-up link: base + steps * step + bytes / (bandwidth * efficiency). Base and
// step of LL are LinkSpec::base_latency_s and latency_s, the efficiency of Simple is LinkSpec::efficiency.
struct RingProtocols {
  Figure ll_efficiency;
  Figure ll128_base_s;
  Figure ll128_step_s;
  Figure ll128_efficiency;
  Figure simple_base_s;
  Figure simple_step_s;
  Figure simple_overlap;  // q of (latency^q + transfer^q)^(1/q), >= 1: above 1 steps hide behind transfers in part
  Figure extra_steps;     // a ring's first and last step copy too: transfers are as many steps longer
  FitQuality quality;

  bool has_ll128() const { return ll128_efficiency.value > 0; }  // not on links through the host

  friend bool operator==(const RingProtocols&, const RingProtocols&) = default;
};

// Every rank sends to every other at once (all-to-all): base + peers * peer + bytes / (bandwidth * efficiency); the
// smaller of two such lines, the short one being NCCL's LL.
struct ExchangeFit {
  Figure base_s;
  Figure peer_s;
  Figure efficiency;
  Figure extra_peers;  // the own part is copied: transfers are as many peers longer
  Figure settling_s;   // what messages well above settling_bytes lose, as in InSwitchReduction
  Figure settling_bytes;
  Figure short_base_s;
  Figure short_peer_s;
  Figure short_efficiency;
  FitQuality quality;

  friend bool operator==(const ExchangeFit&, const ExchangeFit&) = default;
};

// What a link joins a GPU to: the GPUs of its node, its host, GPUs of other nodes.
enum class LinkEnd { gpus, host, nodes };
const std::vector<std::string>& link_end_names();

// One kind of link as a GPU sees it.
struct LinkSpec {
  std::string name;  // "nvlink3", "ib-hdr"
  std::string title;
  Figure bandwidth;   // bytes/s per direction at line rate: of one GPU (scale-up, host) or of one port (network)
  Figure efficiency;  // share of it that large ring collectives reach (bus bandwidth / line rate), in large groups
  std::map<int, Figure> efficiency_of_ranks;  // the same where wiring bounds small groups, by ranks; see efficiency_for
  Figure send_efficiency;                     // share that one large send reaches
  Figure latency_s;                           // one more step of a ring (scale-up), one more hop of a tree (network)
  Figure base_latency_s;                      // fixed part of a collective of any size and number of ranks
  Figure send_latency_s;                      // of a send of a few bytes, from its start to its end
  Figure settling_s;      // network: what messages well above settling_bytes lose per level of a tree over the nodes,
  Figure settling_bytes;  // because their pieces do not fill the path; both 0: nothing
  std::optional<RingProtocols> protocols;  // measured; without it see protocols_of
  std::optional<ExchangeFit> exchange;     // measured; without it see exchange_of
  std::optional<InSwitchReduction> in_switch_reduction;
  std::vector<LinkEnd> joins;            // not empty
  std::vector<std::string> measured_on;  // GPUs between which its collectives were measured; empty: nobody's were

  // For a group of `ranks` on this link: the measured entry of the largest group that is not larger, or
  // `efficiency` beyond the table (and when there is none).
  const Figure& efficiency_for(int ranks) const;

  friend bool operator==(const LinkSpec&, const LinkSpec&) = default;
};

// The link's own, or, where nothing was measured, NCCL's differences between protocols on top of its LL latencies and
// its large-message efficiencies.
RingProtocols protocols_of(const LinkSpec& link);
ExchangeFit exchange_of(const LinkSpec& link);

enum class Wiring {
  switched,     // every GPU reaches every other at full rate (NVSwitch)
  cube_mesh,    // DGX-1: 8 GPUs, 6 links each, two quads joined at their corners; of a file: links between pairs
  host_bridge,  // PCIe only: through the host
};
const std::vector<std::string>& wiring_names();  // in the order of the enumeration

// What a user's own measured iterations say of the cost models on a type of nodes (`mirfak calibrate --runs`).
struct Correction {
  TimeFactors factors;
  FactorMatrix covariance{};  // of their logarithms: how well the runs tell them
  double run_deviation = 0;   // standard deviation of ln(measured / predicted) from run to run
  std::string framework;      // that the runs were under
  std::string source;         // "12 runs of own.csv"

  friend bool operator==(const Correction&, const Correction&) = default;
};

// The inside of one node as a file describes it: network/node_inside.hpp.
class NodeInside;

// A file that says what the inside of a node is.
struct NodeTopology {
  std::string file;                          // absolute; empty: the node type alone says it
  int gpus = 0;                              // of the node type, used or not
  bool own_scale_up = false;                 // the entry names the link between GPUs, too
  Location where;                            // of what names it
  std::shared_ptr<const NodeInside> inside;  // set by network/fabric_file.hpp

  explicit operator bool() const { return !file.empty(); }
  friend bool operator==(const NodeTopology& a, const NodeTopology& b) { return a.file == b.file; }
};

struct NodeSpec {
  std::string name;   // "dgx-a100-80g"
  std::string asked;  // how a scenario asks for the type wherever it lies: the name, or the absolute path of its file
  int entry = 0;      // of cluster.nodes: the first one with these very nodes. Entries of one name may differ
  std::string title;
  std::string instance;   // what its provider rents it as, "a3-megagpu-8g"; empty: nobody's product
  std::string gpu;        // name of a GpuSpec
  int gpus = 0;           // that ranks can be placed on; of ranks that share a GPU each counts its own
  int ranks_per_gpu = 1;  // above 1: so many in a row of those are one GPU, whose kernels take turns
  double clock_hz = 0;    // that its GPUs are set to, which they do not exceed; 0: they are left to themselves
  std::string scale_up;   // the LinkSpec between the GPUs of a node, by name or absolute path, as all links here
  Wiring wiring = Wiring::switched;
  int scale_up_domain = 0;  // GPUs that reach each other over it: `gpus`, or 72 for an NVL72 rack of 18 nodes
  int scale_up_reach = 0;   // the same of the type, however many nodes a cluster has; 0: not in a cluster yet
  std::string host_link;    // the LinkSpec between a GPU, its host and the network ports
  std::string network;      // the LinkSpec of each port
  int ports = 0;            // network ports of a node
  Figure host_memory_bytes;
  std::optional<Figure> host_memory_bandwidth;  // bytes/s, the peak of all its processors' channels
  Figure host_power_w;  // power of a node that is not its GPUs': processors, memory, fans, ports
  Figure host_factor{
      1, {}};  // how many times as long as frameworks state its processors take to issue work; 1 unless known
  std::optional<Correction> correction;
  NodeTopology topology;

  // How much longer than priced for any node everything takes: by its processors, and by its correction.
  TimeFactors time_factors() const;

  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

// A node type with everything that it names.
struct NodeHardware {
  NodeSpec spec;
  GpuSpec gpu;
  LinkSpec scale_up;
  LinkSpec host_link;
  LinkSpec network;
  // Between GPUs without a scale-up link, over PCI Express. Only nodes with a topology of their own have such pairs
  // beside others.
  std::optional<LinkSpec> peers;

  double clock_limit() const;  // the clock that GPUs are set to, as a share of their highest; 1: none

  friend bool operator==(const NodeHardware&, const NodeHardware&) = default;
};

enum class PriceKind { on_demand, spot };
const std::vector<std::string>& price_kind_names();  // in the order of the enumeration

// What one GPU costs for an hour, its share of the node included.
struct PriceSpec {
  PriceKind kind = PriceKind::on_demand;
  std::string provider;  // "aws", or "median" over providers; empty: the scenario states the price itself
  std::string gpu;
  std::string instance;  // "p4d.24xlarge"; empty for a median
  std::string region;    // "us-east4"; empty: the list says it for all, or not at all
  std::string date;      // "2026-07-20"
  Figure usd_per_gpu_hour;

  std::string origin() const;  // "gcp a3-megagpu-8g on-demand 2025 to 2026", "the scenario"

  friend bool operator==(const PriceSpec&, const PriceSpec&) = default;
};

}  // namespace mirfak
