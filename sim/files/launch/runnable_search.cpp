// A refusal of a list of options has conditions on keys of the scenario. Keys that the search does not vary have one
// value, so their conditions are decided at once. If the conditions that are left read a single parameter of the space,
// the values for which all of them hold leave the space; if they read several, they are asked for each branch or
// strategy.

#include "launch/runnable_search.hpp"

#include "base/error.hpp"
#include "launch/job_values.hpp"
#include "launch/launch_targets.hpp"
#include "launch/option_list.hpp"
#include "scenario/resolved.hpp"
#include "scenario/search_dimensions.hpp"
#include "scenario/sections.hpp"
#include "strategy/rules.hpp"
#include "strategy/strategy_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

namespace {

constexpr std::string_view kStrategy = "strategy.";

using Keys = std::set<std::string, std::less<>>;

bool is_key(std::string_view word) {
  return word.find('.') != std::string_view::npos && word.find_first_not_of("0123456789.") != std::string_view::npos;
}

// Returns the keys that a condition reads.
Keys keys_of(const OptionCondition& condition) {
  Keys out = {condition.key};
  for (const std::vector<std::string>* words : {&condition.is, &condition.isnt}) {
    for (const std::string& word : *words) {
      if (is_key(word)) out.insert(word);
    }
  }
  // Experts are divided as the rest of the model is, unless the strategy says otherwise.
  if (out.contains("strategy.expert_tensor")) out.insert("strategy.tensor");
  return out;
}

// Returns the key of a dimension in scenarios.
std::string scenario_key(const SearchDimension& dimension) { return fmt::format("{}{}", kStrategy, dimension.key); }

// The parameters of a search's space, by the keys of the scenario that they decide.
class SpaceKeys {
 public:
  explicit SpaceKeys(const StrategySpace& space) : plain_(space.others) {
    for (const SearchDimension& dimension : search_dimensions()) {
      const std::vector<double> values = dimension.values(space);
      if (values.size() == 1) dimension.set(plain_, values.front());
      if (values.size() != 1) varied_.insert(scenario_key(dimension));
    }
    for (const char* key : {"strategy.data", "strategy.layer_split", "strategy.replica_microbatches", "derived.ranks",
                            "derived.replicas", "derived.shards", "derived.microbatches"}) {
      varied_.insert(key);
    }
    if (space.stages == StageShapes::alike) return;
    for (const char* key : {"strategy.stages", "strategy.tensor", "strategy.context", "strategy.expert",
                            "strategy.expert_tensor", "strategy.pipeline"}) {
      varied_.insert(key);
    }
  }

  // Returns the keys among these that have several values, or one that follows from several.
  Keys varied(const Keys& keys) const {
    Keys out;
    for (const std::string& key : keys) {
      if (varied_.contains(key)) out.insert(key);
    }
    return out;
  }
  // The strategy with all parameters that have one value.
  const Strategy& plain() const { return plain_; }

 private:
  Strategy plain_;
  Keys varied_;
};

// The conditions of a refusal that are left once the keys that the search does not vary are known.
struct OpenRefusal {
  const OptionRefusal* refusal;
  std::vector<const OptionCondition*> conditions;
  Keys keys;  // those that the conditions read and the search varies

