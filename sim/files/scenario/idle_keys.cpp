#include "scenario/idle_keys.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/values.hpp"
#include "scenario/sections.hpp"
#include "scenario/stated_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <utility>

namespace mirfak {

namespace {

// Without these keys the job is divided in another way, or computes something else: they need no second simulation.
constexpr std::array kAlwaysAct = {
    std::string_view("training.global_batch"),
    std::string_view("training.sequence_length"),
    std::string_view("training.precision"),
    std::string_view("training.framework"),
    std::string_view("training.tokens"),
    std::string_view("strategy.tensor"),
    std::string_view("strategy.pipeline"),
    std::string_view("strategy.data"),
    std::string_view("strategy.context"),
    std::string_view("strategy.micro_batch"),
    std::string_view("training.preferences.reference"),
};

// Mappings that state one thing each, of which no key can be left out.
constexpr std::string_view kExperts = "cluster.perturbations.experts";
constexpr std::array kWhole = {kExperts, std::string_view("cluster.staggered_replicas")};

// A key of the document, with the indices of its steps in mappings and lists.
struct StatedKey {
  std::string name;
  std::vector<std::size_t> places;
  const Value* value = nullptr;
};

void add_keys(const Value& value, const StatedKey& of, std::vector<StatedKey>& keys) {
  const auto below = [&](std::string name, std::size_t place, const Value& child) {
    StatedKey key{std::move(name), of.places, &child};
    key.places.push_back(place);
    add_keys(child, key, keys);
  };
  if (value.kind == Value::Kind::mapping && value.find("value") == nullptr &&
      std::find(kWhole.begin(), kWhole.end(), of.name) == kWhole.end()) {  // else a figure with its origin
    for (std::size_t i = 0; i < value.fields.size(); ++i) {
      below(of.name + '.' + value.fields[i].key, i, value.fields[i].value);
    }
    return;
  }
  // Leaving out each key of a long list would take a simulation for each key: a long list is tested as a whole.
  constexpr std::size_t kLongList = 64;
  const bool of_mappings = value.kind == Value::Kind::sequence && !value.items.empty() &&
                           value.items.size() <= kLongList &&
                           std::all_of(value.items.begin(), value.items.end(),
                                       [](const Value& item) { return item.kind == Value::Kind::mapping; });
  if (!of_mappings) {
    keys.push_back(of);
    return;
  }
  for (std::size_t i = 0; i < value.items.size(); ++i) below(fmt::format("{}[{}]", of.name, i), i, value.items[i]);
}

// True if a user wrote the value at this place: values that a program chooses by itself (import/) have no place, or a
// place in the files that describe programs.
bool is_of_user(const Location& where, const DataFolders& folders) {
  const auto lies_in = [&](const std::filesystem::path& folder) {
    return where.file.starts_with((folder / "").string());
  };
  return where.known() && !lies_in(folders.hardware) && !lies_in(folders.models);
}

// True for the name that outputs give to hardware that is stated in place.
bool is_name_of_hardware(std::string_view key) {
  return key.starts_with("cluster.nodes[") && (key.ends_with(".name") || key.ends_with(".title"));
}

// Returns the keys that may be idle.
std::vector<StatedKey> tested_keys(const Value& root) {
  std::vector<StatedKey> keys;
  for (std::size_t i = 0; i < root.fields.size(); ++i) {
    const std::string& name = root.fields[i].key;
    if (name != "cluster" && name != "training" && name != "strategy") continue;
    add_keys(root.fields[i].value, {name, {i}, nullptr}, keys);
  }
  std::erase_if(keys, [&](const StatedKey& key) {
    return key.value == nullptr || key.name.ends_with(".source") || is_name_of_hardware(key.name) ||
           key.name.starts_with("strategy.stages[") ||
           std::find(kAlwaysAct.begin(), kAlwaysAct.end(), key.name) != kAlwaysAct.end();
  });
  return keys;
}

// Returns those of them that a user stated.
std::vector<StatedKey> stated_keys(const Value& root, const DataFolders& folders) {
  std::vector<StatedKey> keys = tested_keys(root);
  std::erase_if(keys, [&](const StatedKey& key) { return !is_of_user(key.value->where, folders); });
  return keys;
}

Value without(const Value& root, const StatedKey& key) {
  Value copy = root;
  Value* inside = &copy;
  for (std::size_t i = 0; i + 1 < key.places.size(); ++i) {
    inside =
        inside->kind == Value::Kind::mapping ? &inside->fields[key.places[i]].value : &inside->items[key.places[i]];
  }
  inside->fields.erase(inside->fields.begin() + static_cast<std::ptrdiff_t>(key.places.back()));
  return copy;
}

// True if the scenario's key states its default, given that the resolved scenario is the same without the key. A field
// of the strategy that has no meaning next to the others is not even written out, and does not count as a default.
bool states_default(const Scenario& scenario, const std::string& key) {
  if (!key.starts_with("strategy.")) return true;
  return scenario.completed.find("strategy")->find(std::string_view(key).substr(sizeof("strategy.") - 1)) != nullptr;
}

// True if the job would differ without the key: a required key, a key that others need, or a key that changes a figure.
ActsWithout acts_on(const Scenario& scenario, const ScenarioSources& sources, const IterationResult& result) {
  return [&](const Document& without, const std::string& key) {
    const Scenario other = parse_scenario(without, sources);
    if (other.resolved == scenario.resolved) return states_default(scenario, key);
    return !has_result(other.job, result);
  };
}

std::vector<char> idle_of(const Document& document, const std::vector<StatedKey>& keys, const ActsWithout& acts) {
  std::vector<char> idle(keys.size());
  parallel_for(keys.size(), [&](std::size_t i) {
    try {
      idle[i] = acts(document.with_root(without(document.root(), keys[i])), keys[i].name) ? 0 : 1;
    } catch (const Error&) {
      idle[i] = 0;
    }
  });
  return idle;
}

// True if both have as many entries of cluster.nodes. A search may leave entries out, and then the others' numbers
// differ.
bool has_as_many_nodes(const Value& one, const Value& other) {
  const auto entries = [](const Value& root) {
    const Value* cluster = root.find("cluster");
    const Value* nodes = cluster != nullptr ? cluster->find("nodes") : nullptr;
    return nodes != nullptr ? nodes->items.size() : 0;
  };
  return entries(one) == entries(other);
}

}  // namespace

std::vector<IdleKey> idle_keys(const Document& document, const DataFolders& folders, const ActsWithout& acts) {
  const std::vector<StatedKey> keys = stated_keys(document.root(), folders);
  const std::vector<char> idle = idle_of(document, keys, acts);
  std::vector<IdleKey> out;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (idle[i] != 0) out.push_back({keys[i].name, line_of(*keys[i].value, false), keys[i].value->where});
  }
  return out;
}

