#pragma once

#include "brute_force.hpp"
#include "small_spaces.hpp"

#include "plan/search.hpp"

#include <cstddef>
#include <functional>
#include <vector>

namespace mirfak::test {

double time_s(const JudgedStrategy& judged);
double cost_usd(const JudgedStrategy& judged);
double power_w(const JudgedStrategy& judged);

// Returns the value of a figure that so many percent of the fitting strategies are below.
double quantile(const std::vector<JudgedStrategy>& of, const std::function<double(const JudgedStrategy&)>& figure,
                std::size_t percent);

// A job's strategies on these nodes, added to `all`; `first_order`: see simulate_all().
void add_simulated(const SmallSpace& of, std::vector<NodeAllotment> nodes, bool first_order,
                   std::vector<JudgedStrategy>& all);

// Simulates choices of two types of nodes, of any numbers up to all, or of all: in the search's order, types in either.
std::vector<JudgedStrategy> simulate_choices(const SmallSpace& of, bool any_count);

// The same strategies with the same figures, to the last bit.
void check_same(const SearchResult& found, const std::vector<FoundLayout>& expected);

}  // namespace mirfak::test
