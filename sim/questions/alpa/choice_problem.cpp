// The integer program of a choice problem. A decision is a row of binary variables that add up to 1. Two decisions that
// have a cost together have a share for each pair of group and form: the shares of a group add up to the variables of
// that group's choices, those of a form to the variables of that form's choices. If all choices are whole, exactly the
// chosen pair has a share of 1. If the relaxation halves choices, it halves the pairs too, so its bound is as tight as
// any bound over two decisions at a time. Alpa's paper writes the same program as products made linear (section 4.2,
// "linearize").
//
// A copy that several readers share has a variable that is at least the share of each reader.

#include "alpa/choice_problem.hpp"

#include "alpa/choice_reduction.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace mirfak::alpa {

namespace {

using Term = IntegerProgram::Term;

bool possible(const Cost& cost) { return std::isfinite(cost.seconds); }

bool is_free(const Cost& cost) { return cost.seconds == 0 && cost.state_bytes == 0 && cost.activation_bytes == 0; }

class Writer {
 public:
  explicit Writer(const ChoiceProblem& problem) : problem_(problem), scale_(scale_of(problem)) {}

  IntegerProgram write() {
    for (const ChoiceProblem::Decision& decision : problem_.decisions) write(decision);
    for (const ChoiceProblem::Transfer& transfer : problem_.transfers) write(transfer);
    if (std::isfinite(problem_.memory_limit)) program_.add_limit(std::move(memory_), 1);
    return std::move(program_);
  }

  double scale() const { return scale_; }

  std::vector<int> choices(const std::vector<double>& values) const {
    std::vector<int> out;
    for (const std::vector<int>& variables : chosen_) {
      const auto value = [&](int variable) { return variable < 0 ? -1.0 : values[static_cast<std::size_t>(variable)]; };
      const auto best =
          std::max_element(variables.begin(), variables.end(), [&](int a, int b) { return value(a) < value(b); });
      out.push_back(static_cast<int>(best - variables.begin()));
    }
    return out;
  }

 private:
  // Returns the scale at which the solver sees costs of the order of 1 to 10^5.
  static double scale_of(const ChoiceProblem& problem) {
    double least = 0;
    for (const ChoiceProblem::Decision& decision : problem.decisions) {
      double cheapest = std::numeric_limits<double>::infinity();
      for (const Cost& cost : decision.costs) cheapest = std::min(cheapest, cost.seconds);
      if (std::isfinite(cheapest)) least += cheapest;
    }
    double most = 0;
    for (const ChoiceProblem::Transfer& transfer : problem.transfers) {
      for (const Cost& cost : transfer.costs) {
        if (possible(cost)) most = std::max(most, cost.seconds);
      }
    }
    const double size = std::max(least, most);
    return size > 0 ? 1e4 / size : 1;
  }

  void remember_bytes(const Cost& cost, int variable) {
    const double bytes = problem_.bytes(cost);
    if (bytes > 0 && std::isfinite(problem_.memory_limit)) {
      memory_.push_back({variable, bytes / problem_.memory_limit});
    }
  }

  void write(const ChoiceProblem::Decision& decision) {
    std::vector<Term> one;
    std::vector<int>& variables = chosen_.emplace_back();
    for (const Cost& cost : decision.costs) {
      if (!possible(cost)) {
        variables.push_back(-1);
        continue;
      }
      const int variable = program_.add_binary(cost.seconds * scale_);
      variables.push_back(variable);
      remember_bytes(cost, variable);
      one.push_back({variable, 1});
    }
    program_.add_equation(std::move(one), 1);
  }

  // Returns the variables of a decision's choices that have this group or form.
  std::vector<Term> of(int decision, const std::vector<int>& places, int place, double sign) const {
    std::vector<Term> out;
    const std::vector<int>& variables = chosen_[static_cast<std::size_t>(decision)];
    for (std::size_t choice = 0; choice < variables.size(); ++choice) {
      if (variables[choice] >= 0 && places[choice] == place) out.push_back({variables[choice], sign});
    }
    return out;
  }

  void write(const ChoiceProblem::Transfer& transfer) {
    if (std::all_of(transfer.costs.begin(), transfer.costs.end(), is_free)) return;
    std::vector<int> copies;
    const bool shared = transfer.readers.size() > 1;
    if (shared) {
      for (const Cost& cost : transfer.costs) copies.push_back(add_pair(cost));
    }
    for (const ChoiceProblem::Transfer::Reader& reader : transfer.readers) {
      std::vector<int> pairs;
      for (const Cost& cost : transfer.costs) {
        if (shared) {
          pairs.push_back(possible(cost) ? program_.add_share(0) : -1);
        } else {
          pairs.push_back(add_pair(cost));
        }
      }
      write_sums(transfer, reader, pairs);
      for (std::size_t i = 0; shared && i < pairs.size(); ++i) {
        if (pairs[i] < 0 || is_free(transfer.costs[i])) continue;
        program_.add_at_most({{pairs[i], 1}, {copies[i], -1}}, 0);
      }
    }
  }

