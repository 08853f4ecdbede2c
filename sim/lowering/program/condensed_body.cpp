#include "program/condensed_body.hpp"

#include <algorithm>
#include <utility>

namespace mirfak {

namespace {

bool is_kernel(const BodyStep& step) { return step.stream == StreamKind::compute; }

// Marks the steps whose end another stream waits for.
std::vector<bool> awaited(const Body& body) {
  std::vector<bool> out(body.steps.size(), false);
  for (const BodyStep& step : body.steps) {
    if (is_kernel(step)) continue;
    for (const int before : step.after) out[static_cast<std::size_t>(before)] = true;
  }
  return out;
}

bool waits_for_others(const Body& body, const BodyStep& step) {
  return step.host_waits || std::any_of(step.after.begin(), step.after.end(), [&](int before) {
           return !is_kernel(body.steps[static_cast<std::size_t>(before)]);
         });
}

// Folds kernels that each wait only for the kernel before.
FoldedBody fold_run(const Body& body, std::size_t first, std::size_t last) {
  Body run;
  for (std::size_t i = first; i < last; ++i) {
    BodyStep step = body.steps[i];
    step.after.clear();
    step.host_waits = false;
    run.steps.push_back(std::move(step));
  }
  return fold(run);
}

BodyStep step_of_run(const BodyStep& first, const FoldedBody& folded) {
  BodyStep step;
  step.name = first.name;
  step.stream = first.stream;
  step.activity = first.activity;
  step.device = folded.device;
  step.host = folded.lead;
  step.host_behind = folded.host - folded.lead;
  step.host_waits = first.host_waits;
  step.flop = folded.flop;
  step.executed_flop = folded.executed_flop;
  step.bytes = folded.bytes;
  step.energy_j = folded.energy_j;
  return step;
}

}  // namespace

CondensedBody condensed(const Body& body, const std::vector<bool>& of_second) {
  const std::vector<bool> ends_run = awaited(body);
  const auto pass_of = [&](std::size_t i) { return !of_second.empty() && of_second[i]; };
  CondensedBody out;
  std::vector<int> at(body.steps.size());  // new index of each step
  for (std::size_t first = 0; first < body.steps.size();) {
    std::size_t last = first + 1;
    if (is_kernel(body.steps[first])) {
      while (last < body.steps.size() && is_kernel(body.steps[last]) && !ends_run[last - 1] &&
             !waits_for_others(body, body.steps[last]) && pass_of(last) == pass_of(first)) {
        ++last;
      }
    }
    CondensedBody::Run run{first, {}};
    BodyStep step = body.steps[first];
    if (is_kernel(step)) {
      run.folded = fold_run(body, first, last);
      step = step_of_run(body.steps[first], run.folded);
    }
    step.after.clear();
    for (const int before : body.steps[first].after) step.after.push_back(at[static_cast<std::size_t>(before)]);
    std::fill(at.begin() + static_cast<std::ptrdiff_t>(first), at.begin() + static_cast<std::ptrdiff_t>(last),
              static_cast<int>(out.body.steps.size()));
    out.body.steps.push_back(std::move(step));
    out.runs.push_back(run);
    first = last;
  }
  return out;
}

}  // namespace mirfak
