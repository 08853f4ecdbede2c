#pragma once

#include "base/document.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

// One statement of a launch file: an option of the program with its value. Every format is converted to a list of
// settings, in the order in which they count.
struct Setting {
  std::string name;  // the program's name: "--micro-batch-size", "parallelism.tensor_parallel_degree"
  Value value;       // null: an option without a value; a sequence: several words after the option
  Location where;    // place of the option in the user's file; unknown for a value that the program has by itself
  std::string text;  // the file's text: "--micro-batch-size 2"
  // Names on which the value depends and that the file leaves open: variables of the environment, outputs of commands.
  std::vector<std::string> missing = {};
};

enum class Verdict : std::uint8_t {
  taken,       // decides keys of the scenario
  assumed,     // no file states it; the program then does this
  no_effect,   // known, and cannot change time, memory or energy of an iteration
  superseded,  // stated again later, and the later setting counts
  unknown,     // not understood: the prediction leaves it out, and the user has to judge
};
inline constexpr std::string_view kVerdictNames[] = {"taken", "assumed", "no effect", "superseded", "unknown"};

// The result for one statement of a file, or for one default of the program.
struct ImportLine {
  Location where;    // unknown for `assumed`
  std::string text;  // the file's text
  Verdict verdict = Verdict::unknown;
  std::string key;        // `taken`, `assumed`: the decided key: "strategy.tensor: 4"; several are joined by ", "
  std::string reason;     // the reason, if it is not plain
  bool left_out = false;  // `unknown`: the meaning is known, but no prediction includes it, or the value is not known
};

// Statements of the launch on nodes that are alike, before the type of node is known.
struct ImportedNodes {
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> gpus_per_node;
  std::string gpu;        // the scheduler's name: "H100", "a100-sxm4-80gb"; "": not stated
  std::string partition;  // partition of the cluster; "": not stated
  std::string feature;    // feature that a scheduler asks of a node, which may be the node's type: "hgx-h100"; "": none

  std::optional<std::int64_t> gpus() const {
    if (!nodes || !gpus_per_node) return std::nullopt;
    return *nodes * *gpus_per_node;
  }
};

// The machines of a launch. `parts`: for machines of several kinds, one entry per kind, in the order of the ranks; the
// other members then hold for all kinds together, if they are set.
struct ImportedMachine : ImportedNodes {
  std::vector<ImportedNodes> parts;
  std::string said_by;  // "--nnodes 8 --nproc_per_node 8"
  // True where the program starts just these ranks, so that nodes with more GPUs are used in part.
  bool exact = false;

  std::optional<std::int64_t> gpus() const;
};

// A reason why the scenario is not, or not quite, the training that the files start.
struct ImportObstacle {
  Location where;
  std::string reason;
  std::string key = {};  // the key of the scenario that no file states; a user who states the key removes the obstacle
};

// Prefix of the names of settings whose values are not known, and that readers must treat as not stated.
inline constexpr std::string_view kUnset = "unset:";

// A scenario in the making. Readers of a program's options ask for settings by name and state the results; every
// setting that no reader asked for ends as `unknown`, so nothing is skipped silently.
class ImportDraft {
 public:
  explicit ImportDraft(std::vector<Setting> settings);

  // Returns the last setting of this name, nullptr if there is none. Earlier settings of the name are superseded. The
  // setting stays unknown until one of the functions below states its meaning.
  const Setting* find(std::string_view name);
  // Returns the last setting with one of these names, which all mean the same (an option and its old name).
  const Setting* find_any(const std::vector<std::string_view>& names);
  // Returns the last setting of a name that the program may not have; earlier settings are superseded.
  const Setting* latest(std::string_view name) { return latest_of({name}); }

  // Sets a key of the scenario ("strategy.tensor") to the value of a setting. The key gets the place of the setting, so
  // that errors of reading the scenario point into the user's file. A key that was set before is replaced. A value that
  // the program has by itself is assumed, for the reason in its text.
  void take(const Setting& setting, std::string_view key, Value value, const std::string& reason = {});
  void take(const Setting& setting, std::string_view key, std::string_view scalar, const std::string& reason = {});
  // Marks a setting as used for keys that other settings put.
  void use(const Setting& setting, const std::string& reason);
  // Sets a key to the program's behavior for an option that is not stated.
  void assume(std::string_view key, std::string_view scalar, std::string reason);
  void assume(std::string_view key, Value value, std::string reason);
  void leave(const Setting& setting, const std::string& reason);    // no effect
  void doubt(const Setting& setting, const std::string& reason);    // known, but left out of predictions; `reason`: why
  void suggest(const Setting& setting, const std::string& reason);  // unknown; `reason`: the probable meaning

  // Adds a reason why mirfak cannot simulate this training, or only a part of it, although the layout is read.
  void obstruct(const Location& where, std::string reason);
  // Adds the obstacle that no file states a key of the scenario, which the user may state.
  void lack(const Location& where, std::string key, std::string reason);
  const std::vector<ImportObstacle>& obstacles() const { return obstacles_; }

  ImportedMachine machine;
  std::vector<ImportObstacle> notes;  // the reader's assumptions and open questions, in addition to the settings

  // Returns the origin of each key of the scenario: "train.sh:12:5: --num-layers 32", "assumed: the program's default".
  const std::map<std::string, std::string>& origins() const { return origins_; }

  // Adds the name of an option that the program has, in addition to those that its reader asks for. The names help to
  // distinguish an unrelated word from a misspelt option.
  void know(std::string name) { known_.insert(std::move(name)); }
  // Allows options of the program's scripts: an unknown name that is like a name without effect is then taken as the
  // script's own option.
  void allow_own_options() { own_options_ = true; }
  // Judges the settings that no reader understood. A name that is like an option that counts is an obstacle, before all
  // others; the other settings are unknown. Settings whose names begin with `$` or `#` are left alone.
  void judge_unknown();

  // Returns the settings that no reader asked for yet, in their order: for tables of options without effect.
  std::vector<const Setting*> open() const;

  // Returns the scenario so far; places in it are those of the settings.
  const Value& scenario() const { return root_; }
  // Returns a line for each setting that a file states, in order, then the assumptions. Settings that are still open
  // are unknown.
  std::vector<ImportLine> lines() const;

 private:
  struct Entry {
    Setting setting;
    std::optional<ImportLine> line;
  };
  const Setting* latest_of(const std::vector<std::string_view>& names);
  ImportLine& line_of(const Setting& setting, Verdict verdict);

  // Returns the known name that is most like `name`; "": none.
  std::string name_like(const std::string& name) const;

  std::set<std::string> asked_;
  std::set<std::string> known_;
  bool own_options_ = false;
  std::vector<Entry> entries_;
  std::vector<ImportLine> assumed_;
  std::vector<ImportObstacle> obstacles_;
  std::map<std::string, std::string> origins_;
  Value root_;
};

// Returns the last setting of this name, nullptr if there is none.
const Setting* last_of(const std::vector<Setting>& settings, std::string_view name);

// Returns a value that is one word, as if it stood at `where`.
Value scalar_value(std::string_view text, const Location& where);
// Returns a list of words or numbers as a value at `where`.
template <typename T>
Value list_value(const std::vector<T>& items, const Location& where) {
  Value out;
  out.kind = Value::Kind::sequence;
  out.where = out.key_where = where;
  for (const T& item : items) out.items.push_back(scalar_value(fmt::format("{}", item), where));
  return out;
}

}  // namespace mirfak
