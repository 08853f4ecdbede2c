#include "processes/message_buffer.hpp"

#include <exception>
#include <utility>

namespace mirfak::measure {

MessageBuffer::MessageBuffer(std::size_t count) : numbers_(count) {
  for (std::size_t i = 0; i < count; ++i) numbers_[i] = 0.5F - static_cast<float>(i * 7919 % 1021) / 1021;
}

MessageBuffer::~MessageBuffer() {
  if (std::uncaught_exceptions() == 0) return;
  static std::vector<std::vector<float>> abandoned;
  abandoned.push_back(std::move(numbers_));
}

}  // namespace mirfak::measure
