#pragma once

#include "base/document.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;  // of tokens, GPUs, microbatches in a cell

// What one word of one cell was read as.
struct CellReading {
  Location where;
  std::string column;
  std::string word;
  std::string meaning;   // "strategy.tensor: 8", "ignored: ...", "not understood: ..."
  std::string inferred;  // what of it the source does not say itself
};

// Why a row cannot be read.
struct Refusal {
  Location where;  // of the cell
  std::string column;
  std::string word;
  std::string message;
  std::string nearest;  // known word; "": none is near
};

// A row of a table of measured runs, read by a mapping: keys and values, and how each came about.
class RunReading {
 public:
  struct Key {
    std::string name;
    Value value;
    bool stated = false;  // by the source; false: inferred
    std::string note;     // why, of an inferred one
    Location from;        // of the cell, or of the rule in the mapping
  };

  const std::vector<Key>& keys() const { return keys_; }
  const Value* find(std::string_view key) const;
  bool states(std::string_view key) const;
  bool has_below(std::string_view key) const;                   // "training.framework" by "training.framework.like"
  std::optional<std::string> text(std::string_view key) const;  // of a scalar
  std::optional<std::int64_t> whole_number(std::string_view key) const;  // nullopt also for what is none
  // Ranks that work on different microbatches: GPUs / (tensor x pipeline x context); 0 where that is no whole number.
  std::int64_t data() const;

  const std::vector<CellReading>& cells() const { return cells_; }
  const std::vector<std::string>& dropped() const { return dropped_; }  // "strategy.zero: why it means nothing"
  const std::vector<Refusal>& refusals() const { return refusals_; }
  const Location& where() const { return where_; }
  // The cell of a column as it stands, "" where the table has none; and its words, nullptr likewise.
  std::string cell(std::string_view column) const;
  const std::vector<std::string>* words(std::string_view column) const;

 private:
  friend class RowReader;

  Key* find_key(std::string_view key);

  Location where_;
  std::map<std::string, std::string, std::less<>> texts_;               // cells as they stand
  std::map<std::string, std::vector<std::string>, std::less<>> words_;  // their words
  std::vector<Key> keys_;
  std::vector<CellReading> cells_;
  std::vector<std::string> dropped_;
  std::vector<Refusal> refusals_;
};

std::optional<double> number_of(const std::string& text);          // nullopt: it is none
std::string key_text(const std::string& key, const Value& value);  // "strategy.tensor: 8"

// For people: a line per word, inference and refusal.
std::string reading_text(const RunReading& reading);

}  // namespace mirfak
