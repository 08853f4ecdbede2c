// Opcodes: Lib/pickletools.py of CPython.

#include "trace/pickle.hpp"

#include <algorithm>
#include <limits>

namespace mirfak {

void PickleWriter::little_endian(std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>((value >> static_cast<unsigned>(8 * i)) & 0xFFU);
}

void PickleWriter::list(std::size_t count, const std::function<void(std::size_t)>& write) {
  constexpr std::size_t portion = 1000;
  bytes_ += ']';
  for (std::size_t first = 0; first < count; first += portion) {
    bytes_ += '(';
    for (std::size_t i = first; i < std::min(count, first + portion); ++i) write(i);
    bytes_ += 'e';
  }
}

void PickleWriter::dict(const std::function<void()>& write) {
  bytes_ += "}(";
  write();
  bytes_ += 'u';
}

void PickleWriter::text(std::string_view value) {
  const auto known = texts_.find(value);
  if (known != texts_.end()) {
    bytes_ += 'j';
    little_endian(known->second, 4);
    return;
  }
  bytes_ += 'X';
  little_endian(value.size(), 4);
  bytes_ += value;
  const auto place = static_cast<std::uint32_t>(texts_.size());
  bytes_ += 'r';
  little_endian(place, 4);
  texts_.emplace(value, place);
}

void PickleWriter::integer(std::int64_t value) {
  if (value >= 0 && value <= std::numeric_limits<std::uint16_t>::max()) {
    bytes_ += 'M';
    little_endian(static_cast<std::uint64_t>(value), 2);
    return;
  }
  bytes_ += "\x8a\x08";
  little_endian(static_cast<std::uint64_t>(value), 8);
}

}  // namespace mirfak
