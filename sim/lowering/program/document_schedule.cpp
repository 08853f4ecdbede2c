// Documents of unequal lengths over ranks that hold the same parameters. A document takes as many ranks as its length
// asks; teams of ranks form until none are free, and get further documents of their size while others are busy. Ranks
// of different teams need not wait for each other within a round. A round ends when its teams are about equally busy,
// or when a document finds no ranks. Example with 4 ranks of 1024 tokens: documents of 4096, 1024, 1024, 1024, 1024 are
// two rounds, one team of 4 and four teams of 1.
#include "program/document_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <set>

namespace mirfak {

namespace {

constexpr double kSlack = 0.05;        // of the busiest team, that a balanced round may have
constexpr double kBucketExcess = 1.1;  // work of a bucket over an equal share, at most

// Tokens of documents, longest first, by the length that is left of them, cut at the ends of sequences.
std::map<std::int64_t, double, std::greater<>> tokens_by_length(const TrainingSpec& training) {
  if (training.documents.empty()) return {{training.sequence_length, 1.0}};
  std::map<std::int64_t, double, std::greater<>> out;
  for (const DocumentCount& of : training.documents) {
    const std::int64_t rest = of.tokens % training.sequence_length;
    out[training.sequence_length] += of.count * static_cast<double>(of.tokens - rest);
    out[rest] += of.count * static_cast<double>(rest);
  }
  return out;
}

class Scheduler {
 public:
  Scheduler(std::int64_t bound, int ranks) : bound_(bound), ranks_(ranks) {}

  // Takes a round from `waiting`, and leaves what comes later there.
  DocumentRound round(std::deque<std::int64_t>& waiting) {
    teams_.clear();
    loads_.clear();
    free_ = ranks_;
    std::vector<std::deque<std::int64_t>> buckets = buckets_of(waiting);
    waiting.clear();
    fill(buckets);
    for (const std::deque<std::int64_t>& bucket : buckets) waiting.insert(waiting.end(), bucket.begin(), bucket.end());
    trim(waiting);
    spread();
    return std::move(teams_);
  }

 private:
  int needed(std::int64_t tokens) const { return ranks_of_document(tokens, bound_); }
  double work(std::int64_t tokens) const {
    return static_cast<double>(tokens) * static_cast<double>(tokens) / needed(tokens);
  }

  // Cuts the documents into as many buckets in a row as there are sizes of teams, with about equal work.
  std::vector<std::deque<std::int64_t>> buckets_of(const std::deque<std::int64_t>& documents) const {
    std::set<int> sizes;
    double all = 0;
    for (const std::int64_t tokens : documents) {
      sizes.insert(needed(tokens));
      all += work(tokens);
    }
    std::size_t left = sizes.size();
    const double target = all / static_cast<double>(left);
    std::vector<std::deque<std::int64_t>> out(1);
    double sum = 0;
    for (std::size_t i = 0; i < documents.size(); ++i) {
      const double own = work(documents[i]);
      const auto still = static_cast<std::ptrdiff_t>(left) - static_cast<std::ptrdiff_t>(out.size() - 1);
      const bool keeps_rest = static_cast<std::ptrdiff_t>(documents.size() - i) <= still;
      if (!out.back().empty() && (sum + own > kBucketExcess * target || keeps_rest)) {
        out.emplace_back();
        sum = 0;
        --left;
      }
      out.back().push_back(documents[i]);
      sum += own;
    }
    return out;
  }

  // The least busy team of a size; -1: none.
  std::ptrdiff_t idlest(int size) const {
    std::ptrdiff_t found = -1;
    for (std::size_t i = 0; i < teams_.size(); ++i) {
      if (teams_[i].ranks == size && (found < 0 || loads_[i] < loads_[static_cast<std::size_t>(found)])) {
        found = static_cast<std::ptrdiff_t>(i);
      }
    }
    return found;
  }

  void give(std::int64_t tokens) {
    const int size = needed(tokens);
    std::ptrdiff_t team = idlest(size);
    if (free_ >= size) {
      team = static_cast<std::ptrdiff_t>(teams_.size());
      teams_.push_back({size, {}});
      loads_.push_back(0);
      free_ -= size;
    }
    teams_[static_cast<std::size_t>(team)].tokens.push_back(tokens);
    loads_[static_cast<std::size_t>(team)] += work(tokens);
  }

  double most() const { return *std::max_element(loads_.begin(), loads_.end()); }
  double least() const { return free_ > 0 ? 0 : *std::min_element(loads_.begin(), loads_.end()); }

