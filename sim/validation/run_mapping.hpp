#pragma once

#include "base/document.hpp"
#include "validation/word_pattern.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mirfak {

// How the cells of a table of measured runs become keys of a scenario, as a mapping file says it
// (validate/published/README.md is the language's page). Plain data.

// A key and what it is set to. In every scalar of the value `{name}` is replaced: by what a pattern has captured, else
// by the cell of that column; `{name / 4}` (rounded up) and `{name * 8}` are whole numbers.
struct KeyValue {
  std::string key;
  Value value;
};

// `gpu: [H100*, H200]`: one of the words; `pp: "> 1"`; `recompute: open` (not stated), `stated`. Of a column whose
// cells hold several words, one of them has to fit; with `!=` none.
struct Predicate {
  enum class Kind { words, not_words, less, less_equal, greater, greater_equal, open, stated };
  std::string name;  // a column, or a key
  Kind kind = Kind::words;
  std::vector<WordPattern> words;
  std::string bound;  // of a comparison: a number, or a template
  Location where;
};
using Condition = std::vector<Predicate>;  // all of them hold

// What a word means: it sets keys, is irrelevant for a stated reason, or is known not to be understood.
struct WordRule {
  enum class Kind { set, ignore, refuse };
  std::vector<WordPattern> words;
  Condition when;
  Kind kind = Kind::set;
  std::vector<KeyValue> set;
  std::string reason;    // of ignore and refuse
  std::string inferred;  // of set: what the source does not say itself; "": it says so
  Location where;
};

struct ColumnMapping {
  enum class Kind { words, count, number, text, ignored };
  std::string name;
  Kind kind = Kind::words;
  std::vector<std::string> keys;  // that a count, number or text goes to
  std::int64_t minimum = 1;       // of a count
  std::string parts;              // characters that separate the words of a cell; "": it is one word
  std::string reason;             // of ignored
  std::vector<WordRule> rules;    // the first whose word and condition fit
  Location where;
};

// What follows from the rest: keys that nothing has set so far, keys that mean nothing there, or that the row cannot be
// computed.
struct Inference {
  enum class Kind { set, drop, refuse };
  Kind kind = Kind::set;
  Condition when;
  std::vector<KeyValue> set;
  std::vector<std::string> drop;
  std::string note;  // why, of all three
  Location where;
};

// What saves memory where a row leaves it open; `RunMapping::saving` says in which order combinations are tried.
struct MemorySaving {
  std::string name;
  Condition when;
  std::vector<KeyValue> set;
  std::string note;
};

struct RunMapping {
  std::vector<std::string> files;    // that it was read from
  std::vector<std::string> tables;   // stems of the tables that it is for
  std::vector<WordPattern> sources;  // or cells of the column `source`
  std::vector<ColumnMapping> columns;
  std::vector<Inference> inferences;                          // in this order
  std::vector<std::vector<std::string>> needs;                // columns of which a table has to have one
  std::vector<std::pair<std::string, std::string>> required;  // keys that a row has to set, and what to call them
  std::map<std::string, MemorySaving> savings;
  std::vector<std::vector<std::string>> saving;  // combinations of savings, cheapest first

  const ColumnMapping* find(std::string_view column) const;
};

// Error(input) at the place of the fault: unknown keys, names and columns (with the nearest), patterns and conditions
// that cannot be read. Columns that conditions and templates name may stand in the file or in `base`, if there is one.
RunMapping load_mapping(const std::filesystem::path& file, const RunMapping* base);

// `own` with `base` behind it: rules of `own` come first, and what only `base` has is added.
RunMapping combined(const RunMapping& own, const RunMapping& base);

// Keys that mirfak makes parts of a scenario of, beside those that begin with model., training., strategy. and cluster.
const std::vector<std::string>& run_key_names();
bool is_run_key(std::string_view name);

}  // namespace mirfak
