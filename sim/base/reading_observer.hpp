#pragma once

#include "base/document.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// The type and the limits by which a reader reads a value of a document.
struct ReadValue {
  enum class Kind { word, truth, number, whole_number, list, mapping };
  Kind kind{};
  double minimum = 0;                     // smallest number allowed
  double maximum = 0;                     // largest number allowed
  std::vector<std::string> choices = {};  // the only words allowed; empty: any word
};

// Is told, while it lives, of all that readers ask of documents in this thread, so that a schema can be derived from
// the readers themselves. Documents that a document names are included: nodes know their place.
class ReadingObserver {
 public:
  ReadingObserver();
  virtual ~ReadingObserver();
  ReadingObserver(const ReadingObserver&) = delete;
  ReadingObserver& operator=(const ReadingObserver&) = delete;

  // Called when a value that exists was read as `read` says and is of that kind.
  virtual void value(const Node& node, const ReadValue& read) = 0;
  // Called when a mapping was asked for a key, whether the mapping has the key or not. `nullable`: null stands for "no
  // value"; `required`: an absent key is an error.
  virtual void key(const Node& mapping, std::string_view key, bool required, bool nullable) = 0;
  // Called with the value that a key has by default, as JSON.
  virtual void fallback(const Node& mapping, std::string_view key, const std::string& json) = 0;
  // Called when a mapping was asked for all its keys: the mapping may have any key.
  virtual void any_key(const Node& mapping) = 0;
};

// Returns the observer of this thread; nullptr: none.
ReadingObserver* reading_observer();

}  // namespace mirfak
