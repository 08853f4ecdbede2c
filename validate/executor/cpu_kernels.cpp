// A kernel that is bound by memory goes over all of its operands in chunks that stay in the first-level cache: it adds
// up what it reads of them, and writes the sum to each result. An operand with fewer elements than the largest takes
// part with its share of a chunk, so that every element moves exactly once a pass, whatever the shapes.

#include "executor/cpu_kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

namespace mirfak::measure {

namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMap = Eigen::Map<const Matrix>;
using Map = Eigen::Map<Matrix>;
using Chunk = Eigen::Map<Eigen::ArrayXf>;
using ConstChunk = Eigen::Map<const Eigen::ArrayXf>;

constexpr std::size_t kArena = std::size_t{16} << 20U;  // floats: 64 MiB
constexpr std::size_t kChunk = 2048;                    // floats: 8 KiB

std::size_t floats(double bytes) { return std::max<std::size_t>(1, static_cast<std::size_t>(bytes / sizeof(float))); }
Eigen::Index index(double extent) { return std::max<Eigen::Index>(1, static_cast<Eigen::Index>(std::llround(extent))); }

double product_bytes(const GemmShape& shape) {
  return 4 * shape.batch * (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n);
}

double attention_bytes(const AttentionShape& shape) {
  const double queries = shape.batch * shape.heads * shape.queries * shape.head_dim;
  const double keys = shape.batch * shape.heads * shape.keys * shape.head_dim;
  return 4 * 4 * (queries + keys);
}

// The part of an operand that goes with elements [done, done + count) of `all`.
struct Part {
  std::size_t begin = 0;
  std::size_t count = 0;
};
Part part_of(std::size_t size, std::size_t all, std::size_t done, std::size_t count) {
  const std::size_t begin = size * done / all;
  return {begin, size * (done + count) / all - begin};
}

void normalize(Chunk row) {
  const float mean = row.mean();
  const float variance = (row - mean).square().mean();
  row = (row - mean) * (1 / std::sqrt(variance + 1e-5F));
}

void exponentiate(Chunk row) {
  row = (row - row.maxCoeff()).exp();
  row *= 1 / row.sum();
}

}  // namespace

CpuKernels::CpuKernels(double max_bytes, std::uint64_t seed) {
  const std::size_t size = std::max(kArena, 2 * floats(max_bytes));
  inputs_.resize(size);
  outputs_.resize(size);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> number(-1, 1);
  // A block of numbers again and again: filling the arena is quick, and no two neighbours are alike.
  constexpr std::size_t kBlock = 1U << 16U;
  for (std::size_t i = 0; i < std::min(kBlock, size); ++i) inputs_[i] = number(random);
  for (std::size_t i = kBlock; i < size; ++i) inputs_[i] = inputs_[i - kBlock];
  outputs_ = inputs_;
  places_.resize(1U << 12U);
  for (std::uint32_t& place : places_) place = static_cast<std::uint32_t>(random());
}

double CpuKernels::operand_bytes(const KernelWork& work) {
  switch (work.kind) {
    case KernelWork::Kind::nothing:
      return 0;
    case KernelWork::Kind::product:
      return product_bytes(work.product);
    case KernelWork::Kind::attention:
      return attention_bytes(work.attention);
    default:
      return std::accumulate(work.reads.begin(), work.reads.end(), 0.0) +
             std::accumulate(work.writes.begin(), work.writes.end(), 0.0);
  }
}

const float* CpuKernels::next_input(std::size_t count) {
  if (next_input_ + count > inputs_.size()) next_input_ = 0;
  const float* out = inputs_.data() + next_input_;
  next_input_ += (count + 15) / 16 * 16;  // whole cache lines
  return out;
}

float* CpuKernels::next_output(std::size_t count) {
  if (next_output_ + count > outputs_.size()) next_output_ = 0;
  float* out = outputs_.data() + next_output_;
  next_output_ += (count + 15) / 16 * 16;
  return out;
}

void CpuKernels::run(const KernelWork& work) {
  switch (work.kind) {
    case KernelWork::Kind::nothing:
      return;
    case KernelWork::Kind::product:
      return multiply(work.product);
    case KernelWork::Kind::attention:
      return attend(work);
    default:
      break;
  }
  // The first pass computes; further passes only move the operands again.
  KernelWork::Kind kind = work.kind;
  for (double left = work.passes; left > 0; --left) {
    move(work, kind, std::min(1.0, left));
    kind = KernelWork::Kind::stream;
  }
}

