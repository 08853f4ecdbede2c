#include "executor/collective_groups.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace mirfak::measure {

namespace {

// The ranks of each machine, machines in the order of their first ranks.
std::vector<std::vector<int>> ranks_by_machine(std::span<const int> machine_of) {
  std::vector<std::vector<int>> out;
  std::map<int, std::size_t> place;
  for (std::size_t rank = 0; rank < machine_of.size(); ++rank) {
    const auto [found, added] = place.try_emplace(machine_of[rank], out.size());
    if (added) out.emplace_back();
    out[found->second].push_back(static_cast<int>(rank));
  }
  return out;
}

}  // namespace

std::vector<TimedGroup> collective_groups(std::span<const int> machine_of) {
  const std::vector<std::vector<int>> machines = ranks_by_machine(machine_of);
  std::vector<TimedGroup> out;
  const auto add = [&](std::vector<int> ranks, std::size_t on) {
    std::sort(ranks.begin(), ranks.end());
    TimedGroup group{std::move(ranks), static_cast<int>(on)};
    if (group.ranks.size() > 1 && std::find(out.begin(), out.end(), group) == out.end())
      out.push_back(std::move(group));
  };
  if (machines.empty()) return out;
  const auto fewer = [](const std::vector<int>& a, const std::vector<int>& b) { return a.size() < b.size(); };
  const std::vector<int>& fullest = *std::max_element(machines.begin(), machines.end(), fewer);
  for (std::size_t size = 2; size < fullest.size(); size *= 2) {
    add({fullest.begin(), fullest.begin() + static_cast<std::ptrdiff_t>(size)}, 1);
  }
  add(fullest, 1);
  if (machines.size() == 1) return out;
  std::vector<int> first_of_each;
  std::vector<int> all;
  for (const std::vector<int>& ranks : machines) {
    first_of_each.push_back(ranks.front());
    all.insert(all.end(), ranks.begin(), ranks.end());
  }
  add(std::move(first_of_each), machines.size());
  add(std::move(all), machines.size());
  return out;
}

std::vector<TimedGroup> transfer_pairs(std::span<const int> machine_of) {
  const std::vector<std::vector<int>> machines = ranks_by_machine(machine_of);
  std::vector<TimedGroup> out;
  const auto several =
      std::find_if(machines.begin(), machines.end(), [](const std::vector<int>& ranks) { return ranks.size() > 1; });
  if (several != machines.end()) out.push_back({{(*several)[0], (*several)[1]}, 1});
  if (machines.size() > 1) out.push_back({{machines[0].front(), machines[1].front()}, 2});
  return out;
}

double whole_pieces(double bytes, int ranks) {
  const double step = 16.0 * ranks;
  return std::max(1.0, std::floor(bytes / step)) * step;
}

}  // namespace mirfak::measure