std::vector<IdleKey> idle_keys(const Scenario& scenario, const ScenarioSources& sources,
                               const IterationResult& result) {
  return idle_keys(scenario.document, sources.folders, acts_on(scenario, sources, result));
}

std::string note_on(const IdleKey& idle) {
  return fmt::format("{}: {}: {} changes nothing in this job", idle.where.text(), idle.key, idle.value);
}

namespace {

bool divides_experts(const Strategy& strategy) {
  for (int stage = 0; stage < strategy.pipeline; ++stage) {
    if (strategy.shape_of(stage).expert > 1) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> notes_on_keys(const Scenario& scenario, const ScenarioSources& sources,
                                       const IterationResult& result) {
  std::vector<std::string> notes = stated_notes(scenario.document);
  notes.insert(notes.end(), scenario.job.model.notes.begin(), scenario.job.model.notes.end());
  const bool drawn = scenario.job.cluster.perturbations().is_drawn();
  for (const IdleKey& idle : idle_keys(scenario, sources, result)) {
    const bool of_samples = drawn && idle.key.starts_with("cluster.perturbations");
    const bool never = idle.key == kExperts && !divides_experts(scenario.job.strategy);  // no effect in samples either
    if (!of_samples || never) notes.push_back(note_on(idle));
  }
  if (drawn) {
    notes.emplace_back(
        "cluster.perturbations: its distributions are left out of a single iteration; --samples of mirfak simulate "
        "draws "
        "them");
  }
  if (scenario.job.training.images.drawn()) {
    notes.push_back(
        fmt::format("training.images: a single iteration and its memory have the mean, {:.4g} images a sequence; "
                    "--samples of mirfak "
                    "simulate draws the number of every sequence",
                    scenario.job.training.images.mean));
  }
  return notes;
}

namespace {

// Adds a note if a probability of fitting is asked for and nothing is known to tell it by.
void add_note_on_probability(const SearchScenario& search, std::vector<std::string>& notes) {
  const Value* const section = search.document.root().find("search");
  const Value* const stated = section == nullptr ? nullptr : section->find("fit_probability");
  if (stated == nullptr || stated->scalar == "0" || search.job.ranges.memory.device.known()) return;
  notes.push_back(fmt::format(
      "{}: search.fit_probability: {} changes nothing: nothing is known of the error of predicted needs (ranges.yaml), "
      "and search.headroom stands",
      stated->where.text(), stated->scalar));
}

}  // namespace

std::vector<std::string> notes_on_keys(const SearchScenario& search, const Job& found, const ScenarioSources& sources) {
  const Scenario best = as_scenario(search, found, sources);
  const bool same_nodes = has_as_many_nodes(search.document.root(), best.document.root());
  const std::vector<StatedKey> stated = stated_keys(search.document.root(), sources.folders);
  const std::vector<StatedKey> of_best = tested_keys(best.document.root());
  std::vector<StatedKey> keys;
  std::vector<IdleKey> as_stated;
  for (const StatedKey& key : stated) {
    const auto same = [&](const StatedKey& of) { return of.name == key.name; };
    const auto there = std::find_if(of_best.begin(), of_best.end(), same);
    if (there == of_best.end() || (key.name.starts_with("cluster.nodes[") && !same_nodes)) continue;
    keys.push_back(*there);
    as_stated.push_back({key.name, line_of(*key.value, false), key.value->where});
  }
  const IterationResult found_result = simulate(best.job).result;
  const std::vector<char> idle = idle_of(best.document, keys, acts_on(best, sources, found_result));
  std::vector<std::string> notes = stated_notes(search.document);
  notes.insert(notes.end(), best.job.model.notes.begin(), best.job.model.notes.end());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (idle[i] != 0) notes.push_back(note_on(as_stated[i]));
  }
  add_note_on_probability(search, notes);
  return notes;
}

}  // namespace mirfak
