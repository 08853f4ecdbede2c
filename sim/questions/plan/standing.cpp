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
    case SearchObjective::finish:
      return merit.finish_s;
    default:
      return merit.time_s;
  }
}

bool Standing::within_limits(const Merit& merit) const {
  return std::isfinite(merit.time_s) && std::isfinite(merit.finish_s) &&
         (spec_.deadline_s == 0 || merit.time_s <= spec_.deadline_s) &&
         (spec_.budget_usd == 0 || merit.cost_usd <= spec_.budget_usd);
}

bool Standing::before(const Entry& a, const Entry& b) const {
  return std::tuple(value(a.merit), a.merit.time_s, a.place) < std::tuple(value(b.merit), b.merit.time_s, b.place);
}

Merit Standing::stretched(const Merit& bound) const {
  const double factor = 1 + spec_.tolerance;
  return {bound.time_s * factor, bound.cost_usd * factor, bound.energy_j * factor, bound.finish_s * factor};
}

bool Standing::excludes(const Merit& bound) const {
  if (!within_limits(bound)) return true;
  if (spec_.exhaustive) return false;
  const Merit least = stretched(bound);
  if (spec_.objective == SearchObjective::pareto) {
    return std::any_of(rows_.begin(), rows_.end(), [&](const Row& row) { return dominates(row.front().merit, least); });
  }
  return full() && value(least) > value(rows_.back().front().merit);
}

bool Standing::excludes(const Merit& bound, const TreePlace& place) const {
  if (excludes(bound)) return true;
  if (spec_.exhaustive) return false;
  const auto needed = needed_.find(place.layout_place());
  return needed != needed_.end() && value(stretched(bound)) > needed->second;
}

bool Standing::excludes_from(double value, const TreePlace& place) const {
  if (spec_.exhaustive || spec_.objective == SearchObjective::pareto) return false;
  const double least = value * (1 + spec_.tolerance);
  const auto needed = needed_.find(place.layout_place());
  return (full() && least > this->value(rows_.back().front().merit)) ||
         (needed != needed_.end() && least > needed->second);
}

void Standing::add(Entry entry) {
  const Merit& merit = entry.merit;
  if (!within_limits(merit)) return;
  if (spec_.objective == SearchObjective::pareto) {
    add_to_set(std::move(entry));
  } else {
    add_to_layouts(std::move(entry));
  }
}

void Standing::add_to_set(Entry entry) {
  const Merit& merit = entry.merit;
  const auto beaten = [&](const Row& row) {
    const Entry& known = row.front();
    return dominates(known.merit, merit) || (same(known.merit, merit) && known.place < entry.place);
  };
  if (std::any_of(rows_.begin(), rows_.end(), beaten)) return;
  std::erase_if(rows_, [&](const Row& row) { return no_worse(merit, row.front().merit); });
  add_row({std::move(entry)});
}

void Standing::add_row(Row row) {
  const auto by_first = [&](const Row& a, const Row& b) { return before(a.front(), b.front()); };
  const auto place = std::upper_bound(rows_.begin(), rows_.end(), row, by_first);
  rows_.insert(place, std::move(row));
}

// An entry that is not before the last layout's best is needed neither as the best of another layout nor as a variant.
// The best entry of a layout only gets better, so nothing is missed of a layout that is dropped and comes back.
void Standing::add_to_layouts(Entry entry) {
  if (full() && !before(entry, rows_.back().front())) return;
  const TreePlace::Layout layout = entry.place.layout_place();
  const auto known = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const Row& row) { return row.front().place.layout_place() == layout; });
  Row row;
  if (known != rows_.end()) {
    row = std::move(*known);
    rows_.erase(known);
  }
  const auto order = [&](const Entry& a, const Entry& b) { return before(a, b); };
  row.insert(std::upper_bound(row.begin(), row.end(), entry, order), std::move(entry));
  if (row.size() > kMaxVariants + 1) row.pop_back();
  if (row.size() == kMaxVariants + 1) needed_[layout] = value(row.back().merit);
  add_row(std::move(row));
  if (static_cast<int>(rows_.size()) <= spec_.top) return;
  needed_.erase(rows_.back().front().place.layout_place());
  rows_.pop_back();
}

std::vector<FoundStrategy> Standing::found() const {
  std::vector<FoundStrategy> out;
  for (const Row& row : rows_) {
    out.push_back(row.front().found);
    for (std::size_t i = 1; i < row.size(); ++i) {
      if (!full() || before(row[i], rows_.back().front())) out.back().variants.push_back(row[i].found);
    }
  }
  return out;
}

}  // namespace mirfak