void CpuKernels::multiply(const GemmShape& shape) {
  const Eigen::Index m = index(shape.m);
  const Eigen::Index n = index(shape.n);
  const Eigen::Index k = index(shape.k);
  for (Eigen::Index i = 0; i < index(shape.batch); ++i) {
    const ConstMap a(next_input(static_cast<std::size_t>(m * k)), m, k);
    const ConstMap b(next_input(static_cast<std::size_t>(k * n)), k, n);
    Map c(next_output(static_cast<std::size_t>(m * n)), m, n);
    c.noalias() = a * b;
  }
}

// Head after head: scores, softmax, context; backward as FlashAttention does it, with five products and the softmax
// again. Causal or not, all pairs of tokens are computed: a plain loop over heads has no blocks to leave out.
void CpuKernels::attend(const KernelWork& work) {
  const AttentionShape& shape = work.attention;
  const Eigen::Index queries = index(shape.queries);
  const Eigen::Index keys = index(shape.keys);
  const Eigen::Index width = index(shape.head_dim);
  scores_.resize(static_cast<std::size_t>(queries * keys));
  for (Eigen::Index head = 0; head < index(shape.batch * shape.heads); ++head) {
    const ConstMap q(next_input(static_cast<std::size_t>(queries * width)), queries, width);
    const ConstMap k(next_input(static_cast<std::size_t>(keys * width)), keys, width);
    const ConstMap v(next_input(static_cast<std::size_t>(keys * width)), keys, width);
    Map scores(scores_.data(), queries, keys);
    scores.noalias() = q * k.transpose();
    for (Eigen::Index row = 0; row < queries; ++row) {
      auto values = scores.row(row).array();
      values = (values - values.maxCoeff()).exp();
      values /= values.sum();
    }
    Map out(next_output(static_cast<std::size_t>(queries * width)), queries, width);
    out.noalias() = scores * v;
    if (!work.backward) continue;
    Map to_keys(next_output(static_cast<std::size_t>(keys * width)), keys, width);
    to_keys.noalias() = scores.transpose() * q;
    Map to_values(next_output(static_cast<std::size_t>(keys * width)), keys, width);
    to_values.noalias() = scores.transpose() * out;
    Map to_queries(next_output(static_cast<std::size_t>(queries * width)), queries, width);
    to_queries.noalias() = scores * k;
  }
}

// The sum of what goes with elements [done, done + sum.size()) of the largest operand.
void CpuKernels::add_up(const Operands& operands, bool at_random, std::size_t done, Eigen::Map<Eigen::ArrayXf> sum) {
  const auto count = static_cast<std::size_t>(sum.size());
  sum.setConstant(0.5F);
  bool first = true;
  for (const auto& [data, size] : operands.reads) {
    const Part part = part_of(size, operands.largest, done, count);
    if (part.count == 0) continue;
    const bool jumps = at_random && size > count;
    const std::size_t begin = jumps ? places_[place_++ % places_.size()] % (size - part.count + 1) : part.begin;
    const ConstChunk values(data + begin, static_cast<Eigen::Index>(part.count));
    auto into = sum.head(static_cast<Eigen::Index>(part.count));
    if (first) {
      into = values;
    } else {
      into += 0.25F * values;
    }
    first = false;
  }
}

CpuKernels::Operands CpuKernels::place(const KernelWork& work, double share) {
  Operands out;
  for (const double bytes : work.reads) {
    const std::size_t size = floats(bytes * share);
    out.reads.emplace_back(next_input(size), size);
    out.largest = std::max(out.largest, size);
  }
  for (const double bytes : work.writes) {
    const std::size_t size = floats(bytes * share);
    out.writes.emplace_back(next_output(size), size);
    out.largest = std::max(out.largest, size);
  }
  return out;
}

void CpuKernels::move(const KernelWork& work, KernelWork::Kind kind, double share) {
  const Operands operands = place(work, share);
  const std::size_t row = kind == KernelWork::Kind::stream ? kChunk : floats(work.row_bytes);
  const std::size_t step = std::clamp<std::size_t>(row, 16, kChunk);
  alignas(64) std::array<float, kChunk> buffer;
  for (std::size_t done = 0; done < operands.largest; done += step) {
    const std::size_t count = std::min(step, operands.largest - done);
    Chunk sum(buffer.data(), static_cast<Eigen::Index>(count));
    add_up(operands, kind == KernelWork::Kind::gather, done, sum);
    if (kind == KernelWork::Kind::normalize) normalize(sum);
    if (kind == KernelWork::Kind::softmax) exponentiate(sum);
    for (const auto& [data, size] : operands.writes) {
      const Part part = part_of(size, operands.largest, done, count);
      Chunk(data + part.begin, static_cast<Eigen::Index>(part.count)) = sum.head(static_cast<Eigen::Index>(part.count));
    }
  }
}

}  // namespace mirfak::measure
