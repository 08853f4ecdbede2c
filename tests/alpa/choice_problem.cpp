#include "alpa/choice_problem.hpp"

#include "enumeration.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>
#include <string>

namespace choice_problem_test {

using namespace mirfak::alpa;
using namespace mirfak::test;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class RandomProblems {
 public:
  explicit RandomProblems(unsigned seed) : random_(seed) {}

  ChoiceProblem next() {
    ChoiceProblem problem;
    const int decisions = whole(2, 6);
    for (int i = 0; i < decisions; ++i) {
      ChoiceProblem::Decision& decision = problem.decisions.emplace_back();
      decision.name = std::to_string(i);
      const int choices = whole(1, 4);
      for (int k = 0; k < choices; ++k) decision.costs.push_back(cost(0.1));
      decision.costs.front().seconds = 1e-3;  // one can be taken
    }
    const int transfers = whole(1, 7);
    for (int i = 0; i < transfers; ++i) add_transfer(problem);
    problem.in_flight = whole(1, 4);
    if (whole(0, 2) > 0) problem.memory_limit = whole(2, 12) * 1e9;
    return problem;
  }

 private:
  int whole(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  Cost cost(double share_impossible) {
    const bool possible = std::uniform_real_distribution<double>(0, 1)(random_) >= share_impossible;
    const bool nothing = whole(0, 2) == 0;
    if (!possible) return {kNever, 0, 0};
    return nothing ? Cost{} : Cost{whole(1, 40) * 1e-4, whole(0, 3) * 2.5e8, whole(0, 3) * 1e8};
  }

  void add_transfer(ChoiceProblem& problem) {
    ChoiceProblem::Transfer transfer;
    const int count = static_cast<int>(problem.decisions.size());
    transfer.groups = whole(1, 3);
    transfer.forms = whole(1, 3);
    for (int i = 0; i < transfer.groups * transfer.forms; ++i) transfer.costs.push_back(cost(0.05));
    transfer.source = whole(0, count - 1);
    const auto places = [&](int decision, int most) {
      std::vector<int> out;
      for (std::size_t k = 0; k < problem.decisions[static_cast<std::size_t>(decision)].costs.size(); ++k) {
        out.push_back(whole(0, most - 1));
      }
      return out;
    };
    transfer.group = places(transfer.source, transfer.groups);
    for (int reader = 0; reader < count; ++reader) {
      if (reader == transfer.source || whole(0, 2) > 0) continue;
      transfer.readers.push_back({reader, places(reader, transfer.forms)});
    }
    if (!transfer.readers.empty()) problem.transfers.push_back(transfer);
  }

  std::mt19937 random_;
};

}  // namespace

TEST_CASE("the integer program finds the least of all choices, or that none fits, reduced or as it stands") {
  int infeasible = 0;
  int limited = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const ChoiceProblem problem = RandomProblems(seed).next();
    const double least = least_seconds(problem);
    const ChoiceSolution found = solve(problem, 60);
    if (least == kNever) {
      ++infeasible;
      CHECK(found.status == IntegerProgram::Status::infeasible);
      continue;
    }
    REQUIRE(found.status == IntegerProgram::Status::optimal);
    CHECK(found.cost.seconds == doctest::Approx(least).epsilon(1e-6));
    CHECK(problem.bytes(found.cost) <= problem.memory_limit * (1 + 1e-6));
    // A plan that takes longer than the longest allowed counts as infeasible; one that does not is found all the same.
    ChoiceProblem bounded = problem;
    bounded.longest = least * (1 - 1e-3);
    if (least > 0) CHECK(solve(bounded, 60).status == IntegerProgram::Status::infeasible);
    bounded.longest = least * (1 + 1e-3);
    CHECK(solve(bounded, 60).cost.seconds == doctest::Approx(least).epsilon(1e-6));
    const ChoiceSolution plain = solve_program(problem, 60);
    REQUIRE(plain.status == IntegerProgram::Status::optimal);
    CHECK(cost_of(problem, plain.choices).seconds == doctest::Approx(least).epsilon(1e-6));
    if (problem.memory_limit < kNever) ++limited;
  }
  // Feasible and infeasible problems must both occur.
  CHECK(infeasible > 10);
  CHECK(limited > 100);
}

TEST_CASE("readers that want the same form share the copy") {
  ChoiceProblem problem;
  problem.decisions = {{"tensor", {{1, 0, 0}, {kNever, 0, 0}}}, {"a", {{0, 0, 0}}}, {"b", {{0, 0, 0}, {0.5, 0, 0}}}};
  ChoiceProblem::Transfer transfer;
  transfer.source = 0;
  transfer.group = {0, 0};
  transfer.groups = 1;
  transfer.forms = 2;
  transfer.readers = {{1, {0}}, {2, {0, 1}}};
  transfer.costs = {{10, 0, 0}, {2, 0, 0}};
  problem.transfers = {transfer};
  // b takes the form that a pays for already: 1 + 10, not 1 + 10 + 0.5 + 2.
  const ChoiceSolution found = solve(problem, 10);
  CHECK(found.choices == std::vector<int>{0, 0, 0});
  CHECK(found.cost.seconds == doctest::Approx(11));
}

TEST_CASE("activations count for each microbatch in flight, state once") {
  ChoiceProblem problem;
  // Fast with 6 of state; or slow with 1 of state and 1 of activations.
  problem.decisions = {{"only", {{1, 6, 0}, {2, 1, 1}}}};
  problem.memory_limit = 6;
  CHECK(solve(problem, 10).choices == std::vector<int>{0});
  problem.memory_limit = 5;
  problem.in_flight = 4;
  CHECK(solve(problem, 10).choices == std::vector<int>{1});
  problem.in_flight = 5;
  CHECK(solve(problem, 10).status == IntegerProgram::Status::infeasible);
}

}  // namespace choice_problem_test