  void fill(std::vector<std::deque<std::int64_t>>& buckets) {
    int first_size = 0;
    bool smaller = false;  // a document has needed fewer ranks than the first one
    while (!buckets.empty()) {
      const auto found = std::find_if(buckets.begin(), buckets.end(), [&](const std::deque<std::int64_t>& bucket) {
        if (bucket.empty()) return false;
        const int size = needed(bucket.front());
        return free_ >= size || idlest(size) >= 0;
      });
      if (found == buckets.end()) return;
      const std::int64_t tokens = found->front();
      found->pop_front();
      if (first_size == 0) first_size = needed(tokens);
      give(tokens);
      while (!buckets.empty() && buckets.front().empty()) buckets.erase(buckets.begin());
      smaller = smaller || needed(tokens) < first_size;
      if (smaller && !buckets.empty() && most() - least() <= kSlack * most()) return;
    }
  }

  // Puts the last documents of the busiest team off as long as that balances the round.
  void trim(std::deque<std::int64_t>& waiting) {
    while (free_ == 0 && most() - least() > kSlack * most()) {
      const auto busiest = static_cast<std::size_t>(std::max_element(loads_.begin(), loads_.end()) - loads_.begin());
      std::vector<std::int64_t>& tokens = teams_[busiest].tokens;
      if (tokens.size() <= 1) return;
      const double before = most() - least();
      const double own = work(tokens.back());
      loads_[busiest] -= own;
      if (most() - least() >= before) {
        loads_[busiest] += own;
        return;
      }
      waiting.push_back(tokens.back());
      tokens.pop_back();
    }
  }

  // Gives ranks without work to the smallest teams, which double.
  void spread() {
    while (free_ > 0) {
      const auto smallest = std::min_element(
          teams_.begin(), teams_.end(), [](const DocumentTeam& a, const DocumentTeam& b) { return a.ranks < b.ranks; });
      free_ -= smallest->ranks;
      smallest->ranks *= 2;
    }
  }

  std::int64_t bound_;
  int ranks_;
  int free_ = 0;
  DocumentRound teams_;
  std::vector<double> loads_;
};

}  // namespace

std::vector<BatchDocuments> documents_of_batch(const TrainingSpec& training) {
  const auto by_length = tokens_by_length(training);
  double all = 0;
  for (const auto& [length, tokens] : by_length) all += tokens;
  const double batch = static_cast<double>(training.global_batch) * static_cast<double>(training.sequence_length);
  std::vector<BatchDocuments> out;
  double left = 0;  // tokens that rounding has left
  for (const auto& [of_length, of_tokens] : by_length) {
    if (of_tokens <= 0) continue;
    const auto length = static_cast<double>(of_length);
    const double tokens = of_tokens / all * batch;
    const std::int64_t count = std::max<std::int64_t>(0, std::llround((tokens + left) / length));
    left += tokens - static_cast<double>(count) * length;
    out.push_back({of_length, count, tokens / length});
  }
  return out;
}

int ranks_of_document(std::int64_t tokens, std::int64_t bound) {
  int ranks = 1;
  while (ranks * bound < tokens && ranks < strategy_limits::kRanks) ranks *= 2;
  return ranks;
}

std::vector<DocumentRound> schedule_documents(const std::vector<BatchDocuments>& documents, std::int64_t bound,
                                              int ranks) {
  std::deque<std::int64_t> waiting;
  for (const BatchDocuments& of : documents)
    waiting.insert(waiting.end(), static_cast<std::size_t>(of.count), of.tokens);
  std::vector<DocumentRound> out;
  Scheduler scheduler(bound, ranks);
  while (!waiting.empty()) out.push_back(scheduler.round(waiting));
  return out;
}

Job job_of_documents(const Job& job, const DocumentShape& shape, int microbatches) {
  Job out = job;
  Strategy& s = out.strategy;
  s.data = job.strategy.replicas() / shape.ranks;
  s.context = shape.ranks;
  s.context_tokens = 0;
  const std::int64_t parts = std::int64_t{shape.ranks > 1 ? 2 * shape.ranks : 1} * (s.sequence_parallel ? s.tensor : 1);
  out.training.documents.clear();
  out.training.sequence_length = (shape.tokens + parts - 1) / parts * parts;
  out.training.global_batch = std::int64_t{microbatches} * s.data;
  return out;
}

}  // namespace mirfak