  bool holds(const Job& job, const Strategy& strategy) const {
    const auto value_of = [&](std::string_view key) { return job_value(job, strategy, key); };
    return std::all_of(conditions.begin(), conditions.end(),
                       [&](const OptionCondition* one) { return one->holds(value_of); });
  }
  // Returns true if the refusal reads no key that is open, by the name of its field.
  bool reads_none(bool (*open)(std::string_view)) const {
    return std::all_of(keys.begin(), keys.end(), [&](const std::string& key) {
      return key.starts_with(kStrategy) && !open(std::string_view(key).substr(kStrategy.size()));
    });
  }
};

// Returns what is left of a refusal; nullopt: its conditions never hold.
std::optional<OpenRefusal> opened(const OptionRefusal& refusal, const Job& job, const SpaceKeys& keys) {
  OpenRefusal out{&refusal, {}, {}};
  const auto value_of = [&](std::string_view key) { return job_value(job, keys.plain(), key); };
  for (const OptionCondition& condition : refusal.conditions) {
    const Keys varied = keys.varied(keys_of(condition));
    if (varied.empty() && !condition.holds(value_of)) return std::nullopt;
    if (varied.empty()) continue;
    out.conditions.push_back(&condition);
    out.keys.insert(varied.begin(), varied.end());
  }
  return out;
}

std::string reason_text(const OptionRefusal& refusal, const std::string& value) {
  return refusal.reason.find("{}") == std::string::npos ? refusal.reason
                                                        : fmt::format(fmt::runtime(refusal.reason), value);
}

// Narrows the space of a scenario's search, one refusal at a time.
class SpaceNarrowing {
 public:
  explicit SpaceNarrowing(SearchScenario& scenario) : scenario_(scenario) {}

  // Leaves out the values of a parameter for which `reason_against` returns a reason and a hint. Fails at `key` if none
  // is left.
  template <typename ReasonAgainst>
  void leave_out(const SearchDimension& dimension, std::string_view key, const ReasonAgainst& reason_against) {
    StrategySpace& space = scenario_.search.spec.space;
    std::vector<double> left;
    std::vector<double> lost;
    std::optional<std::pair<std::string, std::string>> why;
    for (const double value : dimension.values(space)) {
      auto against = reason_against(value);
      (against ? lost : left).push_back(value);
      if (against) why = std::move(against);
    }
    if (!why) return;
    if (left.empty()) refuse(key, why->first, why->second);
    dimension.assign(space, left);
    scenario_.notes.push_back(fmt::format("{} is searched without {}: {}", scenario_key(dimension),
                                          line_of(values_list(lost, dimension)), why->first));
  }

  // Applies a refusal that reads one parameter of the space. Returns false for one that reads other keys.
  bool apply(const OpenRefusal& open) {
    const OptionRefusal& refusal = *open.refusal;
    StrategySpace& space = scenario_.search.spec.space;
    if (open.keys.size() != 1) return false;
    const std::string& key = *open.keys.begin();
    if (key == "strategy.layer_split") return keep_even(open);
    const auto dimensions = search_dimensions();
    const auto found = std::find_if(dimensions.begin(), dimensions.end(),
                                    [&](const SearchDimension& one) { return scenario_key(one) == key; });
    if (found == dimensions.end() || (space.stages != StageShapes::alike && found->values(space).size() == 1)) {
      return false;
    }
    const SpaceKeys keys(space);
    leave_out(*found, refusal.key, [&](double value) -> std::optional<std::pair<std::string, std::string>> {
      Strategy strategy = keys.plain();
      found->set(strategy, value);
      if (!open.holds(scenario_.job, strategy)) return std::nullopt;
      return std::pair(reason_text(refusal, job_value(scenario_.job, strategy, refusal.key)), refusal.hint);
    });
    return true;
  }

  [[noreturn]] void refuse(std::string_view key, const std::string& reason, const std::string& hint) const {
    fail_infeasible(locate(scenario_.document, key).where(), fmt::format("{}: {}", key, reason), hint);
  }

 private:
  // Searches even splits of the layers only, if the refusal is of all others.
  bool keep_even(const OpenRefusal& open) {
    StrategySpace& space = scenario_.search.spec.space;
    Strategy uneven = SpaceKeys(space).plain();
    uneven.layer_split = {1, 2};
    if (!open.holds(scenario_.job, uneven)) return false;
    if (space.uneven_layers == 0 && space.uneven_end_chunks == 0) return true;
    space.uneven_layers = space.uneven_end_chunks = 0;
    scenario_.notes.push_back("layers are divided evenly: " + open.refusal->reason);
    return true;
  }

