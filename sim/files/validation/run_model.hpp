#pragma once

#include "base/document.hpp"
#include "base/made_once.hpp"
#include "model/model_spec.hpp"
#include "validation/run_reading.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace mirfak {

// The models of a data folder, each with the text it was read from.
class ModelLibrary {
 public:
  // Models are read when a row may be of them: then errors as of load_model().
  explicit ModelLibrary(const std::filesystem::path& folder);

  // Returns the `model` section of a row's scenario: the library's model of its shape and name (if there are several,
  // the key `library` may choose), or, if there is none, the row's `new_model`. The row's own keys override it, except
  // sizes of a new model of blocks, which its own `sizes` name. Error(infeasible) at the row if neither model exists,
  // or a size is missing.
  Value model_of(const RunReading& reading) const;

 private:
  struct Entry {
    ModelSpec spec;
    Value value;
  };
  struct Name {
    std::string name;
    std::vector<std::string> words;
  };

  const Entry& entry_of(const std::string& name) const;
  const Entry* find(const RunReading& reading) const;

  std::filesystem::path folder_;
  std::vector<Name> names_;
  mutable MadeOnce<std::string, Entry> entries_;  // by name; only models whose name may be that of a row are read
};

}  // namespace mirfak
