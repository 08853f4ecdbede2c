#pragma once

#include <cstddef>
#include <vector>

namespace mirfak::measure {

// Numbers that MPI sends or receives: random, and such that they add up to no infinities, however often they are
// reduced. Where a failure ends the job, they stay until the process ends: operations that have begun go on, and other
// ranks read this one's memory.
class MessageBuffer {
 public:
  explicit MessageBuffer(std::size_t count);
  ~MessageBuffer();
  MessageBuffer(MessageBuffer&&) = default;
  MessageBuffer& operator=(MessageBuffer&&) = default;
  MessageBuffer(const MessageBuffer&) = delete;
  MessageBuffer& operator=(const MessageBuffer&) = delete;

  std::size_t size() const { return numbers_.size(); }
  float* data() { return numbers_.data(); }

 private:
  std::vector<float> numbers_;
};

}  // namespace mirfak::measure