  SearchScenario& scenario_;
};

// Leaves out what the framework's own habits refuse, whatever the rest of the strategy.
void keep_to_habits(SearchScenario& scenario) {
  const Job& job = scenario.job;
  SpaceNarrowing narrowing(scenario);
  for (const Rule& rule : strategy_rules()) {
    if (rule.name != "framework-divides" && rule.name != "framework-shards") continue;
    for (const SearchDimension& dimension : search_dimensions()) {
      narrowing.leave_out(
          dimension, scenario_key(dimension), [&](double value) -> std::optional<std::pair<std::string, std::string>> {
            Strategy strategy;
            dimension.set(strategy, value);
            const auto broken = rule.check({job.model, job.training, job.framework, strategy, job.cluster.gpus()});
            if (!broken || broken->key != scenario_key(dimension)) return std::nullopt;
            return std::pair(broken->message, broken->hint);
          });
    }
  }
}

// A list, and the beginning of keys whose refusals do not count ("": none).
struct ListOfRefusals {
  const OptionList* list;
  std::string_view elsewhere;
};

// Narrows the space by the refusals of lists. Returns those that remain to be asked. Narrowing a parameter to one value
// decides conditions of other refusals, so all are looked at until nothing changes.
std::vector<OpenRefusal> narrow(SearchScenario& scenario, const std::vector<ListOfRefusals>& lists,
                                bool (*counts)(const OptionRefusal&)) {
  SpaceNarrowing narrowing(scenario);
  std::vector<OpenRefusal> out;
  for (std::size_t notes = scenario.notes.size() + 1; notes != scenario.notes.size();) {
    notes = scenario.notes.size();
    out.clear();
    for (const ListOfRefusals& of : lists) {
      for (const OptionRefusal& refusal : of.list->refusals()) {
        if (!counts(refusal) || (!of.elsewhere.empty() && refusal.key.starts_with(of.elsewhere))) continue;
        const SpaceKeys keys(scenario.search.spec.space);
        const std::optional<OpenRefusal> open = opened(refusal, scenario.job, keys);
        if (!open) continue;
        if (open->keys.empty()) {
          narrowing.refuse(refusal.key, reason_text(refusal, job_value(scenario.job, keys.plain(), refusal.key)),
                           refusal.hint);
        }
        if (!narrowing.apply(*open)) out.push_back(*open);
      }
    }
  }
  return out;
}

using StrategyRefusal = std::function<bool(const Strategy&)>;

// A condition as it is asked for very many strategies. One that reads a single parameter is decided beforehand for
// every value of the parameter in the space: no text is made of the value.
class AskedCondition {
 public:
  AskedCondition(const OptionCondition& condition, const std::shared_ptr<const Job>& job, const StrategySpace& space)
      : condition_(&condition), job_(job) {
    const SpaceKeys keys(space);
    const Keys varied = keys.varied(keys_of(condition));
    if (varied.size() != 1 || !is_own(*varied.begin())) return;
    for (const SearchDimension& dimension : search_dimensions()) {
      if (scenario_key(dimension) == *varied.begin()) dimension_ = &dimension;
    }
    if (dimension_ == nullptr) return;
    for (const double value : dimension_->values(space)) {
      Strategy strategy = keys.plain();
      dimension_->set(strategy, value);
      answers_.emplace_back(value, asked(strategy));
    }
  }

  bool holds(const Strategy& strategy) const {
    if (dimension_ == nullptr) return asked(strategy);
    const double value = dimension_->of(strategy);
    const auto known =
        std::find_if(answers_.begin(), answers_.end(), [&](const auto& one) { return one.first == value; });
    return known != answers_.end() ? known->second : asked(strategy);
  }

 private:
  // Returns true if the text of a key follows from the member of this key alone.
  static bool is_own(std::string_view scenario_key) {
    const auto keys = strategy_keys();
    return std::any_of(keys.begin(), keys.end(), [&](const StrategyKey& one) {
      return one.own && scenario_key == fmt::format("{}{}", kStrategy, one.key);
    });
  }
  bool asked(const Strategy& strategy) const {
    return condition_->holds([&](std::string_view key) { return job_value(*job_, strategy, key); });
  }

