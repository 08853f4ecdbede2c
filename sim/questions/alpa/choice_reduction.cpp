#include "alpa/choice_reduction.hpp"

#include "alpa/basics.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace mirfak::alpa {

namespace {

Cost sum(Cost a, const Cost& b) { return a += b; }

bool same(const Cost& a, const Cost& b) {
  return a.seconds == b.seconds && a.state_bytes == b.state_bytes && a.activation_bytes == b.activation_bytes;
}

// Returns the decisions that meet in a transfer, in order.
std::vector<int> decisions_in(const ChoiceProblem::Transfer& transfer) {
  std::set<int> all = {transfer.source};
  for (const ChoiceProblem::Transfer::Reader& reader : transfer.readers) all.insert(reader.decision);
  return {all.begin(), all.end()};
}

// Returns the cost of a transfer between two decisions for a choice of each.
Cost cost_between(const ChoiceProblem::Transfer& transfer, int of_source, int of_readers) {
  std::set<int> forms;
  for (const ChoiceProblem::Transfer::Reader& reader : transfer.readers) {
    forms.insert(reader.form[static_cast<std::size_t>(reader.decision == transfer.source ? of_source : of_readers)]);
  }
  Cost out;
  for (const int form : forms) out += transfer.cost(transfer.group[static_cast<std::size_t>(of_source)], form);
  return out;
}

// Gives equal rows of a table the same number.
class Classes {
 public:
  int number(const std::vector<Cost>& row) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (std::equal(row.begin(), row.end(), rows_[i].begin(), rows_[i].end(), same)) return static_cast<int>(i);
    }
    rows_.push_back(row);
    return static_cast<int>(rows_.size()) - 1;
  }
  int size() const { return static_cast<int>(rows_.size()); }

 private:
  std::vector<std::vector<Cost>> rows_;
};

}  // namespace

ChoiceReduction::ChoiceReduction(const ChoiceProblem& problem)
    : limited_(std::isfinite(problem.memory_limit)),
      in_flight_(problem.in_flight),
      gone_(problem.decisions.size()),
      thinned_(problem.decisions.size()),
      shared_(problem.decisions.size()) {
  for (const ChoiceProblem::Decision& decision : problem.decisions) costs_.push_back(decision.costs);
  for (const ChoiceProblem::Transfer& transfer : problem.transfers) {
    const std::vector<int> decisions = decisions_in(transfer);
    if (decisions.size() <= 2) {
      add_pair(transfer, decisions);
    } else {
      copies_.push_back(transfer);
      for (const int decision : decisions) shared_[static_cast<std::size_t>(decision)] = true;
    }
  }
  while (remove_one()) {
  }
  write_reduced(problem);
}

void ChoiceReduction::add_pair(const ChoiceProblem::Transfer& transfer, const std::vector<int>& decisions) {
  const int source = transfer.source;
  if (decisions.size() == 1) {
    for (int choice = 0; choice < count(source); ++choice) {
      costs_[static_cast<std::size_t>(source)][static_cast<std::size_t>(choice)] +=
          cost_between(transfer, choice, choice);
    }
    return;
  }
  const int low = decisions[0];
  const int high = decisions[1];
  Table& table = pairs_[{low, high}];
  table.resize(static_cast<std::size_t>(count(low) * count(high)));
  for (int a = 0; a < count(low); ++a) {
    for (int b = 0; b < count(high); ++b) {
      table[static_cast<std::size_t>(a * count(high) + b)] +=
          source == low ? cost_between(transfer, a, b) : cost_between(transfer, b, a);
    }
  }
}

std::vector<int> ChoiceReduction::neighbours(int decision) const {
  std::vector<int> out;
  for (const auto& [pair, table] : pairs_) {
    if (pair.first == decision) out.push_back(pair.second);
    if (pair.second == decision) out.push_back(pair.first);
  }
  return out;
}

Cost ChoiceReduction::met(int decision, int choice, int neighbour, int of_neighbour) const {
  const bool first = decision < neighbour;
  const Table& table = pairs_.at(first ? Pair(decision, neighbour) : Pair(neighbour, decision));
  return table[static_cast<std::size_t>(first ? choice * count(neighbour) + of_neighbour
                                              : of_neighbour * count(decision) + choice)];
}