  int add_pair(const Cost& cost) {
    if (!possible(cost)) return -1;
    const int variable = program_.add_share(cost.seconds * scale_);
    remember_bytes(cost, variable);
    return variable;
  }

  void write_sums(const ChoiceProblem::Transfer& transfer, const ChoiceProblem::Transfer::Reader& reader,
                  const std::vector<int>& pairs) {
    const auto pair = [&](int group, int form) {
      return pairs[static_cast<std::size_t>(group * transfer.forms + form)];
    };
    for (int group = 0; group < transfer.groups; ++group) {
      std::vector<Term> sum = of(transfer.source, transfer.group, group, -1);
      for (int form = 0; form < transfer.forms; ++form) {
        if (pair(group, form) >= 0) sum.push_back({pair(group, form), 1});
      }
      program_.add_equation(std::move(sum), 0);
    }
    for (int form = 0; form < transfer.forms; ++form) {
      std::vector<Term> sum = of(reader.decision, reader.form, form, -1);
      for (int group = 0; group < transfer.groups; ++group) {
        if (pair(group, form) >= 0) sum.push_back({pair(group, form), 1});
      }
      program_.add_equation(std::move(sum), 0);
    }
  }

  const ChoiceProblem& problem_;
  double scale_;
  IntegerProgram program_;
  std::vector<std::vector<int>> chosen_;  // variables by decision and choice; -1: the choice cannot be taken
  std::vector<Term> memory_;
};

// Solves a problem after ChoiceReduction has removed the decisions that need no program.
ChoiceSolution solve_reduced(const ChoiceProblem& problem, double time_limit_s) {
  const ChoiceReduction reduction(problem);
  ChoiceSolution out = solve_program(reduction.reduced(), time_limit_s);
  if (out.status == IntegerProgram::Status::infeasible || out.choices.size() != reduction.reduced().decisions.size()) {
    return out;
  }
  out.choices = reduction.restore(out.choices);
  out.cost = cost_of(problem, out.choices);
  if (!possible(out.cost)) return {IntegerProgram::Status::infeasible, {}, {}, out.variables, out.rows, false};
  return out;
}

// Returns true if some decision has no possible choice left, after it was combined with removed neighbours.
bool is_hopeless(const ChoiceProblem& problem) {
  return std::any_of(problem.decisions.begin(), problem.decisions.end(), [](const ChoiceProblem::Decision& decision) {
    return std::none_of(decision.costs.begin(), decision.costs.end(), possible);
  });
}

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  seconds += other.seconds;
  state_bytes += other.state_bytes;
  activation_bytes += other.activation_bytes;
  return *this;
}

Cost cost_of(const ChoiceProblem& problem, const std::vector<int>& choices) {
  const auto chosen = [&](int decision) {
    return static_cast<std::size_t>(choices[static_cast<std::size_t>(decision)]);
  };
  Cost total;
  for (std::size_t i = 0; i < problem.decisions.size(); ++i) {
    total += problem.decisions[i].costs[chosen(static_cast<int>(i))];
  }
  for (const ChoiceProblem::Transfer& transfer : problem.transfers) {
    std::set<int> forms;
    for (const ChoiceProblem::Transfer::Reader& reader : transfer.readers) {
      forms.insert(reader.form[chosen(reader.decision)]);
    }
    for (const int form : forms) total += transfer.cost(transfer.group[chosen(transfer.source)], form);
  }
  return total;
}

ChoiceSolution solve_program(const ChoiceProblem& problem, double time_limit_s) {
  ChoiceSolution out;
  out.status = IntegerProgram::Status::infeasible;
  if (is_hopeless(problem)) return out;
  Writer writer(problem);
  const IntegerProgram program = writer.write();
  out.variables = program.variables();
  out.rows = program.rows();
  const IntegerProgram::Solution found = program.solve(time_limit_s, problem.longest * writer.scale());
  out.status = found.status;
  out.relaxation_was_integral = found.relaxation_was_integral;
  if (!found.values.empty()) out.choices = writer.choices(found.values);
  return out;
}

ChoiceSolution solve(const ChoiceProblem& problem, double time_limit_s) {
  ChoiceProblem unlimited = problem;
  unlimited.memory_limit = unlimited.longest = std::numeric_limits<double>::infinity();
  ChoiceSolution out = solve_reduced(unlimited, time_limit_s);
  const bool fits = problem.bytes(out.cost) <= problem.memory_limit;
  const bool quick = out.cost.seconds <= problem.longest;
  if (!out.choices.empty() && !fits && quick) out = solve_reduced(problem, time_limit_s);
  // The solver's cutoff may let through a solution found before the cutoff.
  if (out.status == IntegerProgram::Status::optimal && out.cost.seconds > problem.longest) {
    return {IntegerProgram::Status::infeasible, {}, {}, out.variables, out.rows, out.relaxation_was_integral};
  }
  return out;
}

}  // namespace mirfak::alpa
