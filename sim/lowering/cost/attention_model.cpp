// Time of a fused attention kernel.
//
// The kernel is a bag of tiles: `rows` queries of one head of one sequence each, given to whichever multiprocessor is
// free. A tile loads its queries, multiplies them with one block of keys after the other, and stores its result; its
// time is a ramp plus a constant per block of keys. With a causal mask the tiles of a head are of unequal length: the
// first tile sees one block of keys, the last tile all blocks. Example: 4 heads of 2048 tokens in tiles of 128 rows are
// 64 tiles for an H100's 132 multiprocessors; the kernel takes as long as its longest tile, and half of the machine
// idles. 96 heads of 8192 tokens keep the machine busy except for the last few tiles (`tail`).
//
// The measured tables (TensorRT-LLM's context kernels) time two kernels: one that copies queries, keys and values into
// the cache of an inference server, and the attention itself. The copy is a memory-bound kernel of its own, 30 % of the
// time at 1024 tokens, and has no place in training: it is fitted as `side_passes` and left out of forward(). Fits
// leave out small shapes; tests/cost/attention_model.cpp checks their error.
#include "cost/attention_model.hpp"

#include "base/error.hpp"
#include "cost/cache_share.hpp"
#include "cost/power_limit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <queue>

namespace mirfak {

namespace {

constexpr double kKeyBlock = 64;       // keys that a tile takes at a time
constexpr int kSmallestTile = 16;      // rows of the tensor cores' own tile
constexpr double kOrderedBlock = 128;  // keys that a thread block of a backward pass takes at a time
constexpr double kSumBytes = 4;        // of a sum of gradients of queries
constexpr int kBackwardKernels = 3;    // row sums of dO * O, the gradients, dQ from fp32

const Figure& attention_peak(const GpuSpec& gpu, Precision precision) {
  const bool wide = precision < Precision::fp16;
  const auto bf16 = gpu.peak_flops.find(Precision::bf16);
  const auto narrow = bf16 != gpu.peak_flops.end() ? bf16 : gpu.peak_flops.find(Precision::fp16);
  const auto found = wide ? gpu.peak_flops.find(precision) : narrow;
  if (found != gpu.peak_flops.end()) return found->second;
  fail_infeasible({}, fmt::format("{} has no {} arithmetic", gpu.title, wide ? name_of(precision) : "16-bit"), {});
}

// Short sequences run in smaller tiles.
double tile_extent(double tokens, double largest) {
  const double rounded = std::exp2(std::ceil(std::log2(std::max(1.0, tokens))));
  return std::min(largest, std::max<double>(kSmallestTile, rounded));
}

double value_dim(const AttentionShape& shape) { return shape.value_dim > 0 ? shape.value_dim : shape.head_dim; }

// FLOP of a pair of a query and a key: forward the score and the result; backward the score again, dV, dP, dQ and dK.
double pair_flop(const AttentionShape& shape, bool backward) {
  const double with_keys = backward ? 3 : 1;
  const double with_values = backward ? 2 : 1;
  return 2 * (with_keys * shape.head_dim + with_values * value_dim(shape));
}

double query_elements(const AttentionShape& shape) {
  return shape.batch * shape.queries * shape.heads * shape.head_dim;
}

double result_elements(const AttentionShape& shape) {
  return shape.batch * shape.queries * shape.heads * value_dim(shape);
}

double key_value_elements(const AttentionShape& shape) {
  return shape.batch * shape.keys * shape.kv_heads * (shape.head_dim + value_dim(shape));
}

Figure between(const Figure& low, const Figure& high, double share) {
  return {low.value + share * (high.value - low.value), low.source};
}

// Interpolates efficiencies as times over 1 / head_dim: the time of a product falls with the head dimension towards the
// time that the multipliers need, because the work in addition to the products is the same for each pair of tokens.
Figure time_between(const Figure& low, const Figure& high, double share) {
  return {1 / (1 / low.value + share * (1 / high.value - 1 / low.value)), low.source};
}

// Shares of a head's work that the parts of an ordered backward pass have: a block of keys counts the queries that see
// it.
std::vector<double> shares_of_parts(const AttentionShape& shape, std::size_t parts) {
  std::vector<double> shares(parts, 0.0);
  const double offset = shape.keys - shape.queries;
  double sum = 0;
  std::size_t part = 0;
  for (double key = 0; key < shape.keys; key += kOrderedBlock) {
    double seen = shape.causal ? shape.queries - std::max(0.0, key - offset) : shape.queries;
    if (shape.window > 0) seen = std::min(seen, shape.window + kOrderedBlock);
    shares[part] += seen;
    sum += seen;
    part = (part + 1) % parts;
  }
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace

struct AttentionModel::Work {
  double tiles = 0;    // tiles of one head of one sequence
  double blocks = 0;   // blocks of keys over these tiles
  double longest = 0;  // blocks of the longest tile
  double rows = 0;     // rows of a tile
  double block_keys = 0;
};

double share_of_pairs(const AttentionShape& shape) {
  if (shape.documents.empty()) return 1;
  double share = 0;
  for (const DocumentLength& of : shape.documents) share += of.share * of.tokens / shape.queries;
  return share;
}

AttentionModel::AttentionModel(const GpuSpec& gpu, const AttentionFit& fit, Precision precision)
    : gpu_(&gpu),
      fit_(&fit),
      peak_of_gpu_(fit.in_8_bits ? &gpu.peak_flops.at(Precision::fp8) : &attention_peak(gpu, precision)),
      element_bytes_(fit.in_8_bits ? bytes_per_element(Precision::fp8) : std::max(2.0, bytes_per_element(precision))),
      peak_(peak_of_gpu_->value / gpu.multiprocessors),
      bandwidth_(gpu.memory_bandwidth.value * gpu.memory_bandwidth_efficiency.value) {}

const AttentionTiles& AttentionModel::tiles(double head_dim, AttentionTiles& between_two) const {
  const auto above = std::find_if(fit_->head_dims.begin(), fit_->head_dims.end(),
                                  [&](const auto& entry) { return entry.first >= head_dim; });
  if (above == fit_->head_dims.end()) return fit_->head_dims.rbegin()->second;
  if (above == fit_->head_dims.begin() || above->first == head_dim) return above->second;
  const auto& [low_dim, low] = *std::prev(above);
  const auto& [high_dim, high] = *above;
  const double share = (1.0 / low_dim - 1.0 / head_dim) / (1.0 / low_dim - 1.0 / high_dim);
  AttentionTiles& out = between_two;
  out = high;  // the kernel for the larger heads serves this size
  out.efficiency = time_between(low.efficiency, high.efficiency, share);
  out.backward_efficiency = time_between(low.backward_efficiency, high.backward_efficiency, share);
  out.ramp_s = between(low.ramp_s, high.ramp_s, share);
  out.tail = between(low.tail, high.tail, share);
  if (low.throttle && high.throttle) out.throttle = between(*low.throttle, *high.throttle, share);
  return out;
}

// Adds the key blocks that hold at least one key visible from a tile's queries, for `times` documents.
void AttentionModel::add_document(const AttentionShape& document, double times, Work& work) {
  work.tiles += times * std::ceil(document.queries / work.rows);
  const double offset = document.keys - document.queries;
  for (double row = 0; row < document.queries; row += work.rows) {
    const double last_row = std::min(row + work.rows, document.queries);
    const double last = document.causal ? std::clamp(last_row + offset, 0.0, document.keys) : document.keys;
    const double first = document.window > 0 ? std::clamp(row + offset + 1 - document.window, 0.0, last) : 0;
    const double blocks = std::ceil(last / work.block_keys) - std::floor(first / work.block_keys);
    work.blocks += times * blocks;
    work.longest = std::max(work.longest, blocks);
  }
}

AttentionModel::Work AttentionModel::work(const AttentionShape& shape, const AttentionTiles& tiles) const {
  Work out;
  const std::vector<DocumentLength> whole = {{shape.queries, 1}};
  const std::vector<DocumentLength>& documents = shape.documents.empty() ? whole : shape.documents;
  double longest = 0;
  for (const DocumentLength& of : documents) longest = std::max(longest, of.tokens);
  const double keys_per_query = shape.keys / shape.queries;
  out.rows = tile_extent(longest, tiles.rows.value);
  out.block_keys = tile_extent(longest * keys_per_query, kKeyBlock);
  AttentionShape document = shape;
  for (const DocumentLength& of : documents) {
    document.queries = of.tokens;
    document.keys = shape.documents.empty() ? shape.keys : of.tokens * keys_per_query;
    add_document(document, shape.queries * of.share / of.tokens, out);
  }
  return out;
}

double AttentionModel::makespan(const AttentionShape& shape, const AttentionTiles& tiles, const Work& work,
                                bool backward) const {
  const double efficiency = backward ? tiles.backward_efficiency.value : tiles.efficiency.value;
  const double block_flop = pair_flop(shape, backward) * work.rows * work.block_keys;
  const double block_s = block_flop / (peak_ * efficiency);
  const double ramp_s = (backward ? 2 : 1) * tiles.ramp_s.value;
  const double head_s = work.blocks * block_s + work.tiles * ramp_s;
  const double all_s = shape.batch * shape.heads * head_s;
  const double longest_s = work.longest * block_s + ramp_s;
  if (backward && shape.ordered) return ordered_makespan(shape, head_s);
  return std::max(all_s / gpu_->multiprocessors + tiles.tail.value * head_s / work.tiles, longest_s);
}

double AttentionModel::ordered_parts(const AttentionShape& shape) const {
  return std::ceil(gpu_->multiprocessors / (shape.batch * shape.heads));
}

// Gives the parts of all heads, in their order, to the multiprocessor that is free first.
double AttentionModel::ordered_makespan(const AttentionShape& shape, double head_s) const {
  const std::vector<double> shares = shares_of_parts(shape, static_cast<std::size_t>(ordered_parts(shape)));
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
  for (int i = 0; i < gpu_->multiprocessors; ++i) free_at.push(0);
  const auto heads = static_cast<std::int64_t>(std::ceil(shape.batch * shape.heads * shape.calls));
  double end = 0;
  for (std::int64_t head = 0; head < heads; ++head) {
    for (const double share : shares) {
      const double done = free_at.top() + head_s / shape.calls * share;
      free_at.pop();
      free_at.push(done);
      end = std::max(end, done);
    }
  }
  return end;
}

double AttentionModel::settled_clock(double head_dim) const {
  AttentionTiles between_two;
  return settled_clock(tiles(head_dim, between_two));
}

double AttentionModel::settled_clock(const AttentionTiles& tiles) const {
  const double throttled = tiles.throttle ? 1 / (1 + tiles.throttle->value) : 1;
  return std::min(gpu_->sustained_share.value, throttled);
}

AttentionCost AttentionModel::price(const AttentionShape& shape, bool backward, double clock) const {
  AttentionTiles between_two;
  const AttentionTiles& tiles = this->tiles(shape.head_dim, between_two);
  const Work work = this->work(shape, tiles);
  AttentionCost cost;
  cost.executed_flop =
      shape.batch * shape.heads * work.blocks * work.rows * work.block_keys * pair_flop(shape, backward);
  cost.overhead_s = (backward ? kBackwardKernels : 1) * gpu_->kernel_launch_s.value;
  cost.clocked_s = makespan(shape, tiles, work, backward);
  cost.compute_s = cost.clocked_s / clock;
  const double query_bytes = element_bytes_ * query_elements(shape);
  const double ends = query_bytes + element_bytes_ * result_elements(shape);
  const double passes = (backward ? 2 : 1) * fit_->io_passes.value;
  const double around = backward ? fit_->backward_passes.value * query_bytes : 0;
  // Besides the one sum that every backward pass clears and reads.
  const double sums =
      backward && shape.ordered ? 2 * (ordered_parts(shape) - 1) * kSumBytes * query_elements(shape) : 0;
  cost.memory_s = (passes * ends + around + sums) / bandwidth_;
  const double all = (backward ? 2 : 1) * (ends + element_bytes_ * key_value_elements(shape)) / bandwidth_;
  if (cost.compute_s + cost.memory_s < all) cost.clocked_s = 0;
  cost.seconds = cost.overhead_s + std::max(cost.compute_s + cost.memory_s, all);
  cost.draw = std::pow(settled_clock(tiles), -kPowerExponent);
  return cost;
}

double AttentionModel::table_seconds(const AttentionShape& shape) const {
  if (!fit_->table) fail_internal("attention kernels of '" + gpu_->name + "' have no table");
  const AttentionTable& table = *fit_->table;
  AttentionTiles between_two;
  const AttentionTiles& tiles = this->tiles(shape.head_dim, between_two);
  const double queries = element_bytes_ * query_elements(shape);
  const double keys_and_values = element_bytes_ * key_value_elements(shape);
  const double ends = queries + element_bytes_ * result_elements(shape);
  const double footprint = queries + ends + 2 * keys_and_values;
  const double fullness = footprint / (table.cache_share.value * gpu_->l2_bytes.value);
  const double cached = share_in_cache(fullness);
  const double per_byte = ((1 - cached) + cached / table.cache_speedup.value) / bandwidth_;

  double compute = makespan(shape, tiles, work(shape, tiles), false);
  if (tiles.throttle) compute *= 1 + tiles.throttle->value * compute / (compute + table.throttle_s.value);
  const double kernel =
      std::max(compute + fit_->io_passes.value * 2 * queries * per_byte, (2 * queries + keys_and_values) * per_byte);
  return table.overhead_s.value + 2 * table.side_passes.value * (queries + keys_and_values) * per_byte + kernel;
}

AttentionChoice attention_choice(const GpuSpec& gpu, std::span<const std::string> preferred) {
  AttentionChoice out;
  if (gpu.attention.empty()) return out;
  for (const std::string& entry : preferred) {
    const std::size_t at = entry.find('@');
    if (at != std::string::npos && entry.substr(at + 1) != gpu.architecture) continue;
    const std::string name = entry.substr(0, at);
    if (out.wanted.empty()) out.wanted = name;
    const auto found = gpu.attention.find(name);
    if (found == gpu.attention.end()) continue;
    return {name, found->second.like, &found->second};
  }
  out.figures_of = gpu.attention.begin()->first;
  out.fit = &gpu.attention.begin()->second;
  return out;
}

const AttentionFit* attention_fit(const GpuSpec& gpu, std::span<const std::string> preferred) {
  return attention_choice(gpu, preferred).fit;
}

}  // namespace mirfak
