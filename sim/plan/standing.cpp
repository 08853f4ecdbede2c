#include "plan/standing.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace mirfak {

namespace {

bool no_worse(const Merit& a, const Merit& b) {
  return a.time_s <= b.time_s && a.cost_usd <= b.cost_usd && a.energy_j <= b.energy_j;
}

bool same(const Merit& a, const Merit& b) { return no_worse(a, b) && no_worse(b, a); }

bool dominates(const Merit& a, const Merit& b) { return no_worse(a, b) && !no_worse(b, a); }

}  // namespace

double Standing::value(const Merit& merit) const {
  switch (spec_.objective) {
    case SearchObjective::cost:
      return merit.cost_usd;
    case SearchObjective::energy:
      return merit.energy_j;
    default:
      return merit.time_s;
  }
}

bool Standing::within_limits(const Merit& merit) const {
  return std::isfinite(merit.time_s) && (spec_.deadline_s == 0 || merit.time_s <= spec_.deadline_s) &&
         (spec_.budget_usd == 0 || merit.cost_usd <= spec_.budget_usd);
}

bool Standing::excludes(const Merit& bound) const {
  if (!within_limits(bound)) return true;
  if (spec_.exhaustive) return false;
  if (spec_.objective == SearchObjective::pareto) {
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const Entry& entry) { return dominates(entry.merit, bound); });
  }
  return static_cast<int>(entries_.size()) >= spec_.top && value(bound) > value(entries_.back().merit);
}

void Standing::add(Entry entry) {
  const Merit& merit = entry.merit;
  if (!within_limits(merit)) return;
  if (spec_.power_cap_w > 0 && merit.energy_j > spec_.power_cap_w * merit.time_s) return;
  const bool pareto = spec_.objective == SearchObjective::pareto;
  if (pareto) {
    const auto beaten = [&](const Entry& known) {
      return dominates(known.merit, merit) || (same(known.merit, merit) && known.place < entry.place);
    };
    if (std::any_of(entries_.begin(), entries_.end(), beaten)) return;
    std::erase_if(entries_, [&](const Entry& known) { return no_worse(merit, known.merit); });
  }
  const auto order = [&](const Entry& a, const Entry& b) {
    return std::tuple(value(a.merit), a.merit.time_s, a.place) < std::tuple(value(b.merit), b.merit.time_s, b.place);
  };
  entries_.insert(std::upper_bound(entries_.begin(), entries_.end(), entry, order), std::move(entry));
  if (!pareto && static_cast<int>(entries_.size()) > spec_.top) entries_.pop_back();
}

}  // namespace mirfak
