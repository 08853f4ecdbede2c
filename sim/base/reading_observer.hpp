#pragma once

#include "base/document.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace mirfak {

// What a reader takes a value of a document for.
struct ReadValue {
  enum class Kind { word, truth, number, whole_number, list, mapping };
  Kind kind{};
  double minimum = 0;                     // of numbers
  double maximum = 0;                     // ...
  std::vector<std::string> choices = {};  // of words: these only; empty: any
};

// Hears what readers ask of documents in this thread while it lives, so that a schema can follow from the readers
// themselves. Documents that a document names are heard, too: nodes say where they stand.
class ReadingObserver {
 public:
  ReadingObserver();
  virtual ~ReadingObserver();
  ReadingObserver(const ReadingObserver&) = delete;
  ReadingObserver& operator=(const ReadingObserver&) = delete;

  // A value that is there was read as this, and is of the kind.
  virtual void value(const Node& node, const ReadValue& read) = 0;
  // A mapping was asked for a key, whether it has it or not. `nullable`: null stands for none; `required`: it is an
  // error where it is absent.
  virtual void key(const Node& mapping, std::string_view key, bool required, bool nullable) = 0;
  // What a key is where it is left out, as JSON has it.
  virtual void fallback(const Node& mapping, std::string_view key, const std::string& json) = 0;
  // A mapping was asked for all its keys: it may have any.
  virtual void any_key(const Node& mapping) = 0;
};

// Of this thread; nullptr: nobody listens.
ReadingObserver* reading_observer();

}  // namespace mirfak
