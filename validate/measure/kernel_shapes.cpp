#include "measure/kernel_shapes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

namespace mirfak::measure {

namespace {

using Extents = std::tuple<double, double, double, double>;  // batch, m, n, k

// Calls `each` with every kernel that a program's tasks are.
template <class Each>
void for_each_kernel(const Program& program, const Each& each) {
  for (const TaskClass& described : program.classes) {
    if (const auto* work = std::get_if<KernelWork>(&described.work)) each(*work);
  }
}

std::set<Extents> extents_of(const Program& program, bool narrow) {
  std::set<Extents> out;
  for_each_kernel(program, [&](const KernelWork& work) {
    const GemmShape& shape = work.product;
    if (work.kind != KernelWork::Kind::product || work.narrow != narrow) return;
    out.emplace(shape.batch, shape.m, shape.n, shape.k);
  });
  return out;
}

}  // namespace

std::vector<GemmShape> product_shapes(const Program& program, double max_flop, bool narrow) {
  const std::set<Extents> own = extents_of(program, narrow);
  std::set<Extents> all = own;
  constexpr double kLeast = 16;
  const auto runs = [&](const GemmShape& shape) {
    const auto fits = [](double extent) { return std::fmod(extent, kLeast) == 0; };
    return !narrow || (fits(shape.m) && fits(shape.n) && fits(shape.k));
  };
  for (const auto& [batch, m, n, k] : own) {
    for (const double factor : {0.5, 2.0}) {
      if (m * factor >= kLeast) all.emplace(batch, m * factor, n, k);
      if (n * factor >= kLeast) all.emplace(batch, m, n * factor, k);
      if (k * factor >= kLeast) all.emplace(batch, m, n, k * factor);
    }
  }
  std::vector<GemmShape> out;
  for (const auto& [batch, m, n, k] : all) {
    if (const GemmShape shape{batch, m, n, k}; shape.flop() <= max_flop && runs(shape)) out.push_back(shape);
  }
  std::stable_sort(out.begin(), out.end(), [](const GemmShape& a, const GemmShape& b) { return a.flop() < b.flop(); });
  return out;
}

std::vector<KernelWork> attention_calls(const Program& program) {
  using Call = std::tuple<bool, double, double, double, double, double, double, bool, double>;
  // Factors of the length, which shows a tile's cost beside its products, and of the sequences, which fill the machine.
  constexpr std::array<std::pair<double, double>, 6> kVariations = {
      {{0.5, 1}, {1, 1}, {2, 1}, {0.5, 2}, {1, 2}, {2, 2}}};
  std::map<Call, KernelWork> calls;
  for_each_kernel(program, [&](const KernelWork& own) {
    if (own.kind != KernelWork::Kind::attention) return;
    for (const auto& [length, sequences] : kVariations) {
      KernelWork work = own;
      AttentionShape& s = work.attention;
      s.queries *= length;
      s.keys *= length;
      s.batch *= sequences;
      calls.emplace(
          Call{work.backward, s.batch, s.queries, s.keys, s.heads, s.kv_heads, s.head_dim, s.causal, s.window}, work);
    }
  });
  std::vector<KernelWork> out;
  for (auto& [call, work] : calls) out.push_back(std::move(work));
  return out;
}

}  // namespace mirfak::measure
