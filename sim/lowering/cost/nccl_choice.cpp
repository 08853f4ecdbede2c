// NCCL estimates time = latency + bytes / bandwidth for every algorithm and protocol, and runs the one with the
// smallest estimate. Its constants (microseconds, GB/s) are those of its authors, not fitted here. Example: an
// all-gather over 8 B200. LL: 6.6 + 7 x 0.6 us and 282 GB/s x 8/7; LL128: 14 + 7 x 1.9 us and 662 x 8/7; Simple: 8.4
// + 7 x 3.4 us and 720 x 8/7. So LL128 takes over from LL at 8 MiB and Simple from LL128 at 46 MB, or, since 2.29
// halved its trust in a channel of LL128, at 13 MB: the measured tables jump between 32 and 64 MiB with NCCL 2.28
// and between 8 and 16 MiB with 2.29.

#include "cost/nccl_choice.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace mirfak {

namespace {

using PerProtocol = std::array<double, kProtocols>;  // LL, LL128, Simple
using PerScale = std::array<double, 3>;              // 1, 2, more domains
template <class T>
using PerGeneration = std::array<T, 4>;

constexpr PerProtocol kTreeBase = {6.8, 14, 8.4};
constexpr PerProtocol kRingBase = {6.6, 14, 8.4};
constexpr PerProtocol kTreeStepNvlink = {0.6, 1.25, 4};
constexpr PerProtocol kRingStepNvlink = {0.6, 1.9, 3.4};
constexpr PerProtocol kTreeStepPcie = {1, 1.9, 4};
constexpr PerProtocol kRingStepPcie = {1, 2.5, 5.7};
constexpr PerProtocol kTreeHop = {5, 8.5, 14};
constexpr PerProtocol kRingHop = {2.7, 4, 14};
constexpr double kInSwitchLatency = 25;
constexpr double kInSwitchTreeHop = 20.9;
constexpr double kInNetworkHop = 18;

constexpr PerGeneration<PerScale> kMaxLl = {{{39, 39, 20.4}, {87.7, 39, 20.4}, {141, 39, 20.4}, {282, 39, 20.4}}};
constexpr PerGeneration<PerScale> kRingLl128PerChannel = {
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {73.4, 34.6, 73.4}}};
constexpr PerScale kRingLl128Blackwell229 = {34.5, 34.6, 34.5};
constexpr PerGeneration<PerScale> kTreeLl128PerChannel = {
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}};
constexpr PerGeneration<PerScale> kTreePerChannel = {
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
constexpr PerGeneration<PerScale> kInSwitchTreePerChannel = {
    {{0, 0, 0}, {0, 0, 0}, {57.7, 57.7, 45.5}, {96, 96, 43.8}}};
constexpr PerGeneration<double> kInSwitchEfficiency = {0, 0, 0.85, 0.74};
constexpr double kTree = 0.92;
constexpr double kRingLl = 0.5;
constexpr double kRingLl128 = 0.92;
constexpr double kTreeLl = 1 / 3.8;
constexpr double kTreeLl128Inside = 7.0 / 9;
constexpr double kTreeLl128 = 120.0 / 128;
constexpr PerGeneration<double> kRingPlateau = {1.9, 1.4, 1.4, 1.4};  // latency factor, Simple, several domains
constexpr double kNetworkOverhead = 1;                                // us a step; three times as much in Simple

// Shares of their bandwidth that trees reach, by size: powers of two from 64 bytes to 256 MiB, lower at medium sizes.
constexpr std::array<std::array<double, 23>, kProtocols> kTreeAtSize = {
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};

// GB/s of one channel of a ring inside a domain: result of NCCL's search on NVSwitch machines.
constexpr PerGeneration<double> kRingChannel = {10, 10, 30, 45};
// Possible speeds of a head of an in-switch reduction in GB/s, fastest first.
constexpr std::array<double, 8> kInSwitchSpeeds = {90, 80, 70, 60, 50, 40, 30, 20};

int log2_floor(int value) { return std::bit_width(static_cast<unsigned>(value)) - 1; }

class Estimate {
 public:
  Estimate(CollectiveKind kind, double bytes, const NcclGroup& group)
      : kind_(kind), bytes_(bytes), group_(group), generation_(static_cast<std::size_t>(group.generation)) {
    scale_ = static_cast<std::size_t>(std::min(group.domains, 3) - 1);
    const bool spans = group.domains > 1;
    bandwidth_ = spans ? std::min(group.inside_gbps, group.outside_gbps) : group.inside_gbps;
    if (group.ranks == group.domains) bandwidth_ = group.outside_gbps;
    // One domain: as many channels as its links feed. Several domains: two per 12.5 GB/s of network, 16 at most.
    channels_ = spans ? std::clamp(group.outside_gbps / 6.25, 2.0, 16.0) : 2;
    if (!spans && group.nvlink) channels_ = std::max(1.0, std::floor(group.inside_gbps / kRingChannel[generation_]));
    channels_ = std::floor(channels_);
  }

  NcclChoice smallest() {
    const bool pieces = kind_ == CollectiveKind::all_gather || kind_ == CollectiveKind::reduce_scatter;
    for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
      if (protocol == Protocol::ll128 && !group_.nvlink) continue;
      consider_ring(protocol);
      if (kind_ == CollectiveKind::all_reduce) consider_tree(protocol);
    }
    if (kind_ == CollectiveKind::all_reduce && group_.in_switch) consider_in_switch();
    if (pieces && group_.domains > 2 && group_.ranks == group_.domains) consider_pat();
    return best_;
  }

 private:
  void consider(double latency_us, double gbps, NcclChoice choice) {
    const double microseconds = latency_us + bytes_ / (1e3 * gbps);
    if (microseconds >= best_us_) return;
    best_us_ = microseconds;
    best_ = choice;
  }

  void consider_ring(Protocol protocol) {
    const auto p = static_cast<std::size_t>(protocol);
    const double ranks = group_.ranks;
    const bool spans = group_.domains > 1;
    const double steps = steps_of_ring();
    double bus = bandwidth_;
    if (protocol == Protocol::ll) bus = std::min(bus * kRingLl, kMaxLl[generation_][scale_]);
    if (protocol == Protocol::ll128) bus = std::min(bus * kRingLl128, channels_ * ring_ll128_per_channel());
    const double rounds = kind_ == CollectiveKind::all_reduce ? 2 : 1;
    const double hops = spans ? rounds * (group_.domains - 1) : 0;
    const double overhead = spans ? kNetworkOverhead * (protocol == Protocol::simple ? 3 : 1) : 0;
    const double step = std::max((group_.nvlink ? kRingStepNvlink : kRingStepPcie)[p], overhead);
    const double hop = (group_.ranks == group_.domains ? kTreeHop : kRingHop)[p];
    double latency = kRingBase[p];
    latency += kind_ == CollectiveKind::broadcast ? step : (steps - hops) * step + hops * hop;
    const bool plateau = spans && kind_ == CollectiveKind::all_reduce && protocol == Protocol::simple;
    if (plateau && bytes_ / (channels_ * ranks) >= 64) latency *= kRingPlateau[generation_];
    consider(latency, bus * ranks / steps, {Algorithm::ring, protocol, static_cast<int>(channels_)});
  }

  void consider_tree(Protocol protocol) {
    const auto p = static_cast<std::size_t>(protocol);
    double channels = channels_;
    double total = bandwidth_;
    // Between two domains the halves of a tree use a port in one direction each, so twice as much fits.
    if (group_.domains == 2 && group_.ranks > 2 && group_.switched) {
      channels = std::max(1.0, channels / 2);
      total = std::min(group_.inside_gbps, 2 * group_.outside_gbps);
    }
    double bus = std::min(total * kTree, channels * kTreePerChannel[generation_][scale_]);
    if (protocol == Protocol::ll) bus = std::min(bus * kTreeLl, kMaxLl[generation_][scale_]);
    if (protocol == Protocol::ll128) {
      bus = std::min(bus * (group_.domains == 1 ? kTreeLl128Inside : kTreeLl128),
                     channels * kTreeLl128PerChannel[generation_][scale_]);
    }
    const double step = (group_.nvlink ? kTreeStepNvlink : kTreeStepPcie)[p];
    const double chain = static_cast<double>(group_.ranks) / group_.domains - 1;
    const double latency = kTreeBase[p] + 2 * (chain * step + log2_floor(group_.domains) * kTreeHop[p]);
    const double size = bytes_ / 64;
    const double at_size =
        size >= 1 && size < (1U << 23U) ? kTreeAtSize[p][static_cast<std::size_t>(std::log2(size))] : 1;
    consider(latency, bus * 0.5 * at_size, {Algorithm::tree, protocol, static_cast<int>(channels)});
  }

  void consider_in_switch() {
    const int domains = group_.domains;
    const double heads = static_cast<double>(group_.ranks) / domains;
    if (heads < 2) return;
    // A head's link is counted twice, so n heads share n + 1 parts; a domain of many GPUs has several heads a channel.
    double speed = group_.inside_gbps * 1.03 / (heads + 1);
    const auto fits =
        std::find_if(kInSwitchSpeeds.begin(), kInSwitchSpeeds.end(), [&](double s) { return s <= speed; });
    if (fits != kInSwitchSpeeds.end()) speed = *fits;
    double per_head = 2 * speed * kInSwitchEfficiency[generation_] * (heads - 1) / heads;
    const double ratio = group_.ranks / steps_of_ring();
    const int channels = static_cast<int>(std::clamp(heads, 8.0, 24.0));
    if (domains == 1) {
      consider(kInSwitchLatency, heads * per_head * ratio, {Algorithm::in_switch, Protocol::simple, channels});
      return;
    }
    const double port = group_.outside_gbps / heads;
    if (group_.in_network) {
      consider(kInSwitchLatency + kInNetworkHop, heads * std::min(per_head, 2 * port) * ratio,
               {Algorithm::in_network, Protocol::simple, channels});
    }
    per_head = std::min({per_head, port * (domains == 2 ? 2 : 1), kInSwitchTreePerChannel[generation_][scale_]});
    consider(kInSwitchLatency + 2 * log2_floor(domains) * kInSwitchTreeHop, heads * per_head * ratio,
             {Algorithm::in_switch_tree, Protocol::simple, channels});
  }

  void consider_pat() {
    const double hop = kTreeHop.back() * kPatHopShare;
    const double latency = 1e6 * (kPatBase + kPatRank * group_.ranks) + log2_floor(group_.domains) * hop;
    consider(latency, kPatBandwidth * group_.outside_gbps,
             {Algorithm::pat, Protocol::simple, static_cast<int>(channels_)});
  }

  double steps_of_ring() const {
    if (kind_ == CollectiveKind::all_reduce) return 2.0 * (group_.ranks - 1);
    return kind_ == CollectiveKind::broadcast ? group_.ranks : group_.ranks - 1;
  }

  double ring_ll128_per_channel() const {
    const bool halved = group_.generation == NcclGroup::Generation::blackwell && group_.version >= NcclVersion::v2_29;
    return halved ? kRingLl128Blackwell229[scale_] : kRingLl128PerChannel[generation_][scale_];
  }

  CollectiveKind kind_;
  double bytes_;
  const NcclGroup& group_;
  std::size_t generation_;
  std::size_t scale_ = 0;
  double bandwidth_ = 0;  // GB/s of all rings together
  double channels_ = 0;
  double best_us_ = std::numeric_limits<double>::infinity();
  NcclChoice best_;
};

}  // namespace

