#include "replay/replay_questions.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

namespace mirfak {

namespace {

constexpr double kLowestSpeed = 0.01;
constexpr double kHighestSpeed = 100;
constexpr const char* kSpeedForm = "such as stage=3:1.2, or data=0,stage=3:0.9, or op=forward-compute:1.1";

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Selector {
  std::string_view key;
  std::string_view noun;
  std::optional<int> OperationSet::*value;
  int MeasuredRank::*of;
};
constexpr std::array kSelectors = {Selector{"rank", "rank", &OperationSet::rank, &MeasuredRank::number},
                                   Selector{"data", "data rank", &OperationSet::data, &MeasuredRank::data},
                                   Selector{"stage", "stage", &OperationSet::stage, &MeasuredRank::stage}};

void check_there(const std::string& option, const Selector& selector, int value, const MeasuredTrace& trace) {
  std::vector<int> there;
  for (const MeasuredRank& rank : trace.ranks) there.push_back(rank.*selector.of);
  std::sort(there.begin(), there.end());
  there.erase(std::unique(there.begin(), there.end()), there.end());
  if (std::binary_search(there.begin(), there.end(), value)) return;
  fail_input({}, fmt::format("{}: {} has no {} {}", option, trace.name, selector.noun, value),
             fmt::format("it has {}", excerpt(ranges_text(there))));
}

void check_operation(const std::string& option, const std::string& name) {
  std::vector<std::string> names = operation_kind_names();
  for (const std::string& category : operation_categories()) {
    if (std::find(names.begin(), names.end(), category) == names.end()) names.push_back(category);
  }
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  fail_input({}, fmt::format("{}: unknown operation '{}'", option, excerpt(name)),
             did_you_mean(name, names, "expected " + join_or(names)));
}

void add_selected(OperationSet& set, std::string_view part, const std::string& option, const MeasuredTrace& trace) {
  const std::size_t equals = part.find('=');
  const std::string_view key = part.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
  if (key == "op" && !value.empty()) {
    set.type = value;
    return check_operation(option, set.type);
  }
  for (const Selector& selector : kSelectors) {
    if (key != selector.key) continue;
    const auto number = number_in<int>(value);
    if (!number) break;
    check_there(option, selector, *number, trace);
    set.*selector.value = *number;
    return;
  }
  fail_input({}, fmt::format("{}: expected rank, data, stage or op and a value, found '{}'", option, excerpt(part)),
             kSpeedForm);
}

Speed parse_speed(const std::string& text, const MeasuredTrace& trace) {
  const std::string option = "--speed " + excerpt(text);
  const std::size_t colon = text.rfind(':');
  const auto factor = colon == std::string::npos ? std::nullopt : number_in<double>(text.substr(colon + 1));
  if (!factor || !(*factor >= kLowestSpeed && *factor <= kHighestSpeed)) {
    fail_input({},
               fmt::format("{}: expected a factor from {} to {} after a colon", option, kLowestSpeed, kHighestSpeed),
               kSpeedForm);
  }
  Speed out;
  out.factor = *factor;
  const std::string_view sets(text.data(), colon);
  for (std::size_t begin = 0; begin <= sets.size();) {
    const std::size_t end = std::min(sets.find(',', begin), sets.size());
    add_selected(out.of, sets.substr(begin, end - begin), option, trace);
    begin = end + 1;
  }
  return out;
}

}  // namespace

std::optional<WhatIf> what_if(const ReplayQuestions& questions, const MeasuredTrace& trace) {
  WhatIf out;
  const std::array<const std::vector<int>*, kSelectors.size()> numbers = {&questions.ranks, &questions.data_ranks,
                                                                          &questions.stages};
  for (std::size_t i = 0; i < kSelectors.size(); ++i) {
    for (const int number : *numbers[i]) {
      check_there(fmt::format("--ideal-{}", kSelectors[i].key), kSelectors[i], number, trace);
      out.ideal.emplace_back().*kSelectors[i].value = number;
    }
  }
  for (const std::string& operation : questions.operations) {
    check_operation("--ideal-op", operation);
    out.ideal.emplace_back().type = operation;
  }
  for (const std::string& speed : questions.speeds) out.speeds.push_back(parse_speed(speed, trace));
  if (out.ideal.empty() && out.speeds.empty()) return std::nullopt;
  return out;
}

std::string question_text(const ReplayQuestions& questions) {
  std::vector<std::string> parts;
  const auto add = [&](const char* noun, const auto& of) {
    if (!of.empty()) parts.push_back(fmt::format("{} {} without stragglers", noun, fmt::join(of, ", ")));
  };
  add("rank", questions.ranks);
  add("data rank", questions.data_ranks);
  add("stage", questions.stages);
  add("operation", questions.operations);
  for (const std::string& speed : questions.speeds) {
    const std::size_t colon = speed.rfind(':');
    parts.push_back(fmt::format("{} {} times as fast", speed.substr(0, colon), speed.substr(colon + 1)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace mirfak
