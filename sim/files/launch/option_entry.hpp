#pragma once

#include "base/document.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mirfak {

// The verdict on an option that a file states.
enum class OptionVerdict : std::uint8_t {
  take,   // it decides its key
  use,    // it belongs to a key that other options decide
  leave,  // it has no effect
  doubt,  // its meaning is known, and predictions leave it out
  hold    // as doubt, and the prediction would be of another training: an obstacle
};

// The meaning of one value of an option. A value with a word decides the key, whatever the verdict says in addition.
struct OptionMeaning {
  std::string word = {};  // the key's value; "": the option decides no key
  OptionVerdict verdict = OptionVerdict::take;
  std::string reason = {};
};

// A condition on a job: a key of the scenario with certain values, or another option that a file states.
struct OptionCondition {
  std::string key = {};              // "strategy.tensor"; "": the condition is on options
  std::vector<std::string> is = {};  // values of the key; a value may be another key, whose value it then stands for
  std::vector<std::string> isnt = {};
  std::string has = {};              // word that the key's list contains
  std::optional<double> above = {};  // bound that the key's number exceeds
  std::string with = {};             // name of an option that has to be stated, without dashes in front
  std::string without = {};          // name of an option that must not be stated
  OptionMeaning otherwise = {};      // the meaning of an option whose condition does not hold; no reason: it stays open

  // Evaluates a condition on a key; `value_of` returns the value of a key, "" for none.
  bool holds(const std::function<std::string(std::string_view key)>& value_of) const;
};

// Another key of the scenario that an option decides together with its own.
struct OptionConsequence {
  std::string key;
  OptionMeaning meaning;
  std::vector<OptionCondition> only = {};
};

// An option of a program: its name, the words that it takes, and its meaning for a scenario. Readers and writers of the
// program's files share it; hw_profiles/launch/README.md describes the form in which it stands in a list of options.
struct OptionEntry {
  enum class Form : std::uint8_t {
    word,    // one word, or several that are read as one
    first,   // a list of words, of which the first counts
    list,    // a list of words
    groups,  // a list of lists of words, each as one word with commas
    count,   // a whole number
    number,
    flag,       // stated without a value, or as true or false
    subcommand  // NAME:WORD in one word, after all options
  };
  enum class Written : std::uint8_t {
    table,  // by this entry
    rule,   // by a rule of the writer
    never   // only other releases or programs have the option
  };

  std::string name = {};                // "--micro-batch-size"
  std::vector<std::string> takes = {};  // words that the program takes; empty: any
  std::vector<std::string> older = {};  // other names of the option, without dashes in front
  Written written = Written::table;
  std::string part = {};  // step of the reader at which it is read; "": a rule reads it by its name
  std::string key = {};   // key of the scenario: "strategy.micro_batch"; "": none
  Form form = Form::word;
  std::vector<std::pair<std::string, OptionMeaning>> words =
      {};                                       // meanings of the program's words; empty: the same words
  std::optional<OptionMeaning> otherwise = {};  // meaning of any other word, or of an option without a key
  std::string fallback = {};                    // value of the key where no option states it; "": none
  std::string like = {};                        // other key whose value is the default; "": `fallback` is the default
  std::string why = {};                         // reason for the default
  Value unsaid = {};                            // the program's own word where no file states the option; null: none
  std::optional<std::pair<double, double>> range = {};  // least and most that a number may be
  std::vector<OptionConsequence> also = {};             // further keys that the option decides
  bool any_case = false;                                // capital and small letters of words are the same
  bool agrees = false;  // a program around this one may decide the key, and the option must not contradict it
  std::vector<OptionCondition> only = {};        // conditions under which the option counts
  std::vector<OptionCondition> written_if = {};  // conditions under which it is written
  std::string writes = {};                       // word that is written for an option without a key
  std::string unless = {};     // value of the key, or other key with the same value, for which it is not written
  OptionMeaning refused = {};  // the error for a value of the key that the program has no word for: reason, hint

  std::vector<std::string_view> names() const;  // all names of the option, without dashes in front
  bool is_number() const;
  bool has_default() const { return !fallback.empty() || !like.empty(); }
  // Returns this option as another program has it, which takes these words.
  OptionEntry taking(std::vector<std::string> words_taken) const;
  // Returns the meaning of a value in the program's words, of which a number stands for itself if it has no meaning of
  // its own; nullopt: none.
  std::optional<OptionMeaning> meaning_of(const std::string& word) const;
  // Returns the program's word for a value of the key, by the same rule; nullopt: none.
  std::optional<std::string> word_for(const std::string& value) const;
};

// A job that a program cannot run: the key to blame, the conditions that such a job meets, and the message. "{}" in the
// reason stands for the key's value.
struct OptionRefusal {
  std::string key;
  std::vector<OptionCondition> conditions;
  std::string reason;
  std::string hint;
};

// True for the same words but for capital letters.
bool same_but_case(std::string_view a, std::string_view b);

// Reads an entry, a refusal or a condition. Error(input) for one that does not follow hw_profiles/launch/README.md.
OptionEntry read_option_entry(const std::string& name, const Node& node);
OptionRefusal read_option_refusal(const Node& node);

}  // namespace mirfak
