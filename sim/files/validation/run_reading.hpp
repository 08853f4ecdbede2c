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

inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;  // limit on tokens, GPUs, microbatches in a cell

// The reading of one word of one cell.
struct CellReading {
  Location where;
  std::string column;
  std::string word;
  std::string meaning;   // "strategy.tensor: 8", "ignored: ...", "not understood: ..."
  std::string inferred;  // the part that the source does not state itself
};

// The reason why a row cannot be read.
struct Refusal {
  Location where;  // place of the cell
  std::string column;
  std::string word;
  std::string message;
  std::string nearest;  // nearest known word; "": none is near
};

// A row of a table of measured runs, read by a mapping: keys and values, each with its origin.
class RunReading {
 public:
  struct Key {
    std::string name;
    Value value;
    bool stated = false;  // stated by the source; false: inferred
    std::string note;     // reason of an inferred value
    Location from;        // place of the cell, or of the rule in the mapping
  };

  const std::vector<Key>& keys() const { return keys_; }
  const Value* find(std::string_view key) const;
  bool states(std::string_view key) const;
  bool has_below(std::string_view key) const;  // true for "training.framework" if "training.framework.like" is set
  std::optional<std::string> text(std::string_view key) const;           // text of a scalar
  std::optional<std::int64_t> whole_number(std::string_view key) const;  // nullopt also if the value is no whole number
  // Returns the number of ranks that work on different microbatches: GPUs / (tensor x pipeline x context); 0 if that is
  // no whole number.
  std::int64_t data() const;

  const std::vector<CellReading>& cells() const { return cells_; }
  const std::vector<std::string>& dropped() const { return dropped_; }  // "strategy.zero: why it means nothing"
  const std::vector<Refusal>& refusals() const { return refusals_; }
  const Location& where() const { return where_; }
  // Return the text of a cell, "" if the table has no such column, and the words of a cell, nullptr if it has no such
  // column.
  std::string cell(std::string_view column) const;
  const std::vector<std::string>* words(std::string_view column) const;

 private:
  friend class RowReader;

  Key* find_key(std::string_view key);

  Location where_;
  std::map<std::string, std::string, std::less<>> texts_;               // texts of cells
  std::map<std::string, std::vector<std::string>, std::less<>> words_;  // words of cells
  std::vector<Key> keys_;
  std::vector<CellReading> cells_;
  std::vector<std::string> dropped_;
  std::vector<Refusal> refusals_;
};

std::optional<double> number_of(const std::string& text);          // nullopt: the text is no number
std::string key_text(const std::string& key, const Value& value);  // "strategy.tensor: 8"

// Returns a text for people: a line per word, inference and refusal.
std::string reading_text(const RunReading& reading);

}  // namespace mirfak
