#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace mirfak {

// Writes plain Python values as a pickle (protocol 2): dictionaries of texts, lists, integers, texts.
class PickleWriter {
 public:
  PickleWriter() : bytes_("\x80\x02") {}

  // Writes a list; write(i) writes item i. Items come in portions of a thousand, as Python writes them, since readers
  // put a portion on their stack.
  void list(std::size_t count, const std::function<void(std::size_t)>& write);
  // Writes a dictionary; `write` writes its names and values in turns.
  void dict(const std::function<void()>& write);
  void text(std::string_view value);  // the second occurrence is written as a reference to the first
  void integer(std::int64_t value);

  std::string finished() && { return std::move(bytes_) + '.'; }

 private:
  void little_endian(std::uint64_t value, int bytes);

  std::string bytes_;
  std::map<std::string, std::uint32_t, std::less<>> texts_;  // index of each text in the reader's memo
};

}  // namespace mirfak
