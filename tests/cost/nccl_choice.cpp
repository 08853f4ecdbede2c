#include "cost/nccl_choice.hpp"

#include <doctest/doctest.h>

#include <tuple>

using namespace mirfak;

namespace {

using Generation = NcclGroup::Generation;

constexpr double kMiB = 1U << 20U;

NcclGroup in_a_node(Generation generation, double gbps, int ranks) {
  NcclGroup group;
  group.ranks = ranks;
  group.generation = generation;
  group.inside_gbps = gbps;
  group.in_switch = generation >= Generation::hopper && ranks >= 5;
  return group;
}

// The first power of two of bytes for which `protocol` (of `algorithm`) is chosen.
double first_size(CollectiveKind kind, const NcclGroup& group, Algorithm algorithm, Protocol protocol) {
  for (double bytes = 512; bytes < 1e12; bytes *= 2) {
    const NcclChoice choice = nccl_choice(kind, bytes, group);
    if (choice.algorithm == algorithm && choice.protocol == protocol) return bytes;
  }
  return 0;
}

}  // namespace

// Sizes at which measured tables (aiconfigurator, one node) jump from one power of two to the next.
TEST_CASE("protocols switch where measured times jump") {
  const auto simple = [](CollectiveKind kind, Generation generation, double gbps, int ranks) {
    return first_size(kind, in_a_node(generation, gbps, ranks), Algorithm::ring, Protocol::simple);
  };
  CHECK(simple(CollectiveKind::all_reduce, Generation::ampere, 240, 2) == 1 * kMiB);     // 20 -> 42 us
  CHECK(simple(CollectiveKind::all_reduce, Generation::hopper, 360, 2) == 2 * kMiB);     // 16 -> 29 us
  CHECK(simple(CollectiveKind::all_reduce, Generation::blackwell, 720, 2) == 4 * kMiB);  // 20 -> 39 us
  CHECK(simple(CollectiveKind::all_gather, Generation::ampere, 240, 2) == 2 * kMiB);     // 20 -> 38 us
  CHECK(simple(CollectiveKind::all_gather, Generation::ampere, 240, 4) == 2 * kMiB);     // 23 -> 53 us
  CHECK(simple(CollectiveKind::all_gather, Generation::hopper, 360, 4) == 4 * kMiB);     // 19 -> 37 us
  CHECK(simple(CollectiveKind::all_gather, Generation::blackwell, 720, 4) == 8 * kMiB);  // 27 -> 53 us
}

TEST_CASE("2.29 leaves LL128 on Blackwell earlier than 2.28") {
  NcclGroup group = in_a_node(Generation::blackwell, 720, 8);
  CHECK(first_size(CollectiveKind::all_gather, group, Algorithm::ring, Protocol::simple) == 64 * kMiB);  // 80 -> 142 us
  group.version = NcclVersion::v2_29;
  CHECK(first_size(CollectiveKind::all_gather, group, Algorithm::ring, Protocol::simple) == 16 * kMiB);  // 44 -> 104 us
}

TEST_CASE("in-switch reduction where it is faster: 8 GPUs from 2 MiB on, not 4") {
  for (const auto& [generation, gbps, first] :
       {std::tuple(Generation::hopper, 360.0, 2 * kMiB), std::tuple(Generation::blackwell, 720.0, 4 * kMiB)}) {
    NcclGroup group = in_a_node(generation, gbps, 8);
    CHECK(first_size(CollectiveKind::all_reduce, group, Algorithm::in_switch, Protocol::simple) == first);
    group.ranks = 4;
    CHECK(nccl_choice(CollectiveKind::all_reduce, 1e9, group).algorithm == Algorithm::ring);
  }
}

TEST_CASE("over nodes: trees for few bytes, rings for many, in-switch trees where switches add up") {
  NcclGroup group = in_a_node(Generation::ampere, 240, 32);
  group.domains = 4;
  group.outside_gbps = 192;
  CHECK(nccl_choice(CollectiveKind::all_reduce, 1e3, group).algorithm == Algorithm::tree);
  CHECK(nccl_choice(CollectiveKind::all_reduce, 1e3, group).protocol == Protocol::ll);
  CHECK(nccl_choice(CollectiveKind::all_reduce, 4e9, group).algorithm == Algorithm::ring);
  CHECK(nccl_choice(CollectiveKind::all_gather, 1e3, group).algorithm == Algorithm::ring);
  group = in_a_node(Generation::hopper, 360, 16);
  group.domains = 2;
  group.outside_gbps = 384;
  CHECK(nccl_choice(CollectiveKind::all_reduce, 1e9, group).algorithm == Algorithm::in_switch_tree);
  group.in_switch = false;
  CHECK(nccl_choice(CollectiveKind::all_reduce, 1e9, group).algorithm != Algorithm::in_switch_tree);
}

TEST_CASE("one rank per node: PAT gathers few bytes in logarithmic time") {
  NcclGroup group = in_a_node(Generation::hopper, 360, 64);
  group.domains = 64;
  group.outside_gbps = 48;
  group.in_switch = false;
  CHECK(nccl_choice(CollectiveKind::all_gather, 1e4, group).algorithm == Algorithm::pat);
  CHECK(nccl_choice(CollectiveKind::all_gather, 1e9, group).algorithm == Algorithm::ring);
  CHECK(nccl_choice(CollectiveKind::all_reduce, 1e4, group).algorithm == Algorithm::tree);
}

TEST_CASE("PCIe has no LL128") {
  NcclGroup group = in_a_node(Generation::blackwell, 25, 8);
  group.nvlink = group.in_switch = false;
  for (double bytes = 512; bytes < 1e10; bytes *= 2) {
    CHECK(nccl_choice(CollectiveKind::all_reduce, bytes, group).protocol != Protocol::ll128);
  }
}

TEST_CASE("registered buffers take the channels that Megatron Core's comment on nccl_ub states") {
  using enum CollectiveKind;
  const auto channels = [](CollectiveKind kind, int ranks, int domains, bool in_switch, bool in_network) {
    NcclGroup group;
    group.ranks = ranks;
    group.domains = domains;
    group.in_switch = in_switch;
    group.in_network = in_network;
    return registered_channels(kind, group);
  };
  CHECK(channels(all_gather, 8, 1, true, false) == 4);
  CHECK(channels(reduce_scatter, 8, 1, true, false) == 5);
  for (const CollectiveKind kind : {all_gather, reduce_scatter}) {
    CHECK(channels(kind, 16, 2, true, false) == 16);
    CHECK(channels(kind, 16, 2, true, true) == 6);
    CHECK(channels(kind, 2, 2, false, true) == 1);
    CHECK(channels(kind, 8, 1, false, false) == 0);
    CHECK(channels(kind, 16, 2, false, true) == 0);
  }
  CHECK(channels(all_gather, 2, 2, false, false) == 1);
  CHECK(channels(reduce_scatter, 2, 2, false, false) == 4);
  CHECK(channels(all_reduce, 8, 1, true, false) == 0);
  CHECK(channels(all_to_all, 8, 1, true, false) == 0);
}
