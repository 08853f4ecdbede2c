#include "plan/microbatch_shares.hpp"

#include <numeric>

namespace mirfak {

namespace {

using Shares = std::vector<std::shared_ptr<const std::vector<int>>>;

void add(std::span<const ReplicaClass> classes, std::vector<int>& chosen, std::int64_t left, Shares& out) {
  const std::size_t index = chosen.size();
  const std::int64_t replicas = classes[index].count();
  if (index + 1 == classes.size()) {
    if (left % replicas != 0) return;
    chosen.push_back(static_cast<int>(left / replicas));
    out.push_back(std::make_shared<std::vector<int>>(chosen));
    chosen.pop_back();
    return;
  }
  for (std::int64_t own = 1; own * replicas < left; ++own) {
    chosen.push_back(static_cast<int>(own));
    add(classes, chosen, left - own * replicas, out);
    chosen.pop_back();
  }
}

}  // namespace

Shares microbatch_shares(std::span<const ReplicaClass> classes, std::int64_t microbatches) {
  constexpr std::size_t max_classes = 2;
  const std::int64_t replicas =
      std::accumulate(classes.begin(), classes.end(), std::int64_t{0},
                      [](std::int64_t sum, const ReplicaClass& own) { return sum + own.count(); });
  Shares out;
  std::vector<int> chosen;
  if (classes.size() <= max_classes) {
    add(classes, chosen, microbatches, out);
  } else if (microbatches % replicas == 0) {
    out.push_back(std::make_shared<std::vector<int>>(classes.size(), static_cast<int>(microbatches / replicas)));
  }
  return out;
}

}  // namespace mirfak
