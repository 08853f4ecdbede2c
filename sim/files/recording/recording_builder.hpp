#pragma once

#include "base/error.hpp"
#include "recording/kernel_classes.hpp"
#include "recording/recording.hpp"

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace mirfak {

// Collects the events of a profiler, in any order, and joins them: kernels with their launches, and launches with steps
// and with the operators that they lie in.
class RecordingBuilder {
 public:
  RecordingBuilder(std::string file, const KernelClasses& classes);

  void add_kernel(RecordedKernel kernel, const std::string& name, bool copy, std::optional<std::int64_t> correlation,
                  const RecordedCollective* collective);
  void add_launch(std::int64_t correlation, const std::string& thread, Nanoseconds start, Nanoseconds end);
  void add_operator(const RecordedOperator& what, const std::string& thread, Nanoseconds start, Nanoseconds end,
                    bool backward);
  // Adds a call of the host that describes the communication kernels launched in it.
  void add_call(const RecordedCollective& what, const std::string& thread, Nanoseconds start, Nanoseconds end);
  void add_step(const std::string& name, Nanoseconds start, Nanoseconds end);
  void add_unread(const std::string& category, std::uint64_t events = 1);
  void add_note(std::string note);
  bool has_steps() const { return !recording_.steps.empty(); }
  // Adds a single step from the first launch or kernel to the last: for recordings that mark no steps.
  void make_one_step(const std::string& name);

  // Joins all events. Error(input) if no kernel was added.
  Recording finish();

 private:
  struct Launch {
    std::uint32_t thread;
    Nanoseconds start;
    Nanoseconds end;
  };
  struct Span {  // an operator on the host
    std::uint32_t thread;
    Nanoseconds start;
    Nanoseconds end;
    std::int32_t operator_;
    bool backward;
  };
  struct Call {
    std::uint32_t thread;
    Nanoseconds start;
    Nanoseconds end;
    std::int32_t collective;
  };
  std::uint32_t thread_id(const std::string& thread);
  void count();
  void join_launches();
  void join_steps();
  void join_operators();
  void join_calls();

  const KernelClasses& classes_;
  Recording recording_;
  std::uint64_t counted_ = 0;
  std::vector<std::optional<std::int64_t>> correlations_;  // for each kernel
  std::vector<std::uint32_t> threads_;                     // for each kernel, the thread of its launch
  std::unordered_map<std::int64_t, Launch> launches_;
  std::vector<Span> spans_;
  std::vector<Call> calls_;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::vector<std::uint32_t> class_of_name_;
  std::unordered_map<std::string, std::uint32_t> thread_ids_;
  std::map<RecordedOperator, std::int32_t> operators_;
  std::map<RecordedCollective, std::int32_t> collectives_;
};

// Returns the bytes of `elements` elements; Error(input) at `where` if the product is impossible.
std::int64_t bytes_of(std::int64_t elements, std::int64_t element_bytes, const Location& where);

}  // namespace mirfak
