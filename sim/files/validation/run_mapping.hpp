#pragma once

#include "base/document.hpp"
#include "formula/formula.hpp"
#include "validation/word_pattern.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

// The rules that turn cells of a table of measured runs into keys of a scenario, read from a mapping file
// (validate/published/README.md describes the language). Plain data.

// A key and its value. In every scalar of the value `{name}` is replaced: by the capture of a pattern, else by the cell
// of that column; `{name / 4}` (rounded up) and `{name * 8}` are whole numbers.
struct KeyValue {
  std::string key;
  Value value;
};

// A condition on a column or key: `gpu: [H100*, H200]`: one of the words; `pp: "> 1"`; `recompute: open` (not stated),
// `stated`. For a column whose cells hold several words, one of them has to match; with `!=` none.
struct Predicate {
  enum class Kind { words, comparison, open, stated };
  std::string name;  // a column, or a key
  Kind kind = Kind::words;
  std::vector<WordPattern> words;
  formula::Operation by{};  // for a comparison: <, <=, >, >=, or != for words
  std::string bound;        // bound of a comparison: a number, or a template
  Location where;
};
using Condition = std::vector<Predicate>;  // all of them hold

// The meaning of a word: it sets keys, is irrelevant for a stated reason, or is known not to be understood.
struct WordRule {
  enum class Kind { set, ignore, refuse };
  std::vector<WordPattern> words;
  Condition when;
  Kind kind = Kind::set;
  std::vector<KeyValue> set;
  std::string reason;    // for ignore and refuse
  std::string inferred;  // for set: the part that the source does not state itself; "": none
  Location where;
};

struct ColumnMapping {
  enum class Kind { words, count, number, text, ignored };
  std::string name;
  Kind kind = Kind::words;
  std::vector<std::string> keys;  // keys that get a count, number or text
  std::int64_t minimum = 1;       // smallest allowed count
  std::string parts;              // characters that separate the words of a cell; "": it is one word
  std::string reason;             // why the column is ignored
  std::vector<WordRule> rules;    // rules in order; the first whose word and condition match counts
  Location where;
};

// A consequence of the other keys: it sets keys that are not set so far, drops keys that mean nothing there, or refuses
// a row that cannot be computed.
struct Inference {
  enum class Kind { set, drop, refuse };
  Kind kind = Kind::set;
  Condition when;
  std::vector<KeyValue> set;
  std::vector<std::string> drop;
  std::string note;  // reason, for each kind
  Location where;
};

// A way to save memory that a row leaves open; `RunMapping::saving` has the order in which combinations are tried.
struct MemorySaving {
  std::string name;
  Condition when;
  std::vector<KeyValue> set;
  std::string note;
};

struct RunMapping {
  std::vector<std::string> files;    // files that the mapping was read from
  std::vector<std::string> tables;   // stems of the tables that the mapping is for
  std::vector<WordPattern> sources;  // alternatively, cells of the column `source`
  std::vector<ColumnMapping> columns;
  std::vector<Inference> inferences;                          // in this order
  std::vector<std::vector<std::string>> needs;                // groups of columns; a table must have one of each group
  std::vector<std::pair<std::string, std::string>> required;  // keys that a row must set, with their names for people
  std::map<std::string, MemorySaving> savings;
  std::vector<std::vector<std::string>> saving;  // combinations of savings, cheapest first

  const ColumnMapping* find(std::string_view column) const;
};

// Reads a mapping. Error(input) at the place of the fault: unknown keys, names and columns (with the nearest), patterns
// and conditions that cannot be read. Columns that conditions and templates name may stand in the file or in `base`, if
// there is one.
RunMapping load_mapping(const std::filesystem::path& file, const RunMapping* base);

// Returns `own` followed by `base`: rules of `own` come first, and parts that only `base` has are added.
RunMapping combined(const RunMapping& own, const RunMapping& base);

// Returns the keys from which mirfak makes parts of a scenario, in addition to those that begin with model., training.,
// strategy. and cluster.
const std::vector<std::string>& run_key_names();
bool is_run_key(std::string_view name);

}  // namespace mirfak
