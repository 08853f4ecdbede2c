// The linear relaxation is solved first. The relaxation of a choice problem is integral more often than not (always if
// the graph of decisions is a tree), and then nothing is left to do. Otherwise CBC branches, with cuts that suit
// choices (probing) and the one row of a memory limit (knapsack covers).

#include "alpa/integer_program.hpp"

#include "base/error.hpp"

#include <CbcModel.hpp>
#include <CglKnapsackCover.hpp>
#include <CglProbing.hpp>
#include <CoinPackedMatrix.hpp>
#include <OsiClpSolverInterface.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace mirfak::alpa {

namespace {

constexpr double kIntegral = 1e-6;     // largest distance of an integral value from 0 or 1
constexpr double kSmallestGap = 1e-7;  // least difference between objectives that matters

bool is_integral(const double* values, const std::vector<bool>& binary) {
  for (std::size_t i = 0; i < binary.size(); ++i) {
    if (binary[i] && std::abs(values[i] - std::round(values[i])) > kIntegral) return false;
  }
  return true;
}

// Returns options without signal handling. By default the solver of linear programs handles SIGINT itself while it
// works, on any of many threads, and stops a program that may be gone by then. Signals are left to the caller of the
// planner.
ClpSolve without_signals() {
  constexpr int kInterrupts = 2;
  ClpSolve out;
  out.setSpecialOption(kInterrupts, 1);
  return out;
}

}  // namespace

int IntegerProgram::add_binary(double cost) {
  costs_.push_back(cost);
  binary_.push_back(true);
  return variables() - 1;
}

int IntegerProgram::add_share(double cost) {
  costs_.push_back(cost);
  binary_.push_back(false);
  return variables() - 1;
}

void IntegerProgram::add_equation(std::vector<Term> terms, double right) {
  rows_.push_back({std::move(terms), right, right});
}

void IntegerProgram::add_at_most(std::vector<Term> terms, double right) {
  rows_.push_back({std::move(terms), -COIN_DBL_MAX, right});
}

void IntegerProgram::add_limit(std::vector<Term> terms, double right) {
  limit_ = rows();
  add_at_most(std::move(terms), right);
}

namespace {

// Returns a solution within the limit, with which branching can exclude most of the rest; empty if none is found. The
// limited quantity is given a price instead of a limit (that of the relaxation's dual, then more); the relaxation that
// remains is integral more often than not.
std::vector<double> first_solution(const OsiClpSolverInterface& solved, int limit, const std::vector<bool>& binary) {
  constexpr int kPrices = 12;
  constexpr double kDearer = 1.3;
  OsiClpSolverInterface priced(solved);
  priced.getModelPtr()->setLogLevel(0);
  const double right = solved.getRowUpper()[limit];
  const CoinShallowPackedVector row = solved.getMatrixByRow()->getVector(limit);
  double price = std::max(-solved.getRowPrice()[limit], 1e-3) * (1 + 1e-6);
  priced.setRowUpper(limit, COIN_DBL_MAX);
  for (int attempt = 0; attempt < kPrices; ++attempt, price *= kDearer) {
    std::vector<double> costs(solved.getObjCoefficients(), solved.getObjCoefficients() + solved.getNumCols());
    for (int i = 0; i < row.getNumElements(); ++i) {
      costs[static_cast<std::size_t>(row.getIndices()[i])] += price * row.getElements()[i];
    }
    priced.setObjective(costs.data());
    priced.resolve();
    if (!priced.isProvenOptimal() || !is_integral(priced.getColSolution(), binary)) continue;
    double used = 0;
    for (int i = 0; i < row.getNumElements(); ++i) {
      used += row.getElements()[i] * priced.getColSolution()[row.getIndices()[i]];
    }
    if (used <= right) return {priced.getColSolution(), priced.getColSolution() + priced.getNumCols()};
  }
  return {};
}

}  // namespace

IntegerProgram::Solution IntegerProgram::solve(double time_limit_s, double cutoff) const {
  if (costs_.empty()) return {Status::optimal, 0, {}, true};
  OsiClpSolverInterface relaxation;
  relaxation.setSolveOptions(without_signals());
  relaxation.messageHandler()->setLogLevel(0);
  relaxation.getModelPtr()->setLogLevel(0);
  CoinPackedMatrix matrix(false, 0, 0);
  matrix.setDimensions(0, variables());
  std::vector<double> low;
  std::vector<double> high;
  for (const Row& row : rows_) {
    CoinPackedVector packed;
    for (const Term& term : row.terms) packed.insert(term.variable, term.coefficient);
    matrix.appendRow(packed);
    low.push_back(row.low);
    high.push_back(row.high);
  }
  std::vector<double> least(costs_.size(), 0);
  std::vector<double> most(costs_.size(), COIN_DBL_MAX);
  for (std::size_t i = 0; i < costs_.size(); ++i) {
    if (binary_[i]) most[i] = 1;
  }
  relaxation.loadProblem(matrix, least.data(), most.data(), costs_.data(), low.data(), high.data());
  for (std::size_t i = 0; i < costs_.size(); ++i) {
    if (binary_[i]) relaxation.setInteger(static_cast<int>(i));
  }
  relaxation.getModelPtr()->setMaximumSeconds(time_limit_s);
  relaxation.initialSolve();
  if (relaxation.isProvenPrimalInfeasible()) return {Status::infeasible, 0, {}, false};
  if (!relaxation.isProvenOptimal()) return {Status::cut_short, 0, {}, false};
  if (relaxation.getObjValue() > cutoff) return {Status::infeasible, 0, {}, false};
  const auto taken = [&](const double* values) { return std::vector<double>(values, values + costs_.size()); };
  if (is_integral(relaxation.getColSolution(), binary_)) {
    return {Status::optimal, relaxation.getObjValue(), taken(relaxation.getColSolution()), true};
  }

  CbcModel model(relaxation);
  model.setLogLevel(0);
  model.messageHandler()->setLogLevel(0);
  model.setMaximumSeconds(time_limit_s);
  model.setAllowableGap(kSmallestGap);
  model.setCutoffIncrement(kSmallestGap);
  if (limit_ >= 0) {
    const std::vector<double> first = first_solution(relaxation, limit_, binary_);
    double objective = 0;
    for (std::size_t i = 0; i < first.size(); ++i) objective += costs_[i] * first[i];
    if (!first.empty() && objective <= cutoff) model.setBestSolution(first.data(), variables(), objective, true);
  }
  if (std::isfinite(cutoff) && model.bestSolution() == nullptr) model.setCutoff(cutoff);
  CglProbing probing;
  CglKnapsackCover covers;
  model.addCutGenerator(&probing, -1, "probing");
  model.addCutGenerator(&covers, 1, "covers");
  model.branchAndBound();
  const bool found = model.bestSolution() != nullptr;
  if (model.isProvenOptimal() && found) {
    return {Status::optimal, model.getObjValue(), taken(model.bestSolution()), false};
  }
  if (model.isProvenInfeasible()) return {Status::infeasible, 0, {}, false};
  if (!model.isSecondsLimitReached()) fail_internal("the solver of integer programs gave up");
  if (!found) return {Status::cut_short, 0, {}, false};
  return {Status::cut_short, model.getObjValue(), taken(model.bestSolution()), false};
}

}  // namespace mirfak::alpa
