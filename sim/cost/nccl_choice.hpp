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

// The releases from 2.23 to 2.28 choose alike but for details; 2.29 trusts LL128 half as far on Blackwell.
enum class NcclVersion : std::uint8_t { v2_28, v2_29 };

// What NCCL knows of a group's hardware when it chooses. NCCL's "node" is our scale-up domain.
struct NcclGroup {
  enum class Generation : std::uint8_t { volta, ampere, hopper, blackwell };

  int ranks = 0;
  int domains = 1;
  Generation generation = Generation::ampere;
  bool nvlink = true;       // between the ranks of a domain; else PCIe, where there is no LL128
  bool switched = true;     // by NVSwitch
  double inside_gbps = 0;   // what NCCL thinks a GPU's scale-up links carry
  double outside_gbps = 0;  // and a domain's network ports; 0 where domains == 1
  bool in_switch = false;   // NVLS can be used
  bool in_network = false;  // the network adds up too
  NcclVersion version = NcclVersion::v2_28;
};

// What NCCL takes PAT to cost (src/graph/tuning.cc), seconds: the base, and more for each rank; of a tree's hop in
// Simple and of the bandwidth between domains a share.
inline constexpr double kPatBase = 8e-6;
inline constexpr double kPatRank = 2.8e-6;
inline constexpr double kPatHopShare = 1 / 3.5;
inline constexpr double kPatBandwidth = 0.75;

struct NcclChoice {
  Algorithm algorithm{};
  Protocol protocol{};
  int channels = 0;  // each takes one multiprocessor of every rank
};

// The algorithm and protocol that NCCL takes for a collective of `bytes` (see ReshardStep): the ones that its own
// model of their time prefers (NVIDIA/nccl v2.28.9 and v2.29.2, src/graph/tuning.cc, ncclTopoTuneModel), on the rings
// and trees that its search finds in such hardware (src/graph/search.cc). That model is not accurate, so its choice
// is not always the fastest one; but it is the choice that is made. ranks >= 2. For all_to_all, which NCCL composes
// of sends, a ring in Simple.
NcclChoice nccl_choice(CollectiveKind kind, double bytes, const NcclGroup& group);

}  // namespace mirfak
