// A run of steps is one step of the compute stream if it acts as one, however late everything is:
//   - when it begins, all streams that it uses have done their earlier work, and all else that its steps wait for has
//     ended; each of its steps follows another one of them, or all of the body;
//   - when it ends, the compute stream has done the last of its work, or the body ends too;
//   - no collective after it begins earlier than that because it waits for less.
// All of this follows from the order of the streams and from what steps wait for, not from times. Without quiet
// collectives, a run also ends with each step that a collective waits for, and before each that waits for one.

#include "program/condensed_body.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace mirfak {

namespace {

std::size_t stream_of(const BodyStep& step) { return static_cast<std::size_t>(step.stream); }
bool is_kernel(const BodyStep& step) { return step.stream == StreamKind::compute; }

// For each stream, the last step that has ended at some time, and with it all steps before; -1: none.
using Ended = std::array<int, kStreamKinds>;

void add(Ended& ended, const Ended& more) {
  for (std::size_t i = 0; i < ended.size(); ++i) ended[i] = std::max(ended[i], more[i]);
}

class Condenser {
 public:
  Condenser(const Body& body, const std::vector<bool>& of_second, const std::vector<bool>& quiet)
      : body_(body), of_second_(of_second), quiet_(quiet) {
    Ended last;  // the last step so far of each stream
    last.fill(-1);
    waiting_.resize(size());
    for (std::size_t i = 0; i < size(); ++i) {
      const BodyStep& step = body.steps[i];
      before_.push_back(last);
      Ended begins;
      begins.fill(-1);
      const auto wait_for = [&](int before) {
        add(begins, ends_[at(before)]);
        if (!is_kernel(step)) waiting_[at(before)].push_back(i);
      };
      std::for_each(step.after.begin(), step.after.end(), wait_for);
      run_begins_.push_back(begins);
      if (const int earlier = last[stream_of(step)]; earlier >= 0) wait_for(earlier);
      if (is_kernel(step)) run_begins_.back() = begins;
      last[stream_of(step)] = static_cast<int>(i);
      begins_.push_back(begins);
      begins[stream_of(step)] = static_cast<int>(i);
      ends_.push_back(begins);
    }
  }

  // Returns the end of the longest run of steps that begins with `first`; first + 1 for a step that stays alone.
  std::size_t end_of_run(std::size_t first) const {
    std::size_t longest = first + 1;
    if (!joins(first)) return longest;
    Ended last = before_[first];       // the last step so far of each stream, in the run or before
    std::vector<std::size_t> waiting;  // collectives that wait for one of the run's steps
    for (std::size_t i = first; i < size() && (i == first || continues(first, i)); ++i) {
      if (!streams_are_free(first, i)) break;
      last[stream_of(body_.steps[i])] = static_cast<int>(i);
      waiting.insert(waiting.end(), waiting_[i].begin(), waiting_[i].end());
      const bool whole = i + 1 == size() || (is_kernel(body_.steps[i]) && ends_[i] == last_of_run(first, i, last));
      if (whole && none_begins_before(i, waiting)) longest = i + 1;
      if (quiet_.empty() && !waiting_[i].empty()) break;
    }
    const auto begin = body_.steps.begin() + static_cast<std::ptrdiff_t>(first);
    const bool any = std::any_of(begin, begin + static_cast<std::ptrdiff_t>(longest - first), is_kernel);
    return any ? longest : first + 1;
  }

 private:
  static std::size_t at(int step) { return static_cast<std::size_t>(step); }
  std::size_t size() const { return body_.steps.size(); }
  bool of_second(std::size_t i) const { return !of_second_.empty() && of_second_[i]; }
  bool joins(std::size_t i) const { return is_kernel(body_.steps[i]) || (!quiet_.empty() && quiet_[i]); }

  // Returns true if a stream has done all that it runs before the run when the run's first step begins.
  bool is_free(std::size_t first, std::size_t stream) const {
    return first == 0 || before_[first][stream] <= run_begins_[first][stream];
  }
  bool streams_are_free(std::size_t first, std::size_t i) const {
    return is_free(first, stream_of(body_.steps[first])) &&
           is_free(first, static_cast<std::size_t>(StreamKind::compute)) && is_free(first, stream_of(body_.steps[i]));
  }

  // Returns true if a step may follow those of a run: it begins after the run does, and waits for nothing else.
  bool continues(std::size_t first, std::size_t i) const {
    const BodyStep& step = body_.steps[i];
    if (!joins(i) || step.host_waits || of_second(i) != of_second(first)) return false;
    const int earlier = before_[i][stream_of(step)];
    bool follows = first == 0 || earlier >= static_cast<int>(first);
    for (const int before : step.after) {
      if (quiet_.empty() && !is_kernel(body_.steps[at(before)])) return false;
      follows = follows || before >= static_cast<int>(first);
      const bool outside = before < static_cast<int>(first);
      if (outside && before > run_begins_[first][stream_of(body_.steps[at(before)])]) return false;
    }
    return follows;
  }

  // Returns what has ended once all steps of a run have: its own, and what had ended when it began.
  Ended last_of_run(std::size_t first, std::size_t i, const Ended& last) const {
    Ended out = ends_[i];
    for (std::size_t stream = 0; stream < out.size(); ++stream) {
      if (last[stream] >= static_cast<int>(first)) out[stream] = std::max(out[stream], last[stream]);
    }
    return out;
  }

  // Returns true if none of the collectives after the last step of a run begins before this step has ended.
  bool none_begins_before(std::size_t last, const std::vector<std::size_t>& waiting) const {
    constexpr auto compute = static_cast<std::size_t>(StreamKind::compute);
    return std::all_of(waiting.begin(), waiting.end(),
                       [&](std::size_t i) { return i <= last || begins_[i][compute] >= static_cast<int>(last); });
  }

  const Body& body_;
  const std::vector<bool>& of_second_;
  const std::vector<bool>& quiet_;
  std::vector<Ended> before_;      // for each step, the last steps of the streams before it, ended or not
  std::vector<Ended> begins_;      // what has ended when a step begins
  std::vector<Ended> run_begins_;  // the same for what a step waits for on the compute stream
  std::vector<Ended> ends_;        // and when it ends
  std::vector<std::vector<std::size_t>> waiting_;  // for each step, the collectives that wait for it or follow it
};

// Folds steps of a run: what they wait for outside has ended before.
FoldedBody fold_run(const Body& body, std::size_t first, std::size_t last) {
  Body run;
  for (std::size_t i = first; i < last; ++i) {
    BodyStep step = body.steps[i];
    std::erase_if(step.after, [&](int before) { return before < static_cast<int>(first); });
    for (int& before : step.after) before -= static_cast<int>(first);
    step.host_waits = false;
    run.steps.push_back(std::move(step));
  }
  return fold(run);
}

BodyStep step_of_run(const BodyStep& first, const FoldedBody& folded) {
  BodyStep step;
  step.name = first.name;
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

CondensedBody condensed(const Body& body, const std::vector<bool>& of_second, const std::vector<bool>& quiet) {
  const Condenser condenser(body, of_second, quiet);
  CondensedBody out;
  std::vector<int> at(body.steps.size());  // new index of each step
  for (std::size_t first = 0; first < body.steps.size();) {
    const std::size_t last = condenser.end_of_run(first);
    CondensedBody::Run run{first, {}};
    BodyStep step = body.steps[first];
    if (is_kernel(step) || last > first + 1) {
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
