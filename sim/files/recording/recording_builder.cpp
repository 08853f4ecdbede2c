#include "recording/recording_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace mirfak {

namespace {

constexpr std::uint64_t kMostEvents = 50'000'000;  // about 8 GB of memory
constexpr std::int64_t kMostElements = std::int64_t{1} << 50;

template <typename Key, typename Index, typename Table>
Index index_in(Table& table, std::vector<Key>& list, const Key& key) {
  const auto [at, is_new] = table.try_emplace(key, static_cast<Index>(list.size()));
  if (is_new) list.push_back(key);
  return at->second;
}

}  // namespace

std::int64_t bytes_of(std::int64_t elements, std::int64_t element_bytes, const Location& where) {
  if (elements < 0 || elements > kMostElements) {
    fail_input(where, fmt::format("a collective of {} elements", elements), "expected 0 to 2^50");
  }
  return elements * element_bytes;
}

RecordingBuilder::RecordingBuilder(std::string file, const KernelClasses& classes) : classes_(classes) {
  recording_.file = std::move(file);
  recording_.classes = classes.classes();
}

std::uint32_t RecordingBuilder::thread_id(const std::string& thread) {
  return thread_ids_.try_emplace(thread, static_cast<std::uint32_t>(thread_ids_.size())).first->second;
}

void RecordingBuilder::count() {
  if (++counted_ > kMostEvents) {
    fail_input({recording_.file, 0, 0}, "more than 50 million events", "record fewer steps");
  }
}

void RecordingBuilder::add_kernel(RecordedKernel kernel, const std::string& name, bool copy,
                                  std::optional<std::int64_t> correlation, const RecordedCollective* collective) {
  count();
  kernel.name = index_in<std::string, std::uint32_t>(names_, recording_.names, name);
  if (kernel.name == class_of_name_.size()) class_of_name_.push_back(classes_.class_of(name));
  kernel.cls = copy ? classes_.copies() : class_of_name_[kernel.name];
  if (collective != nullptr) {
    kernel.collective = index_in<RecordedCollective, std::int32_t>(collectives_, recording_.collectives, *collective);
  }
  recording_.kernels.push_back(kernel);
  correlations_.push_back(correlation);
}

void RecordingBuilder::add_launch(std::int64_t correlation, const std::string& thread, Nanoseconds start,
                                  Nanoseconds end) {
  count();
  const std::uint32_t id = thread_id(thread);
  launches_.insert_or_assign(correlation, Launch{id, start, end});
}

void RecordingBuilder::add_operator(const RecordedOperator& what, const std::string& thread, Nanoseconds start,
                                    Nanoseconds end, bool backward) {
  count();
  const std::uint32_t id = thread_id(thread);
  const auto index = index_in<RecordedOperator, std::int32_t>(operators_, recording_.operators, what);
  spans_.push_back({id, start, end, index, backward});
}

void RecordingBuilder::add_call(const RecordedCollective& what, const std::string& thread, Nanoseconds start,
                                Nanoseconds end) {
  count();
  const auto index = index_in<RecordedCollective, std::int32_t>(collectives_, recording_.collectives, what);
  calls_.push_back({thread_id(thread), start, end, index});
}

void RecordingBuilder::add_step(const std::string& name, Nanoseconds start, Nanoseconds end) {
  count();
  recording_.steps.push_back({name, start, end});
}

void RecordingBuilder::add_unread(const std::string& category, std::uint64_t events) {
  recording_.unread[category.empty() ? "(no category)" : category] += events;
}

void RecordingBuilder::add_note(std::string note) { recording_.notes.push_back(std::move(note)); }

void RecordingBuilder::make_one_step(const std::string& name) {
  join_launches();
  Nanoseconds start = std::numeric_limits<Nanoseconds>::max();
  Nanoseconds end = 0;
  for (const RecordedKernel& kernel : recording_.kernels) {
    start = std::min(start, std::min(kernel.start, kernel.launch.value_or(kernel.start)));
    end = std::max(end, kernel.end);
  }
  add_step(name, start, std::max(start, end) + 1);  // a kernel may begin at the very end
}