std::string_view name_of(Algorithm algorithm) {
  constexpr std::array<std::string_view, 6> names = {"ring",           "tree",       "in-switch",
                                                     "in-switch tree", "in-network", "PAT"};
  return names[static_cast<std::size_t>(algorithm)];
}

std::string_view name_of(Protocol protocol) {
  constexpr std::array<std::string_view, kProtocols> names = {"LL", "LL128", "Simple"};
  return names[static_cast<std::size_t>(protocol)];
}

// The figures stand in Megatron Core's comment on nccl_ub, which calls them references that vary with the message, the
// ranks and the release of NCCL (core_v0.16.1, megatron/core/distributed/distributed_data_parallel_config.py).
int registered_channels(CollectiveKind kind, const NcclGroup& group) {
  const bool gathers = kind == CollectiveKind::all_gather;
  if (!gathers && kind != CollectiveKind::reduce_scatter) return 0;
  const bool alone_in_domains = group.ranks == group.domains;
  if (group.domains > 1 && alone_in_domains) return gathers || group.in_network ? 1 : 4;
  if (!group.in_switch) return 0;
  if (group.domains > 1) return group.in_network ? 6 : 16;
  return gathers ? 4 : 5;
}

double channel_bytes_per_s(const NcclGroup& group) {
  constexpr double kBytesPerGb = 1e9;
  const auto scale = static_cast<std::size_t>(std::clamp(group.domains, 1, 3) - 1);
  return kRingLl128PerChannel[static_cast<std::size_t>(group.generation)][scale] * kBytesPerGb;
}

NcclChoice nccl_choice(CollectiveKind kind, double bytes, const NcclGroup& group) {
  if (kind == CollectiveKind::all_to_all) return {Algorithm::ring, Protocol::simple, 16};
  return Estimate(kind, bytes, group).smallest();
}

}  // namespace mirfak
