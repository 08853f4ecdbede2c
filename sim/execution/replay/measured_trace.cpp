#include "replay/measured_trace.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

namespace mirfak {

namespace {

constexpr std::int64_t kLargest = 1'000'000'000;  // largest value of the numbers that count something
constexpr std::int64_t kMaxStages = 65'535;
constexpr double kLongest = 1e6;  // seconds

// Numbers the keys in ascending order.
template <typename Key>
std::map<Key, std::uint32_t> numbered(const std::set<Key>& keys) {
  std::map<Key, std::uint32_t> out;
  for (const Key& key : keys) out.emplace(key, static_cast<std::uint32_t>(out.size()));
  return out;
}

class TraceReader {
 public:
  explicit TraceReader(const CsvTable& table) : table_(table) {}

  MeasuredTrace read() {
    out_.name = table_.name();
    if (table_.rows() == 0) fail_input({table_.name(), 1, 1}, "the trace has no operations");
    read_places();
    for (std::size_t row = 0; row < table_.rows(); ++row) read_operation(row);
    return std::move(out_);
  }

 private:
  int count(std::size_t row, std::size_t column, std::int64_t lowest = 0, std::int64_t highest = kLargest) const {
    return static_cast<int>(table_.integer(row, column, lowest, highest));
  }

  // Reads ranks and steps.
  void read_places() {
    std::set<int> steps;
    std::map<int, MeasuredRank> ranks;
    std::map<int, std::size_t> first_row;
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      steps.insert(count(row, step_));
      const MeasuredRank found{count(row, rank_), count(row, data_), count(row, stage_, 0, kMaxStages), 0};
      const auto [known, is_new] = ranks.try_emplace(found.number, found);
      if (is_new) first_row[found.number] = row;
      const MeasuredRank& rank = known->second;
      if (rank.data != found.data || rank.stage != found.stage) {
        table_.fail(row, rank_,
                    fmt::format("rank {} is here on stage {} of data rank {}, in line {} on stage {} of data rank {}",
                                found.number, found.stage, found.data,
                                table_.where(first_row[found.number], rank_).line, rank.stage, rank.data));
      }
    }
    step_numbers_ = numbered(steps);
    out_.steps.assign(steps.begin(), steps.end());
    for (const auto& [number, rank] : ranks) out_.ranks.push_back(rank);
    number_peers();
  }

  void number_peers() {
    std::map<std::pair<int, int>, int> peers;
    std::set<int> data_ranks;
    std::set<int> stages;
    for (MeasuredRank& rank : out_.ranks) {
      rank_numbers_.emplace(rank.number, static_cast<std::uint32_t>(rank_numbers_.size()));
      rank.peer = peers[{rank.data, rank.stage}]++;
      data_ranks.insert(rank.data);
      stages.insert(rank.stage);
    }
    out_.peers = peers.begin()->second;
    out_.stages = *stages.rbegin() + 1;
    for (const int data : data_ranks) {
      for (const int stage : stages) {
        const auto found = peers.find({data, stage});
        const int own = found == peers.end() ? 0 : found->second;
        if (own == out_.peers) continue;
        fail_input({table_.name(), 0, 0},
                   fmt::format("stage {} of data rank {} has {} ranks, stage {} of data rank {} has {}", stage, data,
                               own, peers.begin()->first.second, peers.begin()->first.first, out_.peers),
                   "a trace has the same number of ranks of every stage and data rank");
      }
    }
  }

  void read_operation(std::size_t row) {
    MeasuredOperation operation;
    const std::string& name = table_.text(row, type_);
    const auto kind = find_operation_kind(name);
    if (!kind) {
      const std::vector<std::string> names = operation_kind_names();
      fail_input(table_.where(row, type_), fmt::format("optype: unknown operation '{}'", excerpt(name)),
                 did_you_mean(name, names, "expected " + join_or(names)));
    }
    operation.kind = *kind;
    operation.rank = rank_numbers_.at(count(row, rank_));
    operation.step = step_numbers_.at(count(row, step_));
    operation.sequence = count(row, sequence_);
    operation.microbatch = count(row, microbatch_, -1);
    operation.chunk = count(row, chunk_, -1);
    operation.part = count(row, part_, -1, kMaxStages);
    operation.start_s = table_.number(row, start_, -kLongest, kLongest);
    operation.duration_s = table_.number(row, duration_, 0, kLongest);
    operation.line = table_.where(row, 0).line;
    out_.operations.push_back(operation);
  }

  const CsvTable& table_;
  const std::size_t data_ = table_.require("dp_rank");
  const std::size_t stage_ = table_.require("stage");
  const std::size_t rank_ = table_.require("rank");
  const std::size_t step_ = table_.require("step");
  const std::size_t type_ = table_.require("optype");
  const std::size_t start_ = table_.require("start_ts");
  const std::size_t duration_ = table_.require("duration");
  const std::size_t sequence_ = table_.require("seq_id");
  const std::size_t chunk_ = table_.require("mc");
  const std::size_t microbatch_ = table_.require("mb_id");
  const std::size_t part_ = table_.require("gmc");
  std::map<int, std::uint32_t> step_numbers_;
  std::map<int, std::uint32_t> rank_numbers_;
  MeasuredTrace out_;
};

}  // namespace

std::vector<int> MeasuredTrace::data_ranks() const {
  std::set<int> found;
  for (const MeasuredRank& rank : ranks) found.insert(rank.data);
  return {found.begin(), found.end()};
}

MeasuredTrace read_measured_trace(const CsvTable& table) { return TraceReader(table).read(); }

MeasuredTrace read_measured_trace(const std::filesystem::path& path) {
  return read_measured_trace(CsvTable::from_file(path));
}

}  // namespace mirfak
