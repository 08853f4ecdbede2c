#include "alpa/integer_program.hpp"

#include "alpa/integer_program_solver.hpp"
#include "base/error.hpp"
#include "base/late_library.hpp"

#include <utility>

namespace mirfak::alpa {

int IntegerProgram::add_binary(double cost) {
  all_.costs.push_back(cost);
  all_.binary.push_back(true);
  return variables() - 1;
}

int IntegerProgram::add_share(double cost) {
  all_.costs.push_back(cost);
  all_.binary.push_back(false);
  return variables() - 1;
}

void IntegerProgram::add_equation(std::vector<Term> terms, double right) {
  all_.rows.push_back({std::move(terms), right, right});
}

void IntegerProgram::add_at_most(std::vector<Term> terms, double right) {
  all_.rows.push_back({std::move(terms), std::numeric_limits<double>::lowest(), right});
}

void IntegerProgram::add_limit(std::vector<Term> terms, double right) {
  all_.limit = rows();
  add_at_most(std::move(terms), right);
}

IntegerProgram::Solution IntegerProgram::solve(double time_limit_s, double cutoff) const {
  if (all_.costs.empty()) return {Status::optimal, 0, {}, true};
  using Solve = decltype(&mirfak_solve_integer_program);
  static const auto solver = reinterpret_cast<Solve>(late_function("cbc", "mirfak_solve_integer_program"));
  Solution out;
  if (!solver(all_, time_limit_s, cutoff, out)) fail_internal("the solver of integer programs gave up");
  return out;
}

}  // namespace mirfak::alpa