bool ChoiceReduction::remove_one() {
  for (int decision = 0; decision < static_cast<int>(costs_.size()); ++decision) {
    const auto place = static_cast<std::size_t>(decision);
    if (gone_[place] || shared_[place] || thinned_[place]) continue;
    const std::vector<int> others = neighbours(decision);
    if (!limited_ && others.size() <= 2) {
      remove(decision, others);
      return true;
    }
    if (limited_ && others.size() == 1 && thin_out(decision, others.front())) return true;
  }
  return false;
}

void ChoiceReduction::remove(int decision, const std::vector<int>& neighbours) {
  Removed removed = {decision, neighbours, {}};
  const int first = neighbours.empty() ? 1 : count(neighbours[0]);
  const int second = neighbours.size() < 2 ? 1 : count(neighbours[1]);
  Table least(static_cast<std::size_t>(first * second), Cost{kNever, 0, 0});
  for (int a = 0; a < first; ++a) {
    for (int b = 0; b < second; ++b) {
      Cost& best = least[static_cast<std::size_t>(a * second + b)];
      int chosen = 0;
      for (int choice = 0; choice < count(decision); ++choice) {
        Cost cost = costs_[static_cast<std::size_t>(decision)][static_cast<std::size_t>(choice)];
        if (!neighbours.empty()) cost += met(decision, choice, neighbours[0], a);
        if (neighbours.size() == 2) cost += met(decision, choice, neighbours[1], b);
        if (cost.seconds >= best.seconds) continue;
        best = cost;
        chosen = choice;
      }
      removed.best.push_back(chosen);
    }
  }
  for (const int neighbour : neighbours) pairs_.erase({std::min(decision, neighbour), std::max(decision, neighbour)});
  if (neighbours.size() == 2) {
    // Neighbours are in ascending order because pairs_ is.
    const int low = std::min(neighbours[0], neighbours[1]);
    const int high = std::max(neighbours[0], neighbours[1]);
    Table& table = pairs_[{low, high}];
    table.resize(least.size());
    for (int a = 0; a < first; ++a) {
      for (int b = 0; b < second; ++b) {
        table[static_cast<std::size_t>(low == neighbours[0] ? a * second + b : b * first + a)] +=
            least[static_cast<std::size_t>(a * second + b)];
      }
    }
  } else if (neighbours.size() == 1) {
    for (int a = 0; a < first; ++a) {
      costs_[static_cast<std::size_t>(neighbours[0])][static_cast<std::size_t>(a)] +=
          least[static_cast<std::size_t>(a)];
    }
  }
  gone_[static_cast<std::size_t>(decision)] = true;
  removed_.push_back(std::move(removed));
}

// Returns the choices that no other choice beats in both time and memory, for a given choice of the neighbour.
std::vector<int> ChoiceReduction::unbeaten(int decision, int neighbour, int of_neighbour) const {
  const auto total = [&](int choice) {
    return sum(costs_[static_cast<std::size_t>(decision)][static_cast<std::size_t>(choice)],
               met(decision, choice, neighbour, of_neighbour));
  };
  const auto bytes = [&](const Cost& cost) { return cost.state_bytes + in_flight_ * cost.activation_bytes; };
  std::vector<int> order;
  for (int choice = 0; choice < count(decision); ++choice) {
    if (std::isfinite(total(choice).seconds)) order.push_back(choice);
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const Cost left = total(a);
    const Cost right = total(b);
    return left.seconds != right.seconds ? left.seconds < right.seconds : bytes(left) < bytes(right);
  });
  std::vector<int> out;
  double least = kNever;
  for (const int choice : order) {
    if (bytes(total(choice)) >= least) continue;
    least = bytes(total(choice));
    out.push_back(choice);
  }
  return out;
}

