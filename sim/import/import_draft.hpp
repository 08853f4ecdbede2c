#pragma once

#include "base/document.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

// One thing that a launch file says: an option of the program with what stands behind it. Every format comes down to a
// list of these, in the order in which they count.
struct Setting {
  std::string name;  // as the program calls it: "--micro-batch-size", "parallelism.tensor_parallel_degree"
  Value value;       // null: an option without a value; a sequence: several words behind it
  Location where;    // of the option, in the user's file
  std::string text;  // as it stands there: "--micro-batch-size 2"
  // Names whose values the file does not say and the value needs: variables of the environment, outputs of commands.
  std::vector<std::string> missing = {};
};

enum class Verdict : std::uint8_t {
  taken,       // decides keys of the scenario
  assumed,     // nobody says it, and the program then does this
  no_effect,   // known, and cannot change time, memory or energy of an iteration
  superseded,  // said again later, and that counts
  unknown,     // not understood: the prediction leaves it out, and the user has to judge
};
inline constexpr std::string_view kVerdictNames[] = {"taken", "assumed", "no effect", "superseded", "unknown"};

// What became of one thing that a file says, or that the program does by itself.
struct ImportLine {
  Location where;    // unknown for `assumed`
  std::string text;  // of the file
  Verdict verdict = Verdict::unknown;
  std::string key;        // `taken`, `assumed`: what it decides: "strategy.tensor: 4"; several are joined by ", "
  std::string reason;     // why, where that is not plain
  bool left_out = false;  // `unknown`: what it means is known, and no prediction has it, or what it says is not known
};

// What the launch says of nodes that are alike, before anybody says which type of node they are.
struct ImportedNodes {
  std::optional<std::int64_t> nodes;
  std::optional<std::int64_t> gpus_per_node;
  std::string gpu;        // as a scheduler calls it: "H100", "a100-sxm4-80gb"; "": not said
  std::string partition;  // of the cluster; "": not said
  std::string feature;    // that a scheduler asks of a node, which may be its type: "hgx-h100"; "": none

  std::optional<std::int64_t> gpus() const {
    if (!nodes || !gpus_per_node) return std::nullopt;
    return *nodes * *gpus_per_node;
  }
};

// The machines of a launch. `parts`: where they are of several kinds, each of them, in the order of the ranks; what
// stands beside is then of all of them, if anything.
struct ImportedMachine : ImportedNodes {
  std::vector<ImportedNodes> parts;
  std::string said_by;  // "--nnodes 8 --nproc_per_node 8"

  std::optional<std::int64_t> gpus() const;
};

// Why the scenario is not, or not quite, the training that the files start.
struct ImportObstacle {
  Location where;
  std::string reason;
};

// The prefix of the names of settings whose values are not known, and that readers are to take for unsaid.
inline constexpr std::string_view kUnset = "unset:";

// A scenario in the making. Readers of a program's options ask for settings by name and say what follows; whatever
// nobody asked for is `unknown` in the end, so nothing is passed over.
class ImportDraft {
 public:
  explicit ImportDraft(std::vector<Setting> settings);

  // The last setting of this name, nullptr where there is none. Earlier ones are superseded. It stays unknown until
  // one of the functions below says what it means.
  const Setting* find(std::string_view name);
  // The last of those with one of these names, which mean the same (an option and its old name).
  const Setting* find_any(const std::vector<std::string_view>& names);
  // The last setting of a name that the program may not have; earlier ones are superseded.
  const Setting* latest(std::string_view name) { return latest_of({name}); }

  // Puts a key of the scenario ("strategy.tensor") to what a setting says. The place of the setting becomes that of
  // the key, so that errors of reading the scenario point into the user's file. A key that was put before is replaced.
  void take(const Setting& setting, std::string_view key, Value value, const std::string& reason = {});
  void take(const Setting& setting, std::string_view key, std::string_view scalar, const std::string& reason = {});
  // The setting was used for what others put.
  void use(const Setting& setting, const std::string& reason);
  // What the program does where nothing is said.
  void assume(std::string_view key, std::string_view scalar, std::string reason);
  void assume(std::string_view key, Value value, std::string reason);
  void leave(const Setting& setting, const std::string& reason);    // no effect
  void doubt(const Setting& setting, const std::string& reason);    // known, left out of predictions, and why
  void suggest(const Setting& setting, const std::string& reason);  // unknown, and what may be meant

  // The layout is read, but mirfak cannot simulate this training, or only a part of it, and why.
  void obstruct(const Location& where, std::string reason);
  const std::vector<ImportObstacle>& obstacles() const { return obstacles_; }

  ImportedMachine machine;
  std::vector<ImportObstacle> notes;  // what the reader took for granted or could not decide, beside the settings

  // Where each key of the scenario comes from: "train.sh:12:5: --num-layers 32", "assumed: the program's default".
  const std::map<std::string, std::string>& origins() const { return origins_; }

  // Names of options that the program has, beside those that its reader asks for. With them a word that is none can be
  // told from one that is misspelt.
  void know(std::string name) { known_.insert(std::move(name)); }
  bool knows(const std::string& name) const { return known_.contains(name) || asked_.contains(name); }
  // Scripts of this program have options of their own beside its own: one that is like a name without effect is theirs.
  void allow_own_options() { own_options_ = true; }
  // Judges the settings that nobody understood. A word that is like one that counts is an obstacle, before all others;
  // the rest is unknown. Settings whose names begin with another sign than `--` or a letter are left alone.
  void judge_unknown();

  // Names that nobody asked for yet, in their order: for tables of options without effect.
  std::vector<const Setting*> open() const;

  // The scenario so far; places are those of the settings.
  const Value& scenario() const { return root_; }
  // Of all settings in their order, then what was assumed. Those still open are unknown.
  std::vector<ImportLine> lines() const;

 private:
  struct Entry {
    Setting setting;
    std::optional<ImportLine> line;
  };
  const Setting* latest_of(const std::vector<std::string_view>& names);
  ImportLine& line_of(const Setting& setting, Verdict verdict);

  // The known name that this one is most like; "": none.
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

// A value that is one word, as if it stood at `where`.
Value scalar_value(std::string_view text, const Location& where);

}  // namespace mirfak
