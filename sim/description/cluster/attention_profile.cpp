// Reader of the `attention` section of a GPU profile: fits by generation of kernels, and within each by head dimension.
#include "cluster/profiles.hpp"
#include "model/attention_kernels.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace mirfak {

namespace {

constexpr int kLargestHeadDimension = 1024;
constexpr int kLargestTile = 4096;
constexpr double kMillisecond = 1e-3;

int head_dimension_of(const std::string& key, const Node& node) {
  int out = 0;
  const char* const end = key.data() + key.size();
  const auto [parsed, error] = std::from_chars(key.data(), end, out);
  if (error != std::errc{} || parsed != end || out < 8 || out > kLargestHeadDimension) {
    node.fail(fmt::format("'{}' is not the size of a head", key), "heads of 64: {rows: 128, ...}");
  }
  return out;
}

// Figures that kernels without a measured backward pass take over from other kernels.
struct BackwardGuess {
  Figure passes;
  std::map<int, Figure> shares;  // shares of the forward efficiency, by head dimension
};

BackwardGuess read_backward(ProfileFile& file, const Node& node) {
  Mapping mapping(node);
  BackwardGuess guess;
  guess.passes = file.figure(mapping, "passes", 0, 50);
  const Node section = mapping.require("share_of_forward");
  Mapping shares(section);
  for (const std::string& key : shares.keys()) {
    const Node share = shares.require(key);
    guess.shares.emplace(head_dimension_of(key, share), file.figure_at(share, 0.1, 1.5));
  }
  if (guess.shares.empty()) section.fail("expected heads of at least one size");
  mapping.finish();
  return guess;
}

// Returns the efficiency by the share of the nearest smaller head, or of the smallest head if none is smaller.
Figure backward_efficiency(const Figure& forward, const std::map<int, Figure>& shares, int head_dim) {
  auto share = shares.upper_bound(head_dim);
  if (share != shares.begin()) --share;
  return {forward.value * share->second.value, share->second.source};
}

class AttentionReader {
 public:
  AttentionReader(ProfileFile& file, std::optional<BackwardGuess> guess) : file_(file), guess_(std::move(guess)) {}

  AttentionFit read(const Node& node) const {
    Mapping mapping(node);
    AttentionFit fit;
    fit.io_passes = file_.figure(mapping, "io_passes", 0, 20);
    if (mapping.has("backward_passes") || !guess_) {
      fit.backward_passes = file_.figure(mapping, "backward_passes", 0, 50);
    } else {
      fit.backward_passes = guess_->passes;
    }
    const Node sizes = mapping.require("head_dims");
    Mapping heads(sizes);
    for (const std::string& key : heads.keys()) {
      const Node head = heads.require(key);
      const int head_dim = head_dimension_of(key, head);
      fit.head_dims.emplace(head_dim, read_tiles(head, head_dim));
    }
    if (fit.head_dims.empty()) sizes.fail("expected heads of at least one size");
    if (mapping.has("side_passes")) fit.table = read_table(mapping);
    if (mapping.has("measurements")) fit.quality = read_fit_quality(mapping);
    mapping.finish();
    return fit;
  }

 private:
  AttentionTiles read_tiles(const Node& node, int head_dim) const {
    Mapping mapping(node);
    AttentionTiles tiles;
    tiles.rows = file_.figure(mapping, "rows", 16, kLargestTile);
    tiles.efficiency = file_.figure(mapping, "efficiency", 0.01, 1);
    if (mapping.has("backward_efficiency") || !guess_) {
      tiles.backward_efficiency = file_.figure(mapping, "backward_efficiency", 0.01, 1);
    } else {
      tiles.backward_efficiency = backward_efficiency(tiles.efficiency, guess_->shares, head_dim);
    }
    tiles.ramp_s = file_.figure(mapping, "ramp_s", 0, kMillisecond);
    tiles.tail = file_.figure(mapping, "tail", 0, 10);
    if (mapping.has("throttle")) tiles.throttle = file_.figure(mapping, "throttle", 0, 1);
    mapping.finish();
    return tiles;
  }

  AttentionTable read_table(Mapping& mapping) const {
    AttentionTable table;
    table.overhead_s = file_.figure(mapping, "overhead_s", 0, kMillisecond);
    table.side_passes = file_.figure(mapping, "side_passes", 0, 20);
    table.cache_speedup = file_.figure(mapping, "cache_speedup", 1, 20);
    table.cache_share = file_.figure(mapping, "cache_share", 0.01, 10);
    table.throttle_s = file_.figure(mapping, "throttle_s", 0, 1);
    return table;
  }

  ProfileFile& file_;
  std::optional<BackwardGuess> guess_;
};

// Reads {like: trtllm, source: "..."}: the constants of another generation that the section states.
AttentionFit read_alike(const Node& node, const std::map<std::string, AttentionFit>& stated) {
  Mapping mapping(node);
  const Node like = mapping.require("like");
  const Node source = mapping.require("source");
  mapping.finish();
  const auto found = stated.find(like.as_string());
  if (found == stated.end() || !found->second.like.empty()) {
    like.fail(fmt::format("'{}' has no figures of its own here", like.as_string()), "name a generation that has");
  }
  AttentionFit fit = found->second;
  fit.like = found->first;
  fit.like_source = source.as_string();
  return fit;
}

}  // namespace

std::map<std::string, AttentionFit> read_attention_fits(ProfileFile& file, const Node& section,
                                                        const std::map<Precision, Figure>& peaks) {
  Mapping mapping(section);
  std::optional<BackwardGuess> guess;
  if (const std::optional<Node> node = mapping.find("backward")) guess = read_backward(file, *node);
  const AttentionReader reader(file, std::move(guess));
  std::map<std::string, AttentionFit> out;
  std::vector<std::pair<std::string, Node>> alike;
  for (const std::string& name : attention_kernel_names()) {
    const std::optional<Node> node = mapping.find(name);
    if (!node) continue;
    if (attention_in_8_bits(name) && !peaks.contains(Precision::fp8)) node->fail("`peak_flops` has no fp8");
    if (Mapping(*node).has("like")) {
      alike.emplace_back(name, *node);
      continue;
    }
    AttentionFit& fit = out.emplace(name, reader.read(*node)).first->second;
    fit.in_8_bits = attention_in_8_bits(name);
  }
  mapping.finish();
  for (const auto& [name, node] : alike) {
    AttentionFit fit = read_alike(node, out);
    if (fit.in_8_bits != attention_in_8_bits(name)) node.fail(fmt::format("{} compute in another width", fit.like));
    out.insert_or_assign(name, std::move(fit));
  }
  if (out.empty()) section.fail("expected at least one generation of kernels");
  return out;
}

}  // namespace mirfak