bool ChoiceReduction::thin_out(int decision, int neighbour) {
  std::vector<std::vector<int>> left;
  for (int a = 0; a < count(neighbour); ++a) left.push_back(unbeaten(decision, neighbour, a));
  const bool one =
      std::all_of(left.begin(), left.end(), [](const std::vector<int>& options) { return options.size() <= 1; });
  if (one) {
    remove(decision, {neighbour});
    return true;
  }
  thinned_[static_cast<std::size_t>(decision)] = true;
  const Pair pair(std::min(decision, neighbour), std::max(decision, neighbour));
  Table& table = pairs_.at(pair);
  for (int a = 0; a < count(neighbour); ++a) {
    for (int choice = 0; choice < count(decision); ++choice) {
      const std::vector<int>& options = left[static_cast<std::size_t>(a)];
      if (std::find(options.begin(), options.end(), choice) != options.end()) continue;
      const int place = decision < neighbour ? choice * count(neighbour) + a : a * count(decision) + choice;
      table[static_cast<std::size_t>(place)] = {kNever, 0, 0};
    }
  }
  return true;
}

void ChoiceReduction::write_reduced(const ChoiceProblem& problem) {
  reduced_.in_flight = problem.in_flight;
  reduced_.memory_limit = problem.memory_limit;
  reduced_.longest = problem.longest;
  std::vector<int> place(costs_.size(), -1);
  for (std::size_t i = 0; i < costs_.size(); ++i) {
    if (gone_[i]) continue;
    place[i] = static_cast<int>(kept_.size());
    kept_.push_back(static_cast<int>(i));
    reduced_.decisions.push_back({problem.decisions[i].name, costs_[i]});
  }
  for (const auto& [pair, table] : pairs_) write_pair(pair, table);
  for (const ChoiceProblem::Transfer& transfer : copies_) reduced_.transfers.push_back(transfer);
  for (ChoiceProblem::Transfer& transfer : reduced_.transfers) {
    transfer.source = place[static_cast<std::size_t>(transfer.source)];
    for (ChoiceProblem::Transfer::Reader& reader : transfer.readers) {
      reader.decision = place[static_cast<std::size_t>(reader.decision)];
    }
  }
}

void ChoiceReduction::write_pair(const Pair& pair, const Table& table) {
  const int rows = count(pair.first);
  const int columns = count(pair.second);
  Classes row_classes;
  Classes column_classes;
  ChoiceProblem::Transfer transfer;
  transfer.source = pair.first;
  transfer.readers = {{pair.second, {}}};
  std::vector<int> row_of;
  std::vector<int> column_of;
  for (int row = 0; row < rows; ++row) {
    const auto begin = table.begin() + row * columns;
    transfer.group.push_back(row_classes.number({begin, begin + columns}));
    if (transfer.group.back() == static_cast<int>(row_of.size())) row_of.push_back(row);
  }
  for (int column = 0; column < columns; ++column) {
    std::vector<Cost> values;
    for (int row = 0; row < rows; ++row) values.push_back(table[static_cast<std::size_t>(row * columns + column)]);
    transfer.readers[0].form.push_back(column_classes.number(values));
    if (transfer.readers[0].form.back() == static_cast<int>(column_of.size())) column_of.push_back(column);
  }
  transfer.groups = row_classes.size();
  transfer.forms = column_classes.size();
  for (const int row : row_of) {
    for (const int column : column_of)
      transfer.costs.push_back(table[static_cast<std::size_t>(row * columns + column)]);
  }
  reduced_.transfers.push_back(std::move(transfer));
}

std::vector<int> ChoiceReduction::restore(const std::vector<int>& choices) const {
  std::vector<int> out(costs_.size(), 0);
  for (std::size_t i = 0; i < kept_.size(); ++i) out[static_cast<std::size_t>(kept_[i])] = choices[i];
  for (std::size_t i = removed_.size(); i-- > 0;) {
    const auto& removed = removed_[i];
    const std::vector<int>& others = removed.neighbours;
    int place = others.empty() ? 0 : out[static_cast<std::size_t>(others[0])];
    if (others.size() == 2) place = place * count(others[1]) + out[static_cast<std::size_t>(others[1])];
    out[static_cast<std::size_t>(removed.decision)] = removed.best[static_cast<std::size_t>(place)];
  }
  return out;
}

}  // namespace mirfak::alpa
