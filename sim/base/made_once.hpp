#pragma once

#include <map>
#include <mutex>
#include <utility>

namespace mirfak {

// Keeps the value that was made for each key; usable from many threads. Two threads that ask for one key at the same
// time may both make its value: the first to finish is kept. Values keep their addresses. A failure is not kept.
template <typename Key, typename Value>
class MadeOnce {
 public:
  template <typename Make>
  const Value& get(const Key& key, const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = known_.find(key); known != known_.end()) return known->second;
    }
    Value made = make();
    const std::lock_guard lock(mutex_);
    return known_.try_emplace(key, std::move(made)).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<Key, Value> known_;
};

}  // namespace mirfak