  const OptionCondition* condition_;
  std::shared_ptr<const Job> job_;
  const SearchDimension* dimension_ = nullptr;  // null: the condition reads several keys
  std::vector<std::pair<double, bool>> answers_;
};

// Returns a function that says if one of the refusals holds.
StrategyRefusal any_of(const SearchScenario& scenario, const std::shared_ptr<const Job>& job,
                       const std::vector<OpenRefusal>& refusals) {
  if (refusals.empty()) return {};
  std::vector<std::vector<AskedCondition>> asked;
  for (const OpenRefusal& refusal : refusals) {
    std::vector<AskedCondition>& conditions = asked.emplace_back();
    for (const OptionCondition* condition : refusal.conditions) {
      conditions.emplace_back(*condition, job, scenario.search.spec.space);
    }
  }
  return [asked = std::move(asked)](const Strategy& strategy) {
    return std::any_of(asked.begin(), asked.end(), [&](const std::vector<AskedCondition>& conditions) {
      return std::all_of(conditions.begin(), conditions.end(),
                         [&](const AskedCondition& one) { return one.holds(strategy); });
    });
  };
}

template <typename Refusal>
Refusal either(const Refusal& one, const Refusal& other) {
  if (!one || !other) return one ? one : other;
  return [=](const auto& of) { return one(of) || other(of); };
}

void add_refusals(SearchScenario& scenario, const std::vector<OpenRefusal>& open) {
  const auto job = std::make_shared<const Job>(scenario.job);
  std::vector<OpenRefusal> of_branch;
  std::vector<OpenRefusal> of_pipeline;
  std::vector<OpenRefusal> of_strategy;
  for (const OpenRefusal& one : open) {
    auto& level = one.reads_none(open_in_branch)     ? of_branch
                  : one.reads_none(open_in_pipeline) ? of_pipeline
                                                     : of_strategy;
    level.push_back(one);
  }
  Refusals& refusals = scenario.search.spec.refusals;
  refusals.of_branch = either(refusals.of_branch, any_of(scenario, job, of_branch));
  refusals.of_pipeline = either(refusals.of_pipeline, any_of(scenario, job, of_pipeline));
  refusals.of_strategy = either(refusals.of_strategy, any_of(scenario, job, of_strategy));
}

void write_resolved(SearchScenario& scenario) {
  scenario.resolved = completed_yaml(completed_search(scenario.job, scenario.stated, scenario.search));
}

std::vector<ListOfRefusals> lists_of(const LaunchRequest& request) {
  const auto list = [&](std::string_view name) { return &option_list(request.hardware, name); };
  std::vector<ListOfRefusals> out;
  for (const TargetList& of : target_lists(request.target)) out.push_back({list(of.name), of.elsewhere});
  return out;
}

// Returns the error with which the target refuses a job; nullopt: it writes the job.
std::optional<Error> error_of(const Job& job, const LaunchRequest& request) {
  try {
    launch_files(job, request);
    return std::nullopt;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::infeasible) throw;
    return error;
  }
}

// Draws strategies of the space that keep the rules, the plainest first.
class DrawnStrategies {
 public:
  explicit DrawnStrategies(const SearchScenario& scenario) : scenario_(scenario) {}

  std::optional<Strategy> next() {
    constexpr int kDraws = 20'000;
    for (; draws_ < kDraws;) {
      const Strategy drawn = draw(draws_++ == 0);
      const Job& job = scenario_.job;
      const Refusals& refusals = scenario_.search.spec.refusals;
      if (first_violation({job.model, job.training, job.framework, drawn, job.cluster.gpus()})) continue;
      if (refusals.of_branch && refusals.of_branch(drawn)) continue;
      if (refusals.of_pipeline && refusals.of_pipeline(drawn)) continue;
      if (refusals.of_strategy && refusals.of_strategy(drawn)) continue;
      return drawn;
    }
    return std::nullopt;
  }

