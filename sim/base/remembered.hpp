#pragma once

#include "base/read_files.hpp"

#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace mirfak {

// Remembers the value that was made for each name; usable from many threads. A failure is not remembered. Two threads
// that ask for one name at the same time may both make its value: the first to finish is kept. Entries keep their
// addresses.
template <typename T>
class Remembered {
 public:
  template <typename Make>
  const T& get(const std::string& name, const Make& make) {
    if (const Entry* const known = find(name)) {
      note_read_files(known->files);
      return known->value;
    }
    const ReadFiles reading;
    T made = make();
    const std::lock_guard lock(mutex_);
    return known_.try_emplace(name, Entry{std::move(made), reading.list()}).first->second.value;
  }

 private:
  struct Entry {
    T value;
    ReadFiles::ListPointer files;
  };

  const Entry* find(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(name);
    return known == known_.end() ? nullptr : &known->second;
  }

  std::mutex mutex_;
  std::map<std::string, Entry> known_;
};

}  // namespace mirfak
