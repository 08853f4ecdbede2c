#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace mirfak {

// What was made for each name, once; usable from many threads. What fails is not remembered, and two threads that ask
// for the same at the same time may both make it: the first to finish is kept. Entries stay where they are.
template <typename T>
class Remembered {
 public:
  template <typename Make>
  const T& get(const std::string& name, const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = known_.find(name); known != known_.end()) return known->second;
    }
    T made = make();
    const std::lock_guard lock(mutex_);
    return known_.try_emplace(name, std::move(made)).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, T> known_;
};

}  // namespace mirfak
