#include "scenario/local_steps_section.hpp"

#include <fmt/format.h>

namespace mirfak {

namespace {

constexpr int kMostLearners = 1 << 16;
constexpr int kMostSteps = 1'000'000;

const std::vector<std::string>& exchange_format_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const ExchangeFormat& format : exchange_formats()) out.push_back(format.name);
    return out;
  }();
  return names;
}

const std::vector<std::string>& places_of_state() {
  static const std::vector<std::string> names = {"host", "device"};
  return names;
}

// Refuses fragments and delays that do not go into the steps between two exchanges.
void check_steps(Mapping& keys, LocalSteps& of, const NoContext& /*context*/) {
  if (of.fragments > of.every) {
    keys.require("fragments")
        .fail(fmt::format("{} fragments, and {} steps in which each of them is exchanged once", of.fragments, of.every),
              "raise every, or lower fragments");
  }
  if (of.delay >= of.every) {
    keys.require("delay").fail(
        fmt::format("a fragment is exchanged again after {} steps, so {} steps cannot go on meanwhile", of.every,
                    of.delay),
        fmt::format("write at most {}, or raise every", of.every - 1));
  }
}

}  // namespace

const FieldTable<LocalSteps>& local_steps_fields() {
  using L = LocalSteps;
  using F = FieldTable<L>::Field;
  static const FieldTable<L> table = {
      {F("learners", &L::learners, {2, kMostLearners}).required(), F("every", &L::every, {1, kMostSteps}).required(),
       F("fragments", &L::fragments, {1, kMostSteps}), F("delay", &L::delay, {0, kMostSteps}),
       F("exchange", &L::exchange, {0, 0, exchange_format_names}), F("bandwidth", &L::bandwidth, {1, 1e18}).if_set(),
       F("latency_s", &L::latency_s, {0, 1e3}), F("state", &L::state_on_device, {0, 0, places_of_state})},
      check_steps};
  return table;
}

}  // namespace mirfak
