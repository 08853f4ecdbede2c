#pragma once

#include "sharding/sharding.hpp"

#include <cstdint>
#include <string_view>

namespace mirfak {

enum class Algorithm : std::uint8_t { ring, tree, in_switch, in_switch_tree, in_network, pat };
enum class Protocol : std::uint8_t { ll, ll128, simple };
inline constexpr std::size_t kProtocols = 3;
std::string_view name_of(Algorithm algorithm);  // "ring", "tree", "in-switch", "in-switch tree", "in-network", "PAT"
std::string_view name_of(Protocol protocol);    // "LL", "LL128", "Simple"

// Releases 2.23 to 2.28 choose alike except for details; 2.29 trusts LL128 half as far on Blackwell.
enum class NcclVersion : std::uint8_t { v2_28, v2_29 };

// A group's hardware as NCCL knows it when it chooses. NCCL's "node" is our scale-up domain.
struct NcclGroup {
  enum class Generation : std::uint8_t { volta, ampere, hopper, blackwell };

  int ranks = 0;
  int domains = 1;
  Generation generation = Generation::ampere;
  bool nvlink = true;       // links between the ranks of a domain are NVLink; else PCIe, where there is no LL128
  bool switched = true;     // ranks of a domain are joined by NVSwitch
  double inside_gbps = 0;   // GB/s of a GPU's scale-up links, by NCCL's estimate
  double outside_gbps = 0;  // GB/s of a domain's network ports, by NCCL's estimate; 0 if domains == 1
  bool in_switch = false;   // NVLS can be used
  bool in_network = false;  // the network can reduce, too
  NcclVersion version = NcclVersion::v2_28;
};

// NCCL's estimate of the cost of PAT (src/graph/tuning.cc): the base and the time for each rank in seconds, the share
// of a tree's hop in Simple, and the share of the bandwidth between domains.
inline constexpr double kPatBase = 8e-6;
inline constexpr double kPatRank = 2.8e-6;
inline constexpr double kPatHopShare = 1 / 3.5;
inline constexpr double kPatBandwidth = 0.75;

struct NcclChoice {
  Algorithm algorithm{};
  Protocol protocol{};
  int channels = 0;  // each channel takes one multiprocessor of every rank
};

// Returns the most bytes/s of bus bandwidth that one channel of a group carries: NCCL's own bound of a channel of LL128
// in a ring (src/graph/tuning.cc, perChMaxRingLL128Bws), which is also what a channel of the other protocols and
// algorithms is taken to carry.
double channel_bytes_per_s(const NcclGroup& group);

// Returns the channels of a gather or reduce-scatter whose buffers are registered with the communicator in the same
// place on all ranks (symmetric windows of NCCL 2.27 and later), by the ranks' links; 0: no figure is known, as for
// other collectives and for domains whose switches cannot reduce.
int registered_channels(CollectiveKind kind, const NcclGroup& group);

// Returns the algorithm and protocol that NCCL takes for a collective of `bytes` (see ReshardStep): those with the
// least time by NCCL's own model (NVIDIA/nccl v2.28.9 and v2.29.2, src/graph/tuning.cc, ncclTopoTuneModel), on the
// rings and trees that NCCL's search finds in such hardware (src/graph/search.cc). NCCL's model is not accurate, so
// NCCL does not always choose the fastest; the prediction follows its choice. Needs ranks >= 2. For all_to_all, which
// NCCL composes of sends, returns a ring in Simple.
NcclChoice nccl_choice(CollectiveKind kind, double bytes, const NcclGroup& group);

}  // namespace mirfak
