// The linear relaxation is solved first. The relaxation of a choice problem is integral more often than not (always if
// the graph of decisions is a tree), and then nothing is left to do. Otherwise CBC branches, with cuts that suit
// choices (probing) and the one row of a memory limit (knapsack covers).
//
// This source is the late library that is linked with COIN-OR (base/late_library.hpp); it uses nothing else of mirfak.

#include "alpa/integer_program_solver.hpp"

#include <CbcModel.hpp>
#include <CglKnapsackCover.hpp>
#include <CglProbing.hpp>
#include <CoinPackedMatrix.hpp>
#include <OsiClpSolverInterface.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace mirfak::alpa {

namespace {

using Solution = IntegerProgram::Solution;
using Status = IntegerProgram::Status;

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

// Puts a program into a solver of linear programs, which is silent and leaves signals alone.
void load(const IntegerProgram::Rows& program, double time_limit_s, OsiClpSolverInterface& solver) {
  solver.setSolveOptions(without_signals());
  solver.messageHandler()->setLogLevel(0);
  solver.getModelPtr()->setLogLevel(0);
  CoinPackedMatrix matrix(false, 0, 0);
  matrix.setDimensions(0, static_cast<int>(program.costs.size()));
  std::vector<double> low;
  std::vector<double> high;
  for (const IntegerProgram::Row& row : program.rows) {
    CoinPackedVector packed;
    for (const IntegerProgram::Term& term : row.terms) packed.insert(term.variable, term.coefficient);
    matrix.appendRow(packed);
    low.push_back(row.low);
    high.push_back(row.high);
  }
  std::vector<double> least(program.costs.size(), 0);
  std::vector<double> most(program.costs.size(), COIN_DBL_MAX);
  for (std::size_t i = 0; i < program.costs.size(); ++i) {
    if (program.binary[i]) most[i] = 1;
  }
  solver.loadProblem(matrix, least.data(), most.data(), program.costs.data(), low.data(), high.data());
  for (std::size_t i = 0; i < program.costs.size(); ++i) {
    if (program.binary[i]) solver.setInteger(static_cast<int>(i));
  }
  solver.getModelPtr()->setMaximumSeconds(time_limit_s);
}

// Branches from a relaxation that was solved and is not integral. Returns nothing if the solver gave up.
std::optional<Solution> branched(const OsiClpSolverInterface& relaxation, const IntegerProgram::Rows& program,
                                 double time_limit_s, double cutoff) {
  const int variables = static_cast<int>(program.costs.size());
  CbcModel model(relaxation);
  model.setLogLevel(0);
  model.messageHandler()->setLogLevel(0);
  model.setMaximumSeconds(time_limit_s);
  model.setAllowableGap(kSmallestGap);
  model.setCutoffIncrement(kSmallestGap);
  if (program.limit >= 0) {
    const std::vector<double> first = first_solution(relaxation, program.limit, program.binary);
    double objective = 0;
    for (std::size_t i = 0; i < first.size(); ++i) objective += program.costs[i] * first[i];
    if (!first.empty() && objective <= cutoff) model.setBestSolution(first.data(), variables, objective, true);
  }
  if (std::isfinite(cutoff) && model.bestSolution() == nullptr) model.setCutoff(cutoff);
  CglProbing probing;
  CglKnapsackCover covers;
  model.addCutGenerator(&probing, -1, "probing");
  model.addCutGenerator(&covers, 1, "covers");
  model.branchAndBound();
  if (model.isProvenInfeasible()) return Solution{Status::infeasible, 0, {}, false};
  const bool optimal = model.isProvenOptimal() && model.bestSolution() != nullptr;
  if (!optimal && !model.isSecondsLimitReached()) return std::nullopt;
  const Status status = optimal ? Status::optimal : Status::cut_short;
  if (model.bestSolution() == nullptr) return Solution{status, 0, {}, false};
  return Solution{status, model.getObjValue(), {model.bestSolution(), model.bestSolution() + variables}, false};
}

// Returns nothing if the solver gave up.
std::optional<Solution> solved(const IntegerProgram::Rows& program, double time_limit_s, double cutoff) {
  OsiClpSolverInterface relaxation;
  load(program, time_limit_s, relaxation);
  relaxation.initialSolve();
  if (relaxation.isProvenPrimalInfeasible()) return Solution{Status::infeasible, 0, {}, false};
  if (!relaxation.isProvenOptimal()) return Solution{Status::cut_short, 0, {}, false};
  if (relaxation.getObjValue() > cutoff) return Solution{Status::infeasible, 0, {}, false};
  const double* const values = relaxation.getColSolution();
  if (!is_integral(values, program.binary)) return branched(relaxation, program, time_limit_s, cutoff);
  return Solution{Status::optimal, relaxation.getObjValue(), {values, values + program.costs.size()}, true};
}

}  // namespace

}  // namespace mirfak::alpa

extern "C" bool mirfak_solve_integer_program(const mirfak::alpa::IntegerProgram::Rows& program, double time_limit_s,
                                             double cutoff, mirfak::alpa::IntegerProgram::Solution& out) {
  std::optional<mirfak::alpa::IntegerProgram::Solution> found = mirfak::alpa::solved(program, time_limit_s, cutoff);
  if (!found) return false;
  out = *std::move(found);
  return true;
}
