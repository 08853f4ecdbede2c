#pragma once

#include "sweep/point_evaluation.hpp"
#include "sweep/sweep_table.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mirfak {

// Results of a block of points as bytes, for the journal: in the machine's byte order, each text once.
class BlockRecord {
 public:
  explicit BlockRecord(std::uint64_t block) : block_(block) {}

  void append(std::uint32_t point, const PointResult& result);
  std::string bytes() const;

 private:
  std::uint32_t code(std::string_view text);
  std::uint32_t section_code(std::size_t section, std::string_view text);

  std::uint64_t block_;
  std::uint32_t rows_ = 0;
  std::string body_;
  std::string texts_;
  std::unordered_map<std::string, std::uint32_t> codes_;
  std::array<std::pair<std::string, std::optional<std::uint32_t>>, 3> last_;  // last text and its code per section
};

std::uint64_t block_of_record(std::string_view bytes);

// Adds the rows to `table` and returns the block's index. Error(internal) for bytes that are no record.
std::uint64_t read_block_record(std::string_view bytes, SweepTable& table);

}  // namespace mirfak