 private:
  Strategy draw(bool plainest) {
    const StrategySpace& space = scenario_.search.spec.space;
    Strategy out = space.others;
    for (const SearchDimension& dimension : search_dimensions()) {
      const std::vector<double> values = dimension.values(space);
      // Half of the parameters stay plain, so that many draws keep the rules.
      const bool first = plainest || random_() % 2 == 0;
      dimension.set(out, first ? values.front() : values[random_() % values.size()]);
    }
    const std::int64_t team = std::int64_t{out.team()} * out.pipeline;
    out.data = static_cast<int>(std::max<std::int64_t>(1, scenario_.job.cluster.gpus() / team));
    return out;
  }

  const SearchScenario& scenario_;
  std::mt19937 random_;
  int draws_ = 0;
};

// Fails if the target refuses a part of the job that the search does not choose, as strategies of the space show: one
// that is written shows that there is no such part.
void require_rest(const SearchScenario& scenario, const LaunchRequest& request) {
  constexpr int kTried = 200;
  DrawnStrategies drawn(scenario);
  std::optional<Error> first;
  Job job = scenario.job;
  for (int tried = 0; tried < kTried; ++tried) {
    const std::optional<Strategy> strategy = drawn.next();
    if (!strategy) break;
    job.strategy = *strategy;
    const std::optional<Error> error = error_of(job, request);
    if (!error) return;
    const bool of_nodes = error->message().starts_with("cluster.") && scenario.search.spec.any_count;
    if (!first && !error->message().starts_with(kStrategy) && !of_nodes) first = error;
  }
  if (!first) return;
  const std::string key = first->message().substr(0, first->message().find(": "));
  fail_infeasible(locate(scenario.document, key).where(), first->message(), first->hint());
}

bool is_of_strategy(const OptionRefusal& refusal) { return refusal.key.starts_with(kStrategy); }

}  // namespace

std::vector<std::string> notes_on_program(const Job& job, const Document& document,
                                          const std::filesystem::path& hardware) {
  std::vector<std::string> out;
  if (job.framework.program.empty()) return out;
  const auto value_of = [&](std::string_view key) { return job_value(job, job.strategy, key); };
  for (const OptionRefusal& refusal : option_list(hardware, job.framework.program).refusals()) {
    const bool holds = is_of_strategy(refusal) &&
                       std::all_of(refusal.conditions.begin(), refusal.conditions.end(),
                                   [&](const OptionCondition& condition) { return condition.holds(value_of); });
    if (!holds) continue;
    out.push_back(fmt::format("{}: {}: {}; searches leave it out", locate(document, refusal.key).where().text(),
                              refusal.key, reason_text(refusal, value_of(refusal.key))));
  }
  return out;
}

void keep_to_framework(SearchScenario& scenario, const std::filesystem::path& hardware) {
  const bool shaped = scenario.search.spec.space.stages == StageShapes::fixed;
  if (!shaped) keep_to_habits(scenario);
  const std::string& program = scenario.job.framework.program;
  if (!program.empty()) {
    add_refusals(scenario, narrow(scenario, {{&option_list(hardware, program), ""}}, is_of_strategy));
  }
  write_resolved(scenario);
}

void keep_to_target(SearchScenario& scenario, const LaunchRequest& request) {
  StrategySpace& space = scenario.search.spec.space;
  if (space.stages == StageShapes::fixed) {
    fail_infeasible(locate(scenario.document, "strategy.stages").where(), std::string(kNoShapes), "leave it out");
  }
  if (space.stages == StageShapes::by_type) {
    space.stages = StageShapes::alike;
    scenario.notes.push_back(fmt::format("search.space.stages is alike: {}", kNoShapes));
  }
  add_refusals(scenario, narrow(scenario, lists_of(request), [](const OptionRefusal&) { return true; }));
  require_rest(scenario, request);
  scenario.search.spec.refusals.of_job = [request](const Job& job) { return error_of(job, request).has_value(); };
  write_resolved(scenario);
}

}  // namespace mirfak
