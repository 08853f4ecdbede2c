#include "exact_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace mirfak::test {

double time_s(const JudgedStrategy& judged) { return judged.time_s; }
double cost_usd(const JudgedStrategy& judged) { return judged.cost_usd; }
double power_w(const JudgedStrategy& judged) { return judged.energy_j / judged.time_s; }

double quantile(const std::vector<JudgedStrategy>& of, const std::function<double(const JudgedStrategy&)>& figure,
                std::size_t percent) {
  std::vector<double> values;
  for (const JudgedStrategy& judged : of) {
    if (judged.free >= 0) values.push_back(figure(judged));
  }
  std::sort(values.begin(), values.end());
  return values[values.size() * percent / 100];
}

void add_simulated(const SmallSpace& of, std::vector<NodeAllotment> nodes, bool first_order,
                   std::vector<JudgedStrategy>& all) {
  Job job = of.job;
  job.cluster = Cluster(std::move(nodes), of.job.cluster.fabric());
  const std::vector<JudgedStrategy> more = simulate_all(job, of.space, first_order);
  all.insert(all.end(), more.begin(), more.end());
}

std::vector<JudgedStrategy> simulate_choices(const SmallSpace& of, bool any_count) {
  const NodeGroup& first = of.job.cluster.groups()[0];
  const NodeGroup& second = of.job.cluster.groups()[1];
  std::vector<JudgedStrategy> all;
  for (int firsts = any_count ? 0 : first.count; firsts <= first.count; ++firsts) {
    for (int seconds = any_count ? 0 : second.count; seconds <= second.count; ++seconds) {
      NodeAllotment one = first;
      NodeAllotment other = second;
      one.count = firsts;
      other.count = seconds;
      if (firsts > 0 && seconds > 0) {
        add_simulated(of, {one, other}, true, all);
        add_simulated(of, {other, one}, false, all);
      } else if (firsts + seconds > 0) {
        add_simulated(of, {firsts > 0 ? one : other}, true, all);
      }
    }
  }
  return all;
}

namespace {

void check_same(const FoundStrategy& found, const JudgedStrategy& expected) {
  CHECK(text_of(found.job.strategy) == text_of(expected.strategy));
  CHECK(found.iteration_time_s == expected.time_s);
  CHECK(found.cost_usd == expected.cost_usd);
  CHECK(found.energy_j == expected.energy_j);
}

}  // namespace

void check_same(const SearchResult& found, const std::vector<FoundLayout>& expected) {
  REQUIRE(found.strategies.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    check_same(found.strategies[i], expected[i].best);
    REQUIRE(found.strategies[i].variants.size() == expected[i].variants.size());
    for (std::size_t k = 0; k < expected[i].variants.size(); ++k) {
      CAPTURE(k);
      check_same(found.strategies[i].variants[k], expected[i].variants[k]);
    }
  }
}

}  // namespace mirfak::test