void RecordingBuilder::join_launches() {
  threads_.assign(recording_.kernels.size(), 0);
  for (std::size_t i = 0; i < recording_.kernels.size(); ++i) {
    if (!correlations_[i]) continue;
    const auto found = launches_.find(*correlations_[i]);
    if (found == launches_.end()) continue;
    recording_.kernels[i].launch = found->second.start;
    recording_.kernels[i].launch_end = found->second.end;
    threads_[i] = found->second.thread;
  }
}

void RecordingBuilder::join_steps() {
  std::vector<RecordedStep>& steps = recording_.steps;
  std::sort(steps.begin(), steps.end(), [](const auto& one, const auto& other) { return one.start < other.start; });
  for (RecordedKernel& kernel : recording_.kernels) {
    const Nanoseconds begin = kernel.launch.value_or(kernel.start);
    const auto after = std::upper_bound(steps.begin(), steps.end(), begin,
                                        [](Nanoseconds time, const RecordedStep& step) { return time < step.start; });
    if (after == steps.begin() || begin >= std::prev(after)->end) continue;
    kernel.step = static_cast<std::int32_t>(std::prev(after) - steps.begin());
  }
}

// Walks through each thread in the order of time with a list of the open operators, the innermost last.
void RecordingBuilder::join_operators() {
  std::sort(spans_.begin(), spans_.end(), [](const Span& one, const Span& other) {
    return std::tie(one.thread, one.start, other.end) < std::tie(other.thread, other.start, one.end);
  });
  std::vector<RecordedKernel>& kernels = recording_.kernels;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].launch) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    return std::tie(threads_[one], *kernels[one].launch) < std::tie(threads_[other], *kernels[other].launch);
  });
  std::vector<const Span*> open;
  std::size_t next = 0;
  for (const std::size_t i : order) {
    const Nanoseconds time = *kernels[i].launch;
    const std::uint32_t thread = threads_[i];
    while (next < spans_.size() && std::tie(spans_[next].thread, spans_[next].start) <= std::tie(thread, time)) {
      const Span& span = spans_[next++];
      while (!open.empty() && (open.back()->thread != span.thread || open.back()->end <= span.start)) open.pop_back();
      open.push_back(&span);
    }
    while (!open.empty() && (open.back()->thread != thread || open.back()->end <= time)) open.pop_back();
    if (open.empty()) continue;
    kernels[i].operator_ = open.back()->operator_;
    kernels[i].backward = std::any_of(open.begin(), open.end(), [](const Span* span) { return span->backward; });
  }
}

// Calls of one thread follow each other: a kernel belongs to the last call that began before its launch, if that call
// is still open.
void RecordingBuilder::join_calls() {
  if (calls_.empty()) return;
  std::sort(calls_.begin(), calls_.end(), [](const Call& one, const Call& other) {
    return std::tie(one.thread, one.start) < std::tie(other.thread, other.start);
  });
  for (std::size_t i = 0; i < recording_.kernels.size(); ++i) {
    RecordedKernel& kernel = recording_.kernels[i];
    if (!kernel.launch || kernel.collective >= 0 || !recording_.communicates(kernel)) continue;
    const auto launched = std::make_pair(threads_[i], *kernel.launch);
    const auto after = std::upper_bound(calls_.begin(), calls_.end(), launched, [](const auto& at, const Call& call) {
      return at < std::make_pair(call.thread, call.start);
    });
    if (after == calls_.begin()) continue;
    const Call& call = *std::prev(after);
    if (call.thread == launched.first && launched.second < call.end) kernel.collective = call.collective;
  }
}

Recording RecordingBuilder::finish() {
  if (recording_.kernels.empty()) {
    fail_input({recording_.file, 0, 0}, "no kernel of a GPU is recorded", "record with ProfilerActivity.CUDA");
  }
  join_launches();
  join_steps();
  join_operators();
  join_calls();
  std::stable_sort(recording_.kernels.begin(), recording_.kernels.end(),
                   [](const RecordedKernel& one, const RecordedKernel& other) { return one.start < other.start; });
  return std::move(recording_);
}

}  // namespace mirfak
